/**
 * Studies: several runs of one config that answer a question together. The file of a study is the file of a run with
 * one more section that defines how its trials differ:
 *
 * - `population`: trials train side by side; at regular intervals the best are cloned and their settings mutated
 * (AgileRL);
 * - `sweep`: settings from a grid, at random or where they look most promising, with weak trials stopped early;
 * - `seeds`: the same settings under several seeds.
 *
 * The next trials of a study follow from this file and the results so far alone (`rl/studies/plan.ts`).
 */
import { z } from 'zod'
import { count } from './api/common.ts'
import type { Immutable } from './api/contract.ts'
import { schemaProblems, conflict, refuse } from './config/problems.ts'
import { sectionsOf, type SettingField } from './config/fields.ts'
import { maxSetting, maxStepCount, wholeNumber } from './config/settings.ts'
import { isObject, valueAt, type JsonObject } from './config/paths.ts'
import { ConfigError, type Problem } from './errors.ts'

const maxTrials = 1024

const key = z
  .string()
  .regex(/^[A-Za-z][\w-]*(\.[\w-]+)*$/)
  .describe('Setting by its dotted key, such as optimization.learningRate.')

/** Null: as in the setting's own schema. */
const isWhole = z
  .boolean()
  .nullable()
  .default(null)
  .meta({ description: 'Whole numbers only.', empty: 'as the setting itself' })

const bound = z.number().min(-maxSetting).max(maxSetting)

const range = z.strictObject({
  min: bound,
  max: bound,
  scale: z.enum(['linear', 'log']).nullable().default(null).meta({
    description: 'How values are spread between the limits.',
    empty: 'log where the limits are positive and at least a factor of 10 apart',
  }),
  whole: isWhole,
})

const choice = z.strictObject({
  values: z
    .array(z.unknown())
    .min(1)
    .max(maxTrials)
    .readonly()
    .describe('Values to choose from, of any kind.'),
})

const parameter = z.union([range, choice], {
  error: 'a list of values as {"values": [0.1, 0.2]}, or a range as {"min": 0.1, "max": 1}',
})

const mutated = range.extend({
  grow: z.number().gt(1).max(100).default(1.2).describe('Factor by which a mutation enlarges the value.'),
  shrink: z.number().gt(0).lt(1).default(0.8).describe('Factor by which a mutation reduces the value.'),
})

const fitness = z.strictObject({
  metric: z
    .string()
    .min(1)
    .default('eval_reward')
    .meta({ label: 'Fitness' })
    .describe('Metric that trials are compared by, at the step where they are compared.'),
  goal: z
    .enum(['max', 'min'])
    .default('max')
    .meta({ options: { max: 'Maximise', min: 'Minimise' } })
    .describe('Whether more of it is better, or less.'),
  steps: wholeNumber(1, maxStepCount)
    .default(1)
    .meta({ label: 'Fitness over steps' })
    .describe('Mean over so many last steps; for metrics that every step reports.'),
})

const population = z.strictObject({
  size: wholeNumber(2, 256).default(6).meta({ label: 'Members', description: 'That train side by side.' }),
  every: wholeNumber(1, maxStepCount).meta({
    label: 'Steps per generation',
    description: 'After so many steps members are compared, cloned and mutated.',
  }),
  tournament: wholeNumber(1, 256)
    .default(2)
    .meta({ label: 'Tournament size', description: 'Members drawn for each tournament.' }),
  elitism: z.boolean().default(true).describe('The best member always survives.'),
  initial: z
    .enum(['spread', 'same'])
    .default('spread')
    .meta({ label: 'First values', options: { spread: 'Spread over the ranges', same: 'As in the config' } })
    .describe('First values: spread over the ranges, or those of the config for every member.'),
  mutation: z
    .strictObject({
      probability: z
        .number()
        .min(0)
        .max(1)
        .default(0.85)
        .meta({ label: 'Mutation probability', description: 'Chance that a member is mutated.' }),
      elite: z
        .boolean()
        .default(true)
        .meta({ label: 'Mutate the best too', description: 'Whether the best member may be mutated too.' }),
      parameters: z.record(key, mutated).default({}).describe('Settings that mutate, each with its range.'),
    })
    .prefault({}),
  fitness: fitness.prefault({}),
})

const budget = z.strictObject({
  steps: wholeNumber(1, Number.MAX_SAFE_INTEGER)
    .nullable()
    .default(null)
    .meta({ label: 'Budget (steps)', description: 'Steps of all trials.', empty: 'no limit' }),
  tokens: wholeNumber(1, Number.MAX_SAFE_INTEGER).nullable().default(null).meta({
    label: 'Budget (tokens)',
    empty: 'no limit',
    description: 'Tokens that all trials generate and learn from.',
  }),
  hours: z
    .number()
    .positive()
    .max(100_000)
    .nullable()
    .default(null)
    .meta({ label: 'Budget (hours)', description: 'Hours that trials train.', empty: 'no limit' }),
})

