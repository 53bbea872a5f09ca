/**
 * The file of `turnwise train CONFIG.json`: what is learned, from which data, towards which reward, and how. The
 * window writes the same file. Everything not said has the default given here; keys that are not known are refused.
 */
import { z } from 'zod'
import { deviceKinds } from './device.ts'
import { AppError } from './errors.ts'

const wholeNumber = (minimum: number) => z.int().min(minimum)
const share = z.number().min(0).max(1)
const path = z.string().min(1)

const adapter = z.strictObject({
  rank: wholeNumber(1).default(16).describe('Rank of the low-rank matrices.'),
  alpha: z
    .number()
    .positive()
    .default(32)
    .describe('Scale of the adapter: alpha / rank (rsLoRA: alpha / √rank).'),
  rsLora: z.boolean().default(false).describe('Rank-stabilised scaling.'),
  targets: z
    .union([z.literal('all-linear'), z.array(z.enum(['q', 'k', 'v', 'o', 'gate', 'up', 'down'])).min(1)])
    .default('all-linear')
    .describe('Which projections of every layer get an adapter.'),
  dropout: z
    .number()
    .min(0)
    .lt(1)
    .default(0)
    .describe('Share of an adapter’s inputs left out at random while it learns; 0 is off.'),
  initial: path
    .nullable()
    .default(null)
    .describe('Folder of a PEFT adapter to start from; null starts fresh.'),
})

const message = z.strictObject({ role: z.string().min(1), content: z.string() })

const prompt = z.union([
  z.strictObject({
    column: z
      .string()
      .min(1)
      .describe('A column holding the prompt: text, or a list of {role, content} messages.'),
  }),
  z.strictObject({
    template: z.string().min(1).describe('Text with {column} placeholders; {{ and }} are plain braces.'),
  }),
  z.strictObject({
    messages: z.array(message).min(1).describe('Messages with {column} placeholders, for the chat template.'),
  }),
])

const data = z.strictObject({
  train: path.describe('File of training rows (jsonl, json, csv, tsv).'),
  heldOut: path.nullable().default(null).describe('File of rows never trained on; null means no evaluation.'),
  prompt: prompt.prefault({ column: 'prompt' }).describe('How a row becomes a prompt.'),
  maxPromptTokens: wholeNumber(1)
    .nullable()
    .default(null)
    .describe('Rows with longer prompts are left out; null: what fits.'),
  shuffle: z.boolean().default(true).describe('A new order of the rows in every pass.'),
})

const reward = z.strictObject({
  function: z.string().min(1).describe('Id of a reward function.'),
  weight: z.number().default(1).describe('Factor in the sum.'),
  name: z
    .string()
    .regex(/^[^/]+$/, 'must not contain a slash')
    .optional()
    .describe('Name on charts; the id by default.'),
  settings: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .default({})
    .describe('Settings of the function, such as the column of the expected answer.'),
})

const algorithm = z.strictObject({
  id: z.string().min(1).default('grpo').describe('Which algorithm learns.'),
  settings: z.record(z.string(), z.unknown()).default({}).describe('Settings of that algorithm.'),
})

const rollout = z.strictObject({
  promptsPerStep: wholeNumber(1).default(8).describe('Prompts drawn in every step.'),
  groupSize: wholeNumber(1)
    .nullable()
    .default(null)
    .describe('Completions per prompt; null: the algorithm’s default.'),
  precision: z
    .enum(['f32', 'int8'])
    .default('f32')
    .describe('int8 generates about twice as fast from rounded weights.'),
  temperature: z.number().positive().default(1).describe('Above 1 is more varied, below 1 more certain.'),
  topK: wholeNumber(0).default(0).describe('Only the k likeliest tokens; 0 is off.'),
  topP: z
    .number()
    .gt(0)
    .max(1)
    .default(1)
    .describe('Only the likeliest tokens up to this total probability; 1 is off.'),
  minP: share.default(0).describe('Only tokens at least this likely relative to the likeliest; 0 is off.'),
  repetitionPenalty: z
    .number()
    .positive()
    .default(1)
    .describe('Makes tokens already seen less likely; 1 is off.'),
  minNewTokens: wholeNumber(0).default(0).describe('A completion cannot end before this length.'),
  maxNewTokens: wholeNumber(1).default(256).describe('A completion is cut off at this length.'),
  stopStrings: z.array(z.string().min(1)).default([]).describe('A completion ends at any of these.'),
  mismatchCorrection: z
    .enum(['auto', 'on', 'off'])
    .default('auto')
    .describe('Weighs tokens by learner over sampler probability; auto: on when rollouts are int8.'),
  mismatchCap: z.number().positive().default(2).describe('Upper limit of that weight.'),
})

/** Small enough that a layer's activations stay near the processor, large enough for its matrix products. */
export const usualTokenBudget = 512

const optimization = z.strictObject({
  learningRate: z.number().positive().default(1e-4).describe('Learning rate of the adapter.'),
  criticLearningRate: z
    .number()
    .positive()
    .nullable()
    .default(null)
    .describe('Learning rate of the critic; null: the same.'),
  schedule: z
    .enum(['constant', 'linear', 'cosine'])
    .default('constant')
    .describe('How the learning rate changes.'),
  warmupProportion: share.default(0).describe('Share of all updates over which the learning rate rises.'),
  beta1: share.default(0.9).describe('Decay of AdamW’s first moment.'),
  beta2: share.default(0.999).describe('Decay of AdamW’s second moment.'),
  epsilon: z.number().positive().default(1e-8).describe('AdamW’s ε.'),
  weightDecay: z.number().min(0).default(0.01).describe('AdamW’s decoupled weight decay.'),
  maxGradNorm: z
    .number()
    .positive()
    .nullable()
    .default(1)
    .describe('Longer gradients are shortened to this; null is off.'),
  epochs: wholeNumber(1).default(1).describe('Passes over the trajectories of one step.'),
  minibatchSize: wholeNumber(1)
    .nullable()
    .default(null)
    .describe('Trajectories per update; null: all of the step.'),
  tokenBudget: wholeNumber(1)
    .default(usualTokenBudget)
    .describe('Tokens learned from at once; memory and speed only, not the result.'),
  memory: z
    .enum(['auto', 'recompute', 'save'])
    .default('auto')
    .describe('save keeps activations (faster), recompute computes them again (smaller).'),
})

