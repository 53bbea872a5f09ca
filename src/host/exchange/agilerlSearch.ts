/**
 * Reads the population that AgileRL's files describe: `INIT_HP` with `MUTATION_PARAMS`, manifests (`mutation`,
 * `selection_strategy`), and Python with `HyperparameterConfig`, `TournamentSelection` and `Mutations`. Names and
 * defaults are those of 2.58.0.
 */
import type { JsonObject } from '#shared/config/paths.ts'
import { asNumber, asText, entryOf, tidy } from './links.ts'
import { PythonCall } from './pythonValues.ts'
import type { ImportNote } from './importNotes.ts'
import type { FlatSettings, SettingsSource } from './settingsSource.ts'
import type { FoundParameter } from './wandbSweep.ts'

export interface FoundPopulation {
  readonly from: 'agilerl'
  /** Settings outside the population. */
  readonly fixed: FlatSettings
  /** `RLParameter` in our names. */
  readonly parameters: readonly FoundParameter<JsonObject>[]
  /** Remaining keys of the section; those of the mutation are `probability` and `elite`. */
  readonly section: JsonObject
  readonly mutation: JsonObject
  readonly notes: readonly ImportNote[]
}

/** Sections that the population is made of, and names in others. */
const sections =
  /^(mutation_params|mutation|selection_strategy|tournament_selection|tournamentselection|mutations|hpo)\./i
const names =
  /(^|\.)(pop_size|population_size|tourn_size|tournament_size|elitism|evo_steps|evo_epochs|eval_loop|mutation_sd|mut_sd|rand_seed|strategy|selection_strategy|hpo|mutation)$/i

/** null where there is a single agent, or nothing that mutates. */
export function foundPopulation(source: SettingsSource): FoundPopulation | null {
  const settings = new Map([...source.settings, ...callSettings(source.calls)])
  const parameters = rangesOf(settings, source.calls)
  const value = (...keys: readonly string[]) => {
    const found = [...settings].find(([name]) => keys.includes(lastPart(name)))
    return found?.[1]
  }
  const size = asNumber(value('pop_size', 'population_size'))
  if (size === null || size < 2 || parameters.length === 0) return null
  const notes: ImportNote[] = []
  const every = asNumber(value('evo_steps'))
  if (every === null)
    notes.push({
      kind: 'filled-in',
      name: 'population.every',
      text: `population.every is ${defaultEvery}: the file does not say evo_steps in numbers.`,
    })
  const [tournament, elitism] = [asNumber(value('tourn_size', 'tournament_size')), value('elitism')]
  notes.push(...lostMutations(value), ...lostSettings(settings))
  return {
    from: 'agilerl',
    parameters,
    notes,
    fixed: new Map([...source.settings].filter(([name]) => !sections.test(name) && !names.test(name))),
    section: {
      size,
      every: every ?? defaultEvery,
      initial: 'same',
      tournament: tournament ?? 2,
      elitism: elitism !== false,
    },
    mutation: { probability: probabilityOf(value), elite: value('mutate_elite') !== false },
  }
}

/** Default of AgileRL's tutorial for LLMs. */
const defaultEvery = 10

type Value = (...keys: readonly string[]) => unknown

const lastPart = (name: string): string => name.slice(name.lastIndexOf('.') + 1).toLowerCase()

const places: Readonly<Record<string, readonly string[]>> = {
  TournamentSelection: ['tournament_size', 'elitism', 'population_size', 'eval_loop'],
  Mutations: ['no_mutation', 'architecture', 'new_layer_prob', 'parameters', 'activation', 'rl_hp'],
}

/** Arguments of the classes, by name. */
function callSettings(calls: readonly PythonCall[]): (readonly [string, unknown])[] {
  return calls.flatMap(({ method, args, keywords }) => {
    const size = keywords['population_size']
    if (method === 'create_population' && size !== undefined)
      return [['create_population.population_size', size] as const]
    const own = entryOf(places, method)
    if (own === undefined) return []
    const all = { ...Object.fromEntries(args.map((arg, i) => [own[i] ?? String(i), arg])), ...keywords }
    return Object.entries(all).map(([name, value]) => [`${method}.${name}`, value] as const)
  })
}

