import { describe, expect, test } from 'vitest'
import { changesOf, findingOf, flat, from, idsOf, line, sample, samplesOf } from './runs.ts'

describe('constant reward', () => {
  const constant = (value: number) => ({
    'rewards/correct/mean': flat(value),
    'rewards/correct/std': flat(0),
  })

  test('a function that says 0 of everything is named', () => {
    const finding = findingOf({ curves: constant(0) })
    expect(finding).toMatchObject({
      id: 'constant-reward',
      severity: 'warning',
      words: expect.stringContaining('“correct”') as string,
      proposals: [{ lookAt: { kind: 'reward', name: 'correct' } }],
    })
    expect(finding.evidence[0]).toEqual({
      of: 'rewards/correct/mean',
      value: 0,
      fromStep: 31,
      toStep: 40,
    })
  })

  test('one that fell silent is one, too; that everything passed from the start is only worth a note', () => {
    const silent = {
      'rewards/correct/mean': from(21, line(0.2, 0.6), flat(0)),
      'rewards/correct/std': from(21, flat(0.4), flat(0)),
    }
    expect(findingOf({ curves: silent })).toMatchObject({ id: 'constant-reward', severity: 'warning' })
    expect(findingOf({ curves: constant(1) })).toMatchObject({ id: 'constant-reward', severity: 'note' })
  })

  test('not one that has been learned, that still varies, that weighs nothing, or has had few steps', () => {
    const learned = {
      'rewards/correct/mean': from(21, line(0.2, 0.9), flat(1)),
      'rewards/correct/std': from(21, flat(0.4), flat(0)),
    }
    expect(idsOf({ curves: learned })).toEqual([])
    expect(idsOf({ curves: { ...constant(0.5), 'rewards/correct/std': flat(0.5) } })).toEqual([])
    const rewards = [{ function: 'exact-match', name: 'correct', weight: 0 }, { function: 'format' }]
    expect(idsOf({ curves: constant(0), config: { rewards } })).toEqual([])
    expect(idsOf({ curves: constant(0), steps: 9 })).toEqual([])
  })

  test('one that applies to no row', () => {
    const curves = { 'rewards/correct/mean': undefined, 'rewards/correct/std': undefined }
    expect(findingOf({ curves })).toMatchObject({
      id: 'constant-reward',
      words: expect.stringContaining('applies to no completion') as string,
    })
  })
})

describe('reward failures', () => {
  const failure = 'The reward function “correct”: Cannot read properties of undefined.'

  test('are counted, with what one of them says', () => {
    const finding = findingOf({
      curves: { 'reward/failures': from(38, flat(0), flat(1)) },
      samples: [sample(39, { failures: [failure] })],
    })
    expect(finding).toMatchObject({ id: 'reward-failures', severity: 'warning' })
    expect(finding.words).toContain('failed 3 times')
    expect(finding.words).toContain('Cannot read')
    expect(finding.evidence).toEqual([{ of: 'reward/failures', value: 3, fromStep: 31, toStep: 40 }])
    expect(finding.proposals.map(({ lookAt }) => lookAt?.kind)).toEqual(['samples', 'reward'])
  })

  test('many are a problem, and so is the one that ended the run', () => {
    expect(findingOf({ curves: { 'reward/failures': flat(8) } }).severity).toBe('problem')
    const ended = { code: 'reward/failed', message: failure, hint: null } as const
    const finding = findingOf({ failure: ended })
    expect(finding).toMatchObject({ id: 'reward-failures', severity: 'problem' })
    expect(finding.words).toContain(failure)
    expect(changesOf(finding)).toEqual({ rewardFailures: 'null' })
  })

  test('not those that are over', () => {
    expect(idsOf({ curves: { 'reward/failures': from(25, flat(3), flat(0)) } })).toEqual([])
  })

  test('completions without any reward', () => {
    const finding = findingOf({ curves: { 'reward/unscored': flat(24) } })
    expect(finding).toMatchObject({ id: 'no-reward', severity: 'warning' })
    expect(finding.words).toContain('75 %')
    expect(idsOf({ curves: { 'reward/unscored': flat(12) } })).toEqual([])
  })
})

describe('format mismatch', () => {
  const extracted = (share: number) => (i: number) => ({ logged: { number: i / 40 < share ? null : 7 } })

  test('reward code that finds nothing', () => {
    const finding = findingOf({ samples: samplesOf(4, extracted(0.95)) })
    expect(finding).toMatchObject({ id: 'format-mismatch', severity: 'warning' })
    expect(finding.words).toContain('“number”')
    expect(finding.evidence).toMatchObject([{ value: 0.95, fromStep: 31, toStep: 40 }])
    // The prompt's form beside what is looked for.
    expect(finding.proposals[0]?.words).toContain('Question: {question}')
    expect(finding.proposals[0]?.words).toContain('<answer>.*</answer>')
  })

  test('not code that finds something in every fifth, too few samples, or a column for complaints', () => {
    expect(idsOf({ samples: samplesOf(4, extracted(0.8)) })).toEqual([])
    expect(idsOf({ samples: samplesOf(1, extracted(1)) })).toEqual([])
    expect(idsOf({ samples: samplesOf(4, () => ({ logged: { problem: null } })) })).toEqual([])
    expect(idsOf({ samples: samplesOf(4, () => ({ logged: { number: 0 } })) })).toEqual([])
  })

  test('only the last steps count', () => {
    const before = samplesOf(4, extracted(1)).map((each) => ({ ...each, step: each.step - 20 }))
    expect(idsOf({ samples: [...before, ...samplesOf(4, extracted(0))] })).toEqual([])
  })

  test('a format that hardly any completion has', () => {
    const curves = { 'rewards/format/mean': flat(0), 'rewards/format/std': flat(0) }
    const finding = findingOf({ curves, samples: [sample(40)] })
    expect(finding).toMatchObject({ id: 'format-mismatch', evidence: [{ of: 'rewards/format/mean' }] })
    expect(finding.proposals[0]).toMatchObject({
      words: expect.stringContaining('It is 40.') as string,
      lookAt: { kind: 'reward', name: 'format' },
    })
    expect(idsOf({ curves: { 'rewards/format/mean': flat(0.1) } })).toEqual([])
  })
})
