import { expect, test } from 'vitest'
import { algorithms } from '#rl/algorithms/registry.ts'
import { rewardName as nameInRuns } from '#shared/runConfig.ts'
import { chartEvents } from '#renderer/features/run/chartEvents.ts'
import { healthyWords } from '#renderer/features/run/DiagnosisTab.tsx'
import { treeOf } from '#renderer/features/run/FamilyTree.tsx'
import { slowPace, typicalOf } from '#renderer/parts/useRun.ts'
import {
  dataName,
  experiencesOf,
  rewardName,
  rewardRoute,
  rewardWords,
  serverWords,
} from '#renderer/parts/runFacts.ts'
import { timeShares } from '#renderer/features/run/TimePanel.tsx'

test('rewards have the names that runs give them', () => {
  const entries = [
    { function: 'exact-match' },
    { function: '/a/b/good.ts' },
    { function: '/a/b/good.ts#second' },
    { function: 'C:\\x\\good.mjs' },
    { function: '/a/b.ts', name: 'own' },
  ]
  for (const entry of entries) expect(rewardName(entry)).toBe(nameInRuns(entry))
})

test('data are called by the name of their set', () => {
  const digest = 'c'.repeat(64)
  expect(dataName(`/data/datasets/${digest}`, new Map([[digest, 'sums']]))).toBe('sums')
  expect(dataName(`/data/datasets/${digest}`, new Map())).toBe('data cccccccc')
  expect(dataName('C:\\rows\\train.jsonl', new Map())).toBe('train.jsonl')
  expect(dataName({ episodes: 40 }, new Map())).toBe('40 episodes')
})

test('many rewards are counted, an environment is named where there are none', () => {
  const reward = (name: string) => ({ function: name, weight: 1, settings: {} })
  expect(rewardWords({ rewards: ['a', 'b', 'c', 'd'].map(reward), environment: null })).toBe('a + b + 2 more')
  expect(rewardWords({ rewards: [], environment: null })).toBeNull()
})

test('stages may learn in several ways', () => {
  const algorithm = { id: 'grpo', settings: {} }
  const stages = [{ algorithm: { id: 'sft', settings: {} } }, {}]
  const kinds = (config: Parameters<typeof experiencesOf>[0]) => experiencesOf(config, algorithms).toSorted()
  expect(kinds({ algorithm, stages })).toEqual(['demonstrations', 'rollout'])
  expect(kinds({ algorithm: { id: 'dpo', settings: {} }, stages: [] })).toEqual(['preferences'])
})

test('slow is three times the usual and long enough to be noticed', () => {
  expect(slowPace(30_000, 8_000)).toMatchObject({ sinceMs: 30_000, times: 3.75 })
  expect(slowPace(20_000, 8_000)).toBeNull()
  expect(slowPace(4_000, 300)).toBeNull()
  expect(slowPace(60_000, null)).toBeNull()
  expect(typicalOf([1, 9, 2])).toBe(2)
  expect(typicalOf([])).toBeNull()
})

test('what happened to a run is marked on its charts', () => {
  const stored = (id: number, event: Readonly<Record<string, unknown>> & { readonly type: string }) => ({
    id,
    seq: id,
    event: { at: 0, ...event },
  })
  const marks = chartEvents({
    run: {
      parentRunId: 'run_a',
      parentCheckpointStep: 10,
      settingChanges: [
        { step: 12, key: 'optimization.learningRate', from: 0.001, to: 0.0001 },
        { step: 12, key: 'rollout.temperature', from: 1, to: 0.8 },
      ],
    },
    events: [
      stored(1, { type: 'status', phase: 'training', step: 10 }),
      // A checkpoint is announced after it was made, so a resume voids the announcement and repeats it.
      stored(3, { type: 'resumed', keep: 2 }),
      stored(4, { type: 'checkpoint-saved', step: 20 }),
    ],
    findings: [
      {
        id: 'cap-hits',
        severity: 'warning',
        words: 'Cut off.',
        proposals: [],
        evidence: [
          { of: 'completions/clipped_ratio', value: 0.1, fromStep: 1, toStep: 5 },
          { of: 'completions/clipped_ratio', value: 0.9, fromStep: 15, toStep: 20 },
        ],
      },
    ],
  })
  expect(marks.find(({ x }) => x === 12)?.label).toBe('Learning rate 0.001 → 0.0001, Temperature 1 → 0.8')
  expect(marks.map(({ x, kind }) => [x, kind])).toEqual([
    [10, 'fork'],
    [12, 'setting'],
    [15, 'alarm'],
    [20, 'resume'],
    [20, 'checkpoint'],
  ])
})

