/**
 * Runs whose cause no single setting shows: ten kinds, each in another way with each seed, and runs that look like them but
 * are sound. Rules were made with seeds 1 to 4 alone; seeds 5 to 8 word the same faults otherwise.
 */
import type { FindingId } from '#shared/diagnosis.ts'
import type { Case } from './cases.ts'
import type { TaskId } from './tasks.ts'

type Changes = Case['changes']
type Way = readonly [task: TaskId, algorithm: string]

const ways: readonly [Way, Way, Way, Way] = [
  ['digits', 'grpo'],
  ['sentence', 'rloo'],
  ['digits', 'ppo'],
  ['sentence', 'cispo'],
]

/** The way and the wording of a seed. */
const pick = <T>(choices: readonly [T, ...T[]], index: number): T =>
  choices[index % choices.length] ?? choices[0]

const train = (file: string): Changes => ({ 'data.train': file })
const heldOut = (file: string): Changes => ({ 'data.heldOut': file })
const text = (template: string): Changes => ({ 'data.prompt': { template } })
const reward = (file: string): Changes => ({ rewards: [{ function: file, name: 'judge' }] })

const templates: readonly [string, ...string[]] = [
  '<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n',
  '[INST] {prompt} [/INST]',
  '<start_of_turn>user\n{prompt}<end_of_turn>\n<start_of_turn>model\n',
  '{prompt}',
  '### Instruction:\n{prompt}\n\n### Response:\n',
  '<|start_header_id|>user<|end_header_id|>\n\n{prompt}<|eot_id|>',
  'USER: {prompt} ASSISTANT:',
  '<|prompter|>{prompt}<|endoftext|><|assistant|>',
]

interface Kind {
  readonly name: string
  readonly expected: FindingId
  /** `i` counts seeds from 0. */
  readonly changes: (i: number, task: TaskId) => Changes
}

const rates: readonly [number, ...number[]] = [1e-6, 3e-6, 1e-5, 1e-6]

const kinds: readonly Kind[] = [
  {
    name: 'tiny rate with rank 1',
    expected: 'learns-nothing',
    changes: (i) => ({
      'optimization.learningRate': pick(rates, i),
      'adapter.rank': 1,
      'adapter.alpha': pick([1, 2], i),
      'algorithm.settings.klCoefficient': pick([0.01, 0, 0, 0.02], i),
    }),
  },
  {
    name: 'tiny alpha with a slow rate',
    expected: 'learns-nothing',
    changes: (i) => ({
      'adapter.alpha': pick([0.05, 0.01, 0.02, 0.1], i),
      'optimization.learningRate': pick([0.0003, 0.0005, 0.0001, 0.0002], i),
    }),
  },
  {
    name: 'answer in the training prompt',
    expected: 'answer-in-prompt',
    changes: (i, task) => train(`${task}-train-leak${i % 8}.jsonl`),
  },
  {
    name: 'answer in every prompt',
    expected: 'answer-in-prompt',
    changes: (i, task) => ({
      ...train(`${task}-train-leak${((i + 1) % 4) + 4 * (Math.floor(i / 4) % 2)}.jsonl`),
      ...heldOut(`${task}-heldout-leak${((i + 1) % 4) + 4 * (Math.floor(i / 4) % 2)}.jsonl`),
    }),
  },
  { name: 'another chat template', expected: 'other-template', changes: (i) => text(pick(templates, i)) },
  {
    name: 'validation in another language',
    expected: 'held-out-other-language',
    changes: (i, task) => heldOut(`${task}-heldout-language${(i + (i < 4 ? 0 : 2)) % (i < 4 ? 2 : 4)}.jsonl`),
  },
  {
    name: 'validation in another form',
    expected: 'held-out-other-form',
    changes: (i, task) => heldOut(`${task}-heldout-form${i % 8}.jsonl`),
  },
  {
    name: 'reward of the length',
    expected: 'reward-is-length',
    changes: (i) => reward(pick(['characters.ts', 'words.ts', 'brief.ts', 'square.ts'], i)),
  },
  {
    name: 'reward of chance',
    expected: 'reward-is-noise',
    changes: (i, task) => ({
      ...reward(pick(['noise.ts', 'coin.ts', 'noisy.ts', 'bell.ts'], i)),
      // Few enough rows that each is seen again.
      ...(i % 2 === 1 ? train(`${task}-train-few.jsonl`) : {}),
    }),
  },
  {
    name: 'reward of one word',
    expected: 'reward-is-one-word',
    changes: (i) => reward(pick(['answer.ts', 'the.ts', 'is.ts', 'polite.ts'], i)),
  },
]

