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

  test('does not mix the words of two commands of OmegaConf', () => {
    const both =
      'python train.py train_dataset.batch_size=64 train_dataset.type=sft actor.path=a/b\npython -m areal.merge local.dir=x actor.path=c/d'
    const outcome = read(both)
    expect(outcome.config.model).toBe('a/b')
    expect(textsOf(outcome)).toContain('The script also starts areal.merge')
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

describe('all weights', () => {
  test.each([
    ['AReaL', 'gconfig: {n_samples: 4}\nactor: {path: a/b}', 'is false: AReaL would'],
    ['AReaL, said', 'gconfig: {n_samples: 4}\nactor: {path: a/b, use_lora: false}', 'skipped: AReaL would'],
  ])('where the file would train them, that is said (%s)', (_, text, said) => {
    expect(textsOf(read(text))).toContain(`${said} train all weights; Turnwise trains a LoRA adapter`)
  })

  test.each([['AReaL', 'gconfig: {n_samples: 4}\nactor: {path: a/b, use_lora: true}']])(
    'where it trains an adapter, not (%s)',
    (_, text) => {
      expect(textsOf(read(text))).not.toContain('all weights')
    },
  )
})

test('a column of plain text is named as what it is, since Turnwise learns answers', () => {
  for (const column of ['text', 'body'])
    expect(
      textsOf(read(`model_name_or_path: a/b\ndataset_text_field: ${column}\npacking: true\n`)),
    ).toContain(
      `dataset_text_field (${column}) was skipped: TRL learns every token of that column as plain text`,
    )
})

describe('smoothed labels', () => {
  const axolotl = 'base_model: a/b\nrl: dpo\nmicro_batch_size: 2\nnum_epochs: 1\ndpo_label_smoothing: 0.1\n'
  const factory = 'stage: dpo\nfinetuning_type: lora\ndpo_label_smoothing: 0.1\n'

  test.each([axolotl, factory])('of the sigmoid are a loss of its own (%#)', (text) => {
    const outcome = read(text)
    expect(outcome.config.algorithm.settings).toMatchObject({ loss: 'conservative', labelSmoothing: 0.1 })
    expect(textsOf(outcome)).toContain('is cDPO, which is the loss “conservative” in Turnwise')
  })

  test('of other losses are none, and that is said', () => {
    const outcome = read(`${factory}pref_loss: ipo\n`)
    expect(outcome.config.algorithm.settings).toMatchObject({ loss: 'ipo' })
    expect(textsOf(outcome)).toContain('The loss ipo ignores dpo_label_smoothing')
  })

  test('TRL smooths the sigmoid in earlier versions alone, which is told with the loss it was', () => {
    const said = textsOf(
      read('beta: 0.1\nmax_prompt_length: 8\nmax_length: 16\nlabel_smoothing: 0.1\nreference_free: true\n'),
    )
    expect(said).toContain('Earlier versions smoothed it, which is the loss “conservative” here.')
    expect(said).toContain(
      'reference_free (true) was skipped: Turnwise’s DPO always compares with a reference',
    )
  })
})

describe('a model that only running a Python file would tell', () => {
  const trainer = 'SFTTrainer(model=a.model, args=SFTConfig(learning_rate=1e-5))\n'

  test('is told as that', () => {
    const said = textsOf(read(`from trl import x\n${trainer}`))
    expect(said).toContain('model_name_or_path was skipped: only running the file would tell its value.')
    expect(said).toContain('The file does not tell which model it uses: choose one.')
  })

  test('is known where another call loads it', () => {
    const outcome = read(
      `from trl import x\nmodel = AutoModelForCausalLM.from_pretrained("a/b")\n${trainer.replace('a.model', 'wrap(model).it')}`,
    )
    expect(outcome.config.model).toBe('a/b')
    expect(textsOf(outcome)).not.toContain('model_name_or_path')
  })
})

test('LLaMA-Factory’s masks are told by what they change', () => {
  const factory = 'stage: sft\nfinetuning_type: freeze\nfreeze_trainable_layers: 4\n'
  const said = textsOf(read(`${factory}train_on_prompt: true\nmask_history: false\n`))
  expect(said).toContain('train_on_prompt (true) was skipped: Turnwise learns only the answer.')
  expect(said).toContain('mask_history (false) was skipped: Turnwise learns only the last answer')
  expect(textsOf(read(`${factory}mask_history: true\n`))).not.toContain('mask_history')
})

test('modules that PEFT would choose are listed', () => {
  const said = textsOf(read('trl dpo --model_name_or_path a/b --use_peft --lora_r 8'))
  expect(said).toContain('The file does not set lora_target_modules: PEFT then chooses them')
})

test('one of a thing is told as one', () => {
  const said = textsOf(read('trl grpo --per_device_train_batch_size 1 --num_generations 6'))
  expect(said).toContain('1 completion at once is no multiple of the 6 per prompt: rounded to 1 prompt.')
  expect(said).toContain('With 6 processes there is 1 whole prompt.')
})

test('axolotl’s GRPO is refused without the closest being itself', () => {
  expect(() => read('base_model: a/b\nrl: grpo\nmicro_batch_size: 2\nnum_epochs: 1\n')).toThrow(
    expect.objectContaining({
      message:
        "axolotl's rl “grpo” is not imported: its rewards and the prompts of its rows are Python code.",
    }),
  )
})

describe('other programs are refused by name', () => {
  test.each([
    [
      'deepspeed main.py --actor_model_name_or_path a/b --critic_model_name_or_path c/d --ppo_epochs 1',
      'DeepSpeed-Chat',
    ],
    ['python3 train.py --hf-checkpoint a --advantage-estimator grpo --lr 1e-6', 'slime'],
    ['python train_ppo_ray.py --pretrain a/b --prompt_data c/d --n_samples_per_prompt 8', 'OpenRLHF'],
    ['[model]\nname = "a/b"\n\n[optim]\nlr = 1e-5\n', 'TOML'],
    [
      'from transformers import Trainer, TrainingArguments\nargs = TrainingArguments(output_dir="x", learning_rate=1e-5)\nTrainer(model=m, args=args).train()\n',
      'transformers’ own Trainer',
    ],
    [
      'set -x\npython3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=64 $@',
      'The command verl.trainer.main_ppo is one of verl, whose settings are not imported; nothing was changed.',
    ],
    ['python3 -m verl.trainer.main_ppo', 'is one of verl'],
    ['torchrun -m verl.trainer.fsdp_sft_trainer optim.lr=1e-5 model.partial_pretrain=a/b', 'is one of verl'],
    [
      'actor_rollout_ref:\n  model: {path: a/b}\n  rollout: {n: 4}\n',
      'The file is one of verl’s, whose settings are not read; nothing was changed.',
    ],
    ['data: {train_files: a.parquet}\nmodel: {partial_pretrain: a/b}\n', 'The file is one of verl’s'],
    [
      'from trl import GRPOConfig\ndef objective(trial):\n  return GRPOConfig(learning_rate=trial.suggest_float("lr", 1e-6, 1e-4))\n',
      'The file is a search of Optuna’s, whose ranges are not read; nothing was changed.',
    ],
    [
      '{"learning_rate": {"name": "FloatDistribution", "attributes": {"low": 1e-6, "high": 1e-4}}}',
      'a search of Optuna’s',
    ],
    [
      '{"beta": "{\\"name\\": \\"CategoricalDistribution\\", \\"attributes\\": {\\"choices\\": [0]}}"}',
      'a search of Optuna’s',
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

  test('and with it the model and the adapter that the file makes', () => {
    const text =
      'from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nmodel = AutoModelForCausalLM.from_pretrained("org/m")\nmodel = get_peft_model(model, LoraConfig(r=4, lora_alpha=16, target_modules=["q_proj"]))\nTrainer(model, TrainingArguments("out", learning_rate=1e-5), train_dataset=ds).train()\n'
    const outcome = read(text, 'sft')
    expect(outcome.config).toMatchObject({ model: 'org/m', adapter: { rank: 4, alpha: 16, targets: ['q'] } })
    expect(textsOf(outcome)).not.toContain('all weights')
  })
})

test('TRL’s PPO of before 0.12 is refused by its names, whatever was chosen', () => {
  const text = 'PPOConfig(model_name="a/b", batch_size=128, ppo_epochs=4, init_kl_coef=0.2, cliprange=0.2)'
  for (const chosen of [null, 'ppo'])
    expect(() => read(`from trl import PPOConfig\n${text}\n`, chosen)).toThrow(
      'PPOConfig of TRL before 0.12, whose settings are not read: ppo_epochs and init_kl_coef are set.',
    )
})

test('TRL’s PPO has one completion per prompt, and names of its own', () => {
  const outcome = read(
    'from trl import PPOConfig\nPPOConfig(num_ppo_epochs=2, response_length=64, per_device_train_batch_size=32)\n',
  )
  expect(outcome.config).toMatchObject({
    algorithm: { id: 'ppo' },
    rollout: { groupSize: null, promptsPerStep: 32, maxNewTokens: 64 },
    optimization: { epochs: 2 },
  })
  expect(textsOf(outcome)).not.toContain('num_generations')
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
