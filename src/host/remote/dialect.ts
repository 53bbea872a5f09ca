/** What differs between the servers: the form of each request and of its answer. One file each, listed in rolloutServer.ts. */
import type { Answer, Call } from './connection.ts'

export interface TokenRequest {
  /** Name of a loaded adapter; null = the base model. */
  readonly adapter: string | null
  readonly ids: readonly number[]
  /** 0 takes the likeliest token. */
  readonly temperature: number
  readonly minNewTokens: number
  readonly maxNewTokens: number
  readonly stopIds: readonly number[]
  readonly stopStrings: readonly string[]
  /** Whole, from 0 to 2³¹ − 1. */
  readonly seed: number
}

/** null where the server gives none at all, though it was asked. */
export interface GeneratedTokens {
  readonly ids: readonly number[] | null
  /** One per id; NaN where a single one is missing. */
  readonly logprobs: readonly number[] | null
}

/** What the command that starts a server needs to know. */
export interface LaunchFacts {
  readonly model: string
  readonly host: string
  readonly port: string
  readonly rank: number
  /** Adapters that are loaded at once. */
  readonly adapters: number
  readonly contextLength: number
}

export interface Dialect {
  readonly title: string
  /** All of a command line. */
  launchCommand(facts: LaunchFacts): string
  /** What makes it give token ids, log-probabilities, those of the tempered distribution, and take adapters. */
  readonly remedies: Readonly<
    Record<'ids' | 'logprobs' | 'tempered' | 'adapters' | 'runtimeAdapters', string>
  >

  /** `model`: the name of the base model. */
  generateCall(request: TokenRequest, model: string): Call
  /** undefined where the answer is of another form. */
  readTokens(json: unknown): GeneratedTokens | undefined
  /** Whether the answer to a generation says that the adapter is not loaded. */
  isAdapterMissing(answer: Answer): boolean

  loadCall(name: string, folder: string): Call
  unloadCall(name: string): Call
  /** Whether the server has no such endpoint as it was started. */
  isLoadingOff(answer: Answer): boolean

  tokenizeCall(text: string, model: string): Call
}
