/** SFT and DPO: what is asked for and reported; their losses are checked with all others. */
import { describe, expect, test } from 'vitest'
import { addTallies, tallyMeans } from '#rl/algorithms/terms/tally.ts'
import { dpo } from '#rl/algorithms/dpo.ts'
import { sft } from '#rl/algorithms/sft.ts'
import type { LossRow } from '#rl/algorithms/types.ts'
import { declarationOf, type MetricName } from '#shared/metrics.ts'
import { bareExperience } from '../bareExperience.ts'

const row = (group: number, logprobs: number[], reference: number[] | null = null): LossRow => ({
  ...bareExperience,
  group,
  actionMask: new Uint8Array(logprobs.length).fill(1),
  turnIds: null,
  turnRewards: [],
  behaviorLogprobs: Float64Array.from(logprobs),
  referenceLogprobs: reference && Float64Array.from(reference),
  behaviorValues: null,
  advantages: new Float64Array(logprobs.length).fill(1),
  returns: null,
  logprobs: Float64Array.from(logprobs),
  entropies: new Float64Array(logprobs.length),
  values: null,
  correction: null,
})

describe('SFT', () => {
  const rows = [row(0, [-1, -2, -3]), row(1, [-6])]
  const answer = sft.configure({}).minibatchLoss(rows)

  test('needs nothing but the answers', () => {
    const { needs, experience } = sft.configure({})
    expect(experience).toBe('demonstrations')
    expect(Object.values(needs).filter((need) => need === true)).toEqual([])
  })

  test('perplexity is e to the mean over all tokens, however the minibatch is cut', () => {
    const whole = tallyMeans(answer(rows).tallies)
    const cut = tallyMeans(addTallies(rows.map((member) => answer([member]).tallies)))
    expect(answer(rows).loss).toBe(3)
    expect(whole.perplexity).toBeCloseTo(Math.exp(3), 9)
    expect(cut.perplexity).toBe(whole.perplexity)
    expect(whole.surprisal).toBe(3)
  })

  test('perplexity stays finite', () => {
    const hopeless = [row(0, [-5000])]
    expect(tallyMeans(sft.configure({}).minibatchLoss(hopeless)(hopeless).tallies).perplexity).toBe(
      Math.exp(100),
    )
  })
})

describe('DPO', () => {
  const algorithm = dpo.configure({ beta: 0.5, nllAlpha: 0 })
  const rows = [
    row(0, [-1, -1], [-2, -2]), // chosen: gained 2
    row(0, [-3], [-1]), // rejected: lost 2
    row(1, [-4], [-3]), // chosen: lost 1
    row(1, [-1], [-1]),
    row(2, [-4], [-3]), // both lost, the rejected one more
    row(2, [-3], [-1]),
  ]

  test('comes in pairs and needs the reference', () => {
    expect(algorithm.needs).toMatchObject({ unit: 2, reference: true, ratio: false, behavior: false })
    expect(algorithm.experience).toBe('preferences')
  })

  test('reports rewards, margins and accuracy under the names people know', () => {
    const metrics = tallyMeans(algorithm.minibatchLoss(rows)(rows).tallies)
    expect(metrics).toMatchObject({
      'rewards/chosen': (1 - 0.5 - 0.5) / 3,
      'rewards/rejected': (-1 + 0 - 1) / 3,
      'rewards/margins': (2 - 0.5 + 0.5) / 3,
      'rewards/accuracies': 2 / 3,
      'logps/chosen': (-2 - 4 - 4) / 3,
      'logps/rejected': (-3 - 1 - 3) / 3,
    })
    for (const name of Object.keys(metrics))
      expect(declarationOf(name as MetricName).explanation).not.toBe('')
  })

  test('a margin however large gives a finite loss', () => {
    const far = [row(0, [-4000], [0]), row(0, [0], [-4000])]
    const { loss, coefficients } = algorithm.minibatchLoss(far)(far)
    expect(loss).toBeCloseTo(4000, 6)
    expect(coefficients[0]!.logprobs[0]).toBeCloseTo(-0.5, 12)
  })

  test.each([
    [{ labelSmoothing: 0.1 }, 'labelSmoothing: the loss sigmoid does not use it'],
    [{ loss: 'exo' }, 'labelSmoothing: the loss exo is infinite without it'],
    [{ loss: 'robust', labelSmoothing: 0.5 }, 'labelSmoothing: the loss robust needs less than 0.5'],
    [{ loss: 'ipo', beta: 0 }, 'beta: the loss ipo aims at 1/(2β)'],
  ])('%j is refused with its reason', (settings, sentence) => {
    expect(() => dpo.configure(settings)).toThrow(sentence)
  })

  test('rows that are not pairs are refused', () => {
    const loss = algorithm.minibatchLoss(rows)
    expect(() => loss([rows[0]!, rows[2]!])).toThrow('rejected')
    expect(() => loss(rows.slice(0, 3))).toThrow('rejected')
  })
})
