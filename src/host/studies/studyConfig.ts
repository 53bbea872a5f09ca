/** Checks the file of a study, with the config of every trial it may come to, and works out what its trials begin with. */
import { fieldsOf, sectionsOf, type SettingField } from '#shared/config/fields.ts'
import { conflict, refuse } from '#shared/config/problems.ts'
import { valueAt, withChanges, type JsonObject } from '#shared/config/paths.ts'
import { parseSettings } from '#shared/config/settings.ts'
import { ConfigError, type Problem } from '#shared/errors.ts'
import { isRewarded, parseRunConfig, runConfigSchema, stagesOf, type RunConfig } from '#shared/runConfig.ts'
import {
  fixedInClones,
  parseStudyConfig,
  searchedKeys,
  searchedParameters,
  type Parameter,
  type Search,
  type StudyConfig,
  type Trial,
} from '#shared/studies.ts'
import type { AlgorithmById } from '#rl/algorithms/registry.ts'
import { defaultThreads, physicalCores } from '#engine/processor.ts'
import { planStudy, stepsOf, wavesOf } from '#rl/studies/plan.ts'
import type { StudySubject, Wave } from '#rl/studies/trials.ts'
import { readRunData } from '#host/data/readDataSet.ts'
import type { AskText } from '#host/models/textQuestion.ts'
import { withContinuedAdapter } from '#host/adapters/continuedAdapter.ts'
import { resolveAlgorithms } from '#host/code/resolveAlgorithms.ts'
import { requireKnownParts, withAbsolutePaths } from '#host/runs/runConfigFile.ts'
import { checkRunConfig, type RunVerdict } from '#host/runs/runVerdict.ts'
import type { SharingRequest } from './sharing.ts'
import type { NewStudy, StudyFolder } from '#host/workFolder/studyFolder.ts'

export interface StudyVerdict extends Omit<NewStudy, 'parallel'> {
  /** Config with defaults from the settings filled in. */
  readonly config: StudyConfig
  readonly firstTrial: Trial | undefined
  readonly first: RunVerdict & { readonly config: RunConfig }
  /** Trials that begin anew and steps of all, as far as the file tells: a budget of tokens or hours may end it before. */
  readonly trials: number
  readonly totalSteps: number
  /** Facts that decide how many trials train together; memory is not measured yet. */
  readonly sharing: SharingRequest
}

interface Places {
  readonly dataDirectory: string
  /** Folder that relative paths start from. */
  readonly base: string
  readonly askText: AskText
}

/** Errors: AppError 'config/invalid' and what checking a run can end with; nothing is written. */
export async function checkStudy(given: unknown, places: Places): Promise<StudyVerdict> {
  const parsed = parseStudyConfig(given)
  const { dataDirectory, base, askText } = places
  const bare = parseRunConfig({ ...parsed.run, ...(parsed.name === null ? {} : { name: parsed.name }) })
  requireKnownParts(bare)
  await using algorithms = await resolveAlgorithms(bare, null)
  const { stages, ...run } = withContinuedAdapter(parsed.run, withAbsolutePaths(bare, base, dataDirectory))
  const config: StudyConfig = { ...parsed, run: stages.length === 0 ? run : { ...run, stages } }
  const start = startOf(config, algorithms.byId)
  const search = withWholeNumbers(config, start, algorithms.byId)
  const planned = { ...config, search }
  refuse(problemsOf(planned, start))
  // The first trial's length depends on the rows; trials with other batches have the same.
  const draft: StudySubject = { search, seed: bare.seed, steps: Number.MAX_SAFE_INTEGER, start }
  const [firstTrial, ...others] = planStudy(draft, []).trials
  const first = await checkRunConfig(trialConfig(planned, firstTrial), dataDirectory, askText)
  for (const trial of [...others, ...extremes(search)])
    requireKnownParts(parseRunConfig(trialConfig(planned, trial)))
  await requireEvaluation(search, first.config)
  const { steps } = first
  refuse(lengthProblems(search, steps))
  const waves = wavesOf({ ...draft, steps })
  const sharing: SharingRequest = {
    kind: search.kind,
    waves,
    config: first.config,
    isCpu: first.device.kind === 'cpu',
    given: parsed.parallel,
    needs: null,
    cores: physicalCores(),
    threads: first.config.device.threads ?? defaultThreads(),
  }
  return {
    config: planned,
    firstTrial,
    first,
    steps,
    start,
    file: fileOf(planned),
    ...extentOf(waves),
    sharing,
  }
}

/** Returns the number of trials that begin from scratch, and the steps of all. */
export const extentOf = (waves: readonly Wave[]) => ({
  trials: waves.reduce((sum, { size, from }) => sum + (from === 0 ? size : 0), 0),
  totalSteps: stepsOf(waves),
})

/** Returns the config of a trial's run. */
export function trialConfig({ run, name, search }: StudyConfig, trial: Trial | undefined): JsonObject {
  const settings = trial?.settings ?? {}
  const title = `${name ?? kindTitles[search.kind]} · ${search.kind === 'population' ? 'member' : 'trial'} ${(trial?.member ?? 0) + 1}`
  return { ...withChanges(run, settings), name: title }
}

const kindTitles: Readonly<Record<Search['kind'], string>> = {
  population: 'Population',
  sweep: 'Sweep',
  seeds: 'Seeds',
}

