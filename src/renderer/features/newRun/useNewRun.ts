/** The run being set up: saved and validated by the host as it changes, tried out, started. */
import { useCallback, useEffect, useMemo, useState } from 'react'
import type { Api } from '#shared/api/api.ts'
import type { InputOf } from '#shared/api/contract.ts'
import { algorithmEntry, sectionsFor } from '#renderer/client/runSettings.ts'
import { checkedPart, emptyDraft, forkChanges, type Draft } from './draft.ts'
import type { FieldSection, SettingField } from '#shared/config/fields.ts'
import { valueAt, type JsonObject } from '#shared/config/paths.ts'
import type { Problem } from '#shared/errors.ts'
import { algorithmOf } from './stages.ts'
import { kindOf } from './studyDraft.ts'
import { isSameAt, ownProblems, stillHolding } from './problems.ts'
import { suggestedName, type Known } from './summaries.ts'
import { useAnswer, useApi, useCommand, useTask, type Answer } from '#renderer/client/api.tsx'
import { asError, toast, toastError } from '#renderer/client/toasts.ts'
import {
  change,
  exchange,
  useKeptDraft,
  useNewRunStore,
  type Calibration,
  type StudyEstimate,
} from './useDraft.ts'
import { useSettled } from '#renderer/client/settled.ts'
import { navigate } from '#renderer/client/route.ts'
import { useRuns } from '#renderer/client/runs.ts'

export interface DraftView {
  readonly draft: Draft
  readonly isLoaded: boolean
  readonly setDraft: (draft: Draft) => void
  /** Applies a change to the latest config. */
  readonly update: (change: (config: JsonObject) => JsonObject) => void
  /** Replaces the draft, keeping the current one aside. */
  readonly replace: (draft: Draft, words: string) => void
}

export function useDraft(): DraftView {
  const client = useApi()
  const isLoaded = useKeptDraft()
  const draft = useNewRunStore((state) => state.draft)
  const setDraft = useCallback((next: Draft) => change(client, next), [client])
  const update = useCallback(
    (changeOf: (config: JsonObject) => JsonObject) => {
      const { draft: now } = useNewRunStore.getState()
      change(client, { ...now, config: changeOf(now.config) })
    },
    [client],
  )
  const replace = useCallback(
    (next: Draft, words: string) => {
      if (exchange(client, next)) toast({ title: words, detail: 'The previous draft is kept aside.' })
    },
    [client],
  )
  return { draft, isLoaded, setDraft, update, replace }
}

/** Token limit of a completion; null: not chosen. */
export function useCompletionLength(): number | null {
  const { config } = useDraft().draft
  const chosen = valueAt(config, 'rollout.maxNewTokens')
  return typeof chosen === 'number' ? chosen : null
}

export interface Knowledge extends Known {
  readonly isLoaded: boolean
  /** Settings of the config and of its algorithm. */
  readonly sections: readonly FieldSection[]
  readonly fields: readonly SettingField[]
}

/** Props of a part of the page that changes the draft. */
export interface PartProps {
  readonly draft: Draft
  readonly known: Knowledge
  readonly problems: readonly Problem[]
  readonly onChange: (draft: Draft) => void
}

const none: readonly never[] = []

/** Returns what the host knows about algorithms, models, data and rewards. */
export function useKnowledge(config: JsonObject): Knowledge {
  const { data: algorithms } = useAnswer('settings.algorithms', undefined)
  const { data: models } = useAnswer('models.list', undefined)
  const { data: dataSets } = useAnswer('datasets.list', undefined)
  const { data: rewards } = useAnswer('rewards.list', {})
  const id = algorithmOf(config)
  return useMemo(() => {
    const found = algorithmEntry(id, algorithms ?? none)
    // An earlier version of a custom loss replaces its newest entry.
    const list = (algorithms ?? none).map((each) => (each === found ? { ...each, id } : each))
    const sections = sectionsFor(list.find((algorithm) => algorithm.id === id))
    return {
      isLoaded: algorithms !== undefined,
      sections,
      fields: sections.flatMap(({ fields }) => fields),
      algorithms: list,
      models: models ?? none,
      dataSets: dataSets ?? none,
      rewards: rewards ?? none,
    }
  }, [algorithms, models, dataSets, rewards, id])
}

