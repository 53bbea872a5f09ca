/** The script of a sandbox process: loads one piece of code, answers batches of calls. Started by sandboxLink.ts. */
import { stripTypeScriptTypes } from 'node:module'
import { crc32 } from 'node:zlib'
import { Deadline } from './deadline.ts'
import { lossTracer } from './lossHarness.ts'
import {
  codeName,
  failureText,
  LoadFailure,
  Machine,
  type MachineCall,
  type MachineLimits,
  type Tracer,
} from './machine.ts'
import { type Rewritten, withTensorOperators } from './operators.ts'
import { type FromSandbox, notRun, type TimedAnswer, type ToSandbox } from './protocol.ts'

/** Answers are handed over at least this often, so that the host knows which sample holds everything up. */
const reportMs = 20

interface Loaded {
  readonly code: Code
  readonly limits: MachineLimits
  machine: Machine
}

let loaded: Loaded | null = null
let work: Promise<void> = Promise.resolve()

process.on('SIGINT', () => {})
process.on('disconnect', () => process.exit())
process.on('message', (message: ToSandbox) => {
  work = work.then(() => (message.type === 'load' ? load(message) : run(message)))
})
void report({ type: 'ready' })

async function load({ code, language, ...limits }: ToSandbox & { type: 'load' }): Promise<void> {
  try {
    const plain = codeOf(language === 'ts' ? withoutTypes(code) : code)
    const machine = await open(plain, limits)
    loaded = { code: plain, limits, machine }
    await report({ type: 'loaded', description: machine.description })
  } catch (error) {
    await report({ type: 'refused', failure: failureText(asLoadFailure(error)) })
  }
}

/** Code in the form that the machine runs. */
interface Code {
  readonly text: string
  /** Tracer of a loss; null for other code. */
  readonly tracer: Tracer | null
  readonly columnOf: Rewritten['columnOf'] | null
}

/** Prepares code for the machine: operators in the code of a loss are made to work with tensors. */
function codeOf(plain: string): Code {
  if (!/\bdefineLoss\b/.test(plain)) return { text: plain, tracer: null, columnOf: null }
  try {
    const { code: text, columnOf } = withTensorOperators(plain)
    return { text, tracer: lossTracer, columnOf }
  } catch (error) {
    const { message, loc } = error as SyntaxError & { readonly loc?: { line: number; column: number } }
    const place = loc === undefined ? '' : `${codeName}:${loc.line}:${loc.column + 1}`
    throw new LoadFailure('exception', `SyntaxError: ${message.replace(/ \(\d+:\d+\)$/, '')}`, place)
  }
}

async function open({ text, tracer, columnOf }: Code, limits: MachineLimits): Promise<Machine> {
  try {
    return await Machine.load(text, limits, tracer)
  } catch (error) {
    if (!(error instanceof LoadFailure) || columnOf === null) throw error
    throw new LoadFailure(error.kind, error.message, placesAsWritten(error.guestStack, columnOf))
  }
}

/** Positions in a stack, or in an answer that holds one, as they were before operators were replaced. */
const placesAsWritten = (text: string, columnOf: Rewritten['columnOf']): string =>
  text.replaceAll(
    new RegExp(`\\b${codeName}:(\\d{1,9}):(\\d{1,9})`, 'g'),
    (_, line: string, column: string) => `${codeName}:${line}:${columnOf(Number(line), Number(column))}`,
  )

/** Removes types; lines and columns stay where they are. */
function withoutTypes(code: string): string {
  try {
    return stripTypeScriptTypes(code)
  } catch (error) {
    const { message, stack } = error as Error
    throw new LoadFailure('exception', `SyntaxError: ${message}`, markedPosition(stack ?? ''))
  }
}

/** The parser of types prints the line with a caret under the place. */
function markedPosition(stack: string): string {
  const found = /^[^\n]*:(\d+)\n(?:[^\n]*\n)*?( *)\^/.exec(stack)
  return found === null ? '' : `${codeName}:${found[1] ?? ''}:${(found[2] ?? '').length + 1}`
}

const asLoadFailure = (error: unknown): LoadFailure =>
  error instanceof LoadFailure ? error : new LoadFailure('exception', String(error), '')

async function run(batchOf: ToSandbox & { type: 'run' }): Promise<void> {
  const { target, inputs, batchMs, callMs, isCareful } = batchOf
  if (loaded === null) throw new Error('Expected code before a batch.')
  const batch = new Deadline()
  batch.start(batchMs)
  let [waiting, reportedAt]: [TimedAnswer[], number] = [[], performance.now()]
  for (const [i, input] of inputs.entries()) {
    const startedAt = performance.now()
    const text = batch.hasPassed() ? lateAnswer(batchMs) : answer(loaded, { target, input, callMs })
    const now = performance.now()
    waiting.push({ text, durationMs: now - startedAt })
    const isDue = isCareful || loaded.machine.isSpoiled || now - reportedAt > reportMs
    if (i < inputs.length - 1 && !isDue) continue
    await report({ type: 'answers', answers: waiting })
    if (loaded.machine.isSpoiled) {
      loaded.machine = await open(loaded.code, loaded.limits)
      if (i < inputs.length - 1) await report({ type: 'answers', answers: [] })
    }
    ;[waiting, reportedAt] = [[], performance.now()]
  }
}

/** Answers a call. Chance depends on the sample alone: scored again, it gets the same random numbers. */
function answer({ machine, code }: Loaded, call: Omit<MachineCall, 'seed'>): string {
  const text = machine.call({ ...call, seed: crc32(call.input, crc32(call.target)) | 0 })
  const hasFailed = text.startsWith('{"failure"')
  return hasFailed && code.columnOf !== null ? placesAsWritten(text, code.columnOf) : text
}

const lateAnswer = (batchMs: number): string => failureText(new LoadFailure('timeout', notRun(batchMs), ''))

/** Resolves when the message has left, so that a call that never returns cannot hold it back. */
function report(message: FromSandbox): Promise<void> {
  return new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()))
}
