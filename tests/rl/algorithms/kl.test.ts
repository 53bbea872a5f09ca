/** The divergence from the reference policy: its direction, its estimates, and what keeps it from taking over. */
import { describe, expect, test } from 'vitest'
import { addTallies, tallyMeans } from '#rl/algorithms/terms/tally.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import type { LossRow } from '#rl/algorithms/types.ts'
import { bareExperience } from '../bareExperience.ts'

/** One trajectory without an advantage: what is learned is the KL term alone. */
const row = (logprobs: number[], reference: number[], behavior = logprobs): LossRow => ({
  ...bareExperience,
  group: 0,
  actionMask: new Uint8Array(logprobs.length).fill(1),
  turnIds: null,
  turnRewards: [0],
  behaviorLogprobs: Float64Array.from(behavior),
  referenceLogprobs: Float64Array.from(reference),
  behaviorValues: null,
  advantages: new Float64Array(logprobs.length),
  returns: null,
  logprobs: Float64Array.from(logprobs),
  entropies: new Float64Array(logprobs.length),
  values: null,
  correction: null,
})

const learn = (id: string, settings: Record<string, unknown>, rows: LossRow[]) => {
  const { loss, coefficients, tallies } = algorithmById(id).configure(settings).minibatchLoss(rows)(rows)
  return { loss, slopes: [...coefficients[0]!.logprobs], metrics: tallyMeans(addTallies([tallies])) }
}

const families = ['grpo', 'gspo', 'cispo', 'sapo']
const plain = { klCoefficient: 1, klImportanceWeighting: false, klClamp: null }

describe.each(families)('%s', (id) => {
  test('by default k3 of the policy from the reference, whose slope is at most 1 where the policy is surer', () => {
    const { loss, slopes } = learn(id, plain, [row([-0.1], [-9.1])])
    expect(loss).toBeCloseTo(Math.exp(-9) + 9 - 1, 12)
    expect(slopes[0]).toBeCloseTo(1 - Math.exp(-9), 12)
  })

  test('every estimate has a name', () => {
    const at = (klEstimator: string) => learn(id, { ...plain, klEstimator }, [row([-1], [-1.5])])
    expect(at('k1')).toMatchObject({ loss: 0.5, slopes: [1] })
    expect(at('k2')).toMatchObject({ loss: 0.125, slopes: [0.5] })
    expect(at('k3-reversed').loss).toBeCloseTo(Math.exp(0.5) - 1.5, 12)
    expect(at('k3-reversed').slopes[0]).toBeCloseTo(Math.exp(0.5) - 1, 12)
  })

  test('weighted by the ratio, k3 pulls by the log-ratio itself', () => {
    // d/dx of (e^d − d − 1)·ρ at ρ = 1, d = −x: (1 − e^d) + (e^d − d − 1) = −d.
    const { slopes } = learn(id, { klCoefficient: 1, klClamp: null }, [row([-1], [-1.75])])
    expect(slopes[0]).toBeCloseTo(0.75, 12)
  })

  test('weighted by the ratio, the metric is weighted as well', () => {
    const rows = [row([-1], [-1.75], [-1.4])]
    const [{ metrics: plainly }, { metrics }] = [
      learn(id, plain, rows),
      learn(id, { klCoefficient: 1 }, rows),
    ]
    expect(plainly.kl).toBeCloseTo(Math.exp(-0.75) + 0.75 - 1, 12)
    expect(metrics.kl).toBeCloseTo(Math.exp(0.4) * plainly.kl!, 12)
  })

  test('a token far below the reference leaves the term, and is counted', () => {
    const rows = [row([-12, -1], [-1, -1.5])]
    const { slopes, metrics } = learn(id, { klCoefficient: 1 }, rows)
    expect(slopes[0]).toBeCloseTo(id === 'gspo' ? slopes[1]! - 0.5 * (1 - Math.exp(-0.5)) : 0, 12)
    expect(metrics['kl/clamped']).toBe(0.5)
    expect(metrics.kl).toBeGreaterThan(10_000)
    const surer = learn(id, { klCoefficient: 1 }, [row([-1], [-40])])
    expect(surer.metrics['kl/clamped']).toBe(0)
    expect(surer.slopes[0]).toBeGreaterThan(0)
  })
})

test('PPO estimates and clamps alike', () => {
  const values = {
    behaviorValues: Float64Array.of(0),
    values: Float64Array.of(0),
    returns: Float64Array.of(0),
  }
  const at = (logprob: number, reference: number, settings = {}) =>
    learn('ppo', { klCoefficient: 1, ...settings }, [{ ...row([logprob], [reference]), ...values }])
  expect(at(-0.1, -9.1).slopes[0]).toBeCloseTo(1 - Math.exp(-9), 12)
  expect(at(-1, -1.5, { klEstimator: 'k3-reversed' }).slopes[0]).toBeCloseTo(Math.exp(0.5) - 1, 12)
  expect(at(-12, -1).slopes[0]).toBeCloseTo(0, 12)
})
