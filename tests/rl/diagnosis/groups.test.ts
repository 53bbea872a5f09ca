import { describe, expect, test } from 'vitest'
import { changesOf, diagnosisOf, findingOf, flat, from, idsOf, line } from './runs.ts'

test('a sound run has no findings', () => {
  const { checks, ...diagnosis } = diagnosisOf()
  expect(diagnosis).toEqual({ stage: null, firstStep: 1, steps: 40, findings: [], soundUntil: null })
  expect(checks.map(({ title, isWithin }) => [title, isWithin])).toEqual([
    ['Reward', true],
    ['Eval reward', true],
    ['Entropy', true],
    ['KL divergence, median', true],
    ['Gradient norm, largest over median', true],
    ['Zero-variance groups', true],
    ['Truncated completions', true],
    ['Clip fraction', true],
    ['Train–inference logprob mismatch', true],
    ['Reward failures', true],
    ['Completions without a reward', true],
  ])
  const [reward] = checks
  expect([reward?.before, reward?.value].map((value) => value?.toFixed(2))).toEqual(['0.32', '0.78'])
})

test('a run without any step has none either', () => {
  expect(diagnosisOf({ steps: 0, evaluations: [] })).toEqual({
    stage: null,
    firstStep: 0,
    steps: 0,
    findings: [],
    soundUntil: null,
    checks: [],
  })
})

describe('group collapse', () => {
  const alike = from(31, flat(0.1), flat(0.9))

  test('all right and all wrong are told apart', () => {
    const right = findingOf({ curves: { frac_reward_zero_std: alike, reward: line(0.9, 0.97) } })
    expect(right).toMatchObject({ id: 'groups-all-right', severity: 'warning' })
    const learned = findingOf({
      curves: { frac_reward_zero_std: alike, reward: line(0.3, 1) },
      evaluations: [],
    })
    expect(learned).toMatchObject({ id: 'groups-all-right', severity: 'note' })
    expect(right.proposals[0]?.words).toContain('harder rows')
    const wrong = findingOf({
      curves: { frac_reward_zero_std: alike, reward: flat(0.03) },
      evaluations: [],
    })
    expect(wrong).toMatchObject({ id: 'groups-all-wrong', severity: 'problem' })
    expect(wrong.proposals[0]?.words).toContain('easier rows')
    expect(changesOf(wrong)).toEqual({ 'rollout.temperature': 1.2, 'rollout.groupSize': 8 })
  })

  test('rests on its numbers and their steps', () => {
    const { evidence } = findingOf({ curves: { frac_reward_zero_std: alike, reward: flat(0.03) } })
    expect(evidence).toEqual([
      { of: 'frac_reward_zero_std', value: expect.closeTo(0.9) as number, fromStep: 31, toStep: 40 },
      { of: 'reward', value: expect.closeTo(0.03) as number, fromStep: 31, toStep: 40 },
    ])
  })

  test('some prompts always right, others never', () => {
    expect(idsOf({ curves: { frac_reward_zero_std: alike, reward: line(0.5, 0.5) } })).toEqual([
      'groups-alike',
    ])
  })

  test('not where enough groups differ, nor for a few steps', () => {
    expect(idsOf({ curves: { frac_reward_zero_std: flat(0.75) } })).toEqual([])
    const once = from(36, flat(0.1), flat(1))
    expect(idsOf({ curves: { frac_reward_zero_std: once, reward: flat(0.03) } })).toEqual([])
  })

  test('a penalty has its best at 0', () => {
    const rewards = [{ function: 'length-penalty', weight: 1 }]
    const curves = {
      frac_reward_zero_std: alike,
      'rewards/correct/mean': undefined,
      'rewards/correct/std': undefined,
      'rewards/format/mean': undefined,
      'rewards/format/std': undefined,
    }
    const run = { config: { rewards }, evaluations: [] }
    const rising = from(31, line(-0.9, -0.1), flat(-0.02))
    expect(
      idsOf({ ...run, curves: { ...curves, reward: rising, 'rewards/length-penalty/mean': rising } }),
    ).toEqual(['groups-all-right'])
  })
})

describe('loss 0 at the start', () => {
  const curves = { loss: flat(1e-7) }

  test('is said to be normal', () => {
    const finding = findingOf({ steps: 5, curves })
    expect(finding).toMatchObject({ id: 'loss-zero-at-start', severity: 'note', proposals: [] })
    expect(finding.words).toContain('normal')
    expect(finding.evidence).toMatchObject([
      { of: 'loss', fromStep: 1, toStep: 5 },
      { of: 'grad_norm', fromStep: 1, toStep: 5 },
    ])
  })

  test('not where the loss is something, where nothing is learned, or later', () => {
    expect(idsOf({ steps: 5 })).toEqual([])
    expect(idsOf({ steps: 5, curves: { ...curves, grad_norm: flat(0) } })).toEqual([])
    expect(idsOf({ steps: 40, curves })).toEqual([])
  })
})
