import { describe, expect, test } from 'vitest'
import {
  changesOf,
  diagnosisOf,
  findingOf,
  flat,
  from,
  idsOf,
  line,
  sample,
  type RunOptions,
} from './runs.ts'

const fell = from(8, line(0.3, 0.8), flat(0))
const gone = { reward: fell, entropy: from(8, line(0.5, 0.5), flat(5.8)) }

describe('a policy that updates destroyed', () => {
  const symptoms = {
    'completions/clipped_ratio': from(8, flat(0), flat(0.97)),
    frac_reward_zero_std: from(8, flat(0.1), flat(1)),
    'rewards/format/mean': from(8, flat(0.6), flat(0)),
    'rewards/format/std': from(8, flat(0.4), flat(0)),
    'rewards/correct/mean': from(8, flat(0.4), flat(0)),
    'rewards/correct/std': from(8, flat(0.4), flat(0)),
  }

  test('is named, not what follows from it, and every fix begins before it', () => {
    const finding = findingOf({ curves: { ...gone, ...symptoms }, checkpoints: [5, 10, 20] })
    expect(finding).toMatchObject({ id: 'policy-destroyed', severity: 'problem' })
    expect(finding.words).toContain('after step 7')
    expect(finding.words).toContain('learning rate of 0.001')
    expect(finding.proposals[0]).toMatchObject({
      words: 'Fork from step 5, before it began, with a learning rate of 0.0001.',
      changes: { 'optimization.learningRate': 0.0001 },
      from: 5,
    })
    for (const { from: origin } of finding.proposals) expect(origin).toBe(5)
    expect(changesOf(finding)).not.toHaveProperty(['rollout.maxNewTokens'])
  })

  test('the table of checks says what the finding says', () => {
    const curves = { ...gone, grad_norm: from(8, flat(0.3), flat(0)) }
    const { findings, checks } = diagnosisOf({ curves })
    const [finding] = findings
    const named = finding?.evidence.map(({ of }) => of) ?? []
    expect(named).toEqual(expect.arrayContaining(['entropy', 'grad_norm']))
    for (const { metric, isWithin, before, value } of checks.filter((check) =>
      named.includes(check.metric ?? ''),
    )) {
      expect([metric, isWithin]).toEqual([metric, false])
      const said = finding!.evidence.filter(({ of }) => of === metric).map((each) => each.value)
      if (metric === 'entropy') expect([before, value]).toEqual([said[0], said.at(-1)])
    }
  })

  test('without a checkpoint from before it a new run is proposed', () => {
    const { findings, soundUntil } = diagnosisOf({ curves: gone, checkpoints: [10, 20] })
    expect(soundUntil).toBe(7)
    expect(findings[0]?.proposals[0]).toMatchObject({ from: 'start' })
  })

  test('by the divergence alone, by gradients that are still, and by a spike', () => {
    const kinds = [
      { kl: from(8, flat(0.01), flat(400)) },
      { grad_norm: from(8, flat(0.3), flat(0)) },
      { grad_norm: from(9, flat(0.3), (step: number) => (step === 9 ? 1e6 : 3)) },
    ]
    for (const curves of kinds)
      expect(idsOf({ curves: { reward: fell, ...curves } })[0]).toBe('policy-destroyed')
  })

  test('the adapter’s scale and the bonus on entropy are causes of their own', () => {
    const large = findingOf({ curves: gone, config: { adapter: { rank: 16, alpha: 16_000 } } })
    expect(large.words).toContain('α / rank is 1000')
    const settings = { entropyCoefficient: 5 }
    const bonus = findingOf({
      curves: gone,
      config: { algorithm: { id: 'grpo', settings } },
      checkpoints: [5],
    })
    expect(bonus.proposals[0]).toMatchObject({
      changes: { 'algorithm.settings.entropyCoefficient': 0.05 },
      from: 5,
    })
  })

  test('a reward that only collapsed is said to have collapsed', () => {
    expect(findingOf({ curves: { reward: fell }, evaluations: [] })).toMatchObject({ id: 'reward-collapse' })
  })

  test('not a reward that sank a little, came back, or fell for less than five steps', () => {
    const evaluations = [] as const
    expect(idsOf({ curves: { reward: from(20, flat(0.8), line(0.6, 0.6)) }, evaluations })).toEqual([])
    const back = from(12, from(8, flat(0.7), flat(0.1)), line(0.6, 0.8))
    expect(idsOf({ curves: { reward: back }, evaluations })).toEqual([])
    expect(idsOf({ curves: { reward: from(37, line(0.3, 0.8), flat(0)) }, evaluations })).toEqual([])
  })

  const few = { rollout: { promptsPerStep: 4, groupSize: 8, maxNewTokens: 64 } }
  const series = (values: readonly number[]) => (step: number) => values[step - 1] ?? values.at(-1) ?? 0

  test('not where the first steps drew easy prompts', () => {
    const easy = series([0.5, 0.41, 0.22, 0.22, 0.22, 0.19, 0.16])
    const curves = { reward: easy, reward_std: flat(0.3), 'rewards/correct/mean': line(0.1, 0.2) }
    expect(idsOf({ curves, steps: 7, evaluations: [], config: few })).toEqual([])
    // The same figures from a hundred times as many prompts are a fall.
    const many = { rollout: { promptsPerStep: 400, groupSize: 8, maxNewTokens: 64 } }
    expect(idsOf({ curves, steps: 7, evaluations: [], config: many })).toEqual(['reward-collapse'])
  })

  test('in the first update already, as divergence and entropy tell, though some answer still earns a part', () => {
    const curves = {
      reward: series([0.34, 0, 0, 0.08, 0.16, 0.2, 0.15, 0.14, 0.15, 0.19]),
      reward_std: from(2, flat(0.34), flat(0.02)),
      entropy: series([0.74, 3.85, 4.98, 1.28, 0.65, 0.15]),
      kl: series([0, 13.4, 17.3, 12.1, 9, 10.3, 10.6, 7.8]),
      'completions/clipped_ratio': from(2, flat(0), flat(1)),
    }
    const finding = findingOf({ curves, steps: 24, evaluations: [], config: few })
    expect(finding).toMatchObject({ id: 'policy-destroyed' })
    expect(finding.words).toContain('after step 1')
    // So they tell by themselves: a policy that chooses at random, and one of another model.
    const random = { ...curves, entropy: series([0.4, 0.5, 2.8, 1.8, 5.4]), kl: undefined }
    const reward = series([0.28, 0.14, 0.05, 0.1, 0])
    const [first] = diagnosisOf({
      curves: { ...random, reward },
      steps: 8,
      evaluations: [],
      config: few,
    }).findings
    expect(first?.words).toContain('The policy was destroyed after step 2')
    const other = { ...curves, entropy: series([0.74, 3.85, 4.98, 1.28, 0.65]) }
    expect(idsOf({ curves: other, steps: 24, evaluations: [], config: few })).toEqual(['policy-destroyed'])
    // Within a few steps, as at a rate that is not quite as large.
    const slower = { ...curves, entropy: series([0.29, 0.55, 1.66, 2.13, 1.5, 2.92, 3.89, 3.05, 1.46, 1.1]) }
    const partly = series([0.29, 0.26, 0.07, 0.03, 0.1, 0.03, 0, 0, 0.1, 0.15])
    const [gradual] = diagnosisOf({
      curves: { ...slower, reward: partly, kl: flat(12) },
      steps: 20,
      evaluations: [],
      config: few,
    }).findings
    expect(gradual?.words).toContain('The policy was destroyed after step 2')
    // A policy that is sure of something new and earns more with it is not.
    const better = { ...curves, reward: series([0.34, 0.3, 0.4, 0.6, 0.7, 0.8]) }
    expect(idsOf({ curves: better, steps: 24, evaluations: [], config: few })).not.toContain(
      'policy-destroyed',
    )
  })

  test('learning from answers: a loss that rose by more than a nat', () => {
    const curves = { reward: undefined, loss: from(5, flat(1.2), flat(6)), entropy: undefined, kl: undefined }
    const finding = findingOf({ curves, evaluations: [], config: { algorithm: { id: 'sft' } } })
    expect(finding).toMatchObject({
      id: 'policy-destroyed',
      evidence: [{ of: 'loss' }, { of: 'loss', value: 6 }],
    })
  })
})