test('forks stand under the run they began from', () => {
  const member = (id: string, parentRunId: string | null, createdAt: number) => ({
    id,
    parentRunId,
    createdAt,
  })
  const family = [member('c', 'a', 3), member('b', 'a', 2), member('d', 'b', 4), member('a', 'gone', 1)]
  expect(treeOf(family).map(({ member: { id }, depth }) => [id, depth])).toEqual([
    ['a', 0],
    ['b', 1],
    ['d', 2],
    ['c', 1],
  ])
})

test('the time of steps in at most sixty columns, weighed by how many steps a stretch has', () => {
  const point = (step: number, mean: number, count = 1) => ({
    step,
    lastStep: step + count - 1,
    min: mean,
    max: mean,
    mean,
    last: mean,
    count,
  })
  const columns = timeShares([point(1, 2), point(2, 4)], (metric) =>
    metric === 'time/update' ? [point(1, 1), point(2, 3)] : [],
  )
  expect(columns).toEqual([
    { step: 1, seconds: 2, parts: { 'time/update': 1 } },
    { step: 2, seconds: 4, parts: { 'time/update': 3 } },
  ])
  const many = Array.from({ length: 130 }, (_, i) => point(i * 10 + 1, i, 10))
  expect(timeShares(many, () => []).length).toBeLessThanOrEqual(60)
  expect(timeShares([point(1, 1, 3), point(4, 5)], () => [])[0]?.seconds).toBe(1)
})

test('all well is said of the steps that were looked at', () => {
  const within = { stage: null, firstStep: 1, steps: 30, checks: [] }
  expect(healthyWords(within)).toBe('Nothing looks wrong in steps 1–30.')
  expect(healthyWords({ ...within, stage: 1, firstStep: 5, steps: 1 })).toBe(
    'Nothing looks wrong in step 5 of stage 2.',
  )
  expect(healthyWords({ ...within, firstStep: 0, steps: 0 })).toContain('No step has finished')
  // Some rules wait for more steps than it takes to pass a limit.
  const cut = {
    title: 'Truncated completions',
    metric: 'completions/clipped_ratio',
    before: null,
    value: 0.9,
    unit: 'share',
    limit: 'above 50 %',
    isWithin: false,
  } as const
  const young = { ...within, steps: 2 }
  expect(healthyWords({ ...young, checks: [cut, { ...cut, isWithin: true }] })).toBe(
    'No problem is certain in steps 1–2, but 1 figure is beyond its limit.',
  )
  expect(healthyWords({ ...young, checks: [cut, cut] })).toContain('2 figures are beyond their limits')
})

test('a reward is opened where its code is', () => {
  const library = `/data/rewards/rw_01a1f9ba-59c2-774c-94bf-d22e5248eae8/${'a'.repeat(64)}.ts#good`
  const rewards = ['exact-match', library, '/home/me/own.ts'].map((id) => ({
    function: id,
    weight: 1,
    settings: {},
  }))
  expect(rewardRoute(rewards, 'exact-match')).toBe('/rewards/builtin.exact-match')
  expect(rewardRoute(rewards, 'good')).toBe('/rewards/rw_01a1f9ba-59c2-774c-94bf-d22e5248eae8')
  expect(rewardRoute(rewards, 'own')).toBe('/rewards')
  expect(rewardRoute(rewards, 'unknown')).toBe('/rewards')
})

test('a server that generates is named by its program and address', () => {
  const wordsOf = (server: unknown) =>
    serverWords({ rollout: { server } } as Parameters<typeof serverWords>[0])
  expect(wordsOf({ kind: 'sglang', url: 'http://box:30000/' })).toBe('rollouts by SGLang on box:30000')
  expect(wordsOf({ kind: 'vllm', url: 'https://gpu.local' })).toBe('rollouts by vLLM on gpu.local')
  const two = { kind: 'vllm', url: ['http://a:8000', 'http://b:8000'] }
  expect(wordsOf(two)).toBe('rollouts by vLLM on a:8000 and 1 other server')
  expect(wordsOf({ ...two, url: [...two.url, 'http://c'] })).toBe(
    'rollouts by vLLM on a:8000 and 2 other servers',
  )
  expect(wordsOf(null)).toBeNull()
  expect(wordsOf(undefined)).toBeNull()
})