/** Passes a possibly invalid config; only the host validates it. */
const asConfig = (config: JsonObject) => config as unknown as InputOf<Api, 'runs.check'>['config']
type VerdictDevice = Extract<Answer<'runs.check'>, { readonly device: unknown }>['device']

export interface Verdict {
  readonly isPending: boolean
  /** Null if unknown or invalid. */
  readonly steps: number | null
  readonly rows: number | null
  /** Device the run would use; null as above. */
  readonly device: VerdictDevice | null
  /** Size of a study; null for one run. */
  readonly study: Extract<Answer<'studies.check'>, { readonly totalSteps: unknown }> | null
  readonly problems: readonly Problem[]
  /** Settings that are valid but probably unintended. */
  readonly warnings: readonly Problem[]
}

const unknownVerdict = {
  steps: null,
  rows: null,
  device: null,
  study: null,
  problems: [],
  warnings: [],
} as const

function verdictOf(
  answer: Answer<'runs.check'> | Answer<'studies.check'> | undefined,
): Omit<Verdict, 'isPending'> {
  if (answer === undefined) return unknownVerdict
  if ('problems' in answer) return { ...unknownVerdict, problems: answer.problems }
  const { steps, rows, device, warnings } = answer
  return { steps, rows, device, problems: [], warnings, study: 'totalSteps' in answer ? answer : null }
}

/** Validates the config on the host, shortly after its last change. */
export function useVerdict({ config }: Draft, isReady: boolean): Verdict {
  const text = useSettled(JSON.stringify(config), 250)
  const asked = useMemo(() => JSON.parse(text) as JsonObject, [text])
  const isStudy = kindOf(asked) !== 'run'
  const ofRun = useAnswer(
    'runs.check',
    { config: asConfig(asked) },
    { enabled: isReady && !isStudy, staleMs: 5000 },
  ).data
  const ofStudy = useAnswer(
    'studies.check',
    { file: asked },
    { enabled: isReady && isStudy, staleMs: 5000 },
  ).data
  const answer = isStudy ? ofStudy : ofRun
  // Of the previous answer, what still holds stays visible until the next one arrives, but does not count.
  const [kept, setKept] = useState({ answer, asked })
  if (answer !== undefined && answer !== kept.answer) setKept({ answer, asked })
  const judged = answer === undefined ? kept : { answer, asked }
  const isBehind = answer === undefined || text !== JSON.stringify(config)
  return useMemo(() => {
    const own = isReady && kindOf(config) === 'run' ? ownProblems(config) : []
    if (own.length > 0) return { ...unknownVerdict, isPending: isBehind, problems: own }
    const verdict = verdictOf(judged.answer)
    if (!isBehind) return { ...verdict, isPending: false }
    const holding = (found: readonly Problem[]) => stillHolding(found, judged.asked, config)
    const { problems, warnings } = verdict
    return {
      ...verdict,
      isPending: true,
      steps: null,
      rows: isSameAt('data', judged.asked, config) ? verdict.rows : null,
      problems: holding(problems),
      warnings: holding(warnings),
    }
  }, [judged.answer, judged.asked, config, isReady, isBehind])
}

export interface Trial {
  readonly state: 'idle' | 'running' | 'done' | 'failed' | 'cancelled'
  readonly progress: {
    readonly phase: string
    readonly done: number
    readonly total: number | null
    readonly unit: string
  } | null
  readonly error: Error | null
  /** Latest result, possibly of other settings. */
  readonly result: Calibration | null
  /** Estimate for the whole study; null for one run. */
  readonly study: StudyEstimate | null
  /** True if the result belongs to the current settings. */
  readonly isCurrent: boolean
  readonly start: () => void
  readonly cancel: () => void
}