test('entropy that explodes where there was no reward to lose', () => {
  const curves = { entropy: from(15, flat(0.4), line(3, 6)), reward: line(0.05, 0.1) }
  expect(idsOf({ curves, evaluations: [] })).toContain('entropy-explosion')
  const mild = { entropy: from(15, flat(0.4), line(1, 2)), reward: line(0.05, 0.1) }
  expect(idsOf({ curves: mild, evaluations: [] })).not.toContain('entropy-explosion')
})

test('entropy that a bonus drives up surely but slowly, while the reward gains nothing', () => {
  const steps = 24
  const noise = (step: number) => 0.1 * Math.sin(5 * step)
  const config = (entropyCoefficient: number) => ({
    algorithm: { id: 'grpo', settings: { entropyCoefficient } },
  })
  const of = (curves: RunOptions['curves'] & object, bonus: number) =>
    idsOf({ curves: { reward: line(0.3, 0.2), ...curves }, steps, evaluations: [], config: config(bonus) })
  const driven = { entropy: (step: number) => 0.6 + step / 80 + noise(step) }
  expect(of(driven, 10)).toEqual(['entropy-explosion'])
  expect(of(driven, 0.001)).toEqual([])
  expect(of({ entropy: (step) => 0.6 + noise(step) }, 10)).toEqual([])
  expect(of({ ...driven, reward: line(0.2, 1.2) }, 10)).toEqual([])
})

