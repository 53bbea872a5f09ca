import { describe, expect, test } from 'vitest'
import { requireFitting } from '#rl/training/conflicts.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { importConfig } from '#host/exchange/importConfig.ts'
import type { ToolId } from '#shared/tools.ts'

const noteOf = (notes: readonly { name: string; text: string }[], name: string) =>
  notes.find((note) => note.name === name)?.text

describe('TRL', () => {
  const grpo = `
model_name_or_path: org/model
dataset_name: rows.jsonl
learning_rate: 1e-5
per_device_train_batch_size: 4
gradient_accumulation_steps: 8
steps_per_generation: 16
num_generations: 8
num_iterations: 2
max_steps: 40
eval_strategy: steps
eval_steps: 20
beta: 0.04
epsilon_high: 0.28
loss_type: dr_grpo
scale_rewards: false
use_peft: true
lora_target_modules: [q_proj, v_proj]
max_grad_norm: 0
generation_kwargs: {min_new_tokens: 3}
bf16: true
made_up: 7
`

  test('sequences, updates and offsets become prompts, steps and bounds', () => {
    const { tool, config } = importConfig(grpo)
    expect(tool).toBe('trl')
    expect(config.model).toBe('org/model')
    expect(config.data.train).toBe('rows.jsonl')
    expect(config.algorithm).toEqual({
      id: 'grpo',
      settings: {
        klCoefficient: 0.04,
        klClamp: null,
        clipCoefficient: [0.8, 1.28],
        advantageNorm: 'mean-only',
        lossNorm: 'constant-length',
      },
    })
    // 4 × 16 completions at once, of 8 per prompt; 32 per update, so 2 updates twice over.
    expect(config.rollout).toMatchObject({
      promptsPerStep: 8,
      groupSize: null,
      minNewTokens: 3,
      maxNewTokens: 512,
    })
    expect(config.optimization).toMatchObject({
      learningRate: 1e-5,
      minibatchSize: 32,
      epochs: 2,
      schedule: 'linear',
      weightDecay: 0,
      maxGradNorm: null,
    })
    expect(config.steps).toBe(10)
    expect(config.evaluation.every).toBe(5)
    expect(config.adapter).toMatchObject({ rank: 16, targets: ['q', 'v'], dropout: 0.05 })
  })

  test('what is not taken over is named with its reason, and so is what was filled in', () => {
    const { notes } = importConfig(grpo)
    expect(noteOf(notes, 'bf16')).toBe(
      'bf16 (true) was skipped: parameters and gradients are 32-bit floats in Turnwise.',
    )
    expect(noteOf(notes, 'made_up')).toBe(
      'made_up (7) was skipped: it is not among the settings of TRL that Turnwise knows for grpo.',
    )
    expect(noteOf(notes, 'adapter.dropout')).toBe(
      'adapter.dropout is 0.05: the file does not set lora_dropout, whose default in TRL is 0.05 (Turnwise’s default is 0).',
    )
    expect(noteOf(notes, 'algorithm.settings.klClamp')).toBe(
      'algorithm.settings.klClamp is null, as always in TRL (Turnwise’s default is 10).',
    )
    expect(noteOf(notes, 'rewards')).toContain('write the rewards')
    expect(notes.some(({ name }) => name === 'num_iterations' || name === 'beta')).toBe(false)
  })

  test.each([
    ['loss_type: cispo\nepsilon_high: 5.0', 'cispo', { clipCoefficient: 4, lossNorm: 'token-mean' }],
    ['use_bias_correction_kl: false\nnum_generations: 8', 'grpo', { klImportanceWeighting: false }],
    ['off_policy_mask_threshold: 0.1', 'grpo', { offPolicyThreshold: 0.1 }],
    ['loss_type: sapo\nsapo_temperature_neg: 2', 'sapo', { negativeTemperature: 2 }],
    ['loss_type: ipo\nbeta: 0.2', 'dpo', { loss: 'ipo', beta: 0.2, nllAlpha: 0 }],
    ['loss_type: [robust]\nlabel_smoothing: 0.2', 'dpo', { loss: 'robust', labelSmoothing: 0.2 }],
    [
      'loss_type: [exo_pair, sft]\nloss_weights: [2, 1]\nlabel_smoothing: 0.01',
      'dpo',
      { loss: 'exo', nllAlpha: 0.5 },
    ],
    ['importance_sampling_level: sequence\nnum_generations: 4', 'gspo', { lossNorm: 'token-mean' }],
    [
      'normalize_advantages: true\nreward_clip_range: [-2, 2]',
      'rloo',
      { normalizeAdvantages: true, rewardClipRange: 2 },
    ],
    ['loss_type: [sigmoid, sft]\nloss_weights: [1, 0.5]\nbeta: 0.2', 'dpo', { beta: 0.2, nllAlpha: 0.5 }],
    ['completion_only_loss: true\nlearning_rate: 2e-5', 'sft', {}],
    ['num_ppo_epochs: 4\nlam: 0.9\ncliprange: 0.1', 'ppo', { gaeLambda: 0.9, clipCoefficient: 0.1 }],
  ])('%s means %s', (text, id, settings) => {
    const { config } = importConfig(text, 'trl')
    expect(config.algorithm.id).toBe(id)
    expect(config.algorithm.settings).toMatchObject(settings)
  })

  test('a loss that does not exist here is refused by name', () => {
    for (const [text, what] of [
      ['loss_type: vespo', 'loss_type “vespo”'],
      ['loss_type: dft', 'SFT loss_type “dft”'],
      ['loss_type: [aot, sft]', 'DPO loss_type “aot”'],
      ['loss_type: [sigmoid, ipo]', 'mixture of DPO losses sigmoid and ipo'],
    ] as const)
      expect(() => importConfig(text, 'trl')).toThrow(`TRL's ${what} has no equivalent in Turnwise.`)
  })

  test('label smoothing that a loss ignores there is none here, and that is said', () => {
    const { config, notes } = importConfig('loss_type: [sigmoid]\nlabel_smoothing: 0.1', 'trl')
    expect(config.algorithm.settings).not.toHaveProperty('labelSmoothing')
    expect(noteOf(notes, 'label_smoothing')).toBe(
      "TRL's loss sigmoid ignores label_smoothing, so Turnwise sets it to 0. Earlier versions smoothed it, which is the loss “conservative” here.",
    )
  })

  test('batches that hold no whole groups are rounded, since the number of processes is not in the file', () => {
    const { config, notes } = importConfig(
      'num_generations: 14\nper_device_train_batch_size: 16\ngradient_accumulation_steps: 4',
    )
    expect(config.rollout).toMatchObject({ promptsPerStep: 5, groupSize: 14 })
    expect(config.optimization.minibatchSize).toBeNull()
    const told = notes.map(({ text }) => text)
    expect(told).toContain(
      '64 completions at once are no multiple of the 14 per prompt: rounded to 5 prompts. With 7 processes there are 32 whole prompts.',
    )
    expect(told.join()).toContain('The file does not say how many processes it runs on, so one was assumed')
  })
})

