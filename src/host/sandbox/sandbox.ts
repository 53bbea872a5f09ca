/**
 * User code under limits. Reading guide, from the outside in:
 *
 *   sandbox.ts         (here) opens code, calls it, survives whatever it does
 *   sandboxLink.ts     the process it runs in, seen from the host; protocol.ts is what the two say
 *   sandboxProcess.ts  the process itself
 *   machine.ts         a virtual machine (QuickJS in WebAssembly) with memory, stack and time limits
 *   memoryImage.ts     why no call can leave anything behind for the next
 *   harness.ts         what user code finds around itself inside
 *   lossHarness.ts     what code of a loss finds besides: tensors that record; operators.ts makes operators calls on them
 *   answers.ts         reading what came out, trusting nothing
 *   workflowHarness.ts, workflowAnswers.ts   the same for episodes of a workflow
 *
 * A module exports a reward function as default, several by name or in an object called `rewards`, or as default an
 * environment `{ reset, step }`, a workflow `{ episode }` or a loss; `export const settings = {…}` names what a run may set,
 * and `export const needs = ['tokens']` asks for the tokens, log-probabilities and turns of what is scored. What goes wrong
 * with a sample is its answer; it never reaches the others.
 */
import { AppError } from '#shared/errors.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import type { ToolCall } from '#engine/text/toolCalls.ts'
import type { GeneratedToken } from '#rl/rewards.ts'
import type { EpisodeRun } from '#rl/rollout/workflow.ts'
import {
  descriptionFailure,
  readDescription,
  readFailure,
  readJson,
  readScore,
  readTurn,
  type CodeDescription,
  type EnvironmentAnswer,
  type SandboxFailure,
  type ScoreAnswer,
} from './answers.ts'
import { answerLimits } from './harness.ts'
import { rewardForm } from './rewardHarness.ts'
import { callLimit, loadLimit, loadMs, traceMs } from '#host/processes/limits.ts'
import { Overrun } from '#host/processes/workLimit.ts'
import { type CodeLanguage, failureJson, loadedTooLong, notRun } from './protocol.ts'
import { endText, type Gone, SandboxLink } from './sandboxLink.ts'
import { type EpisodeAnswer, readEpisode } from './workflowAnswers.ts'

export interface SandboxLimits {
  /** Processor time of one call, ms. */
  readonly callMs: number
  /** Processor time of up to 64 calls, ms. */
  readonly batchMs: number
  /** Memory of the code with all it holds, MiB. */
  readonly memoryMb: number
  /** Longest answer of a call, as JSON text. */
  readonly answerCharacters: number
}

const defaultLimits: SandboxLimits = {
  callMs: 1_000,
  batchMs: 15_000,
  memoryMb: 32,
  answerCharacters: answerLimits.characters,
}

const batchSize = 64

export interface ScoreInput {
  readonly prompt: string
  readonly completion: string
  readonly row: Readonly<Record<string, unknown>>
  readonly step: number
  /** Sent to code that needs them; null: the text was not generated here. */
  readonly tokens?: readonly GeneratedToken[] | null | undefined
  readonly settings?: Readonly<Record<string, unknown>>
}

/** `seed` differs between episodes and turns: the environment's `random()` depends on it and the rest of the input. */
export interface ResetInput {
  readonly row: Readonly<Record<string, unknown>>
  readonly seed: number
  readonly settings?: Readonly<Record<string, unknown>>
}

export interface StepInput extends ResetInput {
  /** Tools that the action calls; absent: none. */
  readonly calls?: readonly ToolCall[]
  readonly state: unknown
  readonly action: string
}

export interface EpisodeInput extends EpisodeRun {
  readonly settings?: Readonly<Record<string, unknown>>
}

export interface CodeSource {
  readonly code: string
  readonly language: CodeLanguage
  /** Names it in errors. */
  readonly file?: string
}

/** Names of the kinds of code, for sentences. */
export const kindTitles: Readonly<Record<CodeDescription['kind'], string>> = {
  reward: 'a reward function',
  environment: 'an environment',
  loss: 'a loss',
  workflow: 'a workflow',
}

/**
 * Opens code in a process of its own, which `startLink` starts. Errors: AppError 'sandbox/failed'; its cause is a SandboxFailure where
 * the code is at fault.
 */
export async function openSandbox(
  source: CodeSource,
  limits: Partial<SandboxLimits> = {},
  startLink: StartLink = () => SandboxLink.start(),
): Promise<Sandbox> {
  const sandbox = new Sandbox(source, { ...defaultLimits, ...limits }, startLink)
  await sandbox.start()
  return sandbox
}

/**
 * Returns the failure behind an AppError of user code: the cause that the sandbox gave it; without one the code never
 * answered.
 */
