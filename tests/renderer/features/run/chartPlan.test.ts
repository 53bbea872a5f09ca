import { describe, expect, test } from 'vitest'
import { metricDeclarations } from '#shared/metrics.ts'
import { metricsOf, planCharts, planLearning, planLoss } from '#renderer/features/run/chartPlan.ts'

const rewards = { kinds: ['rollout'], evaluationEvery: 10 } as const
const titles = (charts: readonly { readonly title: string }[]) => charts.map(({ title }) => title)

describe('planCharts', () => {
  test('a run that learns from rewards begins with its reward, whatever is there yet', () => {
    const charts = planCharts([], rewards)
    expect(titles(charts).slice(0, 2)).toEqual(['Reward', 'Reward components'])
    expect(charts[0]?.emptyText).toBe(
      'Appears after the first step. The validation split is evaluated every 10 steps.',
    )
  })

  test('no step is named where nothing is yet, as that of a fork is another', () => {
    const words = [...planCharts([], rewards), ...planLearning([], rewards)].map(({ emptyText }) => emptyText)
    expect(words.filter((text) => /step \d/.test(text))).toEqual([])
  })

  test('an evaluation before the first step takes nothing away', () => {
    const before = titles(planCharts(['eval_reward', 'eval_time'], rewards))
    expect(before).toEqual(titles(planCharts([], rewards)))
    expect(titles(planCharts(['eval_reward', 'reward'], rewards)).length).toBeLessThan(before.length)
  })

  test('the reward has a band of its standard deviation and a line of validation rows', () => {
    const [reward] = planCharts(['reward', 'reward_std', 'eval_reward'], rewards)
    expect(reward).toMatchObject({ bandMetric: 'reward_std', better: 'higher' })
    expect(metricsOf([...planCharts(['reward', 'reward_std', 'eval_reward'], rewards)])).toEqual(
      expect.arrayContaining(['reward', 'reward_std', 'eval_reward']),
    )
  })

  test('one line per reward function', () => {
    const parts = planCharts(
      ['reward', 'rewards/format/mean', 'rewards/correct/mean', 'rewards/correct/std'],
      rewards,
    )[1]
    expect(parts?.lines).toEqual([
      { metric: 'rewards/correct/mean', label: 'correct' },
      { metric: 'rewards/format/mean', label: 'format' },
    ])
  })

  test('nothing is shown that the run does not measure', () => {
    const charts = titles(planCharts(['reward', 'entropy', 'value_loss'], rewards))
    expect(charts).toContain('Value loss')
    expect(charts).not.toContain('KL')
    expect(charts).not.toContain('Zero-variance groups')
  })

  test('demonstrations and preferences have charts of their own', () => {
    const facts = { kinds: ['demonstrations'], evaluationEvery: null } as const
    expect(titles(planCharts(['perplexity', 'loss'], facts))).toEqual(['Perplexity'])
    const preferences = { kinds: ['preferences'], evaluationEvery: null } as const
    expect(
      titles(planCharts(['rewards/margins', 'rewards/chosen', 'rewards/rejected', 'loss'], preferences)),
    ).toEqual(['Reward margin', 'Implicit reward'])
  })
})

test('a loss near 0 is explained only where it is normal', () => {
  expect(planLoss(['loss'], rewards)?.help).toContain('Near 0 is normal')
  expect(planLoss(['loss'], { kinds: ['demonstrations'], evaluationEvery: null })?.help).not.toContain(
    'Near 0',
  )
})

test('numbers that rewards log get a chart each', () => {
  expect(titles(planLearning(['grad_norm', 'logged/depth', 'logged/a b'], rewards))).toEqual([
    'Gradient norm',
    'a b',
    'depth',
  ])
})

test('rollouts on a server get charts of its mismatch and of retries', () => {
  const names = [
    'rollout/server_retries',
    'rollout/servers',
    'rollout/staleness',
    'sampling/server_logp_difference/max',
    'sampling/server_logp_difference/mean',
  ]
  const charts = planLearning(names, rewards)
  expect(titles(charts)).toEqual([
    'Server logprob mismatch',
    'Rollout servers',
    'Staleness',
    'Server retries',
  ])
  expect(charts[0]?.lines.map(({ label }) => label)).toEqual(['mean', 'max'])
  expect(titles(planLearning(['grad_norm'], rewards))).toEqual(['Gradient norm'])
})

test('every planned metric is declared', () => {
  const all = [...metricDeclarations.keys()]
  const charts = [...planCharts(all, rewards), ...planLearning(all, rewards)]
  const undeclared = metricsOf(charts).filter((metric) => !metricDeclarations.has(metric))
  expect(undeclared).toEqual([])
  expect(charts.every(({ help }) => help !== '')).toBe(true)
})
