/**
 * Reading what a sandbox says. The text was put together in the same realm as user code, so it may hold anything: only
 * what has the expected form gets through.
 */
import { z } from 'zod'
import type { EnvironmentTurn } from '#rl/rollout/environment.ts'
import { schemaProblems } from '#shared/config/problems.ts'
import { lossDescriptionSchema } from '#shared/losses.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import { answerLimits } from './harness.ts'
import { failureKinds, type FailureKind } from './protocol.ts'

/** Why user code gave no answer for one sample. */
export interface SandboxFailure {
  readonly kind: FailureKind
  readonly message: string
  /** Position in the code as it was written, from 1; null where it is not known. */
  readonly line: number | null
  readonly column: number | null
}

export interface Logged {
  /** Values that the code logged for this sample, by column. */
  readonly columns: Readonly<Record<string, unknown>>
  readonly metrics: Readonly<Record<string, number>>
  /** Lines written with console.log. */
  readonly lines: readonly string[]
}

/** A RewardAnswer, as learning takes it, with what the code printed. */
export type ScoreAnswer =
  | ({
      /** Reward; the sum of rewards per token or turn. */
      readonly value: number | null
      readonly perToken?: readonly number[] | undefined
      readonly perTurn?: readonly number[] | undefined
    } & Logged)
  | Failed

export interface Failed {
  readonly failure: SandboxFailure
  readonly lines: readonly string[]
}

export type EnvironmentAnswer = (EnvironmentTurn & Logged) | Failed

const descriptionSchema = z.object({
  kind: z.enum(['reward', 'environment', 'loss', 'workflow']),
  functions: z.array(z.string()),
  settings: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  /** Description of a loss by its own code. */
  loss: lossDescriptionSchema.optional(),
  /** Inputs that its functions ask for besides texts and rows. */
  needs: z.array(z.literal('tokens')).default([]),
})
export type CodeDescription = z.output<typeof descriptionSchema>

const name = z.string().max(answerLimits.nameCharacters + 1)
const numbers = z.record(name, z.number())
const lines = z.array(z.string())
export const logged = { columns: z.record(name, z.unknown()), metrics: numbers, lines }
const failureSchema = z.object({
  failure: z.object({ kind: z.enum(failureKinds), message: z.string(), stack: z.string() }),
  lines: lines.default([]),
})
const rewards = z.array(z.number())
const scoreSchema = z.union([
  z.object({ value: z.number().nullable(), ...logged }),
  z
    .object({ perToken: rewards, ...logged })
    .transform((answer) => ({ ...answer, value: sumOf(answer.perToken) })),
  z
    .object({ perTurn: rewards, ...logged })
    .transform((answer) => ({ ...answer, value: sumOf(answer.perTurn) })),
])
const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)
const message = z.looseObject({ role: z.string(), content: z.string() })
const turnSchema = z.object({
  state: z.unknown(),
  observation: z
    .union([z.string(), z.array(message)], { error: 'must be text or a list of {role, content} messages' })
    .nullish(),
  tools: z.array(z.looseObject({})).max(128).nullish(),
  reward: z.number({ error: 'must be a finite number' }).nullish(),
  terminated: z.boolean({ error: 'must be true or false' }),
  truncated: z.boolean({ error: 'must be true or false' }),
  ...logged,
})

/** Errors: SandboxFailure as a value. */
export function readScore(text: string): ScoreAnswer {
  const json = parsedJson(text)
  const result = scoreSchema.safeParse(json)
  return result.success ? result.data : readFailure(json)
}

export function readTurn(text: string): EnvironmentAnswer {
  const json = parsedJson(text)
  const result = turnSchema.safeParse(json)
  if (!result.success) {
    const other = failureSchema.safeParse(json)
    return other.success ? readFailure(json) : misshapen(result.error)
  }
  const { state, observation, tools, reward, ...rest } = result.data
  return {
    ...(tools && { tools }),
    state: state ?? null,
    observation: observation ?? null,
    reward: reward ?? null,
    ...rest,
  }
}

/** Reads the JSON that a loss recorded, or the advantages of a batch; the caller checks its form. */
export function readJson(text: string): { readonly json: unknown } | Failed {
  const json = parsedJson(text)
  const failed = failureSchema.safeParse(json)
  return failed.success || json === null ? readFailure(json) : { json }
}

export function readDescription(text: string): CodeDescription | null {
  const result = descriptionSchema.safeParse(parsedJson(text))
  return result.success ? result.data : null
}

/** Returns the sentence for a loss whose description is none that `readDescription` reads; null for anything else. */
export function descriptionFailure(text: string): SandboxFailure | null {
  const given = z.object({ loss: z.unknown() }).safeParse(parsedJson(text)).data?.loss
  const result = lossDescriptionSchema.safeParse(given, { reportInput: true })
  const [first] = given === undefined || result.success ? [] : schemaProblems(result.error.issues)
  if (first === undefined) return null
  return { kind: 'wrong-type', message: `${first.path}: ${first.message}`, line: null, column: null }
}

export function readFailure(json: unknown): Failed {
  const result = failureSchema.safeParse(json)
  if (!result.success) return { failure: unreadable, lines: [] }
  const { failure, lines: printed } = result.data
  const { kind, message: sentence, stack } = failure
  return { failure: { kind, message: sentence, ...position(stack, sentence) }, lines: printed }
}

const unreadable: SandboxFailure = {
  kind: 'wrong-type',
  message: 'The answer cannot be read.',
  line: null,
  column: null,
}

/** `what`: who is wrong, where that is not the answer itself. */
export function misshapen(error: z.ZodError, what?: string): Failed {
  const issue = error.issues[0]
  const place = issue?.path.join('.') ?? ''
  const own = place === '' ? (what ?? 'The answer') : `${what === undefined ? '' : `${what}: `}“${place}”`
  const sentence = `${own} ${issue?.message ?? 'cannot be read'}.`
  return { failure: { ...unreadable, message: sentence }, lines: [] }
}

/** The innermost frame that lies in user code: “at score (code:3:14)”, or a syntax error's own words. */
function position(stack: string, sentence: string): Pick<SandboxFailure, 'line' | 'column'> {
  const found = /\bcode:(\d{1,9}):(\d{1,9})/.exec(stack) ?? /\bcode:(\d{1,9}):(\d{1,9})/.exec(sentence)
  return found === null ? { line: null, column: null } : { line: Number(found[1]), column: Number(found[2]) }
}