test('AgileRL: bounds of the ratio, sections and capitals', () => {
  const manifest = `
algorithm: {name: GRPO, batch_size: 6, group_size: 4, lr: 0.000005, clip_coef: [0.7, 1.4], top_k: 0, top_p: 0.95, adv_norm: mean_std, loss_norm: episode, mini_batch_size: 12}
training: {max_steps: 240, evaluation_interval: 5, pop_size: 2}
network: {pretrained_model_name_or_path: m, lora_config: {lora_r: 8, lora_alpha: 64}}
`
  const { tool, config, notes } = importConfig(manifest)
  expect(tool).toBe('agilerl')
  expect(config).toMatchObject({
    model: 'm',
    steps: 10,
    adapter: { rank: 8, alpha: 64 },
    rollout: { promptsPerStep: 6, groupSize: 4, topK: 0, topP: 0.95, temperature: 0.9 },
    optimization: { learningRate: 5e-6, minibatchSize: 12, maxGradNorm: 0.1 },
    algorithm: { id: 'grpo', settings: { clipCoefficient: [0.7, 1.4] } },
  })
  expect(noteOf(notes, 'training.pop_size')).toContain('a run is one agent')
  const old = importConfig(
    'INIT_HP: {ALGO: LLMPPO, LR_ACTOR: 0.00001, LR_CRITIC: 0.00005, GAE_LAMBDA: 0.9, BATCH_SIZE: 4}',
  )
  expect(old.config).toMatchObject({
    algorithm: { id: 'ppo', settings: { gaeLambda: 0.9, klCoefficient: 0.001 } },
    optimization: { learningRate: 1e-5, criticLearningRate: 5e-5 },
  })
})

