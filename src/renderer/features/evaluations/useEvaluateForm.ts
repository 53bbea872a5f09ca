import { useState } from 'react'
import { evaluationSettings } from '#shared/api/evaluations.ts'
import { rolloutSection } from '#shared/config/rollout.ts'
import type { InputOf } from '#shared/api/contract.ts'
import type { Api } from '#shared/api/api.ts'
import { useAnswer, useCommand, type Answer } from '#renderer/client/api.tsx'
import { runOf, type ModelChoice } from '#renderer/client/modelChoice.ts'
import { defaultsOf, formOf, type RequestForm } from '#renderer/kit/RequestForm.tsx'
import type { EnvironmentChoice, RewardChoice } from '#renderer/parts/rewardChoice.ts'

export type Evaluation = Answer<'evaluations.get'>
type Request = InputOf<Api, 'evaluations.start'>
type Sections = Answer<'evaluations.sectionsOf'>

export type RowSource = 'run' | 'data' | 'environment'

export interface EvaluateDraft {
  /** Null: the default for the chosen models. */
  readonly source: RowSource | null
  readonly versionId: string | null
  /** Null: those of the run. */
  readonly rewards: readonly RewardChoice[] | null
  readonly environment: EnvironmentChoice | null
  /** Null: none; undefined: that of the run. */
  readonly workflow: EnvironmentChoice | null | undefined
  readonly episodes: number | null
  readonly isGreedy: boolean
  readonly settings: RequestForm<typeof evaluationSettings>['values']
  /** Null: that of the run. */
  readonly sampling: { readonly temperature: number | null; readonly maxNewTokens: number | null }
  /** Evaluates the run's base model too; null: only if that has not been done yet. */
  readonly withBase: boolean | null
}

const samplingSettings = rolloutSection.pick({ temperature: true, maxNewTokens: true })
const defaultSampling = { temperature: 1, maxNewTokens: 64 }

const emptyDraft = (): EvaluateDraft => ({
  source: null,
  versionId: null,
  rewards: null,
  environment: null,
  workflow: undefined,
  episodes: 100,
  isGreedy: true,
  withBase: null,
  settings: { ...defaultsOf(evaluationSettings), samples: 8 },
  sampling: { temperature: null, maxNewTokens: null },
})

/** Form state with defaults from the chosen model and the settings of its run. */
export function useEvaluateForm(choices: readonly ModelChoice[], evaluations: readonly Evaluation[]) {
  const [draft, setDraft] = useState(emptyDraft)
  const runId = choices.map(runOf).find((id) => id !== null) ?? null
  const own = useAnswer('evaluations.sectionsOf', { runId: runId ?? '' }, { enabled: runId !== null }).data
  const versionId = draft.versionId ?? ''
  const version = useAnswer('datasets.version', { versionId }, { enabled: versionId !== '' }).data
  const filled = { ...draft, ...initialOf(draft, own) }
  const set = (changes: Partial<EvaluateDraft>) => setDraft((before) => ({ ...before, ...changes }))
  const settings = formOf(evaluationSettings, filled.settings, (changes) =>
    set({ settings: { ...filled.settings, ...changes } }),
  )
  const sampling = formOf(samplingSettings, filled.sampling, (changes) =>
    set({ sampling: { ...filled.sampling, ...changes } }),
  )
  const isBaseKnown = evaluations.some(
    ({ runId: of, step, greedy }) => of === runId && step === null && greedy === draft.isGreedy,
  )
  const hasBase = choices.some(({ adapter }) => adapter === undefined)
  const withBase = runId !== null && !hasBase && (draft.withBase ?? !isBaseKnown)
  const start = useCommand('evaluations.start', { quiet: true })
  return {
    draft: filled,
    set,
    settings,
    sampling,
    runId,
    own,
    withBase,
    canAddBase: runId !== null && !hasBase,
    error: start.error,
    isStarting: start.isRunning,
    /** Rows of the data set; null if unknown. */
    rowCount: filled.source === 'data' ? (version?.version.rows ?? null) : null,
    /** Null if nothing is missing. */
    problem: problemOf(choices, filled, settings.parsed !== null && sampling.parsed !== null),
    /** Evaluates all on the same rows; resolves with the id of the first, undefined if it was refused. */
    async start(): Promise<string | undefined> {
      const config = configOf(filled, own, version)
      if (config === null) return undefined
      let first: string | undefined
      const base = withBase ? [{ runId, step: null }] : []
      for (const subject of [...choices.map(subjectOf), ...base]) {
        const isOfRun = 'runId' in subject && subject.runId === runId
        const asked = { config: isOfRun ? config : { ...own, ...config }, ...answering(filled) }
        const made = await start.run({ subject, ...asked })
        if (made === undefined) return first
        first ??= made.id
      }
      return first
    },
  }
}

