/** A workflow in the editor: its trial data, and the episode being played. */
import { useMemo, useState } from 'react'
import type { Api } from '#shared/api/api.ts'
import type { InputOf } from '#shared/api/contract.ts'
import { useAnswer, useTask } from '#renderer/client/api.tsx'
import type { ModelChoice } from '#renderer/client/modelChoice.ts'
import { useSetting } from '#renderer/client/settings.ts'
import type { CodeFailurePlace } from '#renderer/editor/problemLines.ts'
import type { CodeContext } from '#renderer/editor/types/ambient.ts'
import { defaultBench, parseRow } from './bench.ts'
import { codeStatus } from './EditorPane.tsx'
import { episodeOf, upTo } from './episode.ts'
import type { EnvironmentChoice, RewardChoice } from '#renderer/parts/rewardChoice.ts'
import type { Code } from '#renderer/parts/rewardTypes.ts'
import { useBench, useCodeCheck, useCodeSettings, type RewardBench } from './useRewards.ts'

/** Trial data of an episode; one choice for all workflows. */
export interface TrialChoice {
  /** Null: the first available model. */
  readonly candidate: ModelChoice | null
  readonly rewards: readonly RewardChoice[]
  readonly environment: EnvironmentChoice | null
  readonly isEvaluation: boolean
  readonly temperature: number
  /** Null: as many as leave room for prompts. */
  readonly maxNewTokens: number | null
  readonly seed: number
}

const usualChoice: TrialChoice = {
  candidate: null,
  rewards: [],
  environment: null,
  isEvaluation: false,
  temperature: 1,
  maxNewTokens: null,
  seed: 42,
}

const oneRow = { ...defaultBench, count: 1 }

export type WorkflowTrial = ReturnType<typeof useWorkflow>

/** Opens a workflow; `key`: of the workflow in the library. */
export function useWorkflow(key: string, code: Code) {
  const bench = useBench('workflows.bench', oneRow)
  const check = useCodeCheck(code)
  const settings = useCodeSettings(key, check)
  const { choice, candidate, change } = useTrialChoice(bench)
  const playing = usePlaying()
  const { columns } = bench
  const on = rowOf(bench)
  const missing = on === null ? noRow : candidate === null ? noModel : null
  const begin = (steps: number | null) => {
    if (on === null || candidate === null) return
    const { rewards, environment, isEvaluation, temperature, maxNewTokens, seed } = choice
    const asked = {
      code: { language: code.language, code: code.code },
      settings: settings.values,
      candidate,
      on,
      isEvaluation,
      config: {
        rewards,
        environment,
        seed,
        data: { prompt: bench.bench.prompt },
        rollout: { temperature, ...(maxNewTokens === null ? {} : { maxNewTokens }) },
      },
    }
    playing.begin(asked, steps)
  }
  return {
    bench,
    settings,
    choice,
    candidate,
    change,
    ...playing,
    /** Choices still to be made. */
    missing,
    play: () => (playing.isHeld ? playing.release() : begin(null)),
    step: () => (playing.isHeld ? playing.next() : begin(1)),
    isStale:
      playing.code !== null && (playing.code.code !== code.code || playing.code.language !== code.language),
    status: codeStatus(check, ['workflow']),
    context: useMemo((): CodeContext => ({ workflowOn: columns }), [columns]),
  }
}

const noModel = 'There is no model yet: add one in Models.'
const noRow = 'The row must be a JSON object, such as {"prompt": "What is 2 plus 3?"}.'

/** Null if the sample by hand is not a valid row. */
function rowOf({ bench: { versionId, from }, hand }: RewardBench): TryRequest['on'] | null {
  if (versionId !== null) return { versionId, row: from }
  const row = parseRow(hand.row)
  return row && { row }
}

function useTrialChoice({ change: changeBench }: RewardBench) {
  const [stored, setStored] = useSetting<Partial<TrialChoice>>('workflows.trial', {})
  const { data: models } = useAnswer('models.list', undefined)
  const choice = useMemo(() => ({ ...usualChoice, ...stored }), [stored])
  const usable = (models ?? []).find((model) => !('problem' in model))
  const candidate = choice.candidate ?? (usable === undefined ? null : { model: usable.name })
  const change = (changes: Partial<TrialChoice>) => {
    setStored({ ...stored, ...changes })
    // Its chat template formats the displayed prompt.
    if (changes.candidate) changeBench({ model: changes.candidate.model })
  }
  return { choice, candidate, change }
}

type TryRequest = InputOf<Api, 'workflows.try'> & { readonly code: Code }

/** Plays an episode, shown as far as the user has stepped. */
function usePlaying() {
  const { start, cancel, items, state, error } = useTask('workflows.try')
  const [code, setCode] = useState<Code | null>(null)
  const [steps, setSteps] = useState<number | null>(null)
  const whole = useMemo(() => episodeOf(items), [items])
  const episode = useMemo(() => upTo(whole, steps), [whole, steps])
  const isRunning = state === 'running'
  const isComplete = !isRunning && (steps === null || steps > whole.requests.length)
  const failed = episode.failed
  const problems = useMemo((): CodeFailurePlace[] => {
    if (failed === null || failed.line === null) return []
    return [{ line: failed.line, column: failed.column, sentence: failed.message }]
  }, [failed])
  return {
    episode,
    problems,
    cancel,
    isRunning,
    error: isComplete ? error : null,
    isStopped: isComplete && state === 'cancelled',
    /** Code being played; null before the first episode. */
    code,
    /** True while stepping through the episode. */
    isHeld: code !== null && steps !== null && !isComplete,
    /** True while everything shown is answered and more is to come. */
    isWaiting: isRunning && (steps === null || steps > whole.requests.length),
    begin: (request: TryRequest, first: number | null) => {
      setCode(request.code)
      setSteps(first)
      start(request)
    },
    next: () => setSteps((before) => (before === null ? null : before + 1)),
    release: () => setSteps(null),
  }
}