test('a gradient a thousand times the usual length', () => {
  const curves = { grad_norm: (step: number) => (step === 35 ? 900 : 0.3) }
  const finding = findingOf({
    curves,
    config: { optimization: { learningRate: 0.001, epochs: 2, maxGradNorm: null } },
  })
  expect(finding).toMatchObject({ id: 'gradient-spikes', severity: 'warning' })
  expect(changesOf(finding)).toMatchObject({ 'optimization.maxGradNorm': 1 })
  // Clipped, one of them does no harm; several do.
  expect(idsOf({ curves })).toEqual([])
  const often = { grad_norm: (step: number) => (step > 30 && step % 3 === 0 ? 900 : 0.3) }
  expect(idsOf({ curves: often })).toEqual(['gradient-spikes'])
})

describe('rewards', () => {
  test('of absurd size come before what they destroy', () => {
    const curves = { ...gone, reward: from(8, line(3e5, 8e5), flat(-1e6)), reward_std: flat(5e5) }
    expect(idsOf({ curves, evaluations: [] })).toEqual(['reward-size'])
  })

  test('of absurd size are told by the evaluation before the first update', () => {
    const evaluations = [[0, -5e39]] as const
    const finding = findingOf({ curves: {}, steps: 0, evaluations })
    expect(finding).toMatchObject({ id: 'reward-size', severity: 'problem' })
    expect(finding.words).toContain('Rewards reach 5.0e+39')
    expect(idsOf({ steps: 0, evaluations: [[0, 80]] })).toEqual([])
    // Gradients that are no numbers follow from it.
    const failure = { code: 'run/diverged', message: 'The gradient is not finite.', hint: null } as const
    expect(idsOf({ steps: 0, evaluations, failure })).toEqual(['reward-size'])
  })

  test('whose parts cancel', () => {
    const rewards = [
      { function: 'exact-match', name: 'correct' },
      { function: 'format', name: 'wrong', weight: -1 },
    ]
    const curves = {
      reward: flat(0),
      reward_std: flat(0),
      frac_reward_zero_std: flat(1),
      'rewards/wrong/mean': line(0.2, 0.78),
      'rewards/wrong/std': line(0.4, 0.4),
    }
    expect(findingOf({ curves, evaluations: [], config: { rewards } })).toMatchObject({
      id: 'rewards-cancel',
    })
  })

  test('a penalty of constant 0 is at its best, whatever else varies', () => {
    const rewards = [{ function: 'exact-match', name: 'correct' }, { function: 'my-penalty.ts' }]
    const never = { 'rewards/my-penalty/mean': flat(0), 'rewards/my-penalty/std': flat(0) }
    expect(findingOf({ curves: never, config: { rewards } })).toMatchObject({ severity: 'note' })
  })

  test('that are one and the same number for all are the cause of groups without variance', () => {
    const one = { function: 'mine.ts' }
    const curves = {
      reward: flat(0.5),
      reward_std: flat(0),
      frac_reward_zero_std: flat(1),
      'rewards/mine/mean': flat(0.5),
      'rewards/mine/std': flat(0),
    }
    const finding = findingOf({ curves, evaluations: [], config: { rewards: [one] } })
    expect(finding).toMatchObject({ id: 'constant-reward', severity: 'problem' })
  })
})