export const causesOf = (seed: number): Case[] =>
  kinds.map(({ name, expected, changes }) => {
    const [task, algorithm] = pick(ways, seed - 1)
    const whole = `${name}, ${task}, ${algorithm}`
    return { name: whole, task, algorithm, changes: changes((seed - 1) % 8, task), expected: [expected] }
  })

const sound: readonly (readonly [name: string, way: Way, changes: Changes])[] = [
  ['sound', ['digits', 'grpo'], {}],
  ['sound', ['sentence', 'rloo'], {}],
  ['sound', ['digits', 'ppo'], {}],
  ['sound', ['sentence', 'cispo'], {}],
  ['sound', ['sentence', 'remax'], {}],
  ['sound', ['digits', 'sft'], {}],
  ['without KL', ['digits', 'grpo'], { 'algorithm.settings.klCoefficient': 0 }],
  ['learning rate ÷ 8', ['sentence', 'grpo'], { 'optimization.learningRate': 0.00025 }],
  ['long warm-up', ['digits', 'rloo'], { 'optimization.warmupProportion': 0.5 }],
  [
    'options',
    ['digits', 'grpo'],
    { ...train('digits-train-form0.jsonl'), ...heldOut('digits-heldout-form0.jsonl') },
  ],
  [
    'tagged',
    ['digits', 'rloo'],
    { ...train('digits-train-form4.jsonl'), ...heldOut('digits-heldout-form4.jsonl') },
  ],
  [
    'JSON',
    ['digits', 'gspo'],
    { ...train('digits-train-form1.jsonl'), ...heldOut('digits-heldout-form1.jsonl') },
  ],
  [
    'question and answer',
    ['digits', 'grpo'],
    { ...train('digits-train-form7.jsonl'), ...heldOut('digits-heldout-form7.jsonl') },
  ],
  ['own markup by hand', ['digits', 'rloo'], text('<|user|>{prompt}<|end|><|assistant|>')],
  [
    'an example in the prompt',
    ['digits', 'cispo'],
    { 'data.prompt': { messages: [{ role: 'user', content: 'Add 2 and 3. Answer: 5\n{prompt}' }] } },
  ],
  [
    'brevity',
    ['digits', 'grpo'],
    {
      rewards: [
        { function: 'starter-correct', name: 'correct', weight: 0.8 },
        { function: 'brief.ts', name: 'brief', weight: 0.2 },
      ],
    },
  ],
  ['a judge of little noise', ['sentence', 'rloo'], reward('aboutRight.ts')],
  ['graded', ['digits', 'ppo'], reward('graded.ts')],
  ['graded', ['sentence', 'grpo'], reward('graded.ts')],
  ['temperature 0.7', ['digits', 'reinforce-plus-plus'], { 'rollout.temperature': 0.7 }],
]

/** Every fourth, so that four seeds have them all. */
export const soundOf = (seed: number): Case[] =>
  sound.flatMap(([name, [task, algorithm], changes], i) =>
    i % 4 === (seed - 1) % 4
      ? [{ name: `${name}, ${task}, ${algorithm}`, task, algorithm, changes, expected: null }]
      : [],
  )
