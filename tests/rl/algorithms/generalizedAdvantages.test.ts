import { describe, expect, test } from 'vitest'
import { type GeneralizedAdvantageSettings, generalizedAdvantages } from '#rl/algorithms/ppo.ts'
import { ppo } from '#rl/algorithms/ppo.ts'
import type { Experience, LossRow } from '#rl/algorithms/types.ts'
import { bareExperience } from '../bareExperience.ts'

const settings: GeneralizedAdvantageSettings = {
  discount: 0.9,
  gaeLambda: 0.5,
  granularity: 'auto',
  turnValueReduction: 'final-value',
  rewardPlacement: 'every-token',
  whitenAdvantages: false,
}

const row = (
  actionMask: number[],
  turnIds: number[] | null,
  values: number[],
  rewards: number[],
): Experience => ({
  ...bareExperience,
  group: 0,
  actionMask: Uint8Array.from(actionMask),
  turnIds: turnIds && Int32Array.from(turnIds),
  turnRewards: rewards,
  behaviorLogprobs: null,
  referenceLogprobs: null,
  behaviorValues: Float64Array.from(values),
})

const twoTurns = row([1, 1, 0, 1], [0, 0, -1, 1], [9, 2, 9, 4], [1, 3])
const oneTurn = row([0, 1, 1], null, [9, 2, 4], [1])

describe('turns', () => {
  test('δ and λ by hand, the value of a turn at its last token', () => {
    const { tokens, returns, granularity } = generalizedAdvantages([twoTurns], settings)
    const last = 3 - 4
    const first = 1 + 0.9 * 4 - 2 + 0.9 * 0.5 * last
    expect(granularity).toBe('turn')
    expect([...tokens[0]!]).toEqual([first, first, 0, last])
    expect([...returns![0]!]).toEqual([first + 2, first + 2, 0, 3])
  })

  test('a truncated episode goes on to the value of the state it was left in', () => {
    const left = { ...twoTurns, truncated: true, lastStateValue: 5 }
    const { tokens, returns } = generalizedAdvantages([left, twoTurns], settings)
    // δ_1 = 3 + 0.9·5 − 4 = 3.5 = A_1; δ_0 = 1 + 0.9·4 − 2 = 2.6; A_0 = 2.6 + 0.45·3.5 = 4.175
    expect([...tokens[0]!].map((value) => Number(value.toFixed(12)))).toEqual([4.175, 4.175, 0, 3.5])
    expect([...returns![0]!].map((value) => Number(value.toFixed(12)))).toEqual([6.175, 6.175, 0, 7.5])
    expect(tokens[1]).toEqual(generalizedAdvantages([twoTurns], settings).tokens[0])
    const patient = { ...settings, discount: 1, gaeLambda: 1 }
    const { returns: whole } = generalizedAdvantages([left], patient)
    expect([...whole![0]!]).toEqual([1 + 3 + 5, 1 + 3 + 5, 0, 3 + 5]) // as if the rest were worth 5
  })

  test('whitening leaves the targets of the critic alone, and one lone turn as it is', () => {
    const whitened = generalizedAdvantages([twoTurns], { ...settings, whitenAdvantages: true })
    const plain = generalizedAdvantages([twoTurns], settings)
    expect(whitened.returns).toEqual(plain.returns)
    expect(whitened.tokens[0]![0]).toBeCloseTo(Math.SQRT1_2, 6)
    const alone = { ...settings, granularity: 'turn', whitenAdvantages: true } as const
    expect([...generalizedAdvantages([oneTurn], alone).tokens[0]!]).toEqual([0, -3, -3])
  })
})

describe('tokens', () => {
  test('the reward counts on every token, or on the last one alone', () => {
    const everyToken = generalizedAdvantages([oneTurn], settings)
    expect(everyToken.granularity).toBe('token')
    expect([...everyToken.tokens[0]!]).toEqual([0, 1 + 0.9 * 4 - 2 + 0.45 * -3, -3])
    const terminal = generalizedAdvantages([oneTurn], { ...settings, rewardPlacement: 'terminal' })
    expect([...terminal.tokens[0]!]).toEqual([0, 0.9 * 4 - 2 + 0.45 * -3, -3])
  })

  test('the reward of a token is part of its own step', () => {
    const row = { ...oneTurn, turnRewards: [3], tokenRewards: Float64Array.of(0, 2, 1) }
    const { tokens } = generalizedAdvantages([row], settings)
    // A_2 = 1 − 4; A_1 = 2 + 0.9·4 − 2 + 0.45·A_2
    expect([...tokens[0]!]).toEqual([0, 2 + 0.9 * 4 - 2 + 0.45 * -3, -3])
    const perTurn = { ...settings, granularity: 'turn' } as const
    const same = generalizedAdvantages([{ ...row, tokenRewards: null }], perTurn)
    expect(generalizedAdvantages([row], perTurn)).toEqual(same)
  })

  test('a turn is over with its last token, however the episode ended', () => {
    const left = { ...oneTurn, truncated: true, lastStateValue: 5 }
    expect(generalizedAdvantages([left], settings)).toEqual(generalizedAdvantages([oneTurn], settings))
  })

  test('a value outside the action mask is never looked at', () => {
    const spoiled = row([0, 1, 1], null, [Number.NaN, 2, 4], [1])
    expect(generalizedAdvantages([spoiled], settings)).toEqual(generalizedAdvantages([oneTurn], settings))
  })
})

test('a minibatch of single turns keeps the steps of the batch it is from', () => {
  const algorithm = ppo.configure({ klCoefficient: 0, whitenAdvantages: false })
  const batch = [twoTurns, oneTurn]
  const { tokens, returns, granularity } = algorithm.advantages(batch)
  expect(granularity).toBe('turn')
  const logprobs = Float64Array.of(0, -1, -1)
  const lossRow: LossRow = {
    ...oneTurn,
    advantages: tokens[1]!,
    returns: returns![1]!,
    behaviorLogprobs: logprobs,
    logprobs,
    entropies: new Float64Array(3),
    values: Float64Array.of(0, 2, 3),
    correction: null,
  }
  const slopesOf = (learning: LossRow) => [
    ...algorithm.minibatchLoss([learning])([learning]).coefficients[0]!.values!,
  ]
  expect(slopesOf({ ...lossRow, granularity: granularity! })[1]).toBe(0) // the turn is valued at its last token
  expect(slopesOf(lossRow)[1]).not.toBe(0) // alone it would be a batch of tokens
})
