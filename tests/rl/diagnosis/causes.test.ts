import { describe, expect, test } from 'vitest'
import { changesOf, findingOf, flat, idsOf, line, sample, type RunOptions } from './runs.ts'

const samplesOf = (count: number, of: (i: number) => Parameters<typeof sample>[1]) =>
  Array.from({ length: count }, (_, i) => sample(31 + (i % 10), of(i)))

describe('learns nothing', () => {
  const still = { kl: flat(1e-8), reward: (step: number) => 0.4 + (step % 3) / 20 }
  const noRise = [
    [0, 0.4],
    [20, 0.4],
    [40, 0.4],
  ] as const
  const tiny = { optimization: { learningRate: 1e-6 }, adapter: { rank: 1, alpha: 2 } }

  test('no divergence from the start, although rewards differ', () => {
    const finding = findingOf({ curves: still, evaluations: noRise, config: tiny })
    expect(finding).toMatchObject({ id: 'learns-nothing', severity: 'problem' })
    expect(finding.words).toContain('learning rate of 0.000001')
    expect(changesOf(finding)).toEqual({ 'optimization.learningRate': 0.0001 })
    const small = { adapter: { rank: 16, alpha: 0.05 } }
    expect(findingOf({ curves: still, evaluations: noRise, config: small }).words).toContain('α / rank')
  })

  test('without KL, greedy answers that stay the same', () => {
    const curves = { ...still, kl: undefined, 'eval_completions/mean_length': undefined }
    const lengths = (last: number): RunOptions => ({
      curves: { ...curves, 'eval_completions/mean_length': (step) => (step === 40 ? last : 4) },
      evaluations: Array.from({ length: 41 }, (_, step) => [step, 0.4] as const).slice(1),
    })
    expect(idsOf({ ...lengths(4), config: tiny })).toEqual(['learns-nothing'])
    expect(idsOf({ ...lengths(5), config: tiny })).toEqual([])
  })

  test.each<[string, RunOptions]>([
    ['it moves slowly', { curves: { ...still, kl: line(1e-5, 0.01) } }],
    [
      'long completions have a long way in small steps',
      { curves: { ...still, kl: flat(1e-4), 'completions/mean_length': flat(500) } },
    ],
    ['it has had few steps', { curves: still, steps: 19 }],
    [
      'the rate still rises',
      { curves: still, config: { steps: 400, optimization: { warmupProportion: 0.1 } } },
    ],
    [
      'the reference follows the policy',
      { curves: still, config: { ...tiny, reference: { refreshSteps: 1 } } },
    ],
    [
      'a resumed run has moved before',
      { curves: { ...still, kl: (step) => (step < 30 ? null : 0.05) }, config: tiny },
    ],
    [
      'there is a long way to go at this pace',
      { curves: { ...still, kl: flat(1e-6) }, config: { steps: 1000 } },
    ],
    ['the reward rises', { curves: { kl: flat(1e-8) } }],
    ['nothing is left to learn', { curves: { ...still, reward: flat(0.97) } }],
  ])('not where %s', (_, options) => {
    expect(idsOf({ evaluations: [], ...options })).not.toContain('learns-nothing')
  })

  test('not of learning from given answers', () => {
    const curves = {
      reward: undefined,
      reward_std: undefined,
      frac_reward_zero_std: undefined,
      kl: undefined,
    }
    for (const id of ['sft', 'dpo']) {
      const data = { train: 'rows.jsonl', prompt: { column: 'prompt' } }
      const config = { algorithm: { id }, rewards: [], data }
      expect(idsOf({ curves: { ...curves, loss: line(0.7, 0.6) }, config, evaluations: [] })).not.toContain(
        'learns-nothing',
      )
    }
  })
})

