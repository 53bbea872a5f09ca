/**
 * Messages between the host and a sandbox process. Answers travel as the text that the virtual machine wrote: the host
 * reads them with care.
 */

/** Why a call of user code has no answer. */
export const failureKinds = [
  'exception',
  'timeout',
  'memory',
  'stack',
  'not-a-number',
  'wrong-type',
  'too-large',
] as const

export type FailureKind = (typeof failureKinds)[number]

export type CodeLanguage = 'js' | 'ts'

export type ToSandbox =
  | {
      readonly type: 'load'
      readonly code: string
      readonly language: CodeLanguage
      readonly memoryMb: number
      readonly answerCharacters: number
      /** Processor time for evaluating the module, ms. */
      readonly loadMs: number
    }
  | {
      readonly type: 'run'
      readonly target: string
      /** Samples as JSON text. */
      readonly inputs: readonly string[]
      /** Processor time for all of them, ms. */
      readonly batchMs: number
      /** Processor time of each call, ms. */
      readonly callMs: number
      /** True: each answer is sent on its own, so that the first missing one is the one that took too long. */
      readonly isCareful: boolean
    }

export interface TimedAnswer {
  /** JSON text. */
  readonly text: string
  readonly durationMs: number
}

export type FromSandbox =
  | { readonly type: 'ready' }
  | { readonly type: 'loaded'; readonly description: string }
  /** The code does not load. */
  | { readonly type: 'refused'; readonly failure: string }
  /** The next answers of the batch, in order; the last message of a batch carries its last answer. None: it goes on. */
  | { readonly type: 'answers'; readonly answers: readonly TimedAnswer[] }

/* What is said of code that a limit ended, inside of the process and outside. */

export const stopped = (callMs: number): string => `Stopped after ${callMs} ms of processor time.`

export const loadedTooLong = (loadMs: number): string =>
  `Loading the code took more than ${loadMs / 1000} s of processor time.`

export const notRun = (batchMs: number): string =>
  `Not run: what was run before it had used up the ${batchMs} ms of processor time that 64 calls have (\`rewardLimits.batchMs\`).`

const beyondMemory =
  'The code needs more memory than it may use (`rewardLimits.memoryMb` for rewards, environments and workflows)'

export const outOfMemory = `${beyondMemory}.`

/** Message for a thrown null: the machine throws it when no memory is left to make an error of. */
export const threwNull = `${beyondMemory}, or threw null.`

export const failureJson = (kind: FailureKind, message: string, stack = ''): string =>
  JSON.stringify({ failure: { kind, message, stack } })
