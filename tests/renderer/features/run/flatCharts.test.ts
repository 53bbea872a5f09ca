import { describe, expect, test } from 'vitest'
import { type Series, pointAt } from '#renderer/charts/lines.ts'
import { planCharts, planLearning, planLoss } from '#renderer/features/run/chartPlan.ts'
import { flatValue, quieted } from '#renderer/features/run/flatCharts.ts'

const series = (values: readonly number[], gaps: readonly number[] = []): Series => ({
  points: values.map((value, i) => pointAt(i + 1, i + 1, value)),
  gaps,
})

const facts = { kinds: ['rollout'], evaluationEvery: 10 } as const
const names = ['reward', 'completions/clipped_ratio', 'reward/failures', 'learning_rate', 'loss']
const chart = (metric: string) => {
  const all = [...planCharts(names, facts), ...planLearning(names, facts), planLoss(names, facts)]
  const found = all.find((each) => each?.lines.some((line) => line.metric === metric))
  if (!found) throw new Error(`Expected a chart of ${metric}.`)
  return found
}
const valueOf = (metric: string, own: Series) => flatValue(chart(metric), () => own)

describe('flat charts', () => {
  test('never moved, whatever their value is', () => {
    expect(valueOf('completions/clipped_ratio', series([0, 0, 0, 0]))).toBe('0')
    expect(valueOf('completions/clipped_ratio', series([0.5, 0.5, 0.5]))).toBe('50') // in percent
    expect(valueOf('reward/failures', series([0, 0, 0]))).toBe('0')
    expect(valueOf('learning_rate', series([0.002, 0.002, 0.002]))).toBe('0.00200')
  })

  test('one other value is enough to be drawn, and little or nothing is no reason to fold', () => {
    expect(valueOf('completions/clipped_ratio', series([0, 0, 0.01, 0]))).toBeNull()
    expect(valueOf('learning_rate', series([1e-7, 1.1e-7, 1.2e-7]))).toBeNull()
    expect(valueOf('completions/clipped_ratio', series([0, 0]))).toBeNull()
    expect(valueOf('completions/clipped_ratio', series([]))).toBeNull()
  })

  test('a value that was no number is to be seen', () => {
    expect(valueOf('learning_rate', series([0.002, 0.002, 0.002], [4]))).toBeNull()
  })

  test('a loss of 1e-16 is 0, one of 1e-3 is not', () => {
    expect(valueOf('loss', series([1e-16, -3e-17, 4e-9, 0]))).toBe('0')
    expect(valueOf('loss', series([1e-3, -2e-3, 1e-3]))).toBeNull()
    expect(quieted(series([1e-16, 0.5]), 1e-7)?.points.map(({ last }) => last)).toEqual([0, 0.5])
  })
})
