/**
 * Errors a person can cause. Everything else (a broken assumption in our own code) throws a plain `Error`.
 * Across processes only `{ code, message, hint, command, problems, keys }` travels.
 */
import { commandWord } from './shownText.ts'

export type ErrorCode =
  | 'config/invalid'
  | 'model/invalid'
  | 'model/unsupported'
  | 'adapter/invalid'
  | 'checkpoint/invalid'
  | 'data/invalid'
  | 'tokenizer/invalid'
  | 'file/unreadable'
  | 'file/unwritable'
  | 'file/exists'
  | 'device/unavailable'
  | 'device/unsound'
  | 'device/out-of-memory'
  | 'runtime/out-of-memory'
  | 'runtime/failed'
  /** The system ended the process, which it does where memory is short. */
  | 'runtime/killed'
  | 'reward/failed'
  | 'reward/none'
  | 'environment/failed'
  | 'loss/failed'
  | 'script/failed'
  | 'workflow/failed'
  | 'probe/failed'
  | 'run/diverged'
  | 'run/unsound'
  | 'run/destroyed'
  | 'run/busy'
  | 'run/not-found'
  | 'run/stopped'
  | 'store/unreadable'
  | 'store/too-new'
  | 'store/busy'
  | 'sandbox/failed'
  /** The owner of this machine has not allowed it to run. */
  | 'python/not-allowed'
  /** The owner of this machine has not allowed the value of a variable to be sent there. */
  | 'key/not-allowed'
  | 'server/unreachable'
  | 'server/unsuitable'
  | 'server/failed'
  | 'engine/unsuitable'
  | 'engine/failed'
  | 'api/unknown'
  | 'api/invalid'
  | 'api/refused'
  | 'api/disconnected'
  | 'api/cancelled'
  | 'usage/invalid'

/** What is safe and what to do next. */
export interface Hint {
  /** For everybody. */
  readonly text?: string
  /** For who works at the command line: what to type. The window has a button for it. */
  readonly command: string
}

/** An error that a person can cause and fix; `message` says in a sentence what is wrong, `hint` what to do. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly hint: string | undefined
  readonly command: string | undefined

  constructor(code: ErrorCode, message: string, hint?: string | Hint, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'AppError'
    this.code = code
    this.hint = typeof hint === 'object' ? hint.text : hint
    this.command = typeof hint === 'object' ? hint.command : undefined
  }
}

/** What can be wrong with a setting; a program that has to tell problems apart reads these, never the sentences. */
export const problemCodes = [
  /** It has no default and was not given. */
  'missing',
  /** There is no such setting. */
  'unknown',
  /** Another kind of value. */
  'type',
  /** A number, a text or a list beyond its limits. */
  'range',
  /** None of the listed values. */
  'choice',
  /** None of the forms that the value may have. */
  'form',
  /** It contradicts another setting. */
  'conflict',
  /** What it names is not there or cannot be used: a model, rows, reward code. */
  'unusable',
  /** It can be trained with, but is hardly meant: a warning. */
  'unwise',
] as const

export type ProblemCode = (typeof problemCodes)[number]

/** What is wrong with one setting of a run config. */
export interface Problem {
  /** Dotted, entries of lists by number: `rewards[0].weight`; empty: the config as a whole. */
  readonly path: string
  readonly code: ProblemCode
  /** Without the path in front, without a capital: “expected at least 1, got 0.” Settings it names stand in backticks. */
  readonly message: string
  /** Counted from 0, for what a stage says otherwise than the rest of the config. */
  readonly stage: number | null
  /** Keys to allow, where nothing else is wrong. */
  readonly keys?: readonly KeyUse[] | undefined
}

/** As the command line says it. */
export function problemSentence({ path, message, stage }: Problem): string {
  const place = [stage === null ? '' : `stages[${stage}]`, path].filter(Boolean).join('.')
  return place === '' ? message : `${place}: ${message}`
}

/** All of an error that another process or the window gets. */
export interface ErrorFields {
  readonly code: ErrorCode
  readonly message: string
  readonly hint?: string | null | undefined
  readonly command?: string | undefined
  readonly problems?: readonly Problem[] | undefined
  readonly keys?: readonly KeyUse[] | undefined
}

export const errorFields = (error: AppError) => ({
  code: error.code,
  message: error.message,
  hint: error.hint ?? null,
  ...(error.command === undefined ? {} : { command: error.command }),
  ...(error instanceof ConfigError ? { problems: error.problems } : {}),
  ...(error instanceof KeysError ? { keys: error.keys } : {}),
})

export function errorOf({ code, message, hint, command, problems, keys }: ErrorFields): AppError {
  if (keys !== undefined) return new KeysError(keys)
  const text = hint ?? undefined
  const told = command === undefined ? text : { ...(text === undefined ? {} : { text }), command }
  return problems === undefined ? new AppError(code, message, told) : new ConfigError(problems, told)
}

/** A run config that cannot be trained. */
export class ConfigError extends AppError {
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[], hint?: string | Hint) {
    const lead = problems.length === 1 ? 'a problem' : `${problems.length} problems`
    super('config/invalid', `The run config has ${lead}: ${problems.map(problemSentence).join(' ')}`, hint)
    this.problems = problems
  }
}

/** An environment variable, and where its value is sent. */
export interface KeyUse {
  readonly variable: string
  /** Such as https://api.example. */
  readonly origin: string
}

/** Values of variables that nobody allowed to be sent. */
export class KeysError extends AppError {
  readonly keys: readonly KeyUse[]

  constructor(keys: readonly KeyUse[]) {
    const what = keys.map(({ variable, origin }) => `the value of ${variable} to ${origin}`).join(', ')
    super('key/not-allowed', `Sending ${what} has not been allowed on this machine.`, {
      text: 'Nothing was sent. A config can name any variable and any address: allow it only where the key is meant for that address.',
      command: `turnwise key allow ${keys.map(({ variable, origin }) => commandWord(`${variable}@${origin}`)).join(' ')}`,
    })
    this.keys = keys
  }
}
