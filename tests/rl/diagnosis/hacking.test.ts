import { describe, expect, test } from 'vitest'
import { findingOf, flat, idsOf, line, type RunOptions } from './runs.ts'

describe('one reward dominates', () => {
  const curves = {
    'rewards/correct/mean': line(0.1, 0.1),
    'rewards/format/mean': line(0.1, 0.95),
    reward: line(0.1, 0.27),
  }

  test('the easy part rises alone', () => {
    const finding = findingOf({ curves, evaluations: [] })
    expect(finding).toMatchObject({ id: 'one-reward-dominates', severity: 'warning' })
    expect(finding.words).toContain('“format” makes up')
    expect(finding.words).toContain('“correct” did not move')
    expect(finding.evidence.map(({ of, fromStep }) => `${of} ${fromStep}`)).toEqual([
      'rewards/format/mean 1',
      'rewards/format/mean 36',
      'rewards/correct/mean 1',
      'rewards/correct/mean 36',
    ])
    expect(finding.proposals[0]?.lookAt).toEqual({ kind: 'samples', fromStep: 36, toStep: 40 })
  })

  test('not where what the reward is mostly about rises alone', () => {
    const meant = { 'rewards/correct/mean': line(0.1, 0.9), 'rewards/format/mean': line(0.1, 0.1) }
    expect(idsOf({ curves: meant })).toEqual([])
    const rewards = [
      { function: 'exact-match', name: 'correct', weight: 0.2 },
      { function: 'length-penalty', name: 'brief', weight: 0.2 },
      { function: 'format', weight: 0.6 },
    ]
    const form = { ...curves, 'rewards/brief/mean': line(-0.5, -0.4) } as const
    expect(idsOf({ curves: form, config: { rewards }, evaluations: [] })).toEqual(['one-reward-dominates'])
  })

  test('not where the others rise too, were good already, or there is no rise', () => {
    const idsWith = (changed: RunOptions['curves'] & object) =>
      idsOf({ curves: { ...curves, ...changed }, evaluations: [] })
    expect(idsWith({ 'rewards/correct/mean': line(0.1, 0.2) })).toEqual([])
    expect(idsWith({ 'rewards/correct/mean': line(0.9, 0.9) })).toEqual([])
    expect(idsWith({ 'rewards/format/mean': line(0.1, 0.3) })).toEqual([])
  })

  test('not by a rise that so few prompts may show by chance, nor where another rises slowly but surely', () => {
    const rise = { ...curves, 'rewards/format/mean': line(0.1, 0.5), reward: line(0.1, 0.4) }
    const rewards = [
      { function: 'exact-match', name: 'correct', weight: 0.2 },
      { function: 'format', weight: 0.8, settings: { pattern: '<answer>.*</answer>' } },
    ]
    const of = (promptsPerStep: number, changed = {}) => {
      const rollout = { promptsPerStep, groupSize: 4, maxNewTokens: 64 }
      return idsOf({ curves: { ...rise, ...changed }, evaluations: [], config: { rewards, rollout } })
    }
    expect(of(32)).toEqual(['one-reward-dominates'])
    expect(of(2)).toEqual([])
    expect(of(32, { 'rewards/correct/mean': line(0.1, 0.145) })).toEqual([])
  })
})

describe('longer, not better', () => {
  const lengths = { 'completions/mean_length': line(40, 120) }
  const evaluations = [
    [0, 0.5],
    [40, 0.5],
  ] as const
  const reward = line(0.5, 0.55)

  test('twice the length with a flat held-out reward', () => {
    const finding = findingOf({ curves: { ...lengths, reward }, evaluations })
    expect(finding).toMatchObject({ id: 'longer-not-better', severity: 'warning' })
    expect(finding.evidence.slice(2)).toEqual([
      { of: 'eval_reward', value: 0.5, fromStep: 0, toStep: 0 },
      { of: 'eval_reward', value: 0.5, fromStep: 40, toStep: 40 },
    ])
  })

  test('not with a better held-out reward, a little more length, or without evaluations', () => {
    expect(idsOf({ curves: lengths })).toEqual([])
    expect(idsOf({ curves: { 'completions/mean_length': line(40, 70), reward }, evaluations })).toEqual([])
    expect(idsOf({ curves: { ...lengths, reward }, evaluations: [[0, 0.5]] })).toEqual([])
  })

  test('not where so few held-out rows cannot tell', () => {
    const config = { evaluation: { every: 20, rows: 16 } }
    expect(idsOf({ curves: { ...lengths, reward }, evaluations, config })).toEqual([])
  })
})

describe('gap to held-out rows', () => {
  const heldOut = (middle: number, last: number) =>
    [
      [0, 0.32],
      [20, middle],
      [40, last],
    ] as const

  test('training is far ahead', () => {
    const finding = findingOf({ evaluations: heldOut(0.2, 0.45) })
    expect(finding).toMatchObject({ id: 'held-out-gap', severity: 'warning' })
    expect(finding.evidence).toMatchObject([
      { of: 'reward', fromStep: 36, toStep: 40 },
      { of: 'eval_reward', value: 0.2, fromStep: 20, toStep: 20 },
      { of: 'eval_reward', value: 0.45, fromStep: 40, toStep: 40 },
    ])
    expect(finding.proposals.at(-1)?.lookAt).toEqual({ kind: 'checkpoint', step: 40 })
  })

  test('not by a little, nor where held-out rows were harder from the start', () => {
    expect(idsOf({ evaluations: heldOut(0.5, 0.72) })).toEqual([])
    const harder = [
      [0, 0.02],
      [20, 0.2],
      [40, 0.4],
    ] as const
    expect(idsOf({ evaluations: harder })).toEqual([])
  })

  test('not by less than a tenth, however sure that is', () => {
    const config = {
      evaluation: { every: 20, rows: 2000 },
      rollout: { promptsPerStep: 400, groupSize: 4, maxNewTokens: 64 },
    }
    expect(idsOf({ evaluations: heldOut(0.44, 0.7), config })).toEqual([])
    expect(idsOf({ evaluations: heldOut(0.4, 0.66), config })).toEqual(['held-out-gap'])
  })

  test('not where one evaluation alone fell behind, as after a bad update', () => {
    expect(idsOf({ evaluations: heldOut(0.6, 0.3) })).toEqual([])
  })

  test('not where there are so few rows that it may be chance which they are', () => {
    const evaluations = heldOut(0.2, 0.45)
    const of = (rows: number) => idsOf({ evaluations, config: { evaluation: { every: 20, rows } } })
    expect(of(100)).toEqual(['held-out-gap'])
    expect(of(12)).toEqual([])
  })

  test('training is compared as it was at the last evaluation', () => {
    const early = [
      [0, 0.32],
      [8, 0.38],
      [12, 0.42],
    ] as const
    expect(idsOf({ evaluations: early, curves: { 'completions/mean_length': flat(40) } })).toEqual([])
  })
})
