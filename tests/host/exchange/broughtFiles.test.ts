/** Files in the shapes that people bring: several trainings in one, nested data sets, trainers that are chained. */
import { describe, expect, test } from 'vitest'
import { importConfig } from '#host/exchange/importConfig.ts'

const read = (text: string, algorithm: string | null = null) =>
  importConfig(text, null, { home: '/home/me', algorithm })
const textsOf = ({ notes }: ReturnType<typeof read>) => notes.map(({ text }) => text).join('\n')

describe('a script with several commands', () => {
  const script =
    'python prepare.py --rows 10\ntrl sft --model_name_or_path a/b --learning_rate 2e-5 --max_length 512\ntrl dpo --model_name_or_path out/sft --learning_rate 5e-7 --beta 0.2\n'

  test('asks which training is meant, naming each', () => {
    expect(() => read(script)).toThrow(
      expect.objectContaining({
        message: 'The script starts several trainings, trl sft and trl dpo, each with its own settings.',
        hint: 'Choose the algorithm whose settings are meant: sft, dpo; on the command line with --algorithm.',
      }),
    )
  })

  test.each([
    ['sft', 'a/b', 2e-5],
    ['dpo', 'out/sft', 5e-7],
  ])('takes the one that was chosen (%s), and names what it left aside', (id, model, rate) => {
    const outcome = read(script, id)
    expect(outcome.config).toMatchObject({
      model,
      algorithm: { id },
      optimization: { learningRate: rate },
    })
    expect(textsOf(outcome)).toContain('The script also starts prepare.py')
    expect(textsOf(outcome)).toContain(`The script also starts trl ${id === 'sft' ? 'dpo' : 'sft'}`)
  })

  test('takes the first of two that start the same trainer, and says so', () => {
    const outcome = read(
      'trl sft --model_name_or_path a/b --packing\ntrl sft --model_name_or_path c/d --packing',
    )
    expect(outcome.config.model).toBe('a/b')
    expect(textsOf(outcome)).toContain('The script also starts trl sft, whose settings were not taken')
  })

  test('does not mix the words of two commands of Hydra', () => {
    const both =
      'python -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=64 actor_rollout_ref.model.path=a/b\npython -m verl.model_merger local.dir=x actor_rollout_ref.model.path=c/d'
    const outcome = read(both)
    expect(outcome.config.model).toBe('a/b')
    expect(textsOf(outcome)).toContain('The script also starts verl.model_merger')
  })
})

describe('the command that fetches the rows', () => {
  const base = 'model_name_or_path: a/b\nmax_length: 64\n'

  test.each([
    [
      'dataset_name: org/rows\ndataset_config: main\ndataset_train_split: train_sft\n',
      '`turnwise dataset import org/rows --config main --split train_sft`',
    ],
    [
      'dataset_mixture: {datasets: [{id: org/rows, config: all, split: train_1}]}\n',
      '`turnwise dataset import org/rows --config all --split train_1`',
    ],
    ['dataset_mixer: {org/rows: 1.0}\ndataset_splits: [train_sft, test_sft]\n', '--split train_sft`'],
  ])('%s', (lines, command) => {
    expect(textsOf(read(`${base}${lines}`))).toContain(command)
  })

  test('names the split to validate on', () => {
    const outcome = read(`${base}dataset_name: org/rows\ndataset_test_split: test_sft\n`)
    expect(textsOf(outcome)).toContain('`turnwise dataset import org/rows --split test_sft`')
  })

  test('reads them from a call in Python, and says that a slice is left aside', () => {
    const outcome = read(
      'from datasets import load_dataset\nfrom trl import SFTTrainer, SFTConfig\nrows = load_dataset("org/rows", "main", split="train[:1000]")\ntest = load_dataset("org/rows", "main", split="test")\nSFTTrainer(model="a/b", args=SFTConfig(learning_rate=3e-5), train_dataset=rows)\n',
    )
    expect(textsOf(outcome)).toContain('`turnwise dataset import org/rows --config main --split train`')
    expect(textsOf(outcome)).toContain('train[:1000]')
    expect(textsOf(outcome)).toContain('`turnwise dataset import org/rows --config main --split test`')
  })
})

describe('axolotl’s data sets', () => {
  const axolotl = (datasets: string) =>
    `base_model: a/b\nsequence_len: 512\nmicro_batch_size: 2\nadapter: lora\n${datasets}`

  test('with their fields, split and configuration', () => {
    const outcome = read(
      axolotl(
        'datasets:\n  - path: org/rows\n    name: main\n    split: train_1\n    type:\n      system_prompt: "Be brief."\n      field_instruction: question\n      field_output: answer\n      format: "Q: {instruction}\\nA:"\n',
      ),
    )
    expect(outcome.config.data).toMatchObject({
      train: 'org/rows',
      completion: 'answer',
      prompt: {
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Q: {question}\nA:' },
        ],
      },
    })
    expect(textsOf(outcome)).toContain('`turnwise dataset import org/rows --config main --split train_1`')
  })

  test('names those that were left aside', () => {
    const outcome = read(
      axolotl('datasets:\n  - {path: org/one, type: alpaca}\n  - {path: org/two, type: alpaca}\n'),
    )
    expect(textsOf(outcome)).toContain(
      'datasets: only org/one was taken, the first of 2; left aside: org/two.',
    )
  })
})