describe('answers in prompts', () => {
  test('in training alone, or in validation as well', () => {
    const alone = { 'prompts/answer_ratio': flat(1), 'eval_prompts/answer_ratio': flat(0) }
    const finding = findingOf({ curves: alone })
    expect(finding).toMatchObject({ id: 'answer-in-prompt', severity: 'problem' })
    expect(finding.words).toContain('Validation prompts do not')
    const everywhere = { ...alone, 'eval_prompts/answer_ratio': flat(1) }
    expect(findingOf({ curves: everywhere }).words).toContain('state it too')
  })

  test('not in half of them, nor in a few prompts', () => {
    expect(idsOf({ curves: { 'prompts/answer_ratio': flat(0.5) } })).toEqual([])
    expect(idsOf({ curves: { 'prompts/answer_ratio': flat(1) }, steps: 2 })).not.toContain('answer-in-prompt')
  })
})

describe('another chat template', () => {
  const curves = { 'prompts/template_ratio': flat(0), reward: line(0.1, 0.3) }

  test('is the cause, not what it leads to', () => {
    const entropy = (step: number) => (step < 20 ? 1 : 0.02)
    const same = samplesOf(40, (i) => ({ row: i % 2, completion: 'Always this.' }))
    const broken = { curves: { ...curves, entropy }, samples: same, evaluations: [] }
    expect(findingOf(broken)).toMatchObject({ id: 'other-template', severity: 'warning' })
    const own = { ...broken, curves: { ...broken.curves, 'prompts/template_ratio': flat(1) } }
    expect(idsOf(own)).toEqual(['entropy-collapse'])
  })

  test('not where the policy copes, as a base model does with plain text, or without a template', () => {
    expect(idsOf({ curves: { ...curves, reward: line(0.3, 0.8) } })).toEqual([])
    expect(idsOf({ curves: { reward: curves.reward }, evaluations: [] })).toEqual([])
  })
})

describe('validation prompts', () => {
  const questions = ['Please add {} and {}', 'What is {} plus {}?', 'Find the largest of {} and {}']
  const of = (forms: readonly string[], count: number, from = 0) =>
    Array.from({ length: count }, (_, i) => {
      const numbers = [i + from, 2 * i + 7]
      return `<|user|>${(forms[i % forms.length] ?? '').replace(/\{\}/g, () => String(numbers.shift()))}<|end|>`
    })
  const idsWith = (heldOutPrompts: readonly string[], trained: readonly string[] = of(questions, 40)) =>
    idsOf({ samples: samplesOf(trained.length, (i) => ({ prompt: trained[i]!, row: i })), heldOutPrompts })

  test.each([
    [
      'German',
      ['Bitte addiere {} und {}', 'Was ist die Summe von {} und {}?', 'Welche ist die größte von {} und {}'],
    ],
    ['French', ['Merci de calculer {} et {}', 'Combien font {} et {} ?', 'Le plus grand parmi {} et {}']],
    ['Russian', ['Сложи {} и {}', 'Сколько будет {} плюс {}?', 'Найди наибольшее из {} и {}']],
    ['Chinese', ['请把 {} 和 {} 相加', '{} 加 {} 是多少?', '{} 和 {} 中最大的是哪个']],
  ])('in %s', (_, forms) => {
    expect(idsWith(of(forms, 24, 100))).toEqual(['held-out-other-language'])
  })

  test.each([
    ['with options', (text: string) => `${text} A) 1 B) 2 C) 3`],
    ['as JSON', (text: string) => JSON.stringify({ question: text })],
    [
      'without digits',
      (text: string) =>
        text.replace(
          /\d/g,
          (digit) => `${'zero one two three four five six seven eight nine'.split(' ')[Number(digit)]} `,
        ),
    ],
    ['in capitals', (text: string) => text.toUpperCase()],
  ])('%s', (_, say) => {
    const other = of(questions, 24, 100).map((text) =>
      text.replace(/>(.*)</, (__, inner: string) => `>${say(inner)}<`),
    )
    expect(idsWith(other)).toEqual(['held-out-other-form'])
    const both = of(questions, 40).map((text) =>
      text.replace(/>(.*)</, (__, inner: string) => `>${say(inner)}<`),
    )
    expect(idsWith(other, both)).toEqual([])
  })

  test('not of the same kind, nor where a part of training has that form', () => {
    expect(idsWith(of(questions, 24, 100))).toEqual([])
    const mixed = [
      ...of(questions, 20),
      ...of(
        questions.map((text) => `${text} (A) 1 (B) 2`),
        20,
      ),
    ]
    expect(idsWith(of(questions, 24, 100), mixed)).toEqual([])
  })
})

