/** What files of other tools are taken for: each by its own algorithm, or refused by what it is. */
import { describe, expect, test } from 'vitest'
import { importConfig } from '#host/exchange/importConfig.ts'

const home = '/home/me'
const read = (text: string, algorithm: string | null = null) => importConfig(text, null, { home, algorithm })
const textsOf = ({ notes }: ReturnType<typeof read>) => notes.map(({ text }) => text).join('\n')

const transformers = `
model_name_or_path: org/base
dataset_name: org/rows
learning_rate: 3.0e-4
num_train_epochs: 2
per_device_train_batch_size: 4
gradient_accumulation_steps: 2
lr_scheduler_type: cosine
warmup_ratio: 0.1
`

describe('TRL, whose files do not name their trainer', () => {
  test('rows and their length without completions are SFT', () => {
    const outcome = read(`${transformers}max_seq_length: 8192\noutput_dir: data/m-sft\n`)
    expect(outcome.reading).toBe(
      'Read as TRL’s SFT settings: max_seq_length is set, num_generations and beta are not.',
    )
    expect(outcome.config).toMatchObject({
      model: 'org/base',
      contextLength: 8192,
      algorithm: { id: 'sft' },
      optimization: { learningRate: 3e-4, schedule: 'cosine', warmupProportion: 0.1 },
      rollout: { promptsPerStep: 8 },
      adapter: { targets: 'all-linear' },
    })
    expect(textsOf(outcome)).toContain('TRL would train all weights; Turnwise trains a LoRA adapter')
    expect(textsOf(outcome)).toContain('`turnwise dataset import org/rows` fetches its rows')
  })

  test('β with a limit for prompts is DPO', () => {
    const outcome = read(`${transformers}beta: 0.01\nmax_prompt_length: 512\nmax_length: 1024\n`)
    expect(outcome.reading).toBe(
      'Read as TRL’s DPO settings: beta, max_prompt_length and max_length are set, num_generations is not.',
    )
    expect(outcome.config.algorithm).toMatchObject({ id: 'dpo', settings: { beta: 0.01 } })
  })

  test.each([
    ['loss_type: apo_zero\nbeta: 0.05', 'dpo', 'loss_type is apo_zero'],
    ['num_generations: 8\nbeta: 0.04', 'grpo', 'num_generations is set'],
    ['num_generations: 4\nmax_seq_length: 512', 'grpo', 'num_generations is set'],
    ['output_dir: data/zephyr-dpo-full\nbeta: 0.1', 'dpo', 'output_dir is data/zephyr-dpo-full'],
    ['beta: 0.05\nmax_length: 9\noutput_dir: data/m-orpo-1', 'orpo', 'beta and max_length are set'],
    ['loss_type: simpo', 'simpo', 'loss_type is simpo'],
    ['loss_type: simpo\nsimpo_gamma: 0.8', 'simpo', 'simpo_gamma is set'],
    ['desirable_weight: 1.5', 'kto', 'desirable_weight is set'],
  ])('%s: %s', (lines, id, because) => {
    const { config, reading } = read(`${transformers}${lines}\n`)
    expect(config.algorithm.id).toBe(id)
    expect(reading).toContain(because)
  })

  test.each([
    [
      '',
      'does not tell which of TRL’s trainers it is for',
      'sft, dpo, orpo, simpo, kto, grpo, rloo; on the command line with --algorithm',
    ],
    ['beta: 0.1', 'It has beta, which DPO, ORPO, KTO and GRPO have', '--algorithm'],
    ['num_generations: 4\npacking: true', 'names of several of TRL’s trainers', 'grpo, sft'],
    [
      'beta: 0.05\nmax_prompt_length: 9\noutput_dir: data/m-bco-1',
      "TRL's BCO has no equivalent",
      '--algorithm dpo',
    ],
    ['cpo_alpha: 1.0', 'CPO with loss_type “sigmoid”', 'simpo or orpo'],
    ['loss_type: alphapo', 'AlphaPO', 'simpo'],
    ['loss_type: apo_zero_unpaired', 'KTO loss_type “apo_zero_unpaired”', 'kto'],
    ['center_rewards_coefficient: 0.01', 'reward model trainer', 'dpo'],
  ])('%s is asked about or refused', (lines, sentence, hint) => {
    expect(() => read(`${transformers}${lines}\n`)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining(sentence) as string,
        hint: expect.stringContaining(hint) as string,
      }),
    )
  })

  test('the choice of a person answers', () => {
    const { config, reading } = read(`${transformers}beta: 0.2\n`, 'dpo')
    expect(reading).toBe('Read as TRL’s DPO settings: DPO was chosen.')
    expect(config.algorithm).toMatchObject({ id: 'dpo', settings: { beta: 0.2 } })
    expect(() => read(transformers, 'no-such')).toThrow('There is no algorithm “no-such”.')
  })

  test('a mixture of data sets gives the first, and its split', () => {
    const mixture = '\ndataset_mixture: {datasets: [{id: a/b, split: s}, {id: c/d}], test_split_size: 0.05}'
    const { config, notes } = read(
      `${transformers.replace('dataset_name: org/rows', '')}max_length: 64${mixture}`,
    )
    expect(config.data).toMatchObject({ train: 'a/b', heldOut: { share: 0.05 } })
    expect(notes.map(({ text }) => text)).toContain(
      'dataset_mixture.datasets: only a/b was taken, the first of 2; left aside: c/d.',
    )
  })

  test('a system prompt and a column become messages', () => {
    const { config } = read('num_generations: 4\nsystem_prompt: "Use {x}."\ndataset_prompt_column: problem')
    expect(config.data.prompt).toEqual({
      messages: [
        { role: 'system', content: 'Use {{x}}.' },
        { role: 'user', content: '{problem}' },
      ],
    })
  })
})

