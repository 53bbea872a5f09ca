/** The sections of the run config: each setting with its range, its default and a sentence that says what it does. */
import { z } from 'zod'
import { deviceWishes } from './device.ts'
import { findDeclaration } from './metrics.ts'
import { rolloutServerSection } from './rolloutServerConfig.ts'
import { usualNewTokens } from './usualLength.ts'
import { basePrecisions, rolloutPrecisions } from './precision.ts'

/** Limits are what could still be meant by anybody; what is unwise within them is said by rl/training/conflicts.ts. */
export const wholeNumber = (minimum: number, maximum: number) => z.int().min(minimum).max(maximum)
export const mostSteps = 10_000_000
export const mostTokens = 10_000_000
const mostRows = 1_000_000_000
const factor = 1_000_000
/** AdamW divides by 1 − β. */
const decay = z.number().min(0).lt(1)
const share = z.number().min(0).max(1)
export const path = z.string().min(1)

const adapterTargets = ['q', 'k', 'v', 'qkv', 'o', 'gate', 'up', 'gate_up', 'down'] as const

export const adapterSection = z.strictObject({
  rank: wholeNumber(1, 65_536).default(16).describe('Rank of the low-rank matrices.'),
  alpha: z
    .number()
    .positive()
    .max(factor)
    .default(32)
    .describe('Scale of the adapter: alpha / rank (rsLoRA: alpha / √rank).'),
  rsLora: z.boolean().default(false).describe('Rank-stabilised scaling.'),
  targets: z
    .union([z.literal('all-linear'), z.array(z.enum(adapterTargets)).min(1)])
    .default('all-linear')
    .describe(
      'Which projections of every layer get an adapter; qkv and gate_up where a model has them in one.',
    ),
  dropout: z
    .number()
    .min(0)
    .lt(1)
    .default(0)
    .describe('Share of an adapter’s inputs left out at random while it learns; 0 is off.'),
  initial: path
    .nullable()
    .default(null)
    .describe('Folder of a PEFT adapter or of a checkpoint to start from; null starts fresh.'),
  mergeConfigs: z
    .boolean()
    .default(false)
    .describe(
      'With `initial`: false takes rank, alpha and targets from that adapter, and refuses others than the defaults here; true keeps these and pads it to the larger rank and all targets of both. Also lets the adapter grow until that of `reference` fits.',
    ),
})