describe('sampling', () => {
  test('that leaves no choice', () => {
    const curves = { frac_reward_zero_std: flat(0.95), reward: line(0.3, 0.35) }
    const rollout = { promptsPerStep: 8, groupSize: 4, maxNewTokens: 64, topK: 1 }
    const finding = findingOf({ curves, evaluations: [], config: { rollout } })
    expect(finding).toMatchObject({ id: 'sampling-too-narrow' })
    expect(changesOf(finding)).toEqual({ 'rollout.topK': 0 })
  })

  test('that leaves it to chance', () => {
    const rollout = { promptsPerStep: 8, groupSize: 4, maxNewTokens: 64, temperature: 4 }
    const curves = { reward: line(0.02, 0.04), 'rewards/correct/mean': line(0.02, 0.03) }
    const finding = findingOf({ curves, evaluations: [[0, 0.4]], config: { rollout } })
    expect(finding).toMatchObject({
      id: 'sampling-too-wide',
      proposals: [{ changes: { 'rollout.temperature': 1 } }],
    })
  })

  test('is judged by the newest evaluation, and not by a few rows', () => {
    const rollout = { promptsPerStep: 8, groupSize: 4, maxNewTokens: 64, temperature: 4 }
    const curves = { reward: line(0.02, 0.04), 'rewards/correct/mean': line(0.02, 0.03) }
    const of = (evaluations: NonNullable<RunOptions['evaluations']>, rows: number) =>
      idsOf({ curves, evaluations, config: { rollout, evaluation: { every: 20, rows } } })
    const learned = [
      [0, 0.05],
      [20, 0.4],
    ] as const
    expect(of(learned, 24)).toContain('sampling-too-wide')
    expect(of([[0, 0.16]], 12)).not.toContain('sampling-too-wide')
  })
})

test('a KL coefficient that lets nothing be learned', () => {
  const algorithm = { id: 'grpo', settings: { klCoefficient: 50 } }
  const finding = findingOf({
    curves: { reward: flat(0.3), kl: flat(1e-5) },
    evaluations: [],
    config: { algorithm },
  })
  expect(finding).toMatchObject({ id: 'kl-too-heavy' })
  expect(idsOf({ config: { algorithm } })).toEqual([])
  // Rows that happen to be easier are no learning, and a policy that has left the reference is not held.
  const lucky = { reward: line(0.27, 0.36), kl: flat(1e-3) }
  const rollout = { promptsPerStep: 4, groupSize: 8, maxNewTokens: 64 }
  const of = (curves: RunOptions['curves'] & object) =>
    idsOf({ curves, steps: 24, evaluations: [], config: { algorithm, rollout } })
  expect(of(lucky)).toEqual(['kl-too-heavy'])
  expect(of({ ...lucky, kl: line(0.001, 0.2) })).toEqual([])
})

