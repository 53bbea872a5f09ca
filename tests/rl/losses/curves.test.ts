/** Curves against the formulas of the papers, worked out by hand. */
import { expect, test } from 'vitest'
import { builtInAlgorithm } from '#rl/algorithms/registry.ts'
import { curvesOf, type Curve } from '#rl/losses/curves.ts'

const ratios = [0.25, 0.5, 0.79, 0.9, 1, 1.1, 1.21, 1.5, 2]

function expectCurve(curve: Curve | undefined, of: Curve['of'], loss: number[], gradient: number[]): void {
  expect(curve?.of).toBe(of)
  curve!.loss.forEach((x, i) => expect(x).toBeCloseTo(loss[i]!, 12))
  curve!.gradient.forEach((x, i) => expect(x).toBeCloseTo(gradient[i]!, 12))
}

test('PPO’s clip stops the gradient above 1 + ε for a good token and below 1 − ε for a bad one', () => {
  const ppo = builtInAlgorithm('ppo').configure({ klCoefficient: 0, clipCoefficient: 0.2 })
  const [positive, negative] = curvesOf(ppo, ratios)
  // L = −min(r·A, clip(r, 1−ε, 1+ε)·A), dr/dlogp = r.
  expectCurve(
    positive,
    'positive',
    ratios.map((r) => -Math.min(r, 1.2)),
    ratios.map((r) => (r > 1.2 ? 0 : -r)),
  )
  expectCurve(
    negative,
    'negative',
    ratios.map((r) => Math.max(r, 0.8)),
    ratios.map((r) => (r < 0.8 ? 0 : r)),
  )
})

test('GRPO’s divergence from a reference equal to the old policy bends the clipped ends', () => {
  const beta = 0.5
  const grpo = builtInAlgorithm('grpo').configure({ klCoefficient: beta, clipCoefficient: 0.2 })
  const [positive] = curvesOf(grpo, ratios)
  // ρ·k3 with k3 = e^d − d − 1, d = ref − logp = −ln r; its derivative in logp is ρ·(k3 + 1 − e^d) = −ρ·d.
  const k3 = (r: number) => 1 / r + Math.log(r) - 1
  expectCurve(
    positive,
    'positive',
    ratios.map((r) => -Math.min(r, 1.2) + beta * r * k3(r)),
    ratios.map((r) => (r > 1.2 ? 0 : -r) + beta * r * Math.log(r)),
  )
})

test('DPO over the margin: the chosen answer is pulled up as much as the rejected one is pushed down', () => {
  const margins = [-4, -1, 0, 1, 4]
  const dpo = builtInAlgorithm('dpo').configure({ beta: 0.5, nllAlpha: 0 })
  const [chosen, rejected] = curvesOf(dpo, margins)
  // L = −log σ(β·m).
  const loss = margins.map((m) => Math.log1p(Math.exp(-0.5 * m)))
  const slope = margins.map((m) => -0.5 / (1 + Math.exp(0.5 * m)))
  expectCurve(chosen, 'chosen', loss, slope)
  expectCurve(
    rejected,
    'rejected',
    loss,
    slope.map((x) => -x),
  )
})

test('SFT over the log-probability of the given token', () => {
  const [curve] = curvesOf(builtInAlgorithm('sft').configure({}), [-4, -2, -0.5])
  expectCurve(curve, 'token', [4, 2, 0.5], [-1, -1, -1])
})
