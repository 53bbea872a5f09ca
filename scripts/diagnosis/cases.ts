/** The corpus: runs with one setting broken each, what is to be said of them first, and runs that are to be left in peace. */
import type { FindingId } from '#shared/diagnosis.ts'
import type { TaskId } from './tasks.ts'

export interface Case {
  readonly name: string
  readonly task: TaskId
  readonly algorithm: string
  /** The one thing that is not as in the sound run: dotted names of the config → value. */
  readonly changes: Readonly<Record<string, unknown>>
  /** What the first finding has to be, one of these; null: there is none but notes. */
  readonly expected: readonly FindingId[] | null
}

type Changes = Case['changes']

const learningRate = (value: number): Changes => ({ 'optimization.learningRate': value })
const rewards = (...entries: readonly object[]): Changes => ({ rewards: entries })

const correct = { function: 'starter-correct', name: 'correct' }
const sentence = { function: 'exact-match', name: 'correct', settings: { column: 'sentence' } }

type Way = readonly [task: TaskId, algorithm: string]

const broken = ([task, algorithm]: Way, name: string, changes: Changes, ...expected: FindingId[]): Case => ({
  name: `${name}, ${task}, ${algorithm}`,
  task,
  algorithm,
  changes,
  expected,
})

const healthy = (task: TaskId, algorithm: string, name = 'sound', changes: Changes = {}): Case => ({
  name: `${name}, ${task}, ${algorithm}`,
  task,
  algorithm,
  changes,
  expected: null,
})