describe('held-out rows', () => {
  const samples = Array.from({ length: 40 }, (_, i) =>
    sample(20 + (i % 20), {
      row: i,
      prompt: `<|user|>${i % 3 ? 'Add' : 'What is'} ${i} ${i % 3 ? 'and' : 'plus'} 4<|end|>`,
    }),
  )

  test('of another task are told by their wording', () => {
    const heldOutPrompts = Array.from(
      { length: 16 },
      (_, i) => `<|user|>Translate «house number ${i}» into French<|end|>`,
    )
    expect(findingOf({ samples, heldOutPrompts })).toMatchObject({
      id: 'held-out-other-task',
      severity: 'warning',
    })
  })

  test('of another task that is asked for in much the same words', () => {
    const asked = ['Please', 'Can you', 'What is the']
    const other = ['reverse', 'sort']
    const numbers = (i: number) => Array.from({ length: 2 + (i % 4) }, (_, k) => (i + k) % 10).join(' ')
    const heldOutPrompts = Array.from(
      { length: 16 },
      (_, i) => `${asked[i % 3]} ${other[i % 2]} ${numbers(i)}`,
    )
    const prompts = [
      (i: number) => `${asked[i % 3]} add ${i} and 3`,
      (i: number) => `${asked[i % 3]} largest of ${numbers(i)}`,
      (i: number) =>
        `Count the ${'abcde'[i % 5]} in ${'sbettlac'
          .slice(i % 4)
          .split('')
          .join(' ')}`,
    ]
    const own = Array.from({ length: 25 }, (_, i) =>
      sample(10 + i, { row: i, prompt: prompts[i % 3]?.(i) ?? '' }),
    )
    expect(idsOf({ samples: own, heldOutPrompts })).toEqual(['held-out-other-task'])
    const same = Array.from({ length: 16 }, (_, i) => prompts[(i + 1) % 3]?.(i + 40) ?? '')
    expect(idsOf({ samples: own, heldOutPrompts: same })).toEqual([])
  })

  test('not those of the same task where prompts are few and have words of their own', () => {
    const word = (at: number) => `${'abcdefgh'[at % 8] ?? ''}${'klmnopqrst'[Math.floor(at / 8)] ?? ''}`
    /** Words that are drawn from so many. */
    const prompts = (many: number, length: number, salt: number) => (row: number) =>
      Array.from({ length }, (_, k) =>
        word((Math.imul(row * 31 + k + salt, 2_654_435_761) >>> 8) % many),
      ).join(' ')
    // As like each other as two samples are, and by chance less than that.
    for (const prompt of [prompts(40, 6, 1), prompts(80, 5, 379)]) {
      const own = Array.from({ length: 20 }, (_, i) => sample(20 + i, { row: i, prompt: prompt(i) }))
      const heldOutPrompts = Array.from({ length: 10 }, (_, i) => prompt(100 + i))
      expect(idsOf({ samples: own, heldOutPrompts })).toEqual([])
    }
  })

  test('not those of the same one with other numbers, nor too few of them', () => {
    const same = Array.from(
      { length: 16 },
      (_, i) => `<|user|>${i % 3 ? 'Add 9 and' : 'What is 9 plus'} ${100 + i}<|end|>`,
    )
    expect(idsOf({ samples, heldOutPrompts: same })).toEqual([])
    expect(idsOf({ samples, heldOutPrompts: ['Translate «house» into French'] })).toEqual([])
  })
})