test('AgileRL: names of earlier versions and of its classes', () => {
  const { config, notes } = importConfig(
    'INIT_HP: {ALGO: LLMPPO, LR: 0.00001, ADV_WHITENING: false, ACTION_GRANULARITY: turn, MODEL_NAME: org/m, VLLM_IS_CAP: 3, EVAL_INTERVAL: 7}\nlora_config: {r: 4, lora_alpha: 8}',
    'agilerl',
  )
  expect(config).toMatchObject({
    model: 'org/m',
    evaluation: { every: 7 },
    adapter: { rank: 4, alpha: 8 },
    optimization: { learningRate: 1e-5 },
    algorithm: { settings: { whitenAdvantages: false, advantageGranularity: 'turn' } },
  })
  expect(notes.filter(({ text }) => text.includes('not among the settings of'))).toEqual([])
})

test('a null says null, whatever the tool would take by itself', () => {
  const { config } = importConfig('algorithm: {name: GRPO, kl_clamp: null, clip_coef: 0.2}', 'agilerl')
  expect(config.algorithm.settings).toMatchObject({ klClamp: null })
})

test('AReaL: SAPO, and the decoupled objective', () => {
  const { config, notes } = importConfig(
    'actor: {path: m, use_sapo_loss: true, sapo_tau_pos: 0.9}\ngconfig: {n_samples: 4}\ntrain_dataset: {batch_size: 8}',
  )
  expect(config.algorithm).toMatchObject({ id: 'sapo', settings: { positiveTemperature: 0.9 } })
  expect(notes.some(({ name }) => name === 'actor.use_sapo_loss')).toBe(false)
  const decoupled = (rejection: string) =>
    importConfig(
      `actor: {path: m, reward_norm: {mean_level: group}, use_decoupled_loss: true${rejection}}\ngconfig: {n_samples: 4}\ntrain_dataset: {batch_size: 8}`,
    )
  expect(decoupled(', rejection_sampling: {action: clamp, upper: 3}').config.rollout).toMatchObject({
    mismatchCorrection: 'on',
    mismatchMode: 'truncate',
    mismatchCap: 3,
  })
  expect(decoupled('').config.rollout.mismatchCorrection).toBe('off')
})

test('AReaL: a number of mini-batches, top-k off at 10⁸', () => {
  const { tool, config, notes } = importConfig(`
experiment_name: gsm8k
gconfig: {n_samples: 4, max_new_tokens: 1024, top_k: 100000000, temperature: 1.0}
actor:
  path: org/model
  use_lora: true
  lora_rank: 16
  ppo_n_minibatches: 4
  eps_clip: 0.4
  kl_ctl: 0.0
  reward_scaling: 10
  optimizer: {lr: 1.7e-5, gradient_clipping: 1.0}
  reward_norm: {mean_level: group, std_level: group}
train_dataset: {batch_size: 32, path: openai/gsm8k}
total_train_epochs: 3
`)
  expect(tool).toBe('areal')
  expect(config).toMatchObject({
    name: 'gsm8k',
    passes: 3,
    rollout: { promptsPerStep: 32, groupSize: 4, topK: 0, maxNewTokens: 1024 },
    optimization: { learningRate: 1.7e-5, minibatchSize: 32 },
    algorithm: { id: 'grpo', settings: { clipCoefficient: 0.4, klCoefficient: 0, lossNorm: 'token-mean' } },
  })
  expect(noteOf(notes, 'actor.reward_scaling')).toContain('rewards are functions in Turnwise')
})