interface Filled extends EvaluateDraft {
  readonly source: RowSource
  readonly rewards: readonly RewardChoice[]
  readonly workflow: EnvironmentChoice | null
}

function initialOf(
  draft: EvaluateDraft,
  own: Sections | undefined,
): Pick<Filled, 'source' | 'rewards' | 'workflow' | 'sampling'> {
  const initial = hasOwnRows(own) ? 'run' : 'data'
  return {
    source: draft.source === 'run' ? initial : (draft.source ?? initial),
    rewards: draft.rewards ?? rewardsOf(own),
    workflow: draft.workflow === undefined ? workflowOf(own) : draft.workflow,
    sampling: samplingOf(draft, own),
  }
}

const workflowOf = (own: Sections | undefined): EnvironmentChoice | null => own?.rollout.workflow ?? null

const samplingOf = ({ sampling }: EvaluateDraft, own: Sections | undefined): EvaluateDraft['sampling'] => ({
  temperature: sampling.temperature ?? own?.rollout.temperature ?? defaultSampling.temperature,
  maxNewTokens: sampling.maxNewTokens ?? own?.rollout.maxNewTokens ?? defaultSampling.maxNewTokens,
})

/** True if the run has rows it was not trained on, or episodes, which are generated anew. */
export const hasOwnRows = (own: Sections | undefined): boolean =>
  own !== undefined && (own.data.heldOut !== null || typeof own.data.train !== 'string')

export const rewardsOf = (own: Sections | undefined): readonly RewardChoice[] =>
  (own?.rewards ?? []) as readonly RewardChoice[]

const answering = ({ isGreedy, settings, source }: Filled) => ({
  passAt: settings.passAt,
  samples: isGreedy ? 1 : (settings.samples ?? 1),
  greedy: isGreedy,
  limit: source === 'environment' ? null : settings.limit,
})

function subjectOf({ model, adapter }: ModelChoice): Request['subject'] {
  if (adapter === undefined) return { model, adapter: null }
  return 'path' in adapter ? { model, adapter: adapter.path } : adapter
}

function problemOf(choices: readonly ModelChoice[], draft: Filled, isValid: boolean): string | null {
  if (choices.length === 0) return 'Choose a model.'
  return rowProblem(draft) ?? (isValid ? null : 'Correct the marked settings.')
}

function rowProblem({ source, versionId, rewards, environment, workflow, episodes }: Filled): string | null {
  if (source === 'data' && versionId === null) return 'Choose a data set.'
  if (source === 'data' && rewards.length === 0 && workflow === null) return 'Add a reward.'
  if (source === 'environment' && environment === null) return 'Choose an environment.'
  return source === 'environment' && !isWhole(episodes, 1, 1e6) ? 'Ask for at least one episode.' : null
}

export const isWhole = (value: number | null, min: number, max: number): value is number =>
  value !== null && Number.isInteger(value) && value >= min && value <= max

/** Returns config sections that differ from those of the run; null while they are unknown. */
function configOf(
  draft: Filled,
  own: Sections | undefined,
  version: Answer<'datasets.version'> | undefined,
): Record<string, unknown> | null {
  const { source, rewards, environment, episodes } = draft
  const rollout = rolloutOf(draft, own)
  if (source === 'run') return { rollout }
  if (source === 'environment') {
    const data = { ...own?.data, train: { episodes: episodes ?? 1 }, heldOut: null }
    return { rollout, data, environment, rewards: [] }
  }
  if (version === undefined) return null
  const prompt = version.shape.prompt ?? own?.data.prompt
  const data = {
    ...own?.data,
    ...(prompt === undefined ? {} : { prompt }),
    train: version.version.directory,
    heldOut: null,
  }
  return { rollout, data, rewards: [...rewards], environment: null }
}

function rolloutOf(
  { sampling: { temperature, maxNewTokens }, isGreedy, workflow }: Filled,
  own: Sections | undefined,
): Record<string, unknown> {
  const sampled = isGreedy || temperature === null ? {} : { temperature }
  return { ...own?.rollout, maxNewTokens, ...sampled, workflow }
}