const evaluation = z.strictObject({
  every: wholeNumber(0).default(10).describe('Steps between evaluations; 0: only before and after training.'),
  rows: wholeNumber(1).nullable().default(null).describe('At most so many held-out rows; null: all.'),
})

const checkpoints = z.strictObject({
  every: wholeNumber(0)
    .default(10)
    .describe('Steps between checkpoints; 0: only at the end and when stopped.'),
  keep: wholeNumber(1).default(3).describe('Older checkpoints are removed.'),
})

const device = z.strictObject({
  kind: z.enum(deviceKinds).default('cpu').describe('Where tensors are computed.'),
  threads: wholeNumber(1).nullable().default(null).describe('CPU threads; null: one per physical core.'),
  deviceId: wholeNumber(0).default(0).describe('Which GPU of that kind.'),
})

export const runConfigSchema = z.strictObject({
  name: z.string().min(1).optional().describe('Shown in lists.'),
  model: path.describe('Folder of a Hugging Face model.'),
  adapter: adapter.prefault({}).describe('The parameters that are trained.'),
  data,
  rewards: z.array(reward).min(1).describe('Reward functions; their weighted sum is the reward.'),
  rewardFailures: z
    .enum(['null', 'zero', 'fail'])
    .default('null')
    .describe('When a reward function fails: leave it out, count 0, or end the run.'),
  algorithm: algorithm.prefault({}).describe('How the policy learns.'),
  rollout: rollout.prefault({}).describe('How completions are generated.'),
  optimization: optimization.prefault({}).describe('How parameters are updated.'),
  steps: wholeNumber(1)
    .nullable()
    .default(null)
    .describe('Length of the run in steps; null: as many as `passes` need.'),
  passes: z.number().positive().default(1).describe('Passes over the training rows when `steps` is null.'),
  evaluation: evaluation.prefault({}).describe('Greedy decoding on held-out rows.'),
  checkpoints: checkpoints.prefault({}).describe('What is kept on the way.'),
  shownTrajectories: wholeNumber(0).default(4).describe('Trajectories reported per step, to look at.'),
  seed: wholeNumber(0).default(42).describe('Same seed, same machine, same run.'),
  device: device.prefault({}).describe('Hardware.'),
})

export type RunConfig = z.output<typeof runConfigSchema>

/** Checks a parsed config file and fills in the defaults. Errors: `config/invalid`, listing every problem. */
export function parseRunConfig(json: unknown): RunConfig {
  const result = runConfigSchema.safeParse(json, { reportInput: true })
  if (!result.success) {
    const problems = result.error.issues.flatMap((issue) => describeIssue(issue))
    const noun = problems.length === 1 ? 'a problem' : `${problems.length} problems`
    throw new AppError(
      'config/invalid',
      `The run config has ${noun}: ${problems.join(' ')}`,
      'Correct the file; `turnwise help train` describes every key.',
    )
  }
  requireDistinctNames(result.data.rewards)
  return result.data
}

/** Name of a reward on charts. */
export const rewardName = (entry: {
  readonly function: string
  readonly name?: string | undefined
}): string => entry.name ?? entry.function.replace(/^.*[\\/]/, '').replace(/\.[cm]?[jt]s$/, '')

function requireDistinctNames(rewards: RunConfig['rewards']): void {
  const names = rewards.map(rewardName)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice === undefined) return
  throw new AppError(
    'config/invalid',
    `rewards: two rewards are called "${twice}".`,
    'Give one of them a `name`.',
  )
}

type Issue = z.core.$ZodIssue

function describeIssue(issue: Issue): string[] {
  const place = issue.path.length === 0 ? 'the file' : pathText(issue.path)
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${pathText([...issue.path, key])}: unknown key.`)
  if (issue.code === 'invalid_union') return describeUnion(issue, place)
  const got = issue.input === undefined ? 'it is missing' : `got ${shown(issue.input)}`
  return [`${place}: expected ${expectation(issue)}, ${got}.`]
}

/** The alternative that came nearest, else one sentence for all. */
function describeUnion(issue: Extract<Issue, { code: 'invalid_union' }>, place: string): string[] {
  const inner = issue.errors
    .map((alternative) => alternative.filter(({ path: at }) => at.length > 0))
    .find((alternative) => alternative.length > 0)
  const first = inner?.[0]
  if (!first) return [`${place}: none of the allowed forms fits ${shown(issue.input)}.`]
  return describeIssue({ ...first, path: [...issue.path, ...first.path] })
}

const pathText = (parts: readonly PropertyKey[]): string =>
  parts.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    return text === '' ? String(part) : `${text}.${String(part)}`
  }, '')

const articles: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  record: 'an object',
}

function expectation(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return articles[issue.expected] ?? issue.expected
    case 'invalid_value':
      return `one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`
    case 'too_small':
      return bound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)
    case 'too_big':
      return bound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)
    default:
      return issue.message
  }
}

function bound(origin: string, relation: string, limit: number | bigint): string {
  if (origin === 'array') return `${relation} ${limit} entries`
  return origin === 'string' ? 'text that is not empty' : `${relation} ${limit}`
}

function shown(input: unknown): string {
  const text = JSON.stringify(input)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