export function failureOf({ cause, message }: AppError): SandboxFailure {
  const nothing = { kind: 'timeout', message, line: null, column: null } as const
  return typeof cause === 'object' && cause !== null && 'kind' in cause ? (cause as SandboxFailure) : nothing
}

/** Time of day the call took, ms. */
export type Timed<Answer> = Answer & { readonly durationMs: number }

export type StartLink = () => Promise<Pick<SandboxLink, 'send' | 'next'> & Disposable>

type Link = Awaited<ReturnType<StartLink>>

interface Calls<Answer> {
  readonly target: string
  readonly inputs: readonly string[]
  readonly read: (text: string) => Answer
  /** Processor time of each call, ms. */
  readonly callMs: number
}

export class Sandbox implements AsyncDisposable {
  readonly #source: CodeSource
  readonly #limits: SandboxLimits
  readonly #startLink: StartLink
  #link: Link | null = null
  #description: CodeDescription = { kind: 'reward', functions: [], settings: {}, needs: [] }
  /** One batch at a time. */
  #queue: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(source: CodeSource, limits: SandboxLimits, startLink: StartLink) {
    this.#source = source
    this.#limits = limits
    this.#startLink = startLink
  }

  get kind(): CodeDescription['kind'] {
    return this.#description.kind
  }

  /** Names of the reward functions, `default` first where there is one. */
  get functions(): readonly string[] {
    return this.#description.functions
  }

  /** Settings the module names, with their defaults. */
  get settings(): CodeDescription['settings'] {
    return this.#description.settings
  }

  /** Functions that score if none is named. */
  get unnamed(): readonly string[] {
    return this.functions.includes('default') ? ['default'] : this.functions
  }

  get needsTokens(): boolean {
    return this.#description.needs.includes('tokens')
  }

  /** Answers of one function, in order. */
  async score(inputs: readonly ScoreInput[], name: string): Promise<Timed<ScoreAnswer>[]> {
    if (!this.functions.includes(name)) {
      throw new AppError(
        'sandbox/failed',
        `The code has no reward function called “${name}”.`,
        `It has: ${this.functions.join(', ') || 'none'}.`,
      )
    }
    const texts = inputs.map(({ tokens = null, ...input }) =>
      this.#text(this.needsTokens ? { ...input, tokens } : input),
    )
    return this.#call(name, texts, readScore)
  }

  async reset(inputs: readonly ResetInput[]): Promise<Timed<EnvironmentAnswer>[]> {
    return this.#turn('reset', inputs)
  }

  async step(inputs: readonly StepInput[]): Promise<Timed<EnvironmentAnswer>[]> {
    return this.#turn('step', inputs)
  }

  /** Description of a loss by its own code; null for other code. */
  get loss(): CodeDescription['loss'] | null {
    return this.#description.loss ?? null
  }

  /** Traces the loss with these settings; returns its record as JSON. */
  async trace(settings: Readonly<Record<string, unknown>>) {
    return this.#one('trace', { settings }, Math.min(traceMs, this.#limits.callMs))
  }

  /** Computes the loss's own advantages of a batch; returns them as JSON. */
  async advantages(input: { readonly rows: readonly unknown[]; readonly settings: unknown }) {
    return this.#one('advantages', input, this.#limits.callMs)
  }

  async #one(target: string, input: unknown, callMs: number) {
    const [answer] = await this.#call(target, [JSON.stringify(input)], readJson, callMs)
    if (answer === undefined) throw new Error(`Expected an answer of ${target}.`)
    return answer
  }

  /** Runs episodes of a workflow from their beginning. */
  async episode(inputs: readonly EpisodeInput[]): Promise<Timed<EpisodeAnswer>[]> {
    if (this.kind !== 'workflow') throw new AppError('sandbox/failed', 'The code is not a workflow.')
    const texts = inputs.map((input) => this.#text(input))
    return this.#call('episode', texts, readEpisode)
  }

  async #turn(target: 'reset' | 'step', inputs: readonly ResetInput[]): Promise<Timed<EnvironmentAnswer>[]> {
    if (this.kind !== 'environment') {
      throw new AppError('sandbox/failed', `The code is ${kindTitles[this.kind]}, not an environment.`)
    }
    const texts = inputs.map((input) => this.#text(input))
    return this.#call(target, texts, readTurn)
  }

  #text(input: ScoreInput | ResetInput | EpisodeInput): string {
    return JSON.stringify({ ...input, settings: { ...this.settings, ...input.settings } })
  }

  #call<Answer>(
    target: string,
    inputs: readonly string[],
    read: (text: string) => Answer,
    callMs = this.#limits.callMs,
  ): Promise<Timed<Answer>[]> {
    const answers = this.#queue.then(() => this.#answersOf({ target, inputs, read, callMs }))
    this.#queue = answers.catch(() => {})
    return answers
  }

  /**
   * Asks another process for the missing answers if one ends or has to be killed. Answers may have been lost with the
   * first; from then on each answer is sent on its own, so that the first missing one, and it alone, is to blame.
   */
  async #answersOf<Answer>(calls: Calls<Answer>): Promise<Timed<Answer>[]> {
    const { inputs, read, callMs } = calls
    const budgetMs = this.#limits.batchMs * Math.ceil(inputs.length / batchSize)
    const answers: Timed<Answer>[] = []
    let [isCareful, wastedMs] = [false, 0]
    while (answers.length < inputs.length) {
      const asked = { ...calls, inputs: inputs.slice(answers.length) }
      const end = await this.#ask(asked, isCareful, (answer) => answers.push(answer))
      if (end === null) break
      if (isCareful || asked.inputs.length === 1) {
        const lastedMs = end instanceof Overrun ? end.workedMs : 0
        answers.push({ ...read(endText(end, callMs)), durationMs: lastedMs })
        wastedMs += lastedMs
      }
      if (wastedMs >= budgetMs) break
      isCareful = true
    }
    const late = failureJson('timeout', notRun(this.#limits.batchMs))
    while (answers.length < inputs.length) answers.push({ ...read(late), durationMs: 0 })
    return answers
  }

  /** Passes answers on as they come; returns why there are no more. The next batch is sent while one is being worked on. */
  async #ask<Answer>(
    { target, inputs, read, callMs }: Calls<Answer>,
    isCareful: boolean,
    tell: (answer: Timed<Answer>) => void,
  ): Promise<Overrun | Gone | null> {
    const link = (this.#link ??= await this.#openLink())
    const { batchMs } = this.#limits
    let [sent, answered] = [0, 0]
    while (answered < inputs.length) {
      for (; sent < inputs.length && sent - answered <= batchSize; sent += batchSize) {
        const batch = inputs.slice(sent, sent + batchSize)
        link.send({ type: 'run', target, inputs: batch, batchMs, callMs, isCareful })
      }
      const message = await link.next(callLimit(callMs))
      if (message instanceof Overrun || message.type !== 'answers') {
        this.#link = null
        link[Symbol.dispose]()
        return message instanceof Overrun ? message : { type: 'gone' }
      }
      for (const { text, durationMs } of message.answers) tell({ ...read(text), durationMs })
      answered += message.answers.length
    }
    return null
  }

  async start(): Promise<void> {
    this.#link = await this.#openLink()
  }

  async #openLink(): Promise<Link> {
    if (this.#isClosed) throw new Error('Expected an open sandbox.')
    const link = await this.#startLink()
    const { memoryMb, answerCharacters } = this.#limits
    link.send({ type: 'load', ...this.#source, memoryMb, answerCharacters, loadMs })
    const message = await link.next(loadLimit)
    const isSaid = !(message instanceof Overrun)
    const description = isSaid && message.type === 'loaded' ? readDescription(message.description) : null
    if (description !== null) {
      this.#description = description
      return link
    }
    link[Symbol.dispose]()
    if (!isSaid)
      throw this.#loadError(readFailure(parsedJson(failureJson('timeout', loadedTooLong(loadMs)))).failure)
    throw this.#loadError(
      message.type === 'refused'
        ? readFailure(parsedJson(message.failure)).failure
        : message.type === 'loaded'
          ? descriptionFailure(message.description)
          : null,
    )
  }

  #loadError(failure: SandboxFailure | null): AppError {
    return loadError(failure, this.#source.file ?? 'The code')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await this.#queue
    this.#link?.[Symbol.dispose]()
    this.#link = null
  }
}

/** `subject`: what did not load. */
function loadError(failure: SandboxFailure | null, subject: string): AppError {
  if (failure === null) {
    return new AppError(
      'sandbox/failed',
      `${subject} did not load: it neither finished nor failed.`,
      'Look for work at its top level, and for settings that are not text, numbers or booleans.',
    )
  }
  const where = failure.line === null ? '' : ` (line ${failure.line}, column ${failure.column ?? 1})`
  return new AppError(
    'sandbox/failed',
    `${subject} did not load${where}: ${failure.message}`,
    isCommonJs(failure)
      ? `Modules of Node (module.exports) are not read here. Write: ${rewardForm}`
      : undefined,
    failure,
  )
}

const isCommonJs = ({ message }: SandboxFailure): boolean =>
  /\b(?:module|exports)\b'? is not defined/.test(message)
