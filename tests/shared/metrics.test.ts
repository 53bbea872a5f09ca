import { expect, test } from 'vitest'
import { declarationOf, metricDeclarations, type MetricName } from '#shared/metrics.ts'

test('a metric of a reward function is declared by its pattern', () => {
  expect(declarationOf('rewards/exact-match/mean')).toBe(metricDeclarations.get('rewards/{function}/mean'))
  expect(declarationOf('eval_rewards/a.b/mean')).toBe(metricDeclarations.get('eval_rewards/{function}/mean'))
  expect(declarationOf('reward').better).toBe('higher')
  expect(() => declarationOf('nonsense' as MetricName)).toThrow('nonsense')
})

test('every metric explains itself in a sentence', () => {
  for (const [name, { explanation }] of metricDeclarations) expect(explanation, name).toMatch(/^[A-Z].*\.$/)
})
