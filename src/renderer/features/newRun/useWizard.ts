/** State of the wizard: steps, missing parts, possible actions. */
import { useMemo } from 'react'
import { modelFactsOf, withModel } from './chosenRows.ts'
import { changedFields, emptyDraft, pruned, type Draft } from './draft.ts'
import { valueAt, type JsonObject } from '#shared/config/paths.ts'
import { ConfigError, type Problem } from '#shared/errors.ts'
import { changeWords, isActive, presetsFor } from './presets.ts'
import { stepIds, stepOf, type StepId } from './problems.ts'
import { algorithmOf } from './stages.ts'
import { keepingStudy, useNewRunStore } from './useDraft.ts'
import { kindOf, studyWords, withKind, type DraftKind } from './studyDraft.ts'
import { dataWords, methodWords, modelWords, rewardWords, startWords } from './summaries.ts'
import { etaWords } from '#renderer/client/live.ts'
import { formatBytes } from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'
import { useKeys } from '#renderer/client/keys.ts'
import {
  defaultName,
  useDraft,
  useKnowledge,
  useSample,
  useStarter,
  useTrial,
  useVerdict,
  type Knowledge,
  type Trial,
} from './useNewRun.ts'
import { usePrefill } from './usePrefill.ts'
import { useRuns } from '#renderer/client/runs.ts'

export interface Step {
  readonly id: StepId
  readonly summary: string | null
  readonly next: StepId | null
}

export type Wizard = ReturnType<typeof useWizard>

export function useWizard() {
  const view = useDraft()
  const { draft, setDraft, update } = view
  const { config, fork } = draft
  const known = useKnowledge(config)
  const { runs } = useRuns()
  const steps = useSteps()
  const isReady = view.isLoaded && known.isLoaded
  const verdict = useVerdict(draft, isReady)
  const trial = useTrial(draft)
  const starter = useStarter(draft, known)
  const readSample = useSample()
  usePrefill(view, known, (next) => steps.showOnly(firstOpen(next, known)))
  const parent = runs.find(({ id }) => id === fork?.runId)
  // Problems that only the check can find are shown beside their setting as well.
  const problems = [...verdict.problems, ...(trial.error instanceof ConfigError ? trial.error.problems : [])]
  const summaries = summariesOf(draft, known, trial)
  const kind = kindOf(config)
  const shownIds = stepIds.filter((id) => id !== 'study' || kind !== 'run')
  const missing = shownIds.filter((id) => id !== 'check' && summaries[id] === null)
  const isValid = isReady && missing.length === 0 && !verdict.isPending && verdict.problems.length === 0
  const act = () => {
    if (!isValid || trial.state === 'running' || starter.isStarting) return
    if (trial.isCurrent) starter.start({ queue: false })
    else {
      steps.showOnly(['check'])
      trial.start()
    }
  }
  useKeys({ act })
  return {
    draft,
    kind,
    setDraft,
    update,
    known,
    verdict,
    trial,
    isReady,
    missing,
    isValid,
    act,
    ...draftActions(view, known, steps, readSample),
    start: starter.start,
    isStarting: starter.isStarting,
    isOpen: steps.isOpen,
    toggle: steps.toggle,
    show: steps.show,
    goOn: steps.goOn,
    modelFacts: modelFactsOf(config, known.models),
    columns: columnsOf(config, known),
    problems,
    problemsOf: (step: StepId): readonly Problem[] => problems.filter((problem) => stepOf(problem) === step),
    name:
      typeof config['name'] === 'string' ? config['name'] : defaultName(draft, known, parent?.name ?? null),
    parentName: parent === undefined ? 'a run' : runTitle(parent),
    steps: shownIds.map((id, i): Step => ({ id, summary: summaries[id], next: shownIds[i + 1] ?? null })),
  }
}

