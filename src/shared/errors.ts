/**
 * Errors a person can cause. Everything else (a broken assumption in our own code) throws a plain `Error`. Across
 * processes only `{ code, message, hint, command, problems, keys }` travels.
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
  /** The system ended the process, which it does when memory is short. */
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

/** Advice: what is safe and what to do next. */
export interface Hint {
  /** Advice for everybody. */
  readonly text?: string
  /** Command to type at the command line. The window has a button for it. */
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

type ErrorOf = (message: string, hint?: string | Hint, cause?: unknown) => AppError

const errorWith =
  (code: ErrorCode): ErrorOf =>
  (...told) =>
    new AppError(code, ...told)

/** The errors that are made in most places. */
export const invalidConfig = errorWith('config/invalid')
export const invalidData = errorWith('data/invalid')
export const invalidModel = errorWith('model/invalid')
export const unsupportedModel = errorWith('model/unsupported')
export const refusal = errorWith('api/refused')
export const usageError = errorWith('usage/invalid')

/** Kinds of problems with a setting; a program that has to tell problems apart reads these, never the sentences. */
export const problemCodes = [
  /** Required setting without a value. */
  'missing',
  /** Setting that does not exist. */
  'unknown',
  /** Value of another kind. */
  'type',
  /** Number, text or list beyond its limits. */
  'range',
  /** Value that is none of the listed ones. */
  'choice',
  /** Value in none of the allowed forms. */
  'form',
  /** Contradiction to another setting. */
  'conflict',
  /** Reference to something that is missing or cannot be used: a model, rows, reward code. */
  'unusable',
  /** Value that can be trained with but is probably unintended: a warning. */
  'unwise',
] as const

export type ProblemCode = (typeof problemCodes)[number]

/** Problem with one setting of a run config. */
export interface Problem {
  /** Dotted path, list entries by number: `rewards[0].weight`; empty: the config as a whole. */
  readonly path: string
  readonly code: ProblemCode
  /** Sentence without the path in front and without a capital: “expected at least 1, got 0.” Settings are in backticks. */
  readonly message: string
  /** Index of the stage, from 0, for settings that a stage overrides. */
  readonly stage: number | null
  /** Keys to allow, if nothing else is wrong. */
  readonly keys?: readonly KeyUse[] | undefined
}

/** Formats a problem for the command line. */
export function problemSentence({ path, message, stage }: Problem): string {
  const place = [stage === null ? '' : `stages[${stage}]`, path].filter(Boolean).join('.')
  return place === '' ? message : `${place}: ${message}`
}

/** Fields of an error that other processes and the window receive. */
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

/** Error for a run config that cannot be trained. */
export class ConfigError extends AppError {
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[], hint?: string | Hint) {
    const lead = problems.length === 1 ? 'a problem' : `${problems.length} problems`
    super('config/invalid', `The run config has ${lead}: ${problems.map(problemSentence).join(' ')}`, hint)
    this.problems = problems
  }
}

/** Environment variable, and where its value is sent. */
export interface KeyUse {
  readonly variable: string
  /** Origin such as https://api.example. */
  readonly origin: string
}

/** Error for values of variables that may not be sent without permission. */
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
