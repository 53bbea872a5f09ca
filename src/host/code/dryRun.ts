/** Dry runs: reward code on rows and completions before training, with each score, the reason and the time it takes. */
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import type { GeneratedToken } from '#rl/rewards.ts'
import { combinedReward } from '#rl/rollout/trajectoryRewards.ts'
import type { SandboxFailure, ScoreAnswer } from '#host/sandbox/answers.ts'
import { type Timed } from '#host/sandbox/sandbox.ts'
import { chosenFunctions, type ScoringCode } from '#host/sandbox/scoringCode.ts'
import { type CodeOptions, openCode, type UserCode } from './rewardCode.ts'

export interface DrySample {
  readonly prompt: string
  readonly completion: string
  readonly row: Readonly<Record<string, unknown>>
  /** null or absent: the completion was not generated here. */
  readonly tokens?: readonly GeneratedToken[] | null
}

export interface DryRunOptions extends CodeOptions {
  /** The only function to run; absent: the default one, or all if there is no default. */
  readonly function?: string
  readonly settings?: Readonly<Record<string, string | number | boolean>>
}

export type DryRunRow = OutputOf<Api, 'rewards.runTests'>[number]['score']

export interface DryRun {
  readonly functions: readonly string[]
  readonly rows: readonly DryRunRow[]
}

/** Errors: AppError 'sandbox/failed' for code that does not load, 'config/invalid' for a function it does not have. */
export async function dryRun(
  source: UserCode,
  samples: readonly DrySample[],
  options: DryRunOptions = {},
): Promise<DryRun> {
  await using opened = await openDryRun(source, options)
  return { functions: opened.functions, rows: await opened.score(samples) }
}

/** Code that is opened once and scores samples as they come. */
export interface OpenDryRun extends AsyncDisposable {
  readonly functions: readonly string[]
  readonly needsTokens: boolean
  /** Returns one row per sample, in order. */
  score(samples: readonly DrySample[]): Promise<DryRunRow[]>
}

/** Errors as dryRun. */
export async function openDryRun(source: UserCode, options: DryRunOptions = {}): Promise<OpenDryRun> {
  const code = await openCode(source, options)
  const close = () => code[Symbol.asyncDispose]()
  try {
    const functions = chosenFunctions(code, options.function ?? null)
    const score = (samples: readonly DrySample[]) => scoreSamples(code, functions, { samples, options })
    return { functions, needsTokens: code.needsTokens, score, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

async function scoreSamples(
  code: ScoringCode,
  functions: readonly string[],
  { samples, options }: { readonly samples: readonly DrySample[]; readonly options: DryRunOptions },
): Promise<DryRunRow[]> {
  const inputs = samples.map((sample) => ({ ...sample, step: 0, settings: options.settings ?? {} }))
  const answers: Timed<ScoreAnswer>[][] = []
  for (const name of functions) answers.push(await code.score(inputs, name))
  return samples.map((_, i) =>
    dryRow(
      functions.flatMap((name, k) => (answers[k]?.[i] ? [{ name, answer: answers[k][i] }] : [])),
      samples[i]?.tokens ?? null,
    ),
  )
}

interface Named {
  readonly name: string
  readonly answer: Timed<ScoreAnswer>
}

/** Adds up the answers as a run does, with a weight of 1 for every function. */
export function dryRow(answers: readonly Named[], tokens: readonly GeneratedToken[] | null): DryRunRow {
  const reward = combinedReward(
    answers.map(({ name, answer }) => ({ spec: { name, weight: 1 }, answer })),
    'null',
    ...(tokens === null ? [] : [[tokens.length]]),
  )
  const failed = reward.failures.map(
    ({ name, message }) => [name, failureOf(answers, name, message)] as const,
  )
  return {
    total: reward.total,
    parts: reward.parts,
    failures: Object.fromEntries(failed),
    columns: reward.logged ?? {},
    metrics: reward.metrics ?? {},
    lines: answers.flatMap(({ answer }) => answer.lines),
    durationMs: answers.reduce((sum, { answer }) => sum + answer.durationMs, 0),
  }
}

/** Returns the failure that the code reported, or one of kind 'too-large' for a number that no run accepts. */
function failureOf(answers: readonly Named[], name: string, message: string): SandboxFailure {
  const answer = answers.find((each) => each.name === name)?.answer
  if (answer !== undefined && 'failure' in answer) return answer.failure
  return { kind: 'too-large', message, line: null, column: null }
}