/** Changes of the whole draft. */
const draftActions = (
  { draft, setDraft, update, replace }: ReturnType<typeof useDraft>,
  known: ReturnType<typeof useKnowledge>,
  steps: ReturnType<typeof useSteps>,
  readSample: ReturnType<typeof useSample>,
) => ({
  setKind: (next: DraftKind) => {
    const kept = keepingStudy(draft.config)
    update((now) => withKind(now, next, kept))
    if (next !== 'run') steps.showOnly(['study'])
  },
  setModel: (model: string) => update((now) => withModel(now, model, known)),
  open: (next: JsonObject, words: string) => replace({ ...draft, config: next }, words),
  sample: () => {
    void readSample().then(
      (sample) => sample && setDraft({ config: pruned(sample, known.fields), fork: null }),
    )
  },
  clear: () => {
    replace(emptyDraft, 'All settings are back to their defaults.')
    steps.showOnly(['model'])
  },
})

export const headOf = (id: StepId): string => `step-${id}`

/** Scrolls to a step once it is rendered. */
const goTo = (id: StepId) =>
  requestAnimationFrame(() => {
    const head = document.getElementById(headOf(id))
    head?.focus({ preventScroll: true })
    head?.scrollIntoView({ block: 'nearest' })
  })

/** Unfolded steps, remembered while the window is open. */
function useSteps() {
  const open = useNewRunStore((state) => state.openSteps)
  return useMemo(() => {
    const set = (openSteps: readonly StepId[]) => useNewRunStore.setState({ openSteps })
    const isOpen = (id: StepId) => open.includes(id)
    return {
      isOpen,
      showOnly: set,
      toggle: (id: StepId) => set(isOpen(id) ? open.filter((each) => each !== id) : [...open, id]),
      show: (id: StepId) => {
        set(isOpen(id) ? open : [...open, id])
        goTo(id)
      },
      goOn: (id: StepId, next: StepId) => {
        set([...open.filter((each) => each !== id && each !== next), next])
        goTo(next)
      },
    }
  }, [open])
}

const columnsOf = (config: JsonObject, { dataSets }: Knowledge): string[] => {
  const versions = dataSets.flatMap((set) => set.versions)
  const train = valueAt(config, 'data.train')
  return versions.find(({ directory }) => directory === train)?.columns.map(({ name }) => name) ?? []
}

/** Returns the next steps to do in a newly filled draft. */
function firstOpen({ config, fork }: Draft, known: Knowledge): readonly StepId[] {
  if (fork !== null) return ['method']
  if (modelWords(config, known) === null) return ['model']
  if (dataWords(config, known) === null) return ['data']
  return rewardWords(config, known) === null ? ['reward'] : ['method']
}

function summariesOf(draft: Draft, known: Knowledge, trial: Trial): Readonly<Record<StepId, string | null>> {
  const { config } = draft
  return {
    model: startWords(config, known),
    data: dataWords(config, known),
    reward: rewardWords(config, known),
    method: methodWords(config, known, changesOf(draft, known)),
    study: studyWords(config),
    check: checkWords(trial),
  }
}

function changesOf({ config, fork }: Draft, known: Knowledge): string {
  const algorithm = known.algorithms.find(({ id }) => id === algorithmOf(config))
  const presets = algorithm === undefined ? [] : presetsFor(modelFactsOf(config, known.models), algorithm)
  return changeWords(
    changedFields({ config, fork }, known.fields).map(({ key }) => key),
    presets.find((preset) => isActive(config, preset)),
  )
}

function checkWords({ state, result, study, isCurrent }: Trial): string | null {
  if (state === 'running') return 'Taking one step'
  if (result === null) return null
  if (!isCurrent) return 'Settings changed since the last check'
  const { etaSeconds, memory } = result
  const { low, high } = study?.seconds ?? etaSeconds
  const bytes = study?.memory.neededBytes ?? memory.expectedBytes
  return `${etaWords({ lowMs: 1000 * low, highMs: 1000 * high })} · ${formatBytes(bytes)} of ${study === null ? 'private ' : ''}memory`
}
