import { expect, test } from 'vitest'
import { importConfig } from '#host/exchange/importConfig.ts'

const grpo = 'model_name_or_path: m/x\ndataset_name: d\nnum_generations: 8\n'

test('no and off are false, as in PyYAML', () => {
  const { config, notes } = importConfig(
    `${grpo}use_peft: no\nlora_r: 016\nscale_rewards: off\nshuffle_dataset: no\nsave_strategy: no
chat_template_kwargs: {enable_thinking: off}`,
  )
  expect(config).toMatchObject({
    adapter: { rank: 14 },
    data: { shuffle: false, templateVariables: { enable_thinking: false } },
    algorithm: { settings: { advantageNorm: 'mean-only' } },
    checkpoints: { every: 0 },
  })
  expect(notes.map(({ text }) => text)).toContainEqual(expect.stringMatching(/^use_peft is false, so TRL/))
})

test.each([`${grpo}shuffle_dataset: "no"\nbf16: "yes"`, 'trl grpo --shuffle_dataset no --bf16 1'])(
  'words of a flag are those of transformers: %#',
  (text) => {
    const { config, notes } = importConfig(text)
    expect(config.data.shuffle).toBe(false)
    expect(notes.find(({ name }) => name === 'bf16')?.text).toMatch(/^bf16 \(true\)/)
  },
)

test('axolotl’s rl is off', () => {
  const text = 'base_model: m/x\nmicro_batch_size: 2\nsample_packing: no\nrl: no'
  expect(importConfig(text).config.algorithm.id).toBe('sft')
})

test('the batch of axolotl that its versions read differently is named', () => {
  const { notes } = importConfig('base_model: m/x\nmicro_batch_size: 4\nbatch_size: 32\nsample_packing: no')
  expect(notes.find(({ name }) => name === 'batch_size')?.text).toMatch(
    /newer ones do not; gradient_accumulation_steps/,
  )
})

test('the size of the world that a record has is its number of processes', () => {
  const record = {
    num_generations: { value: 8 },
    per_device_train_batch_size: { value: 8 },
    world_size: { value: 4 },
  }
  const { config, notes } = importConfig(JSON.stringify(record))
  expect(config.rollout.promptsPerStep).toBe(4)
  expect(notes.map(({ text }) => text).join()).not.toMatch(/how many processes/)
})
