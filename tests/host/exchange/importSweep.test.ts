/**
 * Random subsets of what each tool's files usually say, with random values. What they amount to is worked out here, apart from the
 * tables of the program: algorithm, learning rate, rows or prompts of a step, length and rank.
 */
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { importConfig } from '#host/exchange/importConfig.ts'
import { casesOf } from '../../sweeps.ts'

interface Expected {
  readonly algorithm: string
  readonly learningRate: number
  readonly perStep: number
  /** Tokens of a row, or of a completion; null: not said. */
  readonly length: number | null
  readonly rank: number | null
}

interface Written {
  readonly text: string
  readonly expected: Expected
}

class Draw {
  readonly #random: SequentialRandom

  constructor(random: SequentialRandom) {
    this.#random = random
  }

  of<Item>(...items: readonly [Item, ...Item[]]): Item {
    return items[this.#random.integer(items.length)] ?? items[0]
  }

  /** Half the time. */
  maybe<Item>(item: Item): Item | undefined {
    return this.#random.uniform() < 0.5 ? item : undefined
  }

  whole = (): number => this.of(1, 2, 3, 4, 6, 8, 16)
  rate = (): number => this.of(1e-6, 3e-6, 1e-5, 2e-5, 2e-4)
  rank = (): number => this.of(4, 8, 12, 32, 64)
  length = (): number => this.of(128, 500, 1024, 4096)
}

const defined = (values: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))

/** What says nothing of the five, and is often there. */
const besides = (draw: Draw) => ({
  seed: draw.maybe(7),
  bf16: draw.maybe(true),
  weight_decay: draw.maybe(0.01),
  warmup_ratio: draw.maybe(0.1),
  logging_steps: draw.maybe(5),
  output_dir: draw.maybe('out/run-1'),
  num_train_epochs: draw.maybe(2),
})

const adapterOf = (draw: Draw) => {
  const rank = draw.maybe(draw.rank())
  return { rank, values: rank === undefined ? {} : { use_peft: true, lora_r: rank, lora_alpha: 16 } }
}

function trlAnswers(draw: Draw, algorithm: 'sft' | 'dpo'): Written {
  const [perDevice, accumulated] = [draw.maybe(draw.whole()), draw.maybe(draw.whole())]
  const [learningRate, length, { rank, values }] = [draw.maybe(draw.rate()), draw.length(), adapterOf(draw)]
  const named =
    algorithm === 'sft'
      ? draw.of({ max_length: length }, { max_seq_length: length }, { max_length: length, packing: true })
      : draw.of(
          { beta: 0.2, max_prompt_length: 64, max_length: length },
          { loss_type: 'ipo', max_length: length },
        )
  return {
    text: stringify(
      defined({
        model_name_or_path: 'a/b',
        dataset_name: 'c/d',
        learning_rate: learningRate,
        ...besides(draw),
        per_device_train_batch_size: perDevice,
        gradient_accumulation_steps: accumulated,
        ...named,
        ...values,
      }),
    ),
    expected: {
      algorithm,
      length,
      rank: rank ?? 16,
      learningRate: learningRate ?? (algorithm === 'sft' ? 2e-5 : 1e-6),
      perStep: (perDevice ?? 8) * (accumulated ?? 1),
    },
  }
}

function trlGroups(draw: Draw): Written {
  const [group, prompts, accumulated] = [draw.of(2, 4, 8), draw.whole(), draw.whole()]
  const [loss, level] = [draw.maybe(draw.of('grpo', 'dr_grpo', 'cispo', 'sapo')), draw.maybe('sequence')]
  const [learningRate, length, { rank, values }] = [
    draw.maybe(draw.rate()),
    draw.maybe(draw.length()),
    adapterOf(draw),
  ]
  const isOwn = loss === 'cispo' || loss === 'sapo'
  const settings = defined({
    num_generations: group,
    per_device_train_batch_size: group * prompts,
    gradient_accumulation_steps: accumulated,
    loss_type: loss,
    importance_sampling_level: loss === 'sapo' ? undefined : level,
    epsilon_high: loss === 'cispo' ? 3 : undefined,
    learning_rate: learningRate,
    max_completion_length: length,
    ...besides(draw),
    ...values,
  })
  const flags = Object.entries(settings).map(([name, value]) => `--${name} ${JSON.stringify(value)}`)
  return {
    text: draw.of(stringify(settings), `trl grpo ${flags.join(' \\\n  ')}`),
    expected: {
      algorithm: isOwn ? loss : level === undefined ? 'grpo' : 'gspo',
      learningRate: learningRate ?? 1e-6,
      perStep: prompts * accumulated,
      length: length ?? 512,
      rank: rank ?? 16,
    },
  }
}

function llamafactory(draw: Draw): Written {
  const algorithm = draw.of('sft', 'dpo')
  const [perDevice, accumulated] = [draw.maybe(draw.whole()), draw.maybe(draw.whole())]
  const [learningRate, length, rank] = [
    draw.maybe(draw.rate()),
    draw.maybe(draw.length()),
    draw.maybe(draw.rank()),
  ]
  return {
    text: stringify(
      defined({
        model_name_or_path: 'a/b',
        stage: algorithm,
        finetuning_type: draw.of('lora', 'full'),
        dataset: 'mine',
        learning_rate: learningRate,
        cutoff_len: length,
        lora_rank: rank,
        pref_beta: draw.maybe(0.1),
        per_device_train_batch_size: perDevice,
        gradient_accumulation_steps: accumulated,
        ...besides(draw),
      }),
    ),
    expected: {
      algorithm,
      learningRate: learningRate ?? 5e-5,
      perStep: (perDevice ?? 8) * (accumulated ?? 1),
      length: length ?? 2048,
      rank: rank ?? 8,
    },
  }
}