describe('any file', () => {
  test.each<[string, ToolId | null, string]>([
    ['', null, 'cannot be read as YAML or JSON'],
    ['just words', null, 'holds no settings'],
    ['a: [1', null, 'cannot be read as YAML or JSON'],
    ['a: 1\na: 2', null, 'cannot be read as YAML or JSON'],
    ['colour: blue', null, 'no setting that identifies TRL, AgileRL, AReaL, LLaMA-Factory or axolotl'],
    ['x'.repeat(1_000_001), null, 'too large'],
    ['algorithm: {name: PPO3}', 'agilerl', 'algorithm “ppo3” has no equivalent in Turnwise'],
    ['algorithm: {name: GRPO, loss_type: vapo}', 'agilerl', 'loss_type “vapo” has no equivalent in Turnwise'],
    ['beta: lots\nnum_generations: 8', 'trl', 'klCoefficient'],
  ])('%.20s is refused in a sentence', (text, tool, sentence) => {
    expect(() => importConfig(text, tool)).toThrow(sentence)
  })

  test.each(['epsilon', 'save_steps'])('a word for the number %s is told', (name) => {
    const { notes } = importConfig(`num_generations: 4\n${name}: many`, 'trl')
    expect(noteOf(notes, name)).toBe(`${name} (many) was skipped: it is a number in TRL.`)
  })

  test('a loss of AgileRL’s group class chooses the algorithm; other classes have none', () => {
    const chosen = (loss: string) => importConfig(`algorithm: {name: GRPO, loss_type: ${loss}}`, 'agilerl')
    expect(['grpo', 'gspo', 'cispo'].map((loss) => chosen(loss).config.algorithm.id)).toEqual([
      'grpo',
      'gspo',
      'cispo',
    ])
    const { notes } = importConfig('algorithm: {name: DPO, loss_type: cispo}', 'agilerl')
    expect(noteOf(notes, 'algorithm.loss_type')).toContain('was skipped')
  })

  test('aliases that unfold without end are refused', () => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x,x]',
      ...'bcdefghi'
        .split('')
        .map((name, i) => `${name}: &${name} [${`*${'abcdefghi'[i] ?? 'a'},`.repeat(10)}]`),
    ]
    expect(() => importConfig(bomb.join('\n'))).toThrow('cannot be read')
  })

  test.each([
    ['texts', 7, (next: string) => next.repeat(10)],
    ['texts of texts of nothing', 18, (next: string) => next.repeat(10)],
    ['one long text', 1, (next: string) => next.repeat(5_000)],
  ])('references that multiply are filled in a few times alone: %s', (_, levels, line) => {
    const nested = Array.from({ length: levels }, (_, i) => `a${i}: "${line(`\${a${i + 1}}`)}"`)
    const last = `a${levels}: "${'x'.repeat(levels === 18 ? 0 : 1_000)}"`
    const text = ['actor: { path: "${a0}" }', 'gconfig: { n_samples: 4 }', ...nested, last].join('\n')
    expect(() => importConfig(text)).toThrow(/references in the file.*Nothing was imported/)
  })

  test.each([
    ['data: &d {train: x, self: *d}', 'an alias stands inside what it names'],
    ['a: &a [1, {b: [*a]}]', 'an alias stands inside what it names'],
    [`a: ${'['.repeat(20_000)}`, 'it is nested too deeply'],
  ])('what has no end is refused: %.30s', (text, why) => {
    expect(() => importConfig(text)).toThrow(`The file cannot be read as YAML or JSON: ${why}`)
  })

  test('an alias beside what it names is a value', () => {
    const { config } = importConfig('a: &a {num_generations: 4}\nnum_generations: 4\nb: [*a, *a]')
    expect(config.rollout).toMatchObject({ groupSize: 4 })
  })

  test('JSON is read as well, and names of prototypes change nothing', () => {
    const { config, notes } = importConfig(
      '{"num_generations": 4, "__proto__": {"beta": 3}, "constructor.x": 1}',
    )
    expect(config.rollout).toMatchObject({ groupSize: 4 })
    expect(config.algorithm.settings).toMatchObject({ klCoefficient: 0 })
    expect(noteOf(notes, '__proto__.beta')).toContain('was skipped')
  })

  test('with a reward the settings fit together', () => {
    const { config } = importConfig('num_generations: 4\nper_device_train_batch_size: 16')
    const whole = { ...config, rewards: [{ function: 'exact-match', weight: 1, settings: {} }] }
    const { id, settings } = config.algorithm
    expect(() => requireFitting(whole, algorithmById(id).configure(settings))).not.toThrow()
  })
})