describe('commands', () => {
  test('trl with flags', () => {
    const { config, reading } = read(
      'trl grpo --model_name_or_path a/b --learning_rate=2e-5 --num_generations 4 \\\n  --per_device_train_batch_size 8 --use_peft --lora_r 32 --lora_target_modules q_proj v_proj --no_shuffle_dataset',
    )
    expect(reading).toBe(
      'Read as TRL’s GRPO settings from the command of trl grpo: the command starts trl grpo.',
    )
    expect(config).toMatchObject({
      model: 'a/b',
      algorithm: { id: 'grpo' },
      optimization: { learningRate: 2e-5 },
      rollout: { promptsPerStep: 2, groupSize: 4 },
      adapter: { rank: 32, targets: ['q', 'v'] },
      data: { shuffle: false },
    })
  })

  test('accelerate says the number of processes', () => {
    const { config, notes } = read(
      'accelerate launch --num_processes 4 --config_file zero3.yaml src/scripts/dpo.py --beta 0.2 --learning_rate 5e-7 --per_device_train_batch_size 2 --gradient_accumulation_steps 3 --config recipes/x.yaml',
    )
    expect(config).toMatchObject({ algorithm: { id: 'dpo' }, rollout: { promptsPerStep: 24 } })
    expect(notes.map(({ text }) => text).join()).toContain('--config recipes/x.yaml was not read')
    expect(notes.map(({ text }) => text).join()).not.toContain('one was assumed')
  })

  test.each([
    ['trl sft --config sft.yaml', 'its settings are in sft.yaml'],
    ['accelerate launch examples/rloo.py', 'starts examples/rloo.py and sets nothing itself'],
    ['trl bco --beta 0.1', "TRL's BCO has no equivalent"],
    ['trl reward --learning_rate 1e-5', "TRL's reward model trainer has no equivalent"],
    ['swift rlhf --rlhf_type grpo --model x', 'is one of ms-swift'],
    ['llamafactory-cli train x.yaml', 'its settings are in x.yaml'],
  ])('%s is refused', (text, sentence) => {
    expect(() => read(text)).toThrow(sentence)
  })
})

