/** Translates the names and values of a search in a file of another tool into those of a study here. */
import { isObject, valueAt, type JsonObject } from '#shared/config/paths.ts'
import { findDeclaration } from '#shared/metrics.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { fixedInClones, parseStudyConfig, type Parameter } from '#shared/studies.ts'
import type { ToolId } from '#shared/tools.ts'
import { foundPopulation, type FoundPopulation } from './agilerlSearch.ts'
import { rowsFor } from './settingsTable.ts'
import type { ImportNote, TakenSetting } from './importNotes.ts'
import type { SettingsSource } from './settingsSource.ts'
import { wandbSweep, type FoundParameter, type FoundSweep } from './wandbSweep.ts'

export type FoundSearch = FoundPopulation | FoundSweep

/** null: the file describes a single run. */
export const foundSearch = (source: SettingsSource): FoundSearch | null =>
  wandbSweep(source) ?? foundPopulation(source)

/** Scope in which names are looked up. */
export interface NameSpace {
  /** Tool whose names are used; null: names are those of Turnwise. */
  readonly tool: ToolId | null
  readonly algorithm: string
  /** A name as the tool's table has it. */
  readonly commonName: (written: string) => string
  /** The file's value of a setting, by its common name. */
  readonly given: (name: string) => unknown
}

export interface ImportedStudy {
  /** `{ population }` or `{ sweep }`: what stands beside the config in the file of the study. */
  readonly section: JsonObject
  readonly taken: readonly TakenSetting[]
  readonly notes: readonly ImportNote[]
}

/** Errors: AppError 'config/invalid' where nothing of it can be searched here. */
export function importStudy(search: FoundSearch, config: RunConfig, space: NameSpace): ImportedStudy {
  const notes: ImportNote[] = [...search.notes]
  const parameters: Record<string, unknown> = {}
  const taken: TakenSetting[] = []
  for (const parameter of search.parameters) {
    const { name: written } = parameter
    const found = translated(parameter, space, notes)
    if (found === null) {
      const text = `${written} was skipped: ${space.algorithm} has no such setting in Turnwise.`
      if (!notes.some(({ name }) => name === written)) notes.push({ kind: 'left-out', name: written, text })
      continue
    }
    if (Object.hasOwn(parameters, found.ours)) continue
    if (search.from === 'agilerl' && fixedInClones.includes(found.ours.split('.')[0] ?? '')) {
      const text = `${written} was skipped: clones continue with their parent’s weights, so ${found.ours} cannot mutate.`
      notes.push({ kind: 'left-out', name: written, text })
      continue
    }
    parameters[found.ours] = found.range
    taken.push({ ours: found.ours, value: found.range, theirs: [written] })
  }
  const section = sectionOf(search, parameters, config, notes)
  parseStudyConfig({ ...section })
  return { section, taken, notes }
}

function translated(
  { name, range }: FoundParameter<Parameter | JsonObject>,
  space: NameSpace,
  notes: ImportNote[],
): { readonly ours: string; readonly range: JsonObject } | null {
  const converter = converterOf(name, space)
  if (converter === null) return null
  const remarks = new Set<string>()
  const convert = (value: unknown) => converter.read(value, (sentence) => remarks.add(sentence))
  const ours = convertedRange(range, convert)
  for (const text of remarks) notes.push({ kind: 'changed', name, text: `${name}: ${text}` })
  return ours === null ? null : { ours: converter.ours, range: ours }
}

function convertedRange(
  range: Parameter | JsonObject,
  convert: (value: unknown) => unknown,
): JsonObject | null {
  if ('values' in range) {
    const values = (range.values as readonly unknown[]).map(convert).filter((value) => value !== undefined)
    return values.length === 0 ? null : { values }
  }
  const [min, max] = [convert(range.min), convert(range.max)]
  if (typeof min !== 'number' || typeof max !== 'number' || min === max) return null
  return { ...range, min: Math.min(min, max), max: Math.max(min, max) }
}

interface Converter {
  readonly ours: string
  readonly read: (value: unknown, remark: (sentence: string) => void) => unknown
}

/** Returns the converter of a name; one of our own names stands for itself. */
function converterOf(written: string, { tool, algorithm, commonName, given }: NameSpace): Converter | null {
  if (tool === null) return { ours: written, read: (value) => value }
  const name = commonName(written)
  const reading = rowsFor(algorithm).flatMap((row) => {
    const link = row[tool]
    return link?.read !== undefined && Object.hasOwn(link.keys, name) ? [{ row, link, read: link.read }] : []
  })
  // Entries begin with their own name; others read it beside theirs.
  const own = reading.filter(({ link }) => Object.keys(link.keys)[0] === name)
  const [best] = (own.length > 0 ? own : reading).toSorted((a, b) => keyCount(a.link) - keyCount(b.link))
  if (best === undefined) return null
  const { row, link, read } = best
  return {
    ours: row.ours,
    read: (value, remark) =>
      read((each) => (each === name ? value : (given(each) ?? link.keys[each] ?? null)), remark),
  }
}

const keyCount = ({ keys }: { readonly keys: object }): number => Object.keys(keys).length

function sectionOf(
  search: FoundSearch,
  parameters: Readonly<Record<string, unknown>>,
  config: RunConfig,
  notes: ImportNote[],
): JsonObject {
  if (search.from === 'agilerl')
    return { population: { ...search.section, mutation: { ...search.mutation, parameters } } }
  const fitness = fitnessOf(search, config, notes)
  return { sweep: { ...search.section, parameters, fitness } }
}

/** `eval/x` and `train/x` of a logger are `eval_x` and `x`. */
function fitnessOf(
  { metric: { name, goal } }: FoundSweep,
  config: RunConfig,
  notes: ImportNote[],
): JsonObject {
  const known = (name ?? '').replace(/^eval\//, 'eval_').replace(/^train\//, '')
  const declared = findDeclaration(known)
  if (declared === undefined) return defaultFitness(name, { goal, config, notes })
  const { better } = declared
  if (better !== 'none' && (better === 'lower') !== (goal === 'min')) {
    const text = `metric.goal: the file looks for the ${goal === 'min' ? 'lowest' : 'highest'} ${known}, of which ${better} is better.`
    notes.push({ kind: 'changed', name: 'metric.goal', text })
  }
  return { metric: known, goal }
}

interface Unnamed {
  readonly goal: 'max' | 'min'
  readonly config: RunConfig
  readonly notes: ImportNote[]
}

function defaultFitness(name: string | null, { goal, config, notes }: Unnamed): JsonObject {
  const isLoss = goal === 'min' && ['sft', 'dpo'].includes(config.algorithm.id)
  const metric = isLoss ? 'eval_loss' : 'eval_reward'
  const because = name === null ? 'the file does not name a metric' : `there is no metric ${name}`
  const text = `sweep.fitness.metric is ${metric}: ${because}.`
  notes.push({ kind: 'filled-in', name: 'sweep.fitness.metric', text })
  return { metric, goal: isLoss ? 'min' : 'max' }
}

/** Returns true if all of these are settings of Turnwise. */
export const areOurs = (names: readonly string[], config: RunConfig): boolean =>
  names.length > 0 &&
  names.every((name) => {
    const value = valueAt(config, name)
    return value !== undefined && (!isObject(value) || name === 'algorithm')
  })
