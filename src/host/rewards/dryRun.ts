/** Reward code on rows and completions, before anything is trained: what each one earns, why, and how long it takes. */
import type { SandboxFailure, ScoreAnswer } from '../sandbox/answers.ts'
import {
  openSandbox,
  type CodeSource,
  type Sandbox,
  type SandboxLimits,
  type Timed,
} from '../sandbox/sandbox.ts'
import { chosenFunctions } from './sandboxedReward.ts'

export interface DrySample {
  readonly prompt: string
  readonly completion: string
  readonly row: Readonly<Record<string, unknown>>
}

export interface DryRunOptions {
  /** Only this function; otherwise the default one, else all. */
  readonly function?: string
  readonly settings?: Readonly<Record<string, string | number | boolean>>
  readonly limits?: Partial<SandboxLimits>
}

export interface DryRunRow {
  /** Sum of the parts that apply; null when none does. */
  readonly total: number | null
  readonly parts: Readonly<Record<string, number | null>>
  /** What went wrong, by function. */
  readonly failures: Readonly<Record<string, SandboxFailure>>
  readonly columns: Readonly<Record<string, unknown>>
  readonly metrics: Readonly<Record<string, number>>
  readonly lines: readonly string[]
  readonly durationMs: number
}

export interface DryRun {
  readonly functions: readonly string[]
  readonly rows: readonly DryRunRow[]
}

/** Errors: AppError 'sandbox/failed' for code that does not load, 'config/invalid' for a function it does not have. */
export async function dryRun(
  source: CodeSource,
  samples: readonly DrySample[],
  options: DryRunOptions = {},
): Promise<DryRun> {
  await using opened = await openDryRun(source, options)
  return { functions: opened.functions, rows: await opened.score(samples) }
}

/** Code that is opened once for samples that come one after the other. */
export interface OpenDryRun extends AsyncDisposable {
  readonly functions: readonly string[]
  /** In the order of the samples. */
  score(samples: readonly DrySample[]): Promise<DryRunRow[]>
}

/** Errors as dryRun. */
export async function openDryRun(source: CodeSource, options: DryRunOptions = {}): Promise<OpenDryRun> {
  const sandbox = await openSandbox(source, options.limits)
  const close = () => sandbox[Symbol.asyncDispose]()
  try {
    const functions = chosenFunctions(sandbox, options.function ?? null)
    const score = (samples: readonly DrySample[]) => scoreSamples(sandbox, functions, { samples, options })
    return { functions, score, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

async function scoreSamples(
  sandbox: Sandbox,
  functions: readonly string[],
  { samples, options }: { readonly samples: readonly DrySample[]; readonly options: DryRunOptions },
): Promise<DryRunRow[]> {
  const inputs = samples.map((sample) => ({ ...sample, step: 0, settings: options.settings ?? {} }))
  const answers: Timed<ScoreAnswer>[][] = []
  for (const name of functions) answers.push(await sandbox.score(inputs, name))
  return samples.map((_, i) =>
    dryRow(functions.flatMap((name, k) => (answers[k]?.[i] ? [{ name, answer: answers[k][i] }] : []))),
  )
}

interface Named {
  readonly name: string
  readonly answer: Timed<ScoreAnswer>
}

function dryRow(answers: readonly Named[]): DryRunRow {
  const scored = answers.flatMap(({ name, answer }) => ('failure' in answer ? [] : [{ name, ...answer }]))
  const values = scored.map(({ value }) => value).filter((value) => value !== null)
  return {
    total: values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0),
    parts: Object.fromEntries(
      answers.map(({ name, answer }) => [name, 'failure' in answer ? null : answer.value]),
    ),
    failures: Object.fromEntries(
      answers.flatMap(({ name, answer }) => ('failure' in answer ? [[name, answer.failure]] : [])),
    ),
    columns: Object.assign({}, ...scored.map(({ columns }) => columns)) as Record<string, unknown>,
    metrics: Object.assign({}, ...scored.map(({ metrics }) => metrics)) as Record<string, number>,
    lines: answers.flatMap(({ answer }) => answer.lines),
    durationMs: answers.reduce((sum, { answer }) => sum + answer.durationMs, 0),
  }
}
