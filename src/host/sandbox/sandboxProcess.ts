/** The script of a sandbox process: loads one piece of code, answers batches of calls. Started by sandboxLink.ts. */
import { stripTypeScriptTypes } from 'node:module'
import { crc32 } from 'node:zlib'
import { Deadline } from './deadline.ts'
import { codeName, failureText, LoadFailure, Machine, type MachineLimits } from './machine.ts'
import type { FromSandbox, TimedAnswer, ToSandbox } from './protocol.ts'

/** Answers are handed over at least this often, so that the host knows which sample holds everything up. */
const reportMs = 20

interface Loaded {
  readonly code: string
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

async function load({ code, language, callMs, memoryMb }: ToSandbox & { type: 'load' }): Promise<void> {
  try {
    const limits = { callMs, memoryMb }
    const plain = language === 'ts' ? withoutTypes(code) : code
    const machine = await Machine.load(plain, limits)
    loaded = { code: plain, limits, machine }
    await report({ type: 'loaded', description: machine.description })
  } catch (error) {
    await report({ type: 'refused', failure: failureText(asLoadFailure(error)) })
  }
}

/** Lines and columns stay where they are. */
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

async function run({ target, inputs, batchMs }: ToSandbox & { type: 'run' }): Promise<void> {
  if (loaded === null) throw new Error('Expected code before a batch.')
  const batch = new Deadline()
  batch.start(batchMs)
  let [waiting, reportedAt]: [TimedAnswer[], number] = [[], performance.now()]
  for (const [i, input] of inputs.entries()) {
    const startedAt = performance.now()
    const text = batch.hasPassed() ? lateAnswer(batchMs) : answer(loaded, target, input)
    const now = performance.now()
    waiting.push({ text, durationMs: now - startedAt })
    const isDue = loaded.machine.isSpoiled || now - reportedAt > reportMs
    if (i < inputs.length - 1 && !isDue) continue
    await report({ type: 'answers', answers: waiting })
    if (loaded.machine.isSpoiled) loaded.machine = await Machine.load(loaded.code, loaded.limits)
    ;[waiting, reportedAt] = [[], performance.now()]
  }
}

/** Chance depends on the sample alone: scored again, it gets the same numbers. */
const answer = ({ machine }: Loaded, target: string, input: string): string =>
  machine.call(target, input, crc32(input, crc32(target)) | 0)

const lateAnswer = (batchMs: number): string =>
  failureText(new LoadFailure('timeout', `The batch had used up its ${batchMs} ms before this sample.`, ''))

/** Resolves when the message has left, so that a call that never returns cannot hold it back. */
function report(message: FromSandbox): Promise<void> {
  return new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()))
}