describe('trainers in Python', () => {
  test('one that is chained', () => {
    const { config } = read(
      'from trl import SFTTrainer, SFTConfig\nSFTTrainer(model="a/b", args=SFTConfig(learning_rate=3e-5, max_length=256)).train()\n',
    )
    expect(config).toMatchObject({
      model: 'a/b',
      algorithm: { id: 'sft' },
      contextLength: 256,
      optimization: { learningRate: 3e-5 },
    })
  })

  test('settings inside of its arguments, and some that are assigned later', () => {
    const { config } = read(
      'from trl import GRPOTrainer, GRPOConfig\nargs = GRPOConfig(learning_rate=1e-6, num_generations=4)\nargs.learning_rate = 1e-5\nargs.beta = 0.1\ntrainer = GRPOTrainer(model="a/b", args=args, reward_funcs=f)\ntrainer.train()\n',
    )
    expect(config).toMatchObject({
      model: 'a/b',
      algorithm: { id: 'grpo', settings: { klCoefficient: 0.1 } },
      optimization: { learningRate: 1e-5 },
    })
  })
})

describe('settings that exist in the other tool', () => {
  test.each([
    [
      'verl',
      'algorithm.adv_estimator: grpo\ndata.prompt_key: question\n',
      { data: { prompt: { column: 'question' } } },
    ],
    [
      'LLaMA-Factory',
      'model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\nadapter_name_or_path: out/adapter\n',
      { adapter: { initial: 'out/adapter' } },
    ],
    [
      'TRL',
      'model_name_or_path: a/b\nloss_type: sigmoid\nrpo_alpha: 0.5\n',
      { algorithm: { settings: { nllAlpha: 0.5 } } },
    ],
  ])('%s', (_, text, expected) => {
    const outcome = read(text)
    expect(outcome.config).toMatchObject(expected)
    expect(textsOf(outcome)).not.toContain('has no such setting')
  })

  test('a name that nobody knows is called that', () => {
    const outcome = read('num_generations: 4\nmade_up: 7\n')
    expect(textsOf(outcome)).toContain(
      'made_up (7) was skipped: it is not among the settings of TRL that Turnwise knows for grpo.',
    )
  })
})

test('a value that cannot be is told by the name in the file too', () => {
  expect(() => read('num_generations: 4\nlora_dropout: 1.5\n')).toThrow(
    /adapter\.dropout \(lora_dropout in the file\)/,
  )
})

test('modules that get no adapter are named, with those that can', () => {
  const outcome = read('num_generations: 4\nuse_peft: true\nlora_target_modules: [q_proj, lm_head]\n')
  expect(outcome.config.adapter.targets).toEqual(['q'])
  expect(textsOf(outcome)).toContain('lora_target_modules: lm_head gets no adapter in Turnwise')
  expect(textsOf(outcome)).toContain('q_proj')
})

describe('other programs are refused by name', () => {
  test.each([
    ['[model]\nname = "a/b"\n\n[optim]\nlr = 1e-5\n', 'TOML'],
    [
      'from transformers import Trainer, TrainingArguments\nargs = TrainingArguments(output_dir="x", learning_rate=1e-5)\nTrainer(model=m, args=args).train()\n',
      'transformers’ own Trainer',
    ],
    [
      'grpo: {num_prompts_per_step: 32, num_generations_per_prompt: 16}\nloss_fn: {ratio_clip_min: 0.2}\npolicy: {model_name: a/b, train_global_batch_size: 512}\n',
      'NeMo RL',
    ],
  ])('%#', (text, name) => {
    expect(() => read(text)).toThrow(name)
  })

  test('transformers’ Trainer is read where a person says what it learns', () => {
    const text =
      'from transformers import Trainer, TrainingArguments\nargs = TrainingArguments(output_dir="x", learning_rate=1e-5)\nTrainer(model=m, args=args).train()\n'
    expect(read(text, 'sft').config.optimization.learningRate).toBe(1e-5)
  })
})

test('verl’s SFT trainer', () => {
  const outcome = read(
    'torchrun -m verl.trainer.fsdp_sft_trainer data.train_files=a.parquet data.prompt_key=question data.response_key=answer data.train_batch_size=64 data.max_length=512 optim.lr=2e-5 model.partial_pretrain=a/b model.lora_rank=8 model.lora_alpha=16 trainer.total_epochs=2',
  )
  expect(outcome.config).toMatchObject({
    model: 'a/b',
    algorithm: { id: 'sft' },
    contextLength: 512,
    data: { train: 'a.parquet', prompt: { column: 'question' }, completion: 'answer' },
    optimization: { learningRate: 2e-5 },
    rollout: { promptsPerStep: 64 },
    adapter: { rank: 8, alpha: 16 },
    passes: 2,
  })
})

test.each(['AsyncGRPO', 'Distillation', 'GOLD', 'SDFT', 'SDPO', 'SSD', 'TPO'])(
  'TRL’s %s is refused by name',
  (name) => {
    expect(() =>
      read(`from trl import x\n${name}Trainer(model="a/b", args=${name}Config(learning_rate=3e-5))\n`),
    ).toThrow(/^TRL's (AsyncGRPO|distillation trainer|GOLD|SDFT|SDPO|SSD|TPO) has no equivalent/)
  },
)

test('a Python file with a text called system is no Modelfile', () => {
  const text =
    'from trl import SFTConfig, SFTTrainer\nSYSTEM = "Be brief."\nSFTTrainer(model="a/b", args=SFTConfig(learning_rate=3e-5))\n'
  expect(read(text).config.algorithm.id).toBe('sft')
})

test('a script without a training is called that, and a broken one of brackets is read in a moment', () => {
  expect(() => read('cd /tmp\nfor x in 1 2; do\n  echo "$x: {"\ndone\n')).toThrow(
    'The file is a script that starts no training',
  )
  expect(() => read(`${'\n \t'.repeat(20_000)}[`)).toThrow()
})
