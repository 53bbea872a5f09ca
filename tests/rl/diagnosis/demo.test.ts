import { expect, test } from 'vitest'
import type { Diagnosis } from '#shared/diagnosis.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { diagnose } from '#rl/diagnosis/diagnose.ts'
import type { Point } from '#rl/diagnosis/diagnosedRun.ts'
import { demoEvaluations, demoSteps } from './demoSeries.ts'

const demo = {
  model: 'starter',
  data: { train: 'train.jsonl', heldOut: 'heldout.jsonl' },
  rewards: [
    { function: 'starter-correct', name: 'correct', weight: 0.8 },
    { function: 'starter-format', name: 'format', weight: 0.2 },
  ],
  rollout: { promptsPerStep: 16, groupSize: 8, maxNewTokens: 16 },
  optimization: { learningRate: 0.002 },
  steps: 30,
}
const ppo = { ...demo, algorithm: { id: 'ppo' } }

const noMetrics = new Map<string, Point[]>()

/** As it stood after so many steps. */
function metricsUpTo(last: number): Map<string, Point[]> {
  const heldOut = demoEvaluations.filter(([step]) => step <= last)
  return new Map([
    ...Object.entries(demoSteps).map(([name, values]): [string, Point[]] => [
      name,
      values.slice(0, last).map((value, i) => ({ step: i + 1, value })),
    ]),
    ['eval_reward', heldOut.map(([step, value]) => ({ step, value }))],
  ])
}

function diagnosed(config: object, metrics: Map<string, Point[]>, checkpoints: number[] = []): Diagnosis {
  return diagnose(parseRunConfig(config), {
    metrics,
    samples: [],
    heldOutPrompts: [],
    checkpoints,
    failure: null,
  })
}

test('a real run that went well has no findings, neither early nor at its end', () => {
  expect(diagnosed(ppo, metricsUpTo(30))).toMatchObject({
    stage: null,
    firstStep: 1,
    steps: 30,
    findings: [],
    soundUntil: null,
  })
  expect(diagnosed(ppo, metricsUpTo(10)).findings).toEqual([])
})

test('nor while single steps estimated the divergence as large: most of them did not', () => {
  for (let step = 1; step <= 30; step++)
    expect(diagnosed(ppo, metricsUpTo(step), [10, 20]).findings).toEqual([])
})

test('of several stages the last that began is judged, with its own settings', () => {
  const stages = [
    { algorithm: { id: 'sft' }, steps: 10 },
    { algorithm: { id: 'grpo' }, steps: 30, rollout: { maxNewTokens: 8 } },
  ]
  // Ten steps of demonstrations, in which completions were cut off and numbers broke down.
  const moved = [...metricsUpTo(20)].map(([name, points]): [string, Point[]] => [
    name,
    points.map(({ step, value }) => ({ step: step + 10, value })),
  ])
  const metrics = new Map(moved)
  const before = (value: number | null, name: string) =>
    metrics.set(name, [
      ...Array.from({ length: 10 }, (_, i) => ({ step: i + 1, value })),
      ...(metrics.get(name) ?? []),
    ])
  for (const [value, name] of [
    [null, 'loss'],
    [2, 'epoch'],
    [1, 'step_time'],
  ] as const)
    before(value, name)
  metrics.set(
    'completions/clipped_ratio',
    Array.from({ length: 20 }, (_, i) => ({ step: i + 11, value: 0.8 })),
  )
  const diagnosis = diagnosed({ ...demo, stages }, metrics)
  expect(diagnosis).toMatchObject({ stage: 1, firstStep: 11, steps: 20 })
  expect(diagnosis.findings.map(({ id }) => id)).toEqual(['cap-hits'])
  expect(diagnosis.findings[0]?.proposals[0]?.changes).toEqual({ 'rollout.maxNewTokens': 16 })
  // The same where lengths follow from the data.
  const unplanned = stages.map((stage) => ({ ...stage, steps: null }))
  expect(diagnosed({ ...demo, stages: unplanned }, metrics)).toEqual(diagnosis)
  // A fork that begins within the second stage has the numbers of that one alone.
  const own = [...metrics].map(([name, points]): [string, Point[]] => [
    name,
    points.filter(({ step }) => step > 15),
  ])
  expect(diagnosed({ ...demo, stages }, new Map(own))).toMatchObject({ stage: 1, firstStep: 16, steps: 15 })
})

test('before the second stage begins the first is judged', () => {
  const stages = [{ algorithm: { id: 'sft' }, steps: 10 }, { algorithm: { id: 'grpo' } }]
  const broken = [{ step: 1, value: null }]
  const metrics = new Map<string, Point[]>([
    ['loss', broken],
    ['epoch', [{ step: 1, value: 0.1 }]],
    ['step_time', [{ step: 1, value: 1 }]],
  ])
  expect(diagnosed({ ...demo, stages }, metrics)).toMatchObject({
    stage: 0,
    steps: 1,
    findings: [{ id: 'diverged' }],
  })
  expect(diagnosed({ ...demo, stages }, noMetrics)).toMatchObject({ stage: 0, steps: 0, findings: [] })
})

test('the gravest finding comes first', () => {
  const metrics = metricsUpTo(30)
  metrics.set(
    'completions/clipped_ratio',
    Array.from({ length: 30 }, (_, i) => ({ step: i + 1, value: 0.6 })),
  )
  metrics.set(
    'sampling/sampling_logp_difference/mean',
    [1, 2, 3].map((step) => ({ step, value: 1 })),
  )
  const { findings } = diagnosed(ppo, metrics)
  expect(findings.map(({ severity }) => severity)).toEqual(['problem', 'warning'])
})