function axolotl(draw: Draw): Written {
  const [rl, micro, accumulated] = [
    draw.maybe(draw.of('dpo', 'ipo')),
    draw.maybe(draw.whole()),
    draw.maybe(draw.whole()),
  ]
  const [learningRate, length, rank] = [draw.rate(), draw.maybe(draw.length()), draw.rank()]
  return {
    text: stringify(
      defined({
        base_model: 'a/b',
        datasets: [{ path: 'c/d', type: 'alpaca' }],
        adapter: draw.of('lora', 'qlora'),
        rl,
        learning_rate: learningRate,
        sequence_len: length,
        lora_r: rank,
        lora_alpha: 16,
        num_epochs: 2,
        micro_batch_size: micro,
        gradient_accumulation_steps: accumulated,
        sample_packing: draw.maybe(true),
        val_set_size: draw.maybe(0.05),
        optimizer: draw.maybe('adamw_bnb_8bit'),
        lora_target_linear: true,
      }),
    ),
    expected: {
      algorithm: rl === undefined ? 'sft' : 'dpo',
      learningRate,
      rank,
      length: length ?? 512,
      perStep: (micro ?? 1) * (accumulated ?? 1),
    },
  }
}

function areal(draw: Draw): Written {
  const type = draw.of('rl', 'sft', 'dpo')
  const mean = draw.maybe('group')
  const [batch, learningRate, rank] = [draw.whole(), draw.maybe(draw.rate()), draw.maybe(draw.rank())]
  const length = draw.maybe(draw.length())
  const isRl = type === 'rl'
  return {
    text: stringify({
      ...(isRl ? { gconfig: defined({ n_samples: 4, max_new_tokens: length }) } : {}),
      actor: defined({
        path: 'a/b',
        lora_rank: rank,
        optimizer: defined({ lr: learningRate, type: 'adam' }),
        ppo_n_minibatches: 1,
        reward_norm: mean === undefined ? undefined : { mean_level: mean, std_level: 'group' },
      }),
      train_dataset: defined({ path: 'c/d', batch_size: batch, type, max_length: isRl ? undefined : length }),
    }),
    expected: {
      algorithm: isRl ? (mean === undefined ? 'reinforce' : 'grpo') : type,
      perStep: batch,
      rank: rank ?? 32,
      learningRate: learningRate ?? 1e-3,
      length: length ?? (isRl ? 16_384 : null),
    },
  }
}

const agilerlNames = {
  GRPO: 'grpo',
  GSPO: 'gspo',
  CISPO: 'cispo',
  LLMREINFORCE: 'reinforce',
  SFT: 'sft',
  DPO: 'dpo',
}

function agilerl(draw: Draw): Written {
  const name = draw.of(
    ...(Object.keys(agilerlNames) as [keyof typeof agilerlNames, ...(keyof typeof agilerlNames)[]]),
  )
  const [batch, learningRate, rank] = [draw.whole(), draw.rate(), draw.maybe(draw.rank())]
  const length = draw.maybe(draw.length())
  const isAnswering = name === 'SFT' || name === 'DPO'
  return {
    text: stringify({
      algorithm: defined({
        name,
        batch_size: batch,
        lr: learningRate,
        group_size: isAnswering ? undefined : draw.maybe(4),
        max_output_tokens: isAnswering ? undefined : length,
      }),
      network: defined({
        pretrained_model_name_or_path: 'a/b',
        max_context_length: isAnswering ? length : undefined,
        lora_config: rank === undefined ? undefined : { lora_r: rank },
      }),
    }),
    expected: {
      algorithm: agilerlNames[name],
      learningRate,
      perStep: batch,
      rank: rank ?? 16,
      length: length ?? (isAnswering ? null : 256),
    },
  }
}

const writers: readonly (readonly [tool: string, write: (draw: Draw) => Written])[] = [
  ['TRL, sft', (draw) => trlAnswers(draw, 'sft')],
  ['TRL, dpo', (draw) => trlAnswers(draw, 'dpo')],
  ['TRL, groups', trlGroups],
  ['LLaMA-Factory', llamafactory],
  ['axolotl', axolotl],
  ['AReaL', areal],
  ['AgileRL', agilerl],
]

const cases = casesOf(200, 2_000)

test.each(writers)(`%s: ${cases} files, each as it is meant`, (tool, write) => {
  const place = writers.findIndex(([name]) => name === tool)
  for (let round = 0; round < cases; round++) {
    const { text, expected } = write(new Draw(new SequentialRandom(randomStream(11, place, round))))
    const { config, reading } = importConfig(text, null, { home: '/home/me' })
    const isAnswering = ['sft', 'dpo'].includes(expected.algorithm)
    const found: Expected = {
      algorithm: config.algorithm.id,
      learningRate: config.optimization.learningRate,
      perStep: config.rollout.promptsPerStep,
      length: isAnswering ? config.contextLength : config.rollout.maxNewTokens,
      rank: config.adapter.rank,
    }
    expect([text, found]).toEqual([text, expected])
    expect(reading).toMatch(/^Read as \S+’s .* settings.*: .+\.$/)
  }
})