/** Chance that a setting mutates: other mutations do not exist for LLMs. */
function probabilityOf(value: Value): number {
  const none = asNumber(value('no_mut', 'no_mutation')) ?? 0.4
  const own = asNumber(value('rl_hp_mut', 'rl_hp')) ?? 0.2
  return own <= 0 ? 0 : tidy(own / (none + own))
}

const otherMutations: readonly (readonly [keys: readonly string[], what: string])[] = [
  [['arch_mut', 'architecture'], 'architecture'],
  [['new_layer', 'new_layer_prob'], 'layers'],
  [['params_mut', 'parameters'], 'weights'],
  [['act_mut', 'activation'], 'activations'],
]

const lostMutations = (value: Value): ImportNote[] =>
  otherMutations.flatMap(([keys, what]): ImportNote[] => {
    const chance = asNumber(value(...keys))
    const text = `${keys[0]} (${chance}) was skipped: there is no mutation of ${what} for LLMs, in AgileRL either.`
    return chance === null || chance === 0 ? [] : [{ kind: 'left-out', name: keys[0] ?? '', text }]
  })

const lost: Readonly<Record<string, string>> = {
  mut_sd: 'only settings mutate, not weights',
  mutation_sd: 'only settings mutate, not weights',
  rand_seed: 'the random numbers of a study follow from `seed`',
  evo_epochs: 'generations are counted in steps',
  eval_loop: 'a member is evaluated once per generation',
  strategy: 'the next generation comes from tournaments',
  dormant_threshold: 'only settings mutate, not weights',
  activation_selection: 'only settings mutate, not activations',
}

const lostSettings = (settings: FlatSettings): ImportNote[] =>
  [...settings].flatMap(([name, value]): ImportNote[] => {
    const because = entryOf(lost, lastPart(name))
    const isSaid =
      because === undefined || value === 'tournament' || value === null || typeof value === 'symbol'
    if (isSaid || value instanceof PythonCall) return []
    return [{ kind: 'left-out', name, text: `${name} (${asText(value)}) was skipped: ${because}.` }]
  })

/**
 * Reads the ranges from `HyperparameterConfig`, else from the manifest, else from `MIN_LR` and `MAX_LR` of
 * `MUTATION_PARAMS`.
 */
function rangesOf(settings: FlatSettings, calls: readonly PythonCall[]): FoundParameter<JsonObject>[] {
  const config = calls.find(({ method }) => method === 'HyperparameterConfig')
  if (config !== undefined)
    return Object.entries(config.keywords).flatMap(([name, value]) =>
      value instanceof PythonCall
        ? [{ name, range: rangeOf((key, place) => value.argument(place, key)) }]
        : [],
    )
  const selected = [...settings.keys()].flatMap(
    (name) => /^(.*\brl_hp_selection\.(\w+))\.min$/i.exec(name) ?? [],
  )
  const found: FoundParameter<JsonObject>[] = []
  for (let i = 0; i < selected.length; i += 3)
    found.push({
      name: selected[i + 2] ?? '',
      range: rangeOf((key) => settings.get(`${selected[i + 1]}.${key}`)),
    })
  if (found.length > 0) return found
  return [...settings].flatMap(([name, min]) => {
    const [, section = '', key] = /^(mutation_params\.)min_(\w+)$/i.exec(name) ?? []
    if (key === undefined) return []
    const max = [...settings].find(
      ([other]) => other.toLowerCase() === `${section}max_${key}`.toLowerCase(),
    )?.[1]
    return [{ name: key.toLowerCase(), range: { min, max } }]
  })
}

/** Order of the arguments of `RLParameter`. */
const parameterPlaces = ['min', 'max', 'shrink_factor', 'grow_factor', 'dtype']
const ourNames: Readonly<Record<string, string>> = { shrink_factor: 'shrink', grow_factor: 'grow' }

function rangeOf(argument: (key: string, place: number) => unknown): JsonObject {
  const given = parameterPlaces.map((key, place) => [key, argument(key, place)] as const)
  return Object.fromEntries(
    given.flatMap(([key, value]): [string, unknown][] => {
      if (key === 'dtype') return value === 'int' ? [['whole', true]] : []
      return value === undefined || value === null ? [] : [[ourNames[key] ?? key, value]]
    }),
  )
}