describe('AReaL', () => {
  const areal = (actor: string, type: string) =>
    `gconfig: {n_samples: 4, max_new_tokens: 64}\nactor: {path: m, optimizer: {lr: 2.0e-5}${actor}}\ntrain_dataset: {path: openai/gsm8k, batch_size: 8, type: ${type}, max_length: 1024}`

  test.each([
    ['', 'sft', 'sft', 'train_dataset.type is sft'],
    [', beta: 0.2', 'dpo', 'dpo', 'train_dataset.type is dpo'],
    [
      ', adv_norm: {mean_level: batch, std_level: batch}',
      'rl',
      'reinforce',
      'rewards are not compared within their group',
    ],
    [', reward_norm: {mean_level: null, std_level: group}', 'rl', 'reinforce', 'mean_level is not group'],
    [', reward_norm: {mean_level: group, std_level: group}', 'rl', 'grpo', 'mean_level is group'],
    [
      ', reward_norm: {mean_level: group}, adv_norm: {std_level: batch}',
      'rl',
      'reinforce-plus-plus',
      'that of the batch',
    ],
  ])('%s, %s: %s', (actor, type, id, because) => {
    const { config, reading } = read(areal(actor, type))
    expect(config.algorithm.id).toBe(id)
    expect(config.optimization.learningRate).toBe(2e-5)
    expect(reading).toContain(because)
    if (id === 'sft') expect(config.contextLength).toBe(1024)
  })

  test('reward models are refused, references filled in and other resolvers told', () => {
    expect(() => read(areal('', 'rw'))).toThrow('training of a reward model')
    const outcome = read(
      'root: /d\ngconfig: {n_samples: 4}\nactor: {path: "${oc.env:M,org/m}", reward_norm: {mean_level: group}}\ntrain_dataset: {path: "${root}/t", batch_size: "${mult:8,8}"}',
    )
    expect(outcome.config).toMatchObject({ model: 'org/m', data: { train: '/d/t' } })
    expect(textsOf(outcome)).toContain(
      'train_dataset.batch_size is not known: Turnwise cannot work out ${mult:8,8}.',
    )
  })
})

test('AgileRL: template, columns, split and length of a population', () => {
  const { config, notes, reading, study } = read(`
algorithm: {name: GRPO, batch_size: 6, lr: 0.000005, group_size: 2}
environment:
  dataset: org/countdown
  columns: {nums: question, target: answer}
  prompt_template: {system_0: Think., user_1: "Use {question} for {answer}.", assistant_2: "Let me"}
  train_test_split: 0.8
training: {pop_size: 2, evo_steps: 5, eval_loop: 1}
mutation: {rl_hp_selection: {lr: {min: 0.0000001, max: 0.00001}}}
network: {pretrained_model_name_or_path: org/m, max_context_length: 512}
`)
  expect(reading).toBe(
    'Read as a population of AgileRL’s GRPO settings: pop_size is set; its algorithm is GRPO.',
  )
  expect(study).toHaveProperty('population')
  expect(config).toMatchObject({ contextLength: 512, data: { heldOut: { share: 0.2 } } })
  expect(config.data.prompt).toEqual({
    messages: [
      { role: 'system', content: 'Think.' },
      { role: 'user', content: 'Use {nums} for {target}.' },
      { role: 'assistant', content: 'Let me' },
    ],
  })
  expect(notes.map(({ text }) => text).join()).not.toContain('describes no population')
})

