/**
 * The file of `turnwise train CONFIG.json`: what is learned, from which data, towards which reward, and how. The
 * window writes the same file. Everything not said has the default given here; keys that are not known are refused.
 */
import { z } from 'zod'
import { deviceKinds } from './device.ts'
import { describeIssue } from './configProblems.ts'
import { AppError } from './errors.ts'
import { findDeclaration } from './metrics.ts'

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
  initial: path
    .nullable()
    .default(null)
    .describe('Folder of a PEFT adapter or of a checkpoint to start from; null starts fresh.'),
  mergeConfigs: z
    .boolean()
    .default(false)
    .describe(
      'With `initial`: false takes rank, alpha and targets from that adapter; true keeps these and pads it to the larger rank and all targets of both.',
    ),
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

const splitSeed = wholeNumber(0).default(42).describe('Same seed, same rows held out.')

const splitRule = z.union([
  z.strictObject({
    share: z.number().gt(0).lt(1).describe('Share of the rows; rows added later move none.'),
    seed: splitSeed,
  }),
  z.strictObject({ rows: wholeNumber(1).describe('Number of rows.'), seed: splitSeed }),
])

const data = z.strictObject({
  train: z
    .union([
      path,
      z.strictObject({ episodes: wholeNumber(1).describe('Episodes an environment makes up in one pass.') }),
    ])
    .describe(
      'Training rows: a file (jsonl, json, csv, tsv, parquet) or the folder of an imported data set; with an environment that needs none, {"episodes": N}.',
    ),
  heldOut: z
    .union([path, splitRule])
    .nullable()
    .default(null)
    .describe('Rows never trained on: such a path, or a part drawn from `train`; null means no evaluation.'),
  prompt: prompt.prefault({ column: 'prompt' }).describe('How a row becomes a prompt.'),
  maxPromptTokens: wholeNumber(1)
    .nullable()
    .default(null)
    .describe('Rows with longer prompts are left out; null: what fits.'),
  shuffle: z.boolean().default(true).describe('A new order of the rows in every pass.'),
})

const reward = z.strictObject({
  function: z
    .string()
    .min(1)
    .describe(
      'Id of a built-in reward function, or the path of a .ts or .js file; file.ts#name picks one of several.',
    ),
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

const rewardLimits = z.strictObject({
  callMs: z.number().positive().default(1000).describe('Processor time of one call, in milliseconds.'),
  batchMs: z.number().positive().default(15_000).describe('Processor time of 64 calls, in milliseconds.'),
  memoryMb: z.number().min(10).max(1024).default(32).describe('Memory, in megabytes.'),
})

const environment = z.strictObject({
  function: z.string().min(1).describe('Id of a built-in environment, or the path of a .ts or .js file.'),
  settings: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .default({})
    .describe('Settings of the environment.'),
  maxTurns: wholeNumber(1)
    .nullable()
    .default(null)
    .describe('Turns of the policy after which an episode ends; null: what the environment suggests.'),
  applyChatTemplate: z
    .boolean()
    .default(true)
    .describe('Observations become messages of the chat template; false: they are read as they are.'),
  strictBoundary: z
    .boolean()
    .default(true)
    .describe('A chat template that does not show where turns end is an error; false: ChatML is assumed.'),
  slidingWindow: z
    .boolean()
    .default(false)
    .describe('When the context is full the oldest turns leave the prompt; false: the episode ends.'),
  contextLength: wholeNumber(2)
    .nullable()
    .default(null)
    .describe('Tokens of prompt and completion of one turn; null: what the model reads.'),
  formatBonus: z
    .number()
    .default(0)
    .describe('Added where an episode ends with a wrong answer that at least stands in <answer> tags.'),
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
  keepLast: wholeNumber(1).default(3).describe('The newest so many stay.'),
  keepBest: wholeNumber(0).default(1).describe('The best so many stay as well.'),
  bestBy: z
    .string()
    .refine((name) => findDeclaration(name) !== undefined, 'the name of a metric')
    .default('eval_reward')
    .describe('Metric that says which ones are best.'),
  keepEvery: wholeNumber(0)
    .default(0)
    .describe('Those of every so many steps stay for good; 0: none of them.'),
  diskBudgetMb: z
    .number()
    .positive()
    .nullable()
    .default(null)
    .describe('Oldest ones go when all take more megabytes; the newest and the best never do.'),
  saveOptimizer: z
    .boolean()
    .default(true)
    .describe('Keep the optimizer’s moments: half the size, and needed for an exact resume.'),
  loraOnly: z
    .boolean()
    .default(true)
    .describe('Keep adapters alone; false: a copy of the base model in every checkpoint as well.'),
  load: z
    .strictObject({
      optimizer: z.boolean().default(true).describe('Take over the optimizer’s moments.'),
      overwriteReference: z
        .boolean()
        .default(false)
        .describe('The reference policy becomes the checkpoint’s actor instead of its reference.'),
      overwriteCritic: z
        .boolean()
        .default(true)
        .describe('A critic the checkpoint lacks begins as its actor.'),
    })
    .prefault({})
    .describe('What a run takes over from the checkpoint of another run that it begins from.'),
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
  rewards: z
    .array(reward)
    .default([])
    .describe('Reward functions; their weighted sum is the reward. Needed without an environment.'),
  environment: environment
    .nullable()
    .default(null)
    .describe('A world of one or several turns that gives rewards; null: completions of prompts.'),
  rewardFailures: z
    .enum(['null', 'zero', 'fail'])
    .default('null')
    .describe('When a reward function fails: leave it out, count 0, or end the run.'),
  rewardLimits: rewardLimits.prefault({}).describe('What reward code of your own may use.'),
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
  requireRewards(result.data)
  requireDistinctNames(result.data.rewards)
  return result.data
}

/** Something must give rewards, and only an environment can do without rows. */
function requireRewards({ rewards, environment: world, data: { train } }: RunConfig): void {
  if (world !== null) return
  const problem =
    rewards.length === 0
      ? 'rewards: expected at least 1 entries, got [].'
      : typeof train !== 'string' && 'data.train: expected a path; episodes are for runs with an environment.'
  if (problem === false) return
  throw new AppError(
    'config/invalid',
    `The run config has a problem: ${problem}`,
    'Correct the file; `turnwise help train` describes every key.',
  )
}

/** Name of a reward on charts. */
export const rewardName = (entry: {
  readonly function: string
  readonly name?: string | undefined
}): string => entry.name ?? functionName(entry.function)

/** Of a file its name, or what stands behind #; of a built-in its id. */
const functionName = (id: string): string =>
  /\.[cm]?[jt]s#(.+)$/.exec(id)?.[1] ?? id.replace(/^.*[\\/]/, '').replace(/\.[cm]?[jt]s$/, '')

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
