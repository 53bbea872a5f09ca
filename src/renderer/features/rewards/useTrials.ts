/** Trials of code: dry runs, tests, reward-hacking tests, episodes by hand, rescoring of stored samples. */
import { useCallback, useEffect, useMemo, useState } from 'react'
import type { InputOf } from '#shared/api/contract.ts'
import type { Api } from '#shared/api/api.ts'
import { dryRunOn } from './bench.ts'
import { nameInRun } from '#renderer/parts/rewardChoice.ts'
import { placesOf, resultRows } from './results.ts'
import type {
  BatteryReport,
  Code,
  JudgeCode,
  PlayedTurn,
  PythonCode,
  SettingValues,
  TestCase,
  TestResult,
} from '#renderer/parts/rewardTypes.ts'
import type { CodeFailurePlace } from '#renderer/editor/problemLines.ts'
import { useAnswer, useApi, useTask, type Answer } from '#renderer/client/api.tsx'
import { asError, codeOf } from '#renderer/client/toasts.ts'
import type { RewardBench } from './useRewards.ts'

type Tried = Code | PythonCode | JudgeCode

const given = (code: Tried): Tried =>
  !('code' in code) ? code : { language: code.language, code: code.code }

const isSame = (one: Tried | null, other: Tried): boolean =>
  JSON.stringify(one) === JSON.stringify(given(other))

/** Code to try, and the rows to try it on. */
export interface TrialInput {
  readonly code: Tried
  readonly settings: SettingValues
  readonly bench: RewardBench
}

/** Scores the rows of the bench with the current code. */
export function useDryRun({ code, settings, bench }: TrialInput) {
  const { start, cancel, items, last, state, error } = useTask('rewards.dryRun')
  const [asked, setAsked] = useState<{
    readonly code: Tried
    readonly rows: readonly (number | null)[]
    readonly isGenerated: boolean
  } | null>(null)
  const [missing, setMissing] = useState<string | null>(null)
  const run = useCallback(() => {
    const request = dryRunOn(bench.bench, bench.shown, bench.hand)
    if ('missing' in request) {
      setMissing(request.missing)
      return
    }
    setMissing(null)
    setAsked({ code: given(code), rows: request.rows, isGenerated: bench.bench.completions === 'model' })
    start({ code: given(code), settings, on: request.on })
  }, [bench.bench, bench.shown, bench.hand, code, settings, start])
  const rows = useMemo(() => resultRows(items, asked?.rows ?? []), [items, asked])
  const broken = useBrokenPlace(
    error !== null && codeOf(error) === 'sandbox/failed' ? (asked?.code ?? null) : null,
  )
  const key = JSON.stringify(broken ?? placesOf(rows))
  // Returns the same list for the same places, since the editor shows a new one once.
  const problems = useMemo(() => JSON.parse(key) as CodeFailurePlace[], [key])
  return {
    run,
    rows,
    missing,
    problems,
    task: { state, error, last, cancel },
    /** True if the code has changed since. */
    isStale: asked !== null && !isSame(asked.code, code),
    /** True if a model wrote the completions: if all earn the same reward, training would learn nothing. */
    isGenerated: asked?.isGenerated ?? false,
  }
}

export type DryRun = ReturnType<typeof useDryRun>

/** Returns where code fails to load. */
function useBrokenPlace(code: Tried | null): readonly CodeFailurePlace[] | null {
  const { data } = useAnswer(
    'rewards.check',
    { code: code === null || 'builtIn' in code ? { language: 'ts', code: '' } : code },
    { enabled: code !== null },
  )
  if (code === null || data === undefined || !('problem' in data)) return null
  const { line, column, message } = data.problem
  return line === null ? [] : [{ line, column, sentence: message }]
}

interface Asking<Output> {
  readonly output: Output | null
  readonly isRunning: boolean
  readonly error: Error | null
  readonly ask: (call: () => Promise<Output>) => void
}

/** Makes one request at a time; its answer stays until the next. */
function useAsking<Output>(): Asking<Output> {
  const [view, setView] = useState<Omit<Asking<Output>, 'ask'>>({
    output: null,
    isRunning: false,
    error: null,
  })
  const ask = useCallback((call: () => Promise<Output>) => {
    setView((before) => ({ ...before, isRunning: true, error: null }))
    call().then(
      (output) => setView({ output, isRunning: false, error: null }),
      (thrown: unknown) => setView({ output: null, isRunning: false, error: asError(thrown) }),
    )
  }, [])
  return { ...view, ask }
}

/** Runs the stored tests with the current code. Results are in their order; null: not run yet. */
export function useTestRun(rewardId: string, code: Code) {
  const client = useApi()
  const { output, isRunning, error, ask } = useAsking<readonly TestResult[]>()
  const run = useCallback(() => {
    const { language, code: text } = code
    ask(() => client.call('rewards.runTests', { rewardId, code: { language, code: text } }))
  }, [ask, client, rewardId, code])
  return { results: output, isRunning, error, run }
}

export type TestRun = ReturnType<typeof useTestRun>

const noCheatRows = 'The tests need rows of a data set: choose one on the right.'

