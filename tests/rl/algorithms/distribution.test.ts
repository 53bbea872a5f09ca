/** The divergence over a teacher's likeliest tokens when there are others. tests/golden has TRL's numbers for all of them. */
import { expect, test } from 'vitest'
import { gradientsOf, sum, variable } from '#rl/algorithms/terms/differentiable.ts'
import { teacherDivergence } from '#rl/algorithms/terms/distribution.ts'

const teacher = [0.5, 0.3, 0.1, 0.06, 0.04]
const policy = [0.2, 0.1, 0.45, 0.05, 0.2]
const betas = [0, 0.2, 0.5, 1]

/** One token, of which the first `count` of its alternatives are compared. */
const divergence = (count: number, beta: number, own: readonly number[] = policy) => {
  const alternatives = teacher.slice(0, count).map((p, k) => ({
    logp: variable(Float64Array.of(Math.log(own[k]!))),
    teacherLogp: Float64Array.of(Math.log(p)),
  }))
  return { alternatives, ...teacherDivergence(alternatives, beta) }
}

test.each(betas)('the others count as one, so more tokens show more: beta %s', (beta) => {
  const values = [1, 2, 3, 4, 5].map((count) => divergence(count, beta).divergence.data[0]!)
  const [shown, all] = [values.slice(0, 4), values[4]!]
  expect(shown).toEqual(shown.toSorted((a, b) => a - b))
  expect(all).toBeCloseTo(shown[3]!, 12) // the last one is alone among the others
  expect(values[0]).toBeGreaterThan(0)
  expect(divergence(2, beta).covered[0]).toBeCloseTo(0.8, 12)
})

test.each(betas)('the gradient is that of differences: beta %s', (beta) => {
  const { alternatives, divergence: value } = divergence(3, beta)
  const gradients = gradientsOf(sum(value))
  alternatives.forEach(({ logp }, k) => {
    const at = (step: number) =>
      divergence(
        3,
        beta,
        policy.map((p, i) => (i === k ? p * Math.exp(step) : p)),
      ).divergence.data[0]!
    expect(gradients.get(logp)![0]).toBeCloseTo((at(1e-5) - at(-1e-5)) / 2e-5, 8)
  })
})

test.each(betas)('it is finite where one of the two is certain: beta %s', (beta) => {
  // The probability of the second one is a denormal number, which threads with a session take for 0.
  for (const logp of [-1e-16, -737]) {
    const alternatives = [{ logp: variable(Float64Array.of(logp)), teacherLogp: Float64Array.of(0) }]
    const { divergence: value } = teacherDivergence(alternatives, beta)
    expect(value.data[0]).toBeGreaterThanOrEqual(-1e-12)
    expect(Number.isFinite(value.data[0])).toBe(true)
    expect(Number.isFinite(gradientsOf(sum(value)).get(alternatives[0]!.logp)?.[0] ?? 0)).toBe(true)
  }
})