describe('what the reward goes by', () => {
  const texts = Array.from(
    { length: 60 },
    (_, i) => 'abcdefghij'.slice(0, 2 + (i % 8)) + (i % 2 === 0 ? ' x' : ' y'),
  )
  const rewarded = (of: (text: string, i: number) => number, options: RunOptions = {}) =>
    idsOf({
      evaluations: [],
      ...options,
      samples: samplesOf(texts.length, (i) => ({ row: i, completion: texts[i]!, reward: of(texts[i]!, i) })),
    })
  const config = { rewards: [{ function: 'judge.ts', name: 'correct' }] }
  const wrongPaid = { 'reward/with_answer': flat(0.6), 'reward/without_answer': flat(0.6) }

  test('length, up or down', () => {
    expect(rewarded((text) => text.length / 12)).toEqual(['reward-is-length'])
    expect(rewarded((text) => 1 / (text.length - 3))).toEqual(['reward-is-length'])
  })

  test('not where longer is better but not all, nor where all are right and brevity is what is left', () => {
    expect(rewarded((text, i) => text.length / 24 + (i % 3) / 6)).toEqual([])
    expect(rewarded((text) => 1 - text.length / 120)).toEqual([])
    expect(rewarded((text) => Number(text.length > 6))).toEqual([])
  })

  test('one word, where completions without the answer earn well', () => {
    expect(rewarded((text) => Number(text.endsWith('x')), { curves: wrongPaid, config })).toEqual([
      'reward-is-one-word',
    ])
    const paid = { 'reward/with_answer': flat(0.9), 'reward/without_answer': flat(0) }
    expect(rewarded((text) => Number(text.endsWith('x')), { curves: paid, config })).toEqual([])
    expect(rewarded((text) => Number(text.endsWith('x')), { config })).toEqual([])
  })

  test('dice: the same completion of the same prompt earns now this, now that', () => {
    const twice = (of: (i: number) => number) =>
      idsOf({
        evaluations: [],
        samples: samplesOf(80, (i) => ({ row: i % 4, completion: `It is ${i % 8}.`, reward: of(i) })),
      })
    expect(twice((i) => ((i * 37) % 101) / 100)).toEqual(['reward-is-noise'])
    expect(twice((i) => (i % 8) / 8)).toEqual([])
    // A judge that wavers a little is one yet.
    expect(twice((i) => (i % 8 < 4 ? 1 : 0) + ((i * 37) % 101) / 1000)).toEqual([])
    expect(twice((i) => 1 - ((i * 37) % 101) / 1000)).toEqual([])
  })

  test('nothing: the answer makes no difference, and in no step the policy found what does', () => {
    const noise = {
      reward: (step: number) => 0.5 + ((step * 37) % 11) / 100,
      'reward/with_answer': flat(0.5),
      'reward/without_answer': flat(0.5),
    }
    expect(
      idsOf({ curves: noise, evaluations: [], config: { rewards: [{ function: 'judge.ts' }] } }),
    ).toContain('reward-is-noise')
    const related = { ...noise, 'reward/with_answer': flat(0.9) }
    expect(idsOf({ curves: related, evaluations: [] })).not.toContain('reward-is-noise')
    const learned = { ...noise, reward: line(0.3, 0.8) }
    expect(idsOf({ curves: learned, evaluations: [] })).not.toContain('reward-is-noise')
  })

  test('nothing is said of environments, whose reward is not of the last text alone', () => {
    const config = { environment: { function: 'number-guessing' }, rewards: [] }
    expect(rewarded((text) => text.length / 12, { config })).not.toContain('reward-is-length')
  })
})