/** Runs the reward-hacking tests on the rows of the bench. */
export function useBattery({ code, settings, bench: { bench } }: TrialInput) {
  const client = useApi()
  const [honest, setHonest] = useState('')
  const [tried, setTried] = useState<Tried | null>(null)
  const { output, isRunning, error, ask } = useAsking<BatteryReport>()
  const run = useCallback(() => {
    const { versionId, from, count, prompt, model } = bench
    if (versionId === null) return
    setTried(given(code))
    const on = { versionId, from, count, prompt, ...(model === null ? {} : { model }) }
    ask(() =>
      client.call('rewards.battery', {
        code: given(code),
        settings,
        on: honest === '' ? on : { ...on, honest },
      }),
    )
  }, [ask, bench, client, code, settings, honest])
  return {
    report: output,
    isRunning,
    error,
    run,
    honest,
    setHonest,
    missing: bench.versionId === null ? noCheatRows : null,
    isStale: tried !== null && !isSame(tried, code),
  }
}

export type Battery = ReturnType<typeof useBattery>

type Played = InputOf<Api, 'rewards.play'>

const noTurns: readonly PlayedTurn[] = []

/** Plays an episode with the environment's code as of its start. */
export function useEpisode({ code, settings, row }: Omit<Played, 'actions' | 'seed'>) {
  const [seed, setSeed] = useState(42)
  const [asked, setAsked] = useState<Played | null>(null)
  const { data, error } = useAnswer('rewards.play', asked ?? { code: { builtIn: '' } }, {
    enabled: asked !== null,
    keep: true,
  })
  const start = useCallback(
    () => setAsked({ code, settings, row, seed, actions: [] }),
    [code, settings, row, seed],
  )
  const change = (edit: (actions: readonly string[]) => readonly string[]) =>
    setAsked((now) => (now === null ? null : { ...now, actions: edit(now.actions ?? []) }))
  return {
    isStarted: asked !== null,
    turns: asked === null ? noTurns : (data?.turns ?? noTurns),
    maxTurns: data?.maxTurns ?? null,
    error,
    seed,
    setSeed,
    start,
    act: (action: string) => change((actions) => [...actions, action]),
    takeBack: () => change((actions) => actions.slice(0, -1)),
    isStale: asked !== null && JSON.stringify(asked.code) !== JSON.stringify(code),
  }
}

export type Episode = ReturnType<typeof useEpisode>

interface RescoreRequest {
  readonly runId: string
  readonly version: string
  readonly rewardId: string
}

/** Rescores the stored samples of a run with one version of a reward; existing scores are reused. */
export function useRescore({ runId, version, rewardId }: RescoreRequest) {
  const task = useTask('samples.rescore')
  const { state } = task
  const [asked, setAsked] = useState<string | null>(null)
  const isAsked = asked === version
  const samples = useSamples(runId, isAsked)
  const scores = useAnswer(
    'samples.scores',
    { runId, version },
    { enabled: isAsked && state === 'done', staleMs: 0 },
  )
  const run = useAnswer('runs.get', { runId })
  const config = run.data?.config
  const { start } = task
  return {
    task,
    start: useCallback(() => {
      setAsked(version)
      start({ runId, version })
    }, [start, runId, version]),
    scores: isAsked && state === 'done' && samples !== null ? (scores.data ?? null) : null,
    samples: samples ?? noSamples,
    partName: useMemo(() => (config === undefined ? null : nameInRun(config, rewardId)), [config, rewardId]),
  }
}

type Sample = Answer<'samples.list'>[number]

const noSamples: readonly Sample[] = []
const samplesAtOnce = 500

/** Reads all samples of a run, page by page; null while loading. */
function useSamples(runId: string, isWanted: boolean): readonly Sample[] | null {
  const client = useApi()
  const [samples, setSamples] = useState<readonly Sample[] | null>(null)
  useEffect(() => {
    if (!isWanted) return
    const controller = new AbortController()
    const read = async () => {
      const all: Sample[] = []
      for (let before: number | undefined; ;) {
        const page = await client.call(
          'samples.list',
          { runId, limit: samplesAtOnce, ...(before === undefined ? {} : { before }) },
          { signal: controller.signal },
        )
        all.push(...page)
        before = page.at(-1)?.id
        if (page.length < samplesAtOnce || before === undefined) return all
      }
    }
    read().then(setSamples, () => {})
    return () => controller.abort()
  }, [client, runId, isWanted])
  return samples
}

/** Tests of a reward and their setter; changes show at once. `isOwn`: false if there can be none. */
export function useTests(rewardId: string, isOwn: boolean) {
  const client = useApi()
  const { data, refetch } = useAnswer('rewards.tests', { rewardId }, { enabled: isOwn })
  const [pending, setPending] = useState<readonly TestCase[] | null>(null)
  const { error, ask, isRunning } = useAsking<null>()
  const set = useCallback(
    (tests: readonly TestCase[]) => {
      setPending(tests)
      ask(async () => {
        await client.call('rewards.setTests', { rewardId, tests })
        refetch()
        return null
      })
    },
    [ask, client, refetch, rewardId],
  )
  // The host's value counts again once it has reported the change.
  const isTold = pending !== null && JSON.stringify(pending) === JSON.stringify(data)
  return { tests: pending !== null && !isTold ? pending : (data ?? noTests), set, error, isSaving: isRunning }
}

const noTests: readonly TestCase[] = []