export const brokenRuns: readonly Case[] = [
  broken(['digits', 'grpo'], 'learning rate × 50', learningRate(0.1), 'policy-destroyed'),
  broken(['digits', 'grpo'], 'learning rate × 500', learningRate(1), 'policy-destroyed'),
  broken(['digits', 'ppo'], 'learning rate × 50', learningRate(0.1), 'policy-destroyed'),
  broken(['digits', 'rloo'], 'learning rate × 250', learningRate(0.5), 'policy-destroyed'),
  broken(['sentence', 'rloo'], 'learning rate × 50', learningRate(0.1), 'policy-destroyed'),
  broken(['sentence', 'reinforce-plus-plus'], 'learning rate × 500', learningRate(1), 'policy-destroyed'),
  broken(['sentence', 'cispo'], 'learning rate × 50', learningRate(0.1), 'policy-destroyed'),
  broken(['sentence', 'gspo'], 'learning rate × 100', learningRate(0.2), 'policy-destroyed'),
  broken(['digits', 'grpo'], 'adapter alpha × 500', { 'adapter.alpha': 16_000 }, 'policy-destroyed'),
  broken(['sentence', 'rloo'], 'adapter alpha × 500', { 'adapter.alpha': 16_000 }, 'policy-destroyed'),
  broken(
    ['digits', 'grpo'],
    'entropy bonus 10',
    { 'algorithm.settings.entropyCoefficient': 10 },
    'policy-destroyed',
    'entropy-explosion',
  ),
  broken(
    ['sentence', 'ppo'],
    'entropy bonus 10',
    { 'algorithm.settings.entropyCoefficient': 10 },
    'policy-destroyed',
    'entropy-explosion',
  ),
  broken(['digits', 'grpo'], 'β 100', { 'algorithm.settings.klCoefficient': 100 }, 'kl-too-heavy'),
  broken(['sentence', 'rloo'], 'β 100', { 'algorithm.settings.klCoefficient': 100 }, 'kl-too-heavy'),
  broken(['digits', 'grpo'], 'temperature 4', { 'rollout.temperature': 4 }, 'sampling-too-wide'),
  broken(['sentence', 'rloo'], 'temperature 4', { 'rollout.temperature': 4 }, 'sampling-too-wide'),
  broken(['digits', 'rloo'], 'temperature 0.02', { 'rollout.temperature': 0.02 }, 'sampling-too-narrow'),
  broken(['sentence', 'grpo'], 'top-k 1', { 'rollout.topK': 1 }, 'sampling-too-narrow'),
  broken(['digits', 'cispo'], 'top-p 0.05', { 'rollout.topP': 0.05 }, 'sampling-too-narrow'),
  broken(['digits', 'grpo'], 'one token at most', { 'rollout.maxNewTokens': 1 }, 'cap-hits'),
  broken(['sentence', 'rloo'], 'four tokens at most', { 'rollout.maxNewTokens': 4 }, 'cap-hits'),
  broken(['digits', 'ppo'], 'sixteen tokens at least', { 'rollout.minNewTokens': 16 }, 'cap-hits'),
  broken(['digits', 'grpo'], 'constant reward', rewards({ function: 'half.ts' }), 'constant-reward'),
  broken(['sentence', 'rloo'], 'constant penalty', rewards({ function: 'penalty.ts' }), 'constant-reward'),
  broken(
    ['sentence', 'ppo'],
    'answer column of another kind',
    rewards({ ...sentence, settings: { column: 'task' } }),
    'constant-reward',
  ),
  broken(
    ['digits', 'rloo'],
    'answer column that is not there',
    rewards({ ...correct, settings: { column: 'label' } }),
    'no-reward',
    'constant-reward',
  ),
  broken(
    ['digits', 'grpo'],
    'parts that cancel',
    rewards(correct, { function: 'wrongDigits.ts' }),
    'rewards-cancel',
  ),
  broken(
    ['sentence', 'rloo'],
    'parts that cancel',
    rewards(sentence, { function: 'wrongSentence.ts' }),
    'rewards-cancel',
  ),
  broken(['digits', 'reinforce'], 'huge reward', rewards({ function: 'huge.ts' }), 'reward-size'),
  broken(['sentence', 'rloo'], 'weight 1e6', rewards({ ...sentence, weight: 1e6 }), 'reward-size'),
  broken(['digits', 'grpo'], 'another form asked for', rewards({ function: 'boxed.ts' }), 'format-mismatch'),
  broken(['sentence', 'rloo'], 'format nobody asked for', rewards({ function: 'format' }), 'format-mismatch'),
  broken(
    ['digits', 'grpo'],
    'held-out rows of another task',
    { 'data.heldOut': 'sentence-heldout.jsonl' },
    'held-out-other-task',
  ),
  broken(
    ['sentence', 'rloo'],
    'held-out rows of another task',
    { 'data.heldOut': 'digits-heldout.jsonl' },
    'held-out-other-task',
  ),
  broken(
    ['sentence', 'grpo'],
    'reward code that throws',
    rewards({ function: 'throws.ts' }),
    'reward-failures',
  ),
  broken(
    ['digits', 'reinforce-plus-plus'],
    'adapter alpha × 500',
    { 'adapter.alpha': 16_000 },
    'policy-destroyed',
  ),
  broken(['digits', 'sft'], 'learning rate × 500', learningRate(1), 'policy-destroyed'),
]

export const healthyRuns: readonly Case[] = [
  healthy('digits', 'grpo'),
  healthy('digits', 'rloo'),
  healthy('digits', 'ppo'),
  healthy('digits', 'gspo'),
  healthy('digits', 'reinforce-plus-plus'),
  healthy('digits', 'sft'),
  healthy('sentence', 'grpo'),
  healthy('sentence', 'rloo'),
  healthy('sentence', 'cispo'),
  healthy('sentence', 'remax'),
  healthy('sentence', 'grpo', 'learning rate ÷ 4', learningRate(0.0005)),
  healthy('digits', 'grpo', 'learning rate ÷ 2', learningRate(0.001)),
  healthy('sentence', 'rloo', 'no gradient clipping', { 'optimization.maxGradNorm': null }),
  healthy('digits', 'grpo', 'a penalty nobody earns', rewards(correct, { function: 'symbolPenalty.ts' })),
  healthy('digits', 'rloo', 'temperature 0.8', { 'rollout.temperature': 0.8 }),
]