const early = z.strictObject({
  method: z
    .enum(['halving', 'hyperband'])
    .meta({ options: { halving: 'Successive halving', hyperband: 'Hyperband' } })
    .describe('Successive halving, or Hyperband: several halvings that begin with more or fewer trials.'),
  /** Li et al. 2018, «Hyperband», section 3: η. */
  keep: wholeNumber(2, 16)
    .default(3)
    .meta({ label: 'Keep one in', description: 'One of so many trials goes on to the next rung.' }),
  from: wholeNumber(1, maxStepCount).meta({
    label: 'First comparison (steps)',
    description: 'Steps after which trials are compared for the first time.',
  }),
})

const sweep = z.strictObject({
  method: z
    .enum(['grid', 'random', 'bayes'])
    .default('bayes')
    .meta({ options: { grid: 'Grid', random: 'Random', bayes: 'Bayesian' } })
    .describe('All combinations, a quasi-random sequence, or a tree of Parzen estimators (TPE).'),
  parameters: z.record(key, parameter).describe('Settings to search over.'),
  points: wholeNumber(2, 100)
    .default(5)
    .meta({ label: 'Points per range', description: 'With a grid: values of each range.' }),
  trials: wholeNumber(1, maxTrials)
    .nullable()
    .default(null)
    .meta({ description: 'Trials at most.', empty: 'the whole grid; 20 otherwise' }),
  batch: wholeNumber(1, 64)
    .default(1)
    .meta({ label: 'Trials per batch' })
    .describe('Trials that are proposed together, so that they can train at the same time.'),
  early: early.nullable().default(null).meta({
    label: 'Early stopping',
    description: 'Ends weak trials early.',
    empty: 'every trial trains to its end',
  }),
  budget: budget.prefault({}),
  fitness: fitness.prefault({}),
})

const seeds = z.strictObject({
  values: z
    .union([wholeNumber(2, 100), z.array(wholeNumber(0, Number.MAX_SAFE_INTEGER)).min(2).max(100).readonly()])
    .describe('How many seeds, beginning with that of the config; or the seeds themselves.'),
  fitness: fitness.prefault({}),
})

/** Kinds in the order in which they are offered. */
export const studyKinds = ['sweep', 'population', 'seeds'] as const
export type StudyKind = (typeof studyKinds)[number]

const studySchema = z.strictObject({
  name: z.string().min(1).max(200).optional().describe('Shown in lists.'),
  parallel: wholeNumber(1, 256).nullable().default(null).meta({
    label: 'Trials at the same time',
    description: 'Trials that train at the same time; the result does not depend on it.',
    empty: 'as many as cores and memory allow',
  }),
  population: population.optional(),
  sweep: sweep.optional(),
  seeds: seeds.optional(),
})

/** Settings of each kind of study as form fields; searched settings and seeds have editors of their own. */
export const studyFields: Readonly<Record<StudyKind, readonly SettingField[]>> = (() => {
  const sections = sectionsOf(studySchema)
  const own = (kind: StudyKind) => [
    ...(sections.find(({ id }) => id === kind)?.fields ?? []).filter(
      ({ key }) => !key.endsWith('.parameters') && key !== 'seeds.values',
    ),
    ...sections.flatMap(({ fields }) => fields.filter(({ key }) => key === 'parallel')),
  ]
  return { population: own('population'), sweep: own('sweep'), seeds: own('seeds') }
})()
export type Population = z.output<typeof population>
export type Sweep = z.output<typeof sweep>
export type Seeds = z.output<typeof seeds>
export type Fitness = z.output<typeof fitness>
export type Parameter = z.output<typeof parameter>
export type NumericRange = z.output<typeof range>
export type MutatedRange = z.output<typeof mutated>

/** Study from its file, in two parts. */
export interface StudyConfig extends Pick<z.output<typeof studySchema>, 'parallel'> {
  readonly name: string | null
  /** Search that defines how trials differ. */
  readonly search: Search
  /** Config of a run in file form, without the settings that trials change. */
  readonly run: JsonObject
}

export type Search =
  | ({ readonly kind: 'population' } & Population)
  | ({ readonly kind: 'sweep' } & Sweep)
  | ({ readonly kind: 'seeds' } & Seeds)