/** Returns the config as a file that `parseStudyConfig` takes. */
const fileOf = ({ run, name, parallel, search: { kind, ...search } }: StudyConfig): JsonObject => ({
  ...(name === null ? {} : { name }),
  parallel,
  [kind]: search,
  ...run,
})

/** Defaults of the algorithm filled in, too. */
function startOf({ run, search }: StudyConfig, byId: AlgorithmById): JsonObject {
  const { algorithm, ...rest } = parseRunConfig(run)
  const settings = parseSettings(byId(algorithm.id).settings, algorithm.settings, 'algorithm.settings')
  const whole = { ...rest, algorithm: { ...algorithm, settings } }
  const known = searchedKeys(search).map((key) => [key, valueAt(whole, key)] as const)
  return Object.fromEntries(known.filter(([, value]) => value !== undefined))
}

/** A range of a setting that takes whole numbers alone has whole numbers alone. */
function withWholeNumbers(config: StudyConfig, start: JsonObject, byId: AlgorithmById): Search {
  const { search } = config
  if (search.kind === 'seeds') return search
  const fields = settingFields(config, byId)
  const filledIn = <Each extends Parameter>(parameters: Readonly<Record<string, Each>>) =>
    Object.fromEntries(
      Object.entries(parameters).map(([key, each]) => {
        if ('values' in each || each.whole !== null) return [key, each]
        const control = fields.get(key)?.control
        const whole =
          control === undefined
            ? Number.isInteger(start[key])
            : control.kind === 'number' && control.isInteger
        return [key, { ...each, whole }]
      }),
    ) as Record<string, Each>
  if (search.kind === 'sweep') return { ...search, parameters: filledIn(search.parameters) }
  return { ...search, mutation: { ...search.mutation, parameters: filledIn(search.mutation.parameters) } }
}

function settingFields({ run }: StudyConfig, byId: AlgorithmById): ReadonlyMap<string, SettingField> {
  const { algorithm } = parseRunConfig(run)
  const { settings } = byId(algorithm.id)
  const all = [
    ...sectionsOf(runConfigSchema).flatMap(({ fields }) => fields),
    ...fieldsOf(settings, 'algorithm.settings'),
  ]
  return new Map(all.map((field) => [field.key, field]))
}

function problemsOf({ search, run }: StudyConfig, start: JsonObject): Problem[] {
  if (search.kind !== 'population') return []
  const { initial, mutation } = search
  const { parameters } = mutation
  const trainer = valueAt(run, 'engine.kind')
  if (trainer !== undefined && trainer !== 'local')
    return [conflict('engine.kind', 'clones continue from checkpoints, which only Turnwise itself does.')]
  return Object.keys(parameters).flatMap((key) => {
    const at = `population.mutation.parameters.${key}`
    if (fixedInClones.includes(key.split('.')[0] ?? ''))
      return [conflict(at, 'clones continue with their parent’s weights, so this setting cannot mutate.')]
    const value = valueAt(run, key)
    const isNumber = value === undefined || value === null || typeof value === 'number'
    if (!isNumber) return [conflict(at, `${JSON.stringify(value)} in the config is not a number.`)]
    // Names that are no settings are reported with the trials' configs.
    const hasStart = initial === 'spread' || start[key] !== null
    return hasStart
      ? []
      : [
          conflict(
            at,
            'with initial: same, members begin with the config’s value, so give it a number there.',
          ),
        ]
  })
}

function lengthProblems(search: Search, steps: number): Problem[] {
  if (search.kind === 'population' && search.every > steps)
    return [conflict('population.every', `${search.every}, but trials have only ${steps} steps.`)]
  if (search.kind === 'sweep' && search.early !== null && search.early.from > steps)
    return [conflict('sweep.early.from', `${search.early.from}, but trials have only ${steps} steps.`)]
  return []
}

/** Returns trials with both ends of every range: what the settings allow there, they allow in between. */
function extremes(search: Search): Trial[] {
  return Object.entries(searchedParameters(search)).flatMap(([key, each]) => {
    const values = 'values' in each ? each.values : [each.min, each.max]
    return values.map((value) => ({
      index: 0,
      member: 0,
      generation: 0,
      settings: { [key]: value },
      parent: null,
      mutation: null,
    }))
  })
}

/** Refuses a study that would have nothing to compare by: rewards where nothing is rewarded, or no held-out rows. */
async function requireEvaluation({ kind, fitness: { metric } }: Search, config: RunConfig): Promise<void> {
  const stages = stagesOf(config)
  if (['reward', 'eval_reward'].includes(metric) && !stages.some(isRewarded))
    throw new ConfigError(
      [conflict(`${kind}.fitness.metric`, `trials are compared by ${metric}, but nothing here is rewarded.`)],
      'Compare by what the method reports, such as eval_loss with the goal min, or add a reward.',
    )
  if (!metric.startsWith('eval_')) return
  for (const { data } of stages) {
    const { heldOut } = await readRunData(data)
    if (heldOut.length > 0) continue
    throw new ConfigError(
      [conflict('data.heldOut', `trials are compared by ${metric}, which needs validation rows.`)],
      'Give some, or compare by a metric that training reports, such as reward.',
    )
  }
}

/** Returns the inputs of the plan. */
export const subjectOf = ({
  config,
  steps,
  start,
}: Pick<StudyFolder, 'config' | 'steps' | 'start'>): StudySubject => ({
  search: config.search,
  seed: parseRunConfig(config.run).seed,
  steps,
  start,
})
