/** Model in the form that runs and completions accept: a base model, alone or with an adapter. */
import { keepers } from '#shared/api/models.ts'
import { useAnswer, type Answer } from './api.tsx'
import { useRuns, type RunEntry } from './runs.ts'
import { formatBytes, formatReward, formatShort, lastPart } from './format.ts'
import { runTitle } from './words.ts'

export type ListedModel = Answer<'models.list'>[number]
type ModelFit = Answer<'models.info'>['fits']
export type ListedAdapter = Answer<'models.adapters'>[number]
export type AdapterOrigin = NonNullable<Extract<ListedAdapter, { readonly rank: number }>['origin']>
export type Checkpoint = Answer<'checkpoints.list'>[number]

/** Same as the API's `candidate`. `model`: name in the list, or path of a folder. */
export interface ModelChoice {
  readonly model: string
  readonly adapter?: { readonly runId: string; readonly step: number } | { readonly path: string } | undefined
}

/** Run that it was trained in; null for a base model and for an imported adapter. */
export const runOf = (choice: ModelChoice | null): string | null =>
  choice?.adapter !== undefined && 'runId' in choice.adapter ? choice.adapter.runId : null

export const findModel = (models: readonly ListedModel[], model: string): ListedModel | undefined =>
  models.find(({ name, directory }) => name === model || directory === model)

/** Display name: name in the list, or the last part of the path. */
export const modelName = (models: readonly ListedModel[], model: string): string =>
  findModel(models, model)?.name ?? lastPart(model)

/** Formats “1.94 M parameters · llama · 7.8 MB”, or the reason why a model cannot be used. */
export const modelFacts = (model: ListedModel): string =>
  'problem' in model
    ? model.problem
    : [
        `${formatShort(model.parameters)} parameters`,
        model.architecture,
        formatBytes(model.sizeBytes),
        ...(model.fits === 'f32' ? [] : [fitWords(model.fits)]),
      ].join(' · ')

/** Says in which weight format training fits into this machine's memory. */
export function fitWords(fits: ModelFit): string {
  if (fits === null) return 'too large for this machine'
  return fits === 'f32' ? 'fits in f32' : `fits in ${fits === 'int8' ? '8' : '4'} bits`
}

/** Group title of a model; Turnwise's own models come first. */
export const keeperOf = ({ origin }: ListedModel): string => (origin === null ? 'Models' : keepers[origin])

/** Returns the model that an adapter was promoted on, or that it names, if one of that name exists. */
export function baseOf(adapter: ListedAdapter, models: readonly ListedModel[]): string | undefined {
  const origin = 'problem' in adapter ? null : adapter.origin
  if (origin !== null) return findModel(models, origin.model)?.name ?? origin.model
  const named = 'problem' in adapter || adapter.baseModel === null ? null : lastPart(adapter.baseModel)
  return models.find(({ name }) => name === named)?.name
}

/** Keeps runs that may have checkpoints: those with at least one step. */
export const trainedRuns = (runs: readonly RunEntry[]): readonly RunEntry[] =>
  runs.filter(({ step }) => step > 0)

/** Returns the likeliest choice: the best checkpoint by eval reward, else the last. */
export const bestOf = (checkpoints: readonly Checkpoint[]): Checkpoint | undefined => {
  const whole = checkpoints.filter(({ problem }) => problem === null)
  return whole.find(({ isBest }) => isBest) ?? whole.at(-1)
}

/**
 * Returns the first run with a complete checkpoint, or the first one where none has; undefined while that of an earlier
 * one is not known yet.
 */
export function firstWithCheckpoint<Run extends { readonly id: string }>(
  runs: readonly Run[],
  checkpointsOf: ReadonlyMap<string, readonly Checkpoint[]>,
): Run | undefined {
  const found = runs.find(({ id }) => {
    const known = checkpointsOf.get(id)
    return known === undefined || bestOf(known) !== undefined
  })
  return found === undefined ? runs[0] : checkpointsOf.has(found.id) ? found : undefined
}

/** Option of a list to choose a checkpoint from. */
export const checkpointOption = (checkpoint: Checkpoint) => ({
  value: String(checkpoint.step),
  label: checkpointWords(checkpoint),
  disabled: checkpoint.problem !== null,
})

/** Formats “Step 30 · best · eval reward 0.88”. */
export function checkpointWords({ step, reward, isBest, problem }: Checkpoint): string {
  const facts = [
    `Step ${String(step)}`,
    isBest && 'best',
    reward !== null && `eval reward ${formatReward(reward)}`,
    problem !== null && 'damaged',
  ]
  return facts.filter(Boolean).join(' · ')
}

/** Title for a column of completions or a sentence: “arith-grpo-1 · step 30”, “starter”. */
export function choiceTitle(
  { model, adapter }: ModelChoice,
  models: readonly ListedModel[],
  runs: readonly RunEntry[],
): string {
  const base = modelName(models, model)
  if (adapter === undefined) return base
  if ('path' in adapter) return `${base} + ${lastPart(adapter.path)}`
  const run = runs.find(({ id }) => id === adapter.runId)
  return `${run === undefined ? adapter.runId : runTitle(run)} · step ${String(adapter.step)}`
}

export function useChoiceTitle(): (choice: ModelChoice) => string {
  const { data: models = [] } = useAnswer('models.list', undefined)
  const { runs } = useRuns()
  return (choice) => choiceTitle(choice, models, runs)
}
