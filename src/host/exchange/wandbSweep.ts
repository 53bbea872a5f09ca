/**
 * Reads and writes a sweep of Weights & Biases: YAML, JSON or a dict in Python with `method` and `parameters`. Its
 * distributions and their defaults are those of the package sweeps 0.3.0.
 */
import { isObject, type JsonObject } from '#shared/config/paths.ts'
import { invalidConfig } from '#shared/errors.ts'
import { isLogRange, type NumericRange, type Parameter, type StudyConfig } from '#shared/studies.ts'
import { asNumber, entryOf, tidy } from './links.ts'
import type { ImportNote } from './importNotes.ts'
import type { SettingsSource } from './settingsSource.ts'

/** A setting that is searched, by a name of its own program. */
export interface FoundParameter<Range = Parameter> {
  readonly name: string
  readonly range: Range
}

export interface FoundSweep {
  readonly from: 'wandb'
  readonly name: string | null
  /** Settings that the file fixes for every trial. */
  readonly fixed: ReadonlyMap<string, unknown>
  readonly parameters: readonly FoundParameter[]
  /** Remaining keys of the section. */
  readonly section: JsonObject
  /** Name and direction of the metric; null: the file does not say. */
  readonly metric: { readonly name: string | null; readonly goal: 'max' | 'min' }
  readonly notes: readonly ImportNote[]
}

const leftOut = (name: string, text: string): ImportNote => ({ kind: 'left-out', name, text })
const changed = (name: string, text: string): ImportNote => ({ kind: 'changed', name, text })

const methods: Readonly<Record<string, string>> = { grid: 'grid', random: 'random', bayes: 'bayes' }

const wandbTexts: Readonly<Record<string, string>> = {
  program: 'Turnwise trains by itself',
  command: 'Turnwise trains by itself',
  job: 'Turnwise trains by itself',
  image_uri: 'Turnwise trains by itself',
  controller: 'trials are planned on this machine',
  scheduler: 'trials are planned on this machine',
  metrics: 'trials are compared by one metric',
  description: 'studies have a name only',
  entity: 'studies are kept on this machine',
  project: 'studies are kept on this machine',
}

/** null where no sweep of W&B is described. */
export function wandbSweep({ documents, settings }: SettingsSource): FoundSweep | null {
  const document = documents.find(
    ({ method, parameters }) => typeof method === 'string' && isObject(parameters),
  )
  if (document === undefined) return null
  const notes: ImportNote[] = []
  const [parameters, fixed] = wandbParameters(document['parameters'], notes)
  // Settings of a run beside it, in a Python file.
  const others = settings.has('method') ? [] : settings
  return {
    from: 'wandb',
    parameters,
    notes,
    name: typeof document['name'] === 'string' ? document['name'] : null,
    fixed: new Map([...others, ...fixed]),
    section: wandbSection(document, notes),
    metric: wandbMetric(document['metric'], notes),
  }
}

function wandbSection(document: JsonObject, notes: ImportNote[]): JsonObject {
  const { method, early_terminate: early, run_cap: trials } = document
  const known = entryOf(methods, String(method))
  if (known === undefined) notes.push(changed('method', `method ${String(method)} became bayes.`))
  for (const [key, value] of Object.entries(document))
    if (Object.hasOwn(wandbTexts, key) && value !== null)
      notes.push(leftOut(key, `${key} was skipped: ${wandbTexts[key]}.`))
  const stop = isObject(early) ? earlyOf(early, notes) : null
  return {
    method: known ?? 'bayes',
    ...(asNumber(trials) === null ? {} : { trials }),
    ...(stop === null ? {} : { early: stop }),
  }
}

function wandbMetric(metric: unknown, notes: ImportNote[]): FoundSweep['metric'] {
  const { name, goal, ...others } = isObject(metric) ? metric : {}
  for (const key of Object.keys(others))
    notes.push(
      leftOut(`metric.${key}`, `metric.${key} was skipped: a sweep ends with its trials or its budget.`),
    )
  return { name: typeof name === 'string' ? name : null, goal: goal === 'maximize' ? 'max' : 'min' }
}

/**
 * Reads early stopping. There, runs are stopped one by one as they come to a bracket; here all of a rung are compared.
 */