export const baseSection = z.strictObject({
  precision: z
    .enum(basePrecisions)
    .default('f32')
    .describe(
      'What the frozen matrices are held in, for generating and for learning: int8 takes a quarter of the memory of f32 and hardly changes the model, int4 takes an eighth and changes it more; `turnwise model check` measures how much. bf16 and f16 take half, and GPUs multiply in them several times faster: bf16 needs CUDA, f16 CUDA or DirectML.',
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

const splitSeed = wholeNumber(0, Number.MAX_SAFE_INTEGER).default(42).describe('Same seed, same split.')

const splitRule = z.union([
  z.strictObject({
    share: z.number().gt(0).lt(1).describe('Share of the rows; rows added later move none.'),
    seed: splitSeed,
  }),
  z.strictObject({ rows: wholeNumber(1, mostRows).describe('Number of rows.'), seed: splitSeed }),
])

const answerColumn = z.string().min(1).nullable().default(null)

export const dataSection = z.strictObject({
  train: z
    .union([
      path,
      z.strictObject({
        episodes: wholeNumber(1, mostRows).describe('Episodes an environment makes up in one pass.'),
      }),
    ])
    .describe(
      'Training rows: a file (jsonl, json, csv, tsv, parquet) or the folder of an imported data set; with an environment that needs none, {"episodes": N}.',
    ),
  heldOut: z
    .union([path, splitRule])
    .nullable()
    .default(null)
    .describe(
      'Validation rows, never trained on: such a path, or a part drawn from `train`; null means no evaluation.',
    ),
  prompt: prompt.prefault({ column: 'prompt' }).describe('How a row becomes a prompt.'),
  tools: answerColumn.describe(
    'The column that describes the functions a model may call, as a list of JSON schemas or its text; the chat template writes them into the prompt.',
  ),
  templateVariables: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .default({})
    .describe('Switches that the chat template reads by name, such as {"enable_thinking": false}.'),
  completion: answerColumn.describe(
    'For demonstrations: the column of the answer, as text or as messages; null: the first of completion, answer, response, output, target, solution and label that there is.',
  ),
  chosen: answerColumn.describe(
    'For preferences: the column of the better answer, as text or as messages; null: chosen.',
  ),
  rejected: answerColumn.describe(
    'For preferences: the column of the worse answer, as text or as messages; null: rejected.',
  ),
  maxPromptTokens: wholeNumber(1, mostTokens)
    .nullable()
    .default(null)
    .describe('Rows with longer prompts are left out; null: what fits.'),
  shuffle: z.boolean().default(true).describe('A new order of the rows in every pass.'),
})

export const rewardSection = z.strictObject({
  function: z
    .string()
    .min(1)
    .describe(
      'Id of a built-in reward function, or the path of a .ts or .js file; file.ts#name picks one of several.',
    ),
  weight: z.number().min(-factor).max(factor).default(1).describe('Factor in the sum.'),
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

export const rewardLimitsSection = z.strictObject({
  callMs: z
    .number()
    .positive()
    .max(3_600_000)
    .default(1000)
    .describe('Processor time of one call, in milliseconds.'),
  batchMs: z
    .number()
    .positive()
    .max(86_400_000)
    .default(15_000)
    .describe('Processor time of 64 calls, in milliseconds.'),
  memoryMb: z.number().min(10).max(1024).default(32).describe('Memory, in megabytes.'),
})

export const algorithmSection = z.strictObject({
  id: z.string().min(1).default('grpo').describe('Which algorithm learns.'),
  settings: z.record(z.string(), z.unknown()).default({}).describe('Settings of that algorithm.'),
})

export const rolloutSection = z.strictObject({
  promptsPerStep: wholeNumber(1, 100_000)
    .default(8)
    .describe('Prompts drawn in every step; of demonstrations and preferences: rows.'),
  groupSize: wholeNumber(1, 10_000)
    .nullable()
    .default(null)
    .describe('Completions per prompt; null: the algorithm’s default.'),
  precision: z
    .enum(rolloutPrecisions)
    .default('f32')
    .describe(
      'int8 generates about twice as fast from rounded weights, while learning reads exact ones; f32 with a rounded `base`.',
    ),
  temperature: z
    .number()
    .positive()
    .max(100)
    .default(1)
    .describe('Above 1 is more varied, below 1 more certain.'),
  topK: wholeNumber(0, mostTokens).default(0).describe('Only the k likeliest tokens; 0 is off.'),
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
    .max(100)
    .default(1)
    .describe('Makes tokens already seen less likely; 1 is off.'),
  minNewTokens: wholeNumber(0, mostTokens).default(0).describe('A completion cannot end before this length.'),
  maxNewTokens: wholeNumber(1, mostTokens)
    .default(usualNewTokens)
    .describe('A completion is truncated at this length.'),
  stopStrings: z.array(z.string().min(1)).default([]).describe('A completion ends at any of these.'),
  mismatchCorrection: z
    .enum(['auto', 'on', 'off'])
    .default('auto')
    .describe(
      'Weighs tokens by learner over sampler probability; auto: on when rollouts or the base are rounded, or come from a server.',
    ),
  mismatchCap: z.number().positive().max(factor).default(2).describe('Upper limit of that weight.'),
  mismatchMode: z
    .enum(['truncate', 'mask'])
    .default('truncate')
    .describe(
      'A token whose weight would be above the limit: truncate gives it the limit, mask takes it out of the policy term.',
    ),
  server: rolloutServerSection
    .nullable()
    .default(null)
    .describe('A vLLM or SGLang server that generates in place of this machine; null: none.'),
})

export const optimizationSection = z.strictObject({
  learningRate: z.number().positive().max(1).default(1e-4).describe('Learning rate of the adapter.'),
  criticLearningRate: z
    .number()
    .positive()
    .max(1)
    .nullable()
    .default(null)
    .describe('Learning rate of the critic; null: the same.'),
  schedule: z
    .enum(['constant', 'linear', 'cosine'])
    .default('constant')
    .describe('How the learning rate changes.'),
  warmupProportion: share.default(0).describe('Share of all updates over which the learning rate rises.'),
  beta1: decay.default(0.9).describe('Decay of AdamW’s first moment.'),
  beta2: decay.default(0.999).describe('Decay of AdamW’s second moment.'),
  epsilon: z.number().positive().max(1).default(1e-8).describe('AdamW’s ε.'),
  weightDecay: z.number().min(0).max(10).default(0.01).describe('AdamW’s decoupled weight decay.'),
  maxGradNorm: z
    .number()
    .positive()
    .max(factor)
    .nullable()
    .default(1)
    .describe('Longer gradients are shortened to this; null is off.'),
  unsoundUpdates: z
    .enum(['stop', 'skip'])
    .default('stop')
    .describe(
      'What becomes of an update whose numbers cannot be right (a loss or gradient that is not finite, a gradient millions of times as long as before, a sampler and a learner that disagree): stop ends the run before it is applied, skip leaves the adapter as it was and goes on, until 10 in a row were skipped.',
    ),
  epochs: wholeNumber(1, 1000).default(1).describe('Passes over the trajectories of one step.'),
  minibatchSize: wholeNumber(1, factor)
    .nullable()
    .default(null)
    .describe('Trajectories per update; null: all of the step.'),
  tokenBudget: wholeNumber(1, 100 * mostTokens)
    .nullable()
    .default(null)
    .describe(
      'Tokens learned from at once; null: 512 per thread; a small model takes more. Memory and speed only, not the result.',
    ),
  memory: z
    .enum(['auto', 'recompute', 'save'])
    .default('auto')
    .describe('save keeps activations (faster), recompute computes them again (smaller).'),
})

export const referenceSection = z.strictObject({
  policy: z
    .enum(['start', 'base'])
    .default('start')
    .describe(
      'What divergence is measured from: the policy as this training began, in an adapter of its own, or the base model without any adapter.',
    ),
  refreshSteps: wholeNumber(1, mostSteps)
    .nullable()
    .default(null)
    .describe('Moves the reference towards the policy after every so many steps; null: never.'),
  refreshPasses: wholeNumber(1, mostSteps)
    .nullable()
    .default(null)
    .describe('Moves it after every so many passes over the training rows; null: never.'),
  mixing: z
    .number()
    .gt(0)
    .max(1)
    .default(1)
    .describe('How far it moves: α in α · policy + (1 − α) · reference; 1 replaces it.'),
  adapter: path
    .nullable()
    .default(null)
    .describe(
      'Folder of a PEFT adapter, or of a checkpoint, that divergence is measured from whatever the policy begins as; null: as `policy` says.',
    ),
})

export const evaluationSection = z.strictObject({
  every: wholeNumber(0, mostSteps)
    .default(10)
    .describe('Steps between evaluations; 0: only before and after training.'),
  rows: wholeNumber(1, mostRows)
    .nullable()
    .default(null)
    .describe('At most so many validation rows; null: all.'),
})

const stopRules = ['never', 'destroyed', 'problem'] as const

export const diagnosisSection = z.strictObject({
  stopOn: z
    .enum(stopRules)
    .default('never')
    .describe(
      'Whether the run ends early: destroyed when its policy was destroyed or its reward collapsed for good, problem at any problem that its diagnosis finds; never lets it go on. The last checkpoint from before stays.',
    ),
})

export const checkpointsSection = z.strictObject({
  every: wholeNumber(0, mostSteps)
    .default(10)
    .describe('Steps between checkpoints; 0: only at the end and when stopped.'),
  keepLast: wholeNumber(1, mostSteps).default(3).describe('The newest so many stay.'),
  keepBest: wholeNumber(0, mostSteps).default(1).describe('The best so many stay as well.'),
  bestBy: z
    .string()
    .refine((name) => findDeclaration(name) !== undefined, 'the name of a metric')
    .default('eval_reward')
    .describe('Metric that says which ones are best.'),
  keepEvery: wholeNumber(0, mostSteps)
    .default(0)
    .describe('Those of every so many steps stay for good; 0: none of them.'),
  diskBudgetMb: z
    .number()
    .positive()
    .max(1_000_000_000)
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

export const deviceSection = z.strictObject({
  kind: z
    .enum(deviceWishes)
    .default('auto')
    .describe(
      'Where tensors are computed; auto: on the fastest device that passed its check on this machine, for models of this size.',
    ),
  threads: wholeNumber(1, 1024)
    .nullable()
    .default(null)
    .describe('CPU threads; null: one per physical core, or OMP_NUM_THREADS where that is less.'),
  deviceId: wholeNumber(0, 1023).default(0).describe('Which GPU of that kind.'),
})
