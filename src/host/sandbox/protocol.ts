/** What the host and a sandbox process say to each other. Answers travel as the text the virtual machine wrote: the host reads them with care. */
export type CodeLanguage = 'js' | 'ts'

export type ToSandbox =
  | {
      readonly type: 'load'
      readonly code: string
      readonly language: CodeLanguage
      readonly memoryMb: number
      readonly answerCharacters: number
    }
  | {
      readonly type: 'run'
      readonly target: string
      /** Samples as JSON text. */
      readonly inputs: readonly string[]
      /** Processor time for all of them, ms. */
      readonly batchMs: number
      /** Of each call. */
      readonly callMs: number
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
  /** The next answers of the batch, in order; the last message of a batch carries its last answer. */
  | { readonly type: 'answers'; readonly answers: readonly TimedAnswer[] }