function earlyOf(early: JsonObject, notes: ImportNote[]): JsonObject | null {
  const { min_iter: least, max_iter: most, s, eta } = early
  const keep = asNumber(eta) ?? 3
  const [whole, first] = [Math.min(16, Math.max(2, Math.round(keep))), asNumber(least)]
  const largest = asNumber(most)
  const from = largest === null ? first : Math.floor(largest / keep ** (asNumber(s) ?? 1))
  if (from === null || !Number.isFinite(from)) {
    notes.push(
      leftOut('early_terminate', 'early_terminate was skipped: it has neither min_iter nor max_iter.'),
    )
    return null
  }
  notes.push(
    changed(
      'early_terminate',
      `early_terminate: W&B stops a run as soon as it falls behind those before it; Turnwise compares all trials after ${Math.max(1, from)}, ${Math.max(1, from) * whole}, … steps (an iteration there is one value of the metric) and continues the best 1/${whole}.`,
    ),
  )
  return { method: 'halving', keep: whole, from: Math.max(1, from) }
}

type Fixed = readonly (readonly [name: string, value: unknown])[]

/** Nested ones by dotted names. */
function wandbParameters(parameters: unknown, notes: ImportNote[], prefix = ''): [FoundParameter[], Fixed] {
  const found: FoundParameter[] = []
  const fixed: (readonly [string, unknown])[] = []
  for (const [key, each] of Object.entries(isObject(parameters) ? parameters : {})) {
    const name = `${prefix}${key}`
    if (!isObject(each)) notes.push(leftOut(name, `${name} was skipped: it has no values.`))
    else if (isObject(each['parameters'])) {
      const [inner, constants] = wandbParameters(each['parameters'], notes, `${name}.`)
      found.push(...inner)
      fixed.push(...constants)
    } else if ('value' in each) fixed.push([name, each['value']])
    else {
      const range = wandbRange(name, each, notes)
      if (range !== null) found.push({ name, range })
    }
  }
  return [found, fixed]
}

const linear = { scale: 'linear', whole: null } as const
const log = { scale: 'log', whole: null } as const
/** Half-width, in standard deviations, of the interval that holds 95 of 100 values of a normal distribution. */
const normalSpread = 1.96

function wandbRange(name: string, given: JsonObject, notes: ImportNote[]): Parameter | null {
  const { values, distribution } = given
  if (Array.isArray(values) && values.length > 0) {
    if ('probabilities' in given)
      notes.push(changed(name, `${name}: all values are equally likely in Turnwise.`))
    return { values }
  }
  const [min, max] = [asNumber(given['min']), asNumber(given['max'])]
  const kind = typeof distribution === 'string' ? distribution : defaultKind(min, max)
  const range = normalRange(name, kind, { given, notes }) ?? limitedRange(name, kind, { min, max, notes })
  if (range === null || !kind.startsWith('q_')) return range
  return stepped(name, range, { step: asNumber(given['q']) ?? 1, notes })
}

/** Interval that holds 95 of 100 values. */
function normalRange(
  name: string,
  kind: string,
  { given, notes }: { readonly given: JsonObject; readonly notes: ImportNote[] },
): NumericRange | null {
  if (!/^(q_)?(log_)?normal$/.test(kind)) return null
  const [mean, spread] = [asNumber(given['mu']) ?? 0, (asNumber(given['sigma']) ?? 1) * normalSpread]
  const [low, high] = [tidy(mean - spread), tidy(mean + spread)]
  notes.push(
    changed(name, `${name}: its ${kind} distribution became the range that 95 of 100 values lie in.`),
  )
  return kind.includes('log')
    ? { min: Math.exp(low), max: Math.exp(high), ...log }
    : { min: low, max: high, ...linear }
}

interface Limits {
  readonly min: number | null
  readonly max: number | null
  readonly notes: ImportNote[]
}

function limitedRange(name: string, kind: string, { min, max, notes }: Limits): NumericRange | null {
  if (min === null || max === null || !(min < max)) {
    notes.push(leftOut(name, `${name} was skipped: ${kind} without limits has no range.`))
    return null
  }
  const range = wandbLimits(kind, min, max)
  if (range === null) notes.push(leftOut(name, `${name} was skipped: ${kind} has no equivalent.`))
  return range
}