describe('Python', () => {
  const unsloth = `
from unsloth import FastLanguageModel
from trl import GRPOConfig, GRPOTrainer
length = 1024
rank = 64
model, tokenizer = FastLanguageModel.from_pretrained(model_name = "org/m", max_seq_length = length, load_in_4bit = False)
model = FastLanguageModel.get_peft_model(model, r = rank, target_modules = ["q_proj", "o_proj"], lora_alpha = rank * 2)
args = GRPOConfig(learning_rate = 5e-6, num_generations = 4, per_device_train_batch_size = 4, max_completion_length = length - 256)
trainer = GRPOTrainer(model = model, args = args, train_dataset = dataset)
`
  const expected = {
    model: 'org/m',
    contextLength: 1024,
    adapter: { rank: 64, alpha: 128, targets: ['q', 'o'], dropout: 0 },
    optimization: { learningRate: 5e-6 },
    rollout: { groupSize: 4, promptsPerStep: 1, maxNewTokens: 768 },
  }

  test('unsloth, in a file and in a notebook', () => {
    expect(read(unsloth).config).toMatchObject(expected)
    const cells = [
      { cell_type: 'markdown', source: ['# GRPO'] },
      { cell_type: 'code', source: ['%%capture\n', '!pip install unsloth\n', unsloth] },
    ]
    const notebook = read(JSON.stringify({ cells, nbformat: 4 }))
    expect(notebook.config).toMatchObject(expected)
    expect(notebook.reading).toContain('from the code cells of a notebook')
  })

  test('a file that trains twice asks whose settings count', () => {
    const twice = `${unsloth}\nSFTTrainer(model = model, args = SFTConfig(learning_rate = 2e-4, packing = True))\n`
    expect(() => read(twice)).toThrow('trains several times, with TRL’s trainers grpo and sft')
    expect(read(twice, 'sft').config).toMatchObject({
      algorithm: { id: 'sft' },
      optimization: { learningRate: 2e-4 },
    })
    expect(read(twice, 'grpo').config.optimization.learningRate).toBe(5e-6)
  })
})

test('a record of W&B is read as what is in it', () => {
  const record =
    'a: {value: 1}\nlearning_rate: {desc: null, value: 2.0e-5}\nnum_generations: {value: 8}\n_wandb: {value: {v: 1}}'
  const { config, reading } = read(record)
  expect(reading).toContain('GRPO settings from W&B’s record of a run')
  expect(config.optimization.learningRate).toBe(2e-5)
})