export function useTrial(draft: Draft): Trial {
  const run = useTask('runs.calibrate')
  const study = useTask('studies.calibrate')
  const { config } = draft
  const isStudy = kindOf(config) !== 'run'
  const { cancel, state, last, error } = isStudy ? study : run
  const checked = useNewRunStore((store) => store.checked)
  const part = checkedPart(draft)
  const begin = useCallback(() => {
    tried.part = part
    if (isStudy) study.start({ file: config })
    else run.start({ config: asConfig(config) })
  }, [config, part, isStudy, study, run])
  useEffect(() => {
    if (state !== 'done' || last === undefined || !('result' in last)) return
    const { result } = last
    const checked = 'run' in result ? { result: result.run, study: result } : { result, study: null }
    useNewRunStore.setState({ checked: { part: tried.part, ...checked } })
  }, [state, last])
  return {
    state,
    progress: last !== undefined && 'progress' in last ? last.progress : null,
    error: tried.part === part ? error : null,
    result: checked?.result ?? null,
    study: checked?.study ?? null,
    isCurrent: checked?.part === part,
    start: begin,
    cancel,
  }
}

/** Settings of the running trial; only one wizard is shown at a time. */
const tried = { part: '' }

export interface Starter {
  readonly start: (options: { readonly queue: boolean }) => void
  readonly isStarting: boolean
}

export function useStarter(draft: Draft, known: Known): Starter {
  const client = useApi()
  const { runs } = useRuns()
  const begin = useCommand('runs.start')
  const fork = useCommand('runs.fork')
  const push = useCommand('queue.push')
  const study = useCommand('studies.start')
  const { config } = draft
  const parent = runs.find(({ id }) => id === draft.fork?.runId)
  const given = config['name']
  const name = (typeof given === 'string' && given.trim()) || defaultName(draft, known, parent?.name ?? null)

  /** Starts the next draft from the same settings, without the name and the fork. */
  const done = () => {
    const { name: _, ...rest } = config
    useNewRunStore.setState({ started: checkedPart({ config: rest, fork: null }) })
    change(client, draft.fork === null ? { config: rest, fork: null } : emptyDraft)
  }
  const startRun = async (queue: boolean): Promise<string | undefined> => {
    if (draft.fork === null) return (await begin.run({ config: asConfig({ ...config, name }), queue }))?.runId
    const { runId, step } = draft.fork
    const made = await fork.run({ runId, step, changes: forkChanges(draft), start: !queue })
    if (made !== undefined && queue) await push.run({ runId: made.runId })
    return made?.runId
  }
  const startStudy = () => {
    void study.run({ file: { ...config, name } }).then((made) => {
      if (made === undefined) return
      done()
      navigate(`/runs/studies/${made.id}`)
    })
  }
  const start = ({ queue }: { readonly queue: boolean }) => {
    if (kindOf(config) !== 'run') {
      startStudy()
      return
    }
    void startRun(queue).then((runId) => {
      if (runId === undefined) return
      done()
      if (!queue) navigate(`/runs/${runId}/overview`)
      else
        toast({
          title: `${name} waits in the queue.`,
          tone: 'good',
          action: { label: 'Show', run: () => navigate('/') },
        })
    })
  }
  return { start, isStarting: [begin, fork, push, study].some(({ isRunning }) => isRunning) }
}

export const defaultName = (draft: Draft, known: Known, parentName: string | null): string =>
  draft.fork === null
    ? suggestedName(draft.config, known)
    : `${parentName ?? 'run'} from step ${String(draft.fork.step)}`

export function useCheckpointFolder(): (runId: string, step: number) => Promise<string | undefined> {
  const client = useApi()
  return useCallback(
    async (runId: string, step: number) => {
      const list = await client.call('checkpoints.list', { runId })
      return list.find((checkpoint) => checkpoint.step === step)?.directory
    },
    [client],
  )
}

/** Settings of the sample run, without its name. */
export function useSample(): () => Promise<JsonObject | undefined> {
  const client = useApi()
  return useCallback(async () => {
    try {
      const { config } = await client.call('runs.sample')
      const { name: _, ...rest } = config as unknown as JsonObject
      return rest
    } catch (thrown) {
      toastError(asError(thrown))
      return undefined
    }
  }, [client])
}
