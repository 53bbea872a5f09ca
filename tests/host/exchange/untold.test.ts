/** Settings that a file names and this machine or this program cannot tell or take. */
import { describe, expect, test } from 'vitest'
import { importConfig, type ImportChoices } from '#host/exchange/importConfig.ts'

const read = (text: string, choices: ImportChoices = {}) =>
  importConfig(text, null, { home: '/home/x', ...choices })
const textsOf = ({ notes }: ReturnType<typeof read>): string[] => notes.map(({ text }) => text)

const files: readonly (readonly [tool: string, text: string])[] = [
  ['TRL', 'model_name_or_path: a/b\nnum_generations: 8\nmax_completion_length: 64\n'],
  ['LLaMA-Factory', 'model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\ntemplate: llama3\n'],
  [
    'axolotl',
    'base_model: a/b\nsequence_len: 512\nmicro_batch_size: 2\nadapter: lora\ndatasets:\n  - path: x\n    type: alpaca\n',
  ],
]

describe.each(files)('tf32 of %s', (_, text) => {
  test('is a precision where a card has passed its check', () => {
    const outcome = read(`${text}tf32: true\n`, { hasCard: true })
    expect(outcome.config.base.precision).toBe('tf32')
    expect(outcome.taken).toContainEqual({ ours: 'base.precision', value: 'tf32', theirs: ['tf32'] })
    expect(textsOf(outcome).join()).not.toContain('tf32')
  })

  test('is left aside with the reason elsewhere', () => {
    const outcome = read(`${text}tf32: true\n`)
    expect(outcome.config.base.precision).toBe('f32')
    expect(textsOf(outcome)).toContain(
      'tf32 (true) was skipped: it is base.precision “tf32”, which needs a card of NVIDIA that has passed its check on this machine. The base is in f32, whose products are exact.',
    )
    expect(outcome.taken.map(({ ours }) => ours)).not.toContain('base.precision')
  })

  test('changes nothing where it is off, and is named where it is neither', () => {
    const off = read(`${text}tf32: false\n`, { hasCard: true })
    expect(off.config.base.precision).toBe('f32')
    expect(textsOf(off).join()).not.toContain('tf32')
    expect(textsOf(read(`${text}tf32: auto\n`, { hasCard: true }))).toContain(
      'tf32: “auto” has no equivalent. base.precision is f32, Turnwise’s default.',
    )
  })
})

describe('the defaults of a script', () => {
  const unread =
    'itself was not read: what it sets, or has as the default of an option that the command leaves out'
  test.each([
    'accelerate launch --num_processes 4 my_grpo.py --model_name_or_path a/b --num_generations 4',
    'python dpo_train.py --model_name_or_path a/b --beta 0.1 --dataset_name c/d',
    'ACCELERATE_LOG_LEVEL=info accelerate launch src/open_r1/sft.py --model_name_or_path a/b --learning_rate 1e-5',
  ])('are not known: %s', (command) => {
    expect(textsOf(read(command)).join()).toContain(unread)
  })

  test.each([
    'trl sft --model_name_or_path a/b --learning_rate 1e-5',
    'python trl/scripts/sft.py --model_name_or_path a/b --learning_rate 1e-5',
  ])('are TRL’s own: %s', (command) => {
    expect(textsOf(read(command)).join()).not.toContain(unread)
  })
})

describe('settings of other tools that share names with TRL', () => {
  test.each([
    ['ms-swift’s', 'model: a/b\ntrain_type: lora\ndataset: [c/d]\nlora_rank: 8\nmax_length: 2048\n'],
    [
      'MLX-LM’s',
      'model: a/b\nfine_tune_type: lora\ndata: ./d\niters: 10\nlora_parameters:\n  rank: 8\nmax_seq_length: 512\n',
    ],
    ['Oumi’s', 'model:\n  model_name: a/b\ntraining:\n  trainer_type: TRL_SFT\n  learning_rate: 1e-5\n'],
    [
      'OpenAI’s',
      '{"model": "gpt-4.1-mini", "training_file": "file-abc", "hyperparameters": {"n_epochs": 3}}',
    ],
  ])('%s are refused by name', (name, text) => {
    expect(() => read(text)).toThrow(name)
  })

  const own =
    'net: a/b\nrows: c.jsonl\nrank: 8\nalpha: 16\nmax_seq_length: 512\nbatch: 4\nlearning_rate: 1e-5\n'
  test('a file with mostly other names is none of TRL’s, unless a person says so', () => {
    expect(() => read(own)).toThrow(
      'Most names in the file are none of TRL’s (net, rows, rank, alpha), and no other tool that is read here has them.',
    )
    expect(importConfig(own, 'trl').config.optimization.learningRate).toBe(1e-5)
    expect(read(`model_name_or_path: a/b\n${own}`).tool).toBe('trl')
  })
})

describe('AReaL’s weight of who wrote', () => {
  const areal = (actor: string) =>
    `actor: {path: m, reward_norm: {mean_level: group}, use_decoupled_loss: true${actor}}\ngconfig: {n_samples: 4}\ntrain_dataset: {batch_size: 8}\n`

  test('has its limit under the name of earlier versions', () => {
    const outcome = read(areal(', behav_imp_weight_cap: 7'))
    expect(outcome.config.rollout).toMatchObject({
      mismatchCorrection: 'on',
      mismatchMode: 'mask',
      mismatchCap: 7,
    })
    expect(textsOf(outcome).join()).not.toMatch(/behav_imp|ignores the sampler/)
  })

  test('has that of rejection_sampling where both are named', () => {
    const both = ', behav_imp_weight_cap: 7, rejection_sampling: {action: clamp, upper: 3}'
    expect(read(areal(both)).config.rollout).toMatchObject({ mismatchMode: 'truncate', mismatchCap: 3 })
  })
})

test('what stands in a section that is left aside has the reason of the section', () => {
  const text = `${files[2]?.[1] ?? ''}special_tokens: {pad_token: "<x>"}\n`
  expect(textsOf(read(text))).toContain(
    'special_tokens.pad_token (<x>) was skipped: Turnwise uses the chat template of the model itself.',
  )
})