const defaultKind = (min: number | null, max: number | null): string =>
  Number.isInteger(min) && Number.isInteger(max) ? 'int_uniform' : 'uniform'

/** Limits of `log_uniform` are exponents of e; of `inv_` those of 1/x, which is as likely on a log scale as x. */
function wandbLimits(kind: string, min: number, max: number): NumericRange | null {
  switch (kind.replace(/^q_/, '')) {
    case 'uniform':
      return { min, max, ...linear }
    case 'int_uniform':
      return { min, max, scale: 'linear', whole: true }
    case 'log_uniform_values':
    case 'inv_log_uniform_values':
      return min > 0 ? { min, max, ...log } : null
    case 'log_uniform':
      return { min: Math.exp(min), max: Math.exp(max), ...log }
    case 'inv_log_uniform':
      return { min: Math.exp(-max), max: Math.exp(-min), ...log }
    default:
      return null
  }
}

/** Most values that are listed; more of them are a range. */
const mostSteps = 64

/** Multiples of `step` within the limits. */
function stepped(
  name: string,
  range: NumericRange,
  { step, notes }: { readonly step: number; readonly notes: ImportNote[] },
): Parameter {
  const { min, max, scale } = range
  if (step === 1 && Number.isInteger(min) && Number.isInteger(max)) return { ...range, whole: true }
  const [first, last] = [Math.ceil(min / step - 1e-9), Math.floor(max / step + 1e-9)]
  const count = last - first + 1
  if (count >= 1 && count <= mostSteps && scale === 'linear') {
    const values = Array.from({ length: count }, (_, i) => tidy((first + i) * step))
    notes.push(changed(name, `${name}: its steps of ${step} became a list of ${count} values.`))
    return { values }
  }
  notes.push(changed(name, `${name}: values between its steps of ${step} are tried too.`))
  return range
}

/* The other way: a sweep here as the file of W&B, whose trials a program of one's own would train. */

export interface WandbFile {
  readonly document: JsonObject
  /** Sentences on what the file cannot say. */
  readonly lost: readonly string[]
}

/**
 * Writes a study as a W&B sweep; names of settings stay those of Turnwise. Errors: AppError 'config/invalid' for a
 * study that is not a sweep.
 */
export function wandbFile({ name, search }: Pick<StudyConfig, 'name' | 'search'>): WandbFile {
  if (search.kind !== 'sweep')
    throw invalidConfig('W&B has sweeps only: this study cannot be written as one.')
  const { method, parameters, fitness, trials, early, budget } = search
  const lost = [
    ...(early === null ? [] : ['early: W&B stops runs one by one; Turnwise compares all trials of a rung.']),
    ...Object.entries(budget).flatMap(([key, limit]) =>
      limit === null ? [] : [`budget.${key}: W&B has no budget of a sweep, only run_cap.`],
    ),
    ...(fitness.steps === 1 ? [] : ['fitness.steps: W&B compares by the last value of the metric.']),
    'The run config: W&B passes the searched settings to a program of your own.',
  ]
  const document = {
    ...(name === null ? {} : { name }),
    method,
    metric: { name: fitness.metric, goal: fitness.goal === 'max' ? 'maximize' : 'minimize' },
    ...(trials === null ? {} : { run_cap: trials }),
    ...(early === null
      ? {}
      : { early_terminate: { type: 'hyperband', min_iter: early.from, eta: early.keep } }),
    parameters: Object.fromEntries(
      Object.entries(parameters).map(([key, each]) => [key, wandbParameter(each)]),
    ),
  }
  return { document, lost }
}

function wandbParameter(parameter: Parameter): JsonObject {
  if ('values' in parameter) return { values: [...parameter.values] }
  const { min, max, whole } = parameter
  const isLog = isLogRange(parameter)
  if (whole !== true) return { distribution: isLog ? 'log_uniform_values' : 'uniform', min, max }
  return isLog
    ? { distribution: 'q_log_uniform_values', min, max, q: 1 }
    : { distribution: 'int_uniform', min, max }
}
