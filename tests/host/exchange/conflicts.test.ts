/** Names that mean nearly the same: the one that the algorithm reads is taken, and the others are named. */
import { describe, expect, test } from 'vitest'
import { importConfig } from '#host/exchange/importConfig.ts'

const read = (text: string, algorithm: string | null = null) =>
  importConfig(text, null, { home: '/home/me', algorithm })
const textsOf = ({ notes }: ReturnType<typeof read>) => notes.map(({ text }) => text).join('\n')

describe('coefficients of several algorithms', () => {
  test.each([
    [
      'num_generations: 4\nbeta: 0.04\nkl_coef: 0.2\n',
      'grpo',
      { klCoefficient: 0.04 },
      'kl_coef (0.2) was skipped: it is no setting of GRPO in TRL, which reads beta.',
    ],
    [
      'num_ppo_epochs: 2\nbeta: 0.04\nkl_coef: 0.2\n',
      null,
      { klCoefficient: 0.2 },
      'beta (0.04) was skipped: it is no setting of PPO in TRL, which reads kl_coef.',
    ],
    [
      'model_name_or_path: a/b\nloss_type: sigmoid\nbeta: 0.04\ndpo_beta: 0.3\n',
      null,
      { beta: 0.04 },
      'dpo_beta (0.3) was skipped: it is no setting of DPO in TRL, which reads beta.',
    ],
    [
      'stage: dpo\nfinetuning_type: lora\npref_beta: 0.2\ndpo_beta: 0.3\n',
      null,
      { beta: 0.2 },
      'dpo_beta (0.3) was skipped: it is no setting of DPO in LLaMA-Factory, which reads pref_beta.',
    ],
    [
      'gconfig: {n_samples: 4}\nactor: {path: a/b, kl_ctl: 0.1, beta: 0.5, reward_norm: {mean_level: group}}\n',
      null,
      { klCoefficient: 0.1 },
      'actor.beta (0.5) was skipped: it is no setting of GRPO in AReaL, which reads actor.kl_ctl.',
    ],
    [
      'gconfig: {n_samples: 4}\nactor: {path: a/b, kl_ctl: 0.1, beta: 0.5}\ntrain_dataset: {type: dpo}\n',
      null,
      { beta: 0.5 },
      'actor.kl_ctl (0.1) was skipped: it is no setting of DPO in AReaL, which reads actor.beta.',
    ],
    [
      'base_model: a/b\nrl: dpo\nmicro_batch_size: 2\nnum_epochs: 1\nrl_beta: 0.3\ntrl: {beta: 0.2}\n',
      null,
      { beta: 0.2 },
      'rl_beta (0.3) was left aside: axolotl takes trl.beta (0.2) where both are set.',
    ],
    [
      'base_model: a/b\nrl: dpo\nmicro_batch_size: 2\nnum_epochs: 1\ntrl: {beta: 0.2}\n',
      null,
      { beta: 0.2 },
      '',
    ],
    [
      'algorithm: {name: DPO, beta: 0.3}\nINIT_HP: {BETA: 0.5}\ntraining: {beta: 0.7}\n',
      null,
      { beta: 0.3 },
      'training.beta (0.7) was skipped: algorithm.beta (0.3) stands for the same setting and was taken.',
    ],
  ])('%#', (text, algorithm, settings, said) => {
    const outcome = read(text, algorithm)
    expect(outcome.config.algorithm.settings).toMatchObject(settings)
    expect(textsOf(outcome)).toContain(said)
  })

  test('where they speak for two trainers of TRL, the file is asked about', () => {
    const text = 'beta: 0.2\nmax_length: 512\nmax_prompt_length: 64\nkl_coef: 0.05\n'
    expect(() => read(text)).toThrow(
      'names of several of TRL’s trainers: kl_coef is of PPO, beta and max_prompt_length are of DPO',
    )
    expect(read(text, 'dpo').config.algorithm.settings).toMatchObject({ beta: 0.2 })
  })

  test('in Python the argument of the trainer stands over its config, of which the other is named', () => {
    const outcome = read(
      'from trl import DPOTrainer, DPOConfig\nargs = DPOConfig(beta=0.4)\nDPOTrainer(model="a/b", beta=0.5, args=args)\n',
    )
    expect(outcome.config.algorithm.settings).toMatchObject({ beta: 0.5 })
    expect(textsOf(outcome)).toContain('beta (0.4) in DPOConfig(…) was skipped: DPOTrainer(…) sets it too.')
  })

  test('in Python the config that the trainer is given counts', () => {
    const outcome = read(
      'from trl import GRPOTrainer, GRPOConfig\na = GRPOConfig(beta=0.1, num_generations=4)\nb = GRPOConfig(beta=0.2, num_generations=6)\nGRPOTrainer(model="a/b", args=b)\n',
    )
    expect(outcome.config).toMatchObject({
      algorithm: { settings: { klCoefficient: 0.2 } },
      rollout: { groupSize: 6 },
    })
    expect(textsOf(outcome)).toContain(
      'beta (0.1) in GRPOConfig(…) was skipped: another GRPOConfig(…) sets it too.',
    )
  })
})

