import { expect, test } from 'vitest'
import { declarationOf, metricDeclarations, metricLabel, type MetricName } from '#shared/metrics.ts'

test('a metric of a reward function is declared by its pattern', () => {
  expect(declarationOf('rewards/exact-match/mean')).toBe(metricDeclarations.get('rewards/{function}/mean'))
  expect(declarationOf('eval_rewards/a.b/mean')).toBe(metricDeclarations.get('eval_rewards/{function}/mean'))
  expect(declarationOf('reward').better).toBe('higher')
  expect(() => declarationOf('nonsense' as MetricName)).toThrow('nonsense')
})

test('every metric explains itself in a sentence', () => {
  for (const [name, { explanation }] of metricDeclarations) expect(explanation, name).toMatch(/^[A-Z].*\.$/)
})

test('every metric has a label of its own, with what stands for its placeholder', () => {
  const labels = [...metricDeclarations.values()].map(({ label }) => label)
  expect(new Set(labels).size).toBe(labels.length)
  for (const [name, { label }] of metricDeclarations)
    expect(label.match(/\{\w+\}/)?.[0], name).toBe(/\{\w+\}/.exec(name)?.[0])
  expect(metricLabel('frac_reward_zero_std')).toBe('Zero-variance groups')
  expect(metricLabel('rewards/a$1.b/mean')).toBe('Reward: a$1.b')
  expect(metricLabel('eval_rewards/rewards/mean')).toBe('Eval reward: rewards')
  expect(metricLabel('logged/steps/used')).toBe('Logged: steps/used')
  expect(metricLabel('nonsense')).toBe('nonsense')
})
