import { describe, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { changesOf, findingOf, flat, from, idsOf, line, samplesOf, type RunOptions } from './runs.ts'

describe('cap hits', () => {
  test('most completions are cut off', () => {
    const finding = findingOf({ curves: { 'completions/clipped_ratio': from(31, flat(0.1), flat(0.6)) } })
    expect(finding).toMatchObject({ id: 'cap-hits', severity: 'warning' })
    expect(finding.words).toContain('60 %')
    expect(changesOf(finding)).toEqual({
      'rollout.maxNewTokens': 128,
      'algorithm.settings.overlongBuffer': 16,
      'algorithm.settings.maskTruncated': true,
    })
  })

  test('what is set already is not proposed again', () => {
    const settings = { overlongBuffer: 8, maskTruncated: true }
    const finding = findingOf({
      curves: { 'completions/clipped_ratio': flat(1) },
      config: { algorithm: { id: 'grpo', settings } },
    })
    expect(finding.severity).toBe('problem')
    expect(Object.keys(changesOf(finding))).toEqual(['rollout.maxNewTokens'])
  })

  test('not where half of them end by themselves', () => {
    expect(idsOf({ curves: { 'completions/clipped_ratio': flat(0.5) } })).toEqual([])
  })
})

describe('entropy collapse', () => {
  const entropy = from(20, line(1.2, 1), flat(0.05))
  const same = samplesOf(4, (i) => ({ row: i % 2, completion: 'Always this.' }))

  test('no uncertainty, and the completions of a prompt are all the same', () => {
    const finding = findingOf({ curves: { entropy, reward: line(0.3, 0.5) }, samples: same })
    expect(finding).toMatchObject({ id: 'entropy-collapse', severity: 'problem' })
    expect(finding.evidence).toMatchObject([
      { of: 'entropy', fromStep: 1, toStep: 5 },
      { of: 'entropy', fromStep: 36, toStep: 40 },
      { of: 'distinct completions per prompt', value: 1 },
    ])
    expect(changesOf(finding)).toEqual({
      'optimization.learningRate': 0.00033,
      'rollout.temperature': 1.2,
      'algorithm.settings.entropyCoefficient': 0.01,
      'algorithm.settings.clipCoefficient': [0.8, 1.28],
    })
  })

  test('where no two samples share a prompt, groups of equal rewards tell', () => {
    const reward = line(0.3, 0.5)
    expect(idsOf({ curves: { entropy, reward, frac_reward_zero_std: flat(0.6) } })).toEqual([
      'entropy-collapse',
    ])
    expect(idsOf({ curves: { entropy, reward } })).toEqual([])
  })

  test('not where completions differ, uncertainty only sank, or the task is solved', () => {
    const varied = samplesOf(4, (i) => ({ row: i % 2 }))
      // two of a prompt per step
      .map((each, i) => ({ ...each, completion: `Number ${i}` }))
    const reward = line(0.3, 0.5)
    expect(idsOf({ curves: { entropy, reward }, samples: varied })).toEqual([])
    expect(idsOf({ curves: { entropy: line(1.2, 0.2), reward }, samples: same })).toEqual([])
    expect(idsOf({ curves: { entropy, reward: line(0.3, 0.98) }, samples: same, evaluations: [] })).toEqual(
      [],
    )
  })

  test('not where so few prompts cannot tell the reward from that of a solved task', () => {
    const last: Readonly<Record<number, number>> = { 36: 0.91, 37: 0.75, 38: 0.97, 39: 0.63 }
    const reward = (step: number) => (step < 25 ? 0.3 : (last[step] ?? 0.87))
    const of = (promptsPerStep: number) => {
      const rollout = { promptsPerStep, groupSize: 4, maxNewTokens: 64 }
      return idsOf({ curves: { entropy, reward }, samples: same, evaluations: [], config: { rollout } })
    }
    expect(of(4)).toEqual([])
    expect(of(400)).toEqual(['entropy-collapse'])
  })

  test('surprisal where entropy is not measured', () => {
    const curves = { entropy: undefined, surprisal: entropy, reward: line(0.3, 0.5) }
    expect(findingOf({ curves, samples: same }).evidence[0]?.of).toBe('surprisal')
  })
})

describe('KL runaway', () => {
  const kl = from(33, line(0.01, 0.05), (step) => 0.5 * (step - 32))

  test('is seen, and the checkpoint before it found', () => {
    const finding = findingOf({ curves: { kl } })
    expect(finding).toMatchObject({ id: 'kl-runaway', severity: 'warning' })
    expect(finding.evidence[0]).toEqual({
      of: 'kl, median',
      value: expect.closeTo(3) as number,
      fromStep: 36,
      toStep: 40,
    })
    expect(changesOf(finding)).toEqual({
      'optimization.learningRate': 0.00033,
      'algorithm.settings.klCoefficient': 0.005,
    })
    expect(finding.proposals[0]?.from).toBe(30)
  })

  test('is a problem once the reward falls', () => {
    const reward = from(38, line(0.3, 0.8), flat(0.2))
    expect(findingOf({ curves: { kl, reward } }).severity).toBe('problem')
  })

  test('beyond a bound it is one, however slowly it came', () => {
    expect(idsOf({ curves: { kl: line(0.01, 5) } })).toEqual(['kl-runaway'])
  })

  test('not a steady rise, a tenfold of little, one step, or too few steps', () => {
    expect(idsOf({ curves: { kl: line(0.001, 1) } })).toEqual([])
    expect(idsOf({ curves: { kl: from(35, flat(0.001), flat(0.2)) } })).toEqual([])
    expect(idsOf({ curves: { kl: from(37, flat(0.02), flat(50)) } })).toEqual([])
    expect(idsOf({ steps: 8, curves: { kl: from(5, flat(0.001), flat(2)) } })).toEqual([])
  })
})

describe('numbers that broke down', () => {
  test('the first step and the checkpoint before it', () => {
    const finding = findingOf({
      curves: { loss: from(25, flat(0.1), flat(null)), grad_norm: from(24, flat(1), flat(null)) },
    })
    expect(finding).toMatchObject({ id: 'diverged', severity: 'problem' })
    expect(finding.words).toContain('step 24')
    expect(finding.evidence).toEqual([
      { of: 'loss', value: null, fromStep: 25, toStep: 40 },
      { of: 'grad_norm', value: null, fromStep: 24, toStep: 40 },
    ])
    expect(changesOf(finding)).toEqual({ 'optimization.learningRate': 0.0001 })
    expect(finding.proposals[0]?.from).toBe(20)
  })

  test('a run that ended of it; without a checkpoint there is none to go back to', () => {
    const message = 'In step 41 the loss became NaN; the update was not applied.'
    const failure = { code: 'run/diverged', message, hint: null } as const
    const finding = findingOf({ failure, checkpoints: [] })
    expect(finding).toMatchObject({ id: 'diverged', evidence: [{ fromStep: 41, value: null }] })
    expect(finding.words).toBe(
      `The run ended at step 41, because the numbers of an update could not be right. ${message} Earlier training is intact.`,
    )
    expect(finding.proposals).toHaveLength(1)
  })

  test('a run that ended because a device computes wrongly is sent to the self-test first', () => {
    const failure = { code: 'run/unsound', message: 'The gradient norm jumped.', hint: null } as const
    expect(findingOf({ failure }).proposals).toMatchObject([
      { lookAt: { kind: 'selftest' } },
      { from: 30, changes: { 'optimization.learningRate': 0.0001 } },
    ])
  })

  test('updates that were skipped, as long as they are recent', () => {
    const skipped = (...at: number[]): RunOptions => ({
      curves: { 'update/skipped': (step) => (at.includes(step) ? 2 : 0) },
    })
    const finding = findingOf(skipped(35))
    expect(finding).toMatchObject({
      id: 'updates-skipped',
      severity: 'warning',
      evidence: [{ of: 'update/skipped', value: 2, fromStep: 35, toStep: 35 }],
    })
    expect(finding.words).toMatch(/^2 updates were skipped since step 35, because/)
    expect(finding.proposals.at(-1)).toMatchObject({ from: 30 })
    expect(findingOf(skipped(22, 35)).severity).toBe('problem')
    expect(idsOf(skipped(19))).toEqual([])
  })

  test('not another failure, nor a logged number that is none', () => {
    const failure = { code: 'runtime/out-of-memory', message: 'Out of memory.', hint: null } as const
    expect(idsOf({ failure, curves: { 'logged/ratio': flat(null) } })).toEqual([])
  })
})

describe('clip share', () => {
  test('too high', () => {
    const finding = findingOf({ curves: { 'clip_ratio/region_mean': flat(0.3) } })
    expect(finding).toMatchObject({ id: 'clip-share-high', severity: 'warning' })
    expect(changesOf(finding)).toEqual({ 'optimization.learningRate': 0.0005, 'optimization.epochs': 1 })
  })

  test('near zero with a flat reward', () => {
    const curves = { 'clip_ratio/region_mean': flat(0.0001), reward: line(0.4, 0.4) }
    const finding = findingOf({ curves, evaluations: [] })
    expect(finding).toMatchObject({ id: 'clip-share-low', severity: 'warning' })
    expect(changesOf(finding)).toEqual({ 'optimization.learningRate': 0.003 })
    expect(finding.evidence).toMatchObject([{ of: 'clip_ratio/region_mean' }, { fromStep: 1, toStep: 40 }])
  })

  test('not where the reward may well be rising, as far as so few prompts tell', () => {
    const curves = { 'clip_ratio/region_mean': flat(0.0001), reward: line(0.38, 0.42) }
    const of = (promptsPerStep: number) => {
      const rollout = { promptsPerStep, groupSize: 4, maxNewTokens: 64 }
      return idsOf({ curves, evaluations: [], config: { rollout } })
    }
    expect(of(16)).toEqual(['clip-share-low'])
    expect(of(1)).toEqual([])
  })

  test('not within bounds, with a rising reward, a single update per step, or where all is right', () => {
    const none = flat(0.0001)
    const reward = line(0.4, 0.4)
    const idsWith = (curves: RunOptions['curves'] & object) => idsOf({ curves, evaluations: [] })
    expect(idsWith({ 'clip_ratio/region_mean': flat(0.19), reward })).toEqual([])
    expect(idsWith({ 'clip_ratio/region_mean': none })).toEqual([])
    expect(idsWith({ 'clip_ratio/region_mean': none, reward, 'update/count': flat(1) })).toEqual([])
    expect(idsWith({ 'clip_ratio/region_mean': none, reward: line(0.97, 0.97) })).toEqual([])
  })
})

describe('sampler and trainer', () => {
  const curves = { 'sampling/sampling_logp_difference/mean': flat(0.08) }

  test('that disagree call for the self-test', () => {
    const finding = findingOf({ curves })
    expect(finding).toMatchObject({ id: 'sampler-gap', severity: 'problem' })
    expect(finding.words).toContain('0.08 nats')
    expect(finding.proposals).toMatchObject([{ changes: {}, lookAt: { kind: 'selftest' } }])
  })

  test('with rounded weights for finer ones', () => {
    const finding = findingOf({ curves, config: { rollout: { precision: 'int8' } } })
    expect(finding.severity).toBe('warning')
    expect(changesOf(finding)).toEqual({
      'rollout.precision': 'f32',
      'rollout.mismatchCorrection': 'on',
    })
  })

  test('on a rounded base for an exact one', () => {
    const finding = findingOf({ curves, config: { base: { precision: 'int4' } } })
    expect(finding.severity).toBe('warning')
    expect(changesOf(finding)).toEqual({ 'base.precision': 'f32', 'rollout.mismatchCorrection': 'on' })
  })

  test('from a server name it, and what to check there', () => {
    const server = { kind: 'vllm' as const, url: 'http://box:8000', adapterFolder: '/shared/adapters' }
    const finding = findingOf({ curves, config: { rollout: { server } } })
    expect(finding).toMatchObject({ id: 'sampler-gap', severity: 'warning' })
    expect(finding.words).toContain('vLLM server at http://box:8000')
    expect(finding.words).toContain('--logprobs-mode processed_logprobs')
    expect(changesOf(finding)).toEqual({ 'rollout.mismatchCorrection': 'on', 'rollout.server': null })
    const rounded = findingOf({ curves, config: { rollout: { server }, base: { precision: 'int8' } } })
    expect(rounded.words).toContain('rounded to int8')
    expect(changesOf(rounded)).toMatchObject({ 'base.precision': 'f32' })
    const both = { ...server, url: ['http://a:8000', 'http://b:8000'] }
    expect(findingOf({ curves, config: { rollout: { server: both } } }).words).toContain(
      'vLLM servers at http://a:8000, http://b:8000',
    )
  })

  test('of completions that are older than the policy only what servers differ in counts', () => {
    const server = { kind: 'vllm' as const, url: 'http://box:8000', adapterFolder: '/shared/adapters' }
    const config = { rollout: { server, maxStaleness: 1 } }
    expect(idsOf({ curves, config })).toEqual([])
    const differing = { 'sampling/server_logp_difference/mean': flat(0.2) }
    const finding = findingOf({ curves: differing, config })
    expect(finding.id).toBe('sampler-gap')
    expect(changesOf(finding)).toMatchObject({ 'rollout.server': null, 'rollout.maxStaleness': 0 })
  })

  test('not where they nearly agree', () => {
    expect(idsOf({ curves: { 'sampling/sampling_logp_difference/mean': flat(0.04) } })).toEqual([])
  })
})

test('every setting that is proposed is one of the config', () => {
  const runs = [
    { curves: { frac_reward_zero_std: flat(0.95), reward: flat(0.03) } },
    { curves: { 'completions/clipped_ratio': flat(1) } },
    { curves: { entropy: from(20, flat(1), flat(0.01)), frac_reward_zero_std: flat(0.6) } },
    { curves: { kl: line(0.01, 5) } },
    { curves: { 'clip_ratio/region_mean': flat(0.5) } },
  ]
  for (const run of runs) {
    for (const [key, value] of Object.entries(changesOf(findingOf(run)))) {
      const [section = '', name = '', setting = ''] = key.split('.')
      const change =
        section === 'algorithm'
          ? { algorithm: { id: 'grpo', settings: { [setting]: value } } }
          : { [section]: { [name]: value } }
      const config = { model: 'm', data: { train: 't' }, rewards: [{ function: 'format' }], ...change }
      expect(() => parseRunConfig(config), key).not.toThrow()
    }
  }
})