/** Checks the section of the study; that of the run is checked with the values of its trials. Errors: ConfigError. */
export function parseStudyConfig(json: unknown): StudyConfig {
  const { population, sweep, seeds, parallel, ...run } = isObject(json) ? json : {}
  const { name } = run
  const given = { name, parallel, population, sweep, seeds }
  const result = studySchema.safeParse(given, { reportInput: true })
  if (!result.success) throw new ConfigError(schemaProblems(result.error.issues), 'Correct the file.')
  const found = studyKinds.filter((kind) => result.data[kind] !== undefined)
  const [kind] = found
  if (kind === undefined || found.length > 1)
    throw new ConfigError([conflict(kind ?? 'sweep', onlyOne(found))], 'Correct the file.')
  const search = { kind, ...result.data[kind] } as Search
  refuse(problemsOf(search, run))
  return { name: result.data.name ?? null, parallel: result.data.parallel, search, run }
}

const onlyOne = (found: readonly StudyKind[]): string =>
  found.length === 0
    ? `a study has one of the sections ${studyKinds.join(', ')}.`
    : `a study has one of these sections, this file has ${found.join(' and ')}.`

function problemsOf(search: Search, run: JsonObject): Problem[] {
  if (search.kind === 'seeds') return []
  const parameters = searchedParameters(search)
  const place = search.kind === 'sweep' ? 'sweep.parameters' : 'population.mutation.parameters'
  const wrong = Object.entries(parameters).flatMap(([name, parameter]) => {
    const words = wrongRange(parameter) ?? (isSection(run, name) ? 'a section, not a setting.' : null)
    return words === null ? [] : [conflict(`${place}.${name}`, words)]
  })
  const isEmpty = Object.keys(parameters).length === 0
  return isEmpty ? [conflict(place, 'name at least one setting.')] : wrong
}

function wrongRange(parameter: Parameter): string | null {
  if ('values' in parameter) return null
  const { min, max, scale } = parameter
  if (max <= min) return `max ${max} is not more than min ${min}.`
  return scale === 'log' && min <= 0 ? `min ${min}: a log scale needs limits above 0.` : null
}

/** True for whole sections of the file, which cannot be searched; an algorithm with its settings can. */
const isSection = (run: JsonObject, name: string): boolean =>
  name !== 'algorithm' && !name.includes('.') && isObject(valueAt(run, name))

export const isLogRange = ({ min, max, scale }: NumericRange): boolean =>
  scale === null ? min > 0 && max / min >= 10 : scale === 'log'

/** Searched settings, by dotted key; empty for seeds. */
export function searchedParameters(search: Search): Readonly<Record<string, Parameter>> {
  if (search.kind === 'seeds') return {}
  return search.kind === 'sweep' ? search.parameters : search.mutation.parameters
}

/** Settings that differ between the trials of a search, by dotted key; for seeds, only those. */
export const searchedKeys = (search: Search): string[] =>
  search.kind === 'seeds' ? ['seed'] : Object.keys(searchedParameters(search))

/** Sections and settings of a run that a clone cannot change. */
export const fixedInClones: readonly string[] = [
  'adapter',
  'model',
  'base',
  'stages',
  'steps',
  'passes',
  'seed',
]

/* What a study knows of its trials. */

const trialParent = z.object({
  index: count,
  /** Step of the checkpoint. */
  step: count,
})

const trialMutation = z.object({ key: z.string(), from: z.number(), to: z.number() })

/** A trial is a run. In a population, a clone is a trial of its own, which starts as a fork of its parent. */
export const trial = z.object({
  /** Index from 0, in starting order. */
  index: count,
  /** Number of its member in a population: the best keeps it, clones get new ones. Otherwise equal to `index`. */
  member: count,
  /** Generation of its start, from 0; in a sweep, the bracket of Hyperband or the batch. */
  generation: count,
  /** Settings by dotted key that differ from the config. */
  settings: z.record(z.string(), z.unknown()),
  /** Trial whose weights, optimizer state and settings it starts with; null: it starts from the config. */
  parent: trialParent.nullable(),
  /** Setting mutated when it was cloned. */
  mutation: trialMutation.nullable(),
})

export const trialResult = z.object({
  trial: count,
  step: count,
  /** Null: it failed, or its metric was NaN or infinite. */
  fitness: z.number().nullable(),
  /** Used since its last result. */
  tokens: z.number(),
  seconds: z.number(),
  /** Reason of a failure; a failed trial is not continued. */
  error: z.string().optional(),
})

export type TrialMutation = Immutable<z.output<typeof trialMutation>>
export type Trial = Immutable<z.output<typeof trial>>
export type TrialResult = Immutable<z.output<typeof trialResult>>

/** Plan derived from a study's config and results. */
export interface StudyPlan {
  readonly trials: readonly Trial[]
  /** Trials to be trained now, in this order; several can be trained at the same time. */
  readonly pending: readonly { readonly trial: number; readonly until: number }[]
  /** Best at the last step that any trial reached; null before the first result. */
  readonly best: TrialResult | null
  readonly isOver: boolean
}