describe('LLaMA-Factory and axolotl', () => {
  const factory = (lines: string) =>
    `model_name_or_path: org/m\nfinetuning_type: lora\nlora_rank: 4\nlora_target: all\ndataset: mine,other\ncutoff_len: 512\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 8\nlearning_rate: 1.0e-4\nnum_train_epochs: 3.0\n${lines}\n`
  const axolotl = (lines: string) =>
    `base_model: org/m\ndatasets: [{path: org/rows, type: alpaca}]\nadapter: lora\nlora_r: 12\nlora_alpha: 24\nlora_target_linear: true\nsequence_len: 256\nmicro_batch_size: 3\ngradient_accumulation_steps: 4\nnum_epochs: 2\nlearning_rate: 0.0002\nval_set_size: 0.1\n${lines}\n`

  test('SFT and DPO are read', () => {
    expect(read(factory('stage: sft')).config).toMatchObject({
      model: 'org/m',
      contextLength: 512,
      passes: 3,
      data: { train: 'mine' },
      algorithm: { id: 'sft' },
      adapter: { rank: 4, alpha: 8, dropout: 0, targets: 'all-linear' },
      optimization: { learningRate: 1e-4 },
      rollout: { promptsPerStep: 16 },
    })
    expect(
      read(factory('stage: dpo\npref_beta: 0.3\npref_ftx: 0.5\npref_loss: ipo')).config.algorithm,
    ).toMatchObject({
      id: 'dpo',
      settings: { beta: 0.3, nllAlpha: 0.5, loss: 'ipo' },
    })
    expect(read(axolotl('')).config).toMatchObject({
      contextLength: 256,
      passes: 2,
      data: { train: 'org/rows', heldOut: { share: 0.1 } },
      algorithm: { id: 'sft' },
      adapter: { rank: 12, alpha: 24, targets: 'all-linear' },
      optimization: { learningRate: 2e-4, schedule: 'cosine' },
      rollout: { promptsPerStep: 12 },
    })
    expect(read(axolotl('rl: ipo\nrl_beta: 0.2')).config.algorithm).toMatchObject({
      id: 'dpo',
      settings: { loss: 'ipo', beta: 0.2 },
    })
  })

  test('losses without a reference and of marked answers', () => {
    const algorithmIn = (text: string) => read(text).config.algorithm
    expect(algorithmIn(factory('stage: dpo\npref_loss: orpo\npref_beta: 0.2'))).toEqual({
      id: 'orpo',
      settings: { beta: 0.2 },
    })
    expect(algorithmIn(factory('stage: dpo\npref_loss: simpo\nsimpo_gamma: 0.7\npref_ftx: 0.1'))).toEqual({
      id: 'simpo',
      settings: { beta: 0.1, targetMargin: 0.7, nllAlpha: 0.1 },
    })
    expect(algorithmIn(factory('stage: kto\nkto_rejected_weight: 0.5'))).toMatchObject({
      id: 'kto',
      settings: { undesirableWeight: 0.5 },
    })
    expect(algorithmIn(axolotl('rl: orpo\norpo_alpha: 0.3'))).toMatchObject({ settings: { beta: 0.3 } })
    expect(algorithmIn(axolotl('rl: simpo\nrl_beta: 1.5\ncpo_alpha: 0.5'))).toMatchObject({
      id: 'simpo',
      settings: { beta: 1.5, nllAlpha: 0.5, targetMargin: 0.5 },
    })
    expect(algorithmIn(axolotl('rl: kto\nkto_desirable_weight: 0.2'))).toMatchObject({
      id: 'kto',
      settings: { desirableWeight: 0.2 },
    })
  })

  test('all weights, where they would train them, is said', () => {
    const whole = factory('stage: sft').replace('finetuning_type: lora', 'finetuning_type: full')
    expect(textsOf(read(whole))).toContain(
      'LLaMA-Factory would train all weights; Turnwise trains a LoRA adapter',
    )
    expect(textsOf(read(axolotl('').replace('adapter: lora\n', '')))).toContain(
      'axolotl trains all weights without an adapter',
    )
  })

  test.each([
    ...['rm', 'pt', 'ppo'].map((stage) => [factory(`stage: ${stage}`), `LLaMA-Factory's stage ${stage}`]),
    [factory('stage: dpo\npref_loss: bco_pair'), 'pref_loss “bco_pair”'],
    ...['ebft', 'grpo'].map((rl) => [axolotl(`rl: ${rl}`), `axolotl's rl “${rl}”`]),
    [axolotl('reward_model: true'), 'training of a reward model'],
    [axolotl('').replace('type: alpaca', 'type: completion'), 'pretraining on plain text'],
  ])('other stages are refused by name (%#)', (text, sentence) => {
    expect(() => read(text)).toThrow(sentence)
  })
})

test.each([
  [
    'compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 8\ndebug: false\nuse_cpu: false',
    'accelerate’s',
  ],
  [
    '{"train_batch_size": "auto", "zero_optimization": {"stage": 2}, "optimizer": {"params": {"lr": 1e-5}}}',
    'DeepSpeed’s',
  ],
  ['resources: {accelerators: A100}\nrun: |\n  python x.py a.b=1 c.d=2 e.f=3', 'SkyPilot’s'],
  ['services: {vllm: {command: ["--seed", "1"]}}', 'Docker Compose’s'],
  ['{"architectures": ["A"], "model_type": "llama", "hidden_size": 8}', 'the config.json of a model'],
  ['{"eos_token_id": 2, "transformers_version": "5.0"}', 'the generation_config.json of a model'],
  ['{"tokenizer_class": "T", "model_max_length": 8}', 'the tokenizer_config.json of a model'],
  ['{"peft_type": "LORA", "r": 8, "lora_alpha": 16}', 'the adapter_config.json of a PEFT adapter'],
  ['FROM llama3\nPARAMETER temperature 0.7\nTEMPLATE """x"""', 'an Ollama Modelfile'],
  ['model_name_or_path: m\nexport_dir: d\ntemplate: x', 'one of LLaMA-Factory’s for'],
  ['model: m\ndata: {train: t}\nalgorithm: {id: grpo}', 'a run config of Turnwise already'],
])('%.40s is refused as what it is', (text, what) => {
  expect(() => read(text)).toThrow(`The file is ${what}`)
})