describe('what TRL passes on to its sampler', () => {
  test.each([
    ['stop: ["</a>", "\\n"]', ['</a>', '\n']],
    ['stop: "</a>"', ['</a>']],
    ['stop_strings: ["</a>"]', ['</a>']],
    ['stop: ["</a>"], stop_strings: ["</a>", "<b>"]', ['</a>', '<b>']],
    ['min_new_tokens: 3', []],
  ])('{%s} ends completions', (kwargs, stopStrings) => {
    const outcome = read(`num_generations: 4\ngeneration_kwargs: {${kwargs}}\n`)
    expect(outcome.config.rollout.stopStrings).toEqual(stopStrings)
    expect(textsOf(outcome)).not.toContain('generation_kwargs')
  })

  test('other stops are named', () => {
    const outcome = read('num_generations: 4\ngeneration_kwargs: {stop: ["a", 7], stop_token_ids: [2]}\n')
    expect(outcome.config.rollout.stopStrings).toEqual(['a'])
    expect(textsOf(outcome)).toContain(
      'generation_kwargs.stop: 7 was left aside: a completion ends at texts.',
    )
    expect(textsOf(outcome)).toContain(
      'generation_kwargs.stop_token_ids ([2]) was skipped: a completion ends at texts, which are `rollout.stopStrings`',
    )
  })

  test('switches of the chat template are variables of it, in a file and in Python', () => {
    const outcome = read(
      'num_generations: 4\nchat_template_kwargs: {enable_thinking: false, effort: high, tools: [a]}\n',
    )
    expect(outcome.config.data.templateVariables).toEqual({ enable_thinking: false, effort: 'high' })
    expect(textsOf(outcome)).toContain(
      'chat_template_kwargs: tools left aside: a template gets texts, numbers and true or false.',
    )
    const python = read(
      'from trl import GRPOTrainer, GRPOConfig\nGRPOTrainer(model="a/b", args=GRPOConfig(num_generations=4, generation_kwargs={"stop": ["x"]}, chat_template_kwargs={"enable_thinking": True}))\n',
    )
    expect(python.config.data.templateVariables).toEqual({ enable_thinking: true })
    expect(python.config.rollout.stopStrings).toEqual(['x'])
  })

  test('the weight of importance sampling has its cap by the older name too', () => {
    const sampling = (lines: string) => read(`num_generations: 4\nuse_vllm: true\n${lines}`)
    const capped = sampling(
      'vllm_importance_sampling_correction: false\nvllm_importance_sampling_mode: token_truncate\nvllm_importance_sampling_cap: 2.5\n',
    )
    expect(capped.config.rollout).toMatchObject({
      mismatchCorrection: 'off',
      mismatchMode: 'truncate',
      mismatchCap: 2.5,
    })
    const both = sampling('vllm_importance_sampling_cap: 2.5\nvllm_importance_sampling_clip_max: 4\n')
    expect(both.config.rollout.mismatchCap).toBe(2.5)
    expect(textsOf(both)).toContain('vllm_importance_sampling_clip_max (4) was skipped')
  })
})

describe('transformers’ warm-up', () => {
  const trl = (lines: string) =>
    `model_name_or_path: a/b\nnum_generations: 8\nmax_completion_length: 64\nmax_steps: 100\nper_device_train_batch_size: 8\n${lines}`

  test('is the number of steps where the ratio is set too', () => {
    const outcome = read(trl('warmup_steps: 20\nwarmup_ratio: 0.5\n'))
    expect(outcome.config.optimization.warmupProportion).toBe(0.2)
    expect(textsOf(outcome)).toContain('warmup_ratio (0.5) was skipped: warmup_steps (20) stands over it.')
  })

  test('is the ratio where the number of steps is 0', () => {
    expect(read(trl('warmup_steps: 0\nwarmup_ratio: 0.5\n')).config.optimization.warmupProportion).toBe(0.5)
  })
})

describe('LLaMA-Factory’s adapters', () => {
  const factory = (lines: string) =>
    `model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\ntemplate: llama3\n${lines}`

  test.each([
    ['a1', 'a1', null],
    ['a1, a2,a3', 'a3', 'merges a1, a2 into the model first: merge them and choose that model'],
    ['a1\ncreate_new_adapter: true', null, 'merges a1 into the model first: merge it and choose that model'],
  ])('%s', (written, initial, told) => {
    const outcome = read(factory(`adapter_name_or_path: ${written}\n`))
    expect(outcome.config.adapter.initial).toBe(initial)
    if (told === null) expect(textsOf(outcome)).not.toContain('adapter_name')
    else expect(textsOf(outcome)).toContain(told)
  })
})

test('what is taken instead of a word without an equivalent is said', () => {
  const text = 'model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\nlr_scheduler_type: polynomial\n'
  expect(textsOf(read(text))).toContain(
    'The schedule “polynomial” has no equivalent. optimization.schedule is constant, Turnwise’s default.',
  )
})
