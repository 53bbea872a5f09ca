/** Sections of the run config: each setting with its range, its default and a description. */
import { z } from 'zod'
import { offeredDevices, deviceOptions } from '../device.ts'
import { findDeclaration } from '../metrics.ts'
import { basePrecisions, frozenProducts } from '../precision.ts'
import { teacherServerSection } from './rollout.ts'
import { path, share, wholeNumber, maxSetting, maxRows, maxStepCount, maxTokenCount } from './settings.ts'

/** Decay rate below 1, since AdamW divides by 1 − β. */
const decay = z.number().min(0).lt(1)

const adapterTargets = ['q', 'k', 'v', 'qkv', 'o', 'in', 'out', 'gate', 'up', 'gate_up', 'down'] as const

export const adapterSection = z.strictObject({
  rank: wholeNumber(1, 65_536)
    .default(16)
    .meta({ label: 'LoRA rank', description: 'Rank of the low-rank matrices.' }),
  alpha: z.number().positive().max(maxSetting).default(32).meta({
    label: 'LoRA alpha',
    description: 'Scale of the adapter: alpha / rank (rsLoRA: alpha / √rank).',
  }),
  rsLora: z
    .boolean()
    .default(false)
    .meta({ label: 'Rank-stabilised LoRA', description: 'Rank-stabilised scaling.' }),
  targets: z
    .union([z.literal('all-linear'), z.array(z.enum(adapterTargets)).min(1)])
    .default('all-linear')
    .meta({
      label: 'Target modules',
      description:
        'Which projections of every layer get an adapter; qkv and gate_up where a model has them in one, in and out of short convolutions.',
    }),
  dropout: z.number().min(0).lt(1).default(0).meta({
    label: 'LoRA dropout',
    description: 'Dropout on the adapter’s inputs during learning; 0 is off.',
  }),
  initial: path.nullable().default(null).meta({
    label: 'Start from adapter',
    description: 'Folder of a PEFT adapter or of a checkpoint to start from.',
    empty: 'starts fresh',
  }),
  initialCritic: z.boolean().default(true).meta({
    label: 'Start from its critic too',
    description:
      'With `initial`: a run with a critic starts from that of the checkpoint, if it has one; false starts a fresh critic.',
  }),
  mergeConfigs: z.boolean().default(false).meta({
    label: 'Keep these settings with an initial adapter',
    description:
      'With `initial`: false takes rank, alpha and targets from that adapter and rejects other values here; true keeps these settings and pads the adapter to the larger rank and the targets of both. Also lets the adapter grow until that of `reference` fits.',
  }),
})

export const baseSection = z.strictObject({
  precision: z
    .enum(basePrecisions)
    .default('f32')
    .meta({
      label: 'Base precision',
      description:
        'Precision of the frozen matrices, for generation and learning: int8 takes a quarter of the memory of f32 and hardly changes the model, int4 takes an eighth and changes it more; `turnwise model check` measures how much. Memory is not always time: the check before a run measures once whether an exact base is faster on this machine, and says so. bf16 and f16 take half, and CUDA, with f16 also DirectML, multiplies in them several times faster; on WebGPU f16 saves memory alone, and needs an adapter with shader-f16. tf32 takes the memory of f32; NVIDIA cards from Ampere on multiply it faster, reading every factor with 11 significant bits of 24. It needs CUDA.',
      options: {
        f32: 'f32: exact',
        tf32: 'tf32: factors with 11 bits, on CUDA',
        int8: 'int8: a quarter',
        int4: 'int4: an eighth, coarser',
        bf16: 'bf16: half, on CUDA',
        f16: 'f16: half, on CUDA, DirectML and WebGPU',
      },
    }),
  products: z
    .enum(frozenProducts)
    .default('auto')
    .meta({
      label: 'Products with an 8-bit base',
      description:
        'How learning multiplies with a base in int8. auto: in whole numbers on processors that are fast at it, which changes a product by about three parts in 100,000; f32: always in f32, which is slower there.',
      options: { auto: 'auto: in whole numbers where faster', f32: 'f32: always' },
    }),
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
    template: z.string().min(1).describe('Text with {column} placeholders; {{ and }} are literal braces.'),
  }),
  z.strictObject({
    messages: z.array(message).min(1).describe('Messages with {column} placeholders, for the chat template.'),
  }),
])

const splitSeed = wholeNumber(0, Number.MAX_SAFE_INTEGER).default(42).describe('Same seed, same split.')

const splitRule = z.union([
  z.strictObject({
    share: z.number().gt(0).lt(1).describe('Share of the rows; adding rows later moves no existing ones.'),
    seed: splitSeed,
  }),
  z.strictObject({ rows: wholeNumber(1, maxRows).describe('Number of rows.'), seed: splitSeed }),
])

export const templateSwitches = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))

/** A column, or descriptions of functions. */
export const toolsSetting = z.union([
  z.string().min(1),
  z.array(z.record(z.string(), z.unknown())).min(1).max(128),
])

const answerColumn = z.string().min(1).nullable().default(null)

export const dataSection = z.strictObject({
  train: z
    .union([
      path,
      z.strictObject({
        episodes: wholeNumber(1, maxRows).describe('Episodes that an environment generates per pass.'),
      }),
    ])
    .meta({
      label: 'Training data',
      description:
        'Training rows: a file (jsonl, json, csv, tsv, parquet) or the folder of an imported data set; with an environment that needs none, {"episodes": N}.',
    }),
  heldOut: z.union([path, splitRule]).nullable().default(null).meta({
    label: 'Validation split',
    description: 'Validation rows, never trained on: such a path, or a part drawn from `train`.',
    empty: 'no evaluation',
  }),
  prompt: prompt.prefault({ column: 'prompt' }).describe('How a row becomes a prompt.'),
  tools: toolsSetting.nullable().default(null).meta({
    label: 'Tools',
    description:
      'Functions that a model may call: the column that describes them, as a list of JSON schemas or its text, or such a list for all rows; the chat template writes them into the prompt.',
  }),
  templateVariables: templateSwitches
    .default({})
    .describe('Switches that the chat template reads by name, such as {"enable_thinking": false}.'),
  completion: answerColumn.meta({
    description: 'For demonstrations: the column of the answer, as text or as messages.',
    empty: 'the first existing column of completion, answer, response, output, target, solution and label',
  }),
  chosen: answerColumn.meta({
    description: 'For preferences: the column of the better answer, as text or as messages.',
    empty: 'chosen',
  }),
  rejected: answerColumn.meta({
    description: 'For preferences: the column of the worse answer, as text or as messages.',
    empty: 'rejected',
  }),
  label: answerColumn.meta({
    description:
      'For marked answers: the column that says whether the answer is good, as true or false, 1 or 0.',
    empty:
      'the first existing column of label, kto_tag and the like; without one, chosen answers are good and rejected ones bad',
  }),
  maxPromptTokens: wholeNumber(1, maxTokenCount)
    .nullable()
    .default(null)
    .meta({ description: 'Rows with longer prompts are left out.', empty: 'what fits' }),
  shuffle: z.boolean().default(true).describe('Shuffles the rows anew in every pass.'),
  order: answerColumn.meta({
    label: 'Easy to hard by',
    description:
      'Curriculum: a column of numbers by which every pass over the rows is sorted, lowest first. A run that draws fewer rows than the data set has sorts a random sample of that size.',
    empty: 'not sorted',
  }),
})

export const algorithmSection = z.strictObject({
  id: z.string().min(1).default('grpo').meta({ label: 'Algorithm', description: 'Which algorithm learns.' }),
  settings: z.record(z.string(), z.unknown()).default({}).describe('Settings of that algorithm.'),
})

export const optimizationSection = z.strictObject({
  learningRate: z.number().positive().max(1).default(1e-4).describe('Learning rate of the adapter.'),
  criticLearningRate: z
    .number()
    .positive()
    .max(1)
    .nullable()
    .default(null)
    .meta({ description: 'Learning rate of the critic.', empty: 'the same' }),
  schedule: z
    .enum(['constant', 'linear', 'cosine'])
    .default('constant')
    .describe('How the learning rate changes.'),
  warmupProportion: share
    .default(0)
    .meta({ label: 'Warmup ratio', description: 'Share of all updates over which the learning rate rises.' }),
  beta1: decay.default(0.9).meta({ label: 'AdamW β₁', description: 'Decay of AdamW’s first moment.' }),
  beta2: decay.default(0.999).meta({ label: 'AdamW β₂', description: 'Decay of AdamW’s second moment.' }),
  epsilon: z.number().positive().max(1).default(1e-8).meta({ label: 'AdamW ε', description: 'AdamW’s ε.' }),
  weightDecay: z.number().min(0).max(10).default(0.01).describe('AdamW’s decoupled weight decay.'),
  maxGradNorm: z.number().positive().max(maxSetting).nullable().default(1).meta({
    label: 'Max gradient norm',
    description: 'Gradient clipping: the maximum global norm.',
    empty: 'off',
  }),
  unsoundUpdates: z.enum(['stop', 'skip']).default('stop').meta({
    label: 'On unsound updates',
    description:
      'Handling of updates whose numbers cannot be right (a non-finite loss or gradient, a gradient millions of times larger than before, a mismatch between sampler and learner): stop ends the run before the update is applied; skip leaves the adapter unchanged and continues, until 10 in a row were skipped.',
  }),
  epochs: wholeNumber(1, 1000)
    .default(1)
    .meta({ label: 'Update epochs', description: 'Passes over the trajectories of one step.' }),
  minibatchSize: wholeNumber(1, maxSetting)
    .nullable()
    .default(null)
    .meta({ description: 'Trajectories per update.', empty: 'all of the step' }),
  tokenBudget: wholeNumber(1, 100 * maxTokenCount)
    .nullable()
    .default(null)
    .meta({
      description:
        'Tokens per micro-batch; small models take more. Affects memory and speed, not the result.',
      empty: '512 per thread',
    }),
  zeroAdvantages: z
    .enum(['skip', 'measure'])
    .default('skip')
    .meta({
      label: 'Zero advantages',
      description:
        'Trajectories whose advantages are all zero, such as those of zero-variance groups, do not change the gradient if the loss has no KL, entropy or value term. skip computes nothing for them; measure runs the forward pass, so that entropy, clip fraction and mismatch are means over them too.',
      options: { skip: 'skip: faster', measure: 'measure' },
    }),
  memory: z
    .enum(['auto', 'recompute', 'save'])
    .default('auto')
    .meta({
      label: 'Activation memory',
      description: 'save keeps activations (faster), recompute recomputes them (less memory).',
      options: { auto: 'auto', recompute: 'recompute: smaller', save: 'save: faster' },
    }),
})

export const referenceSection = z.strictObject({
  policy: z
    .enum(['start', 'base'])
    .default('start')
    .meta({
      label: 'Reference policy',
      description:
        'The reference policy: the policy at the start of this training, kept in its own adapter, or the base model without an adapter.',
      options: { start: 'the policy at the start', base: 'the base model' },
    }),
  refreshSteps: wholeNumber(1, maxStepCount).nullable().default(null).meta({
    description: 'Moves the reference towards the policy after every this many steps.',
    empty: 'never',
  }),
  refreshPasses: wholeNumber(1, maxStepCount).nullable().default(null).meta({
    description: 'Moves the reference after every this many passes over the training rows.',
    empty: 'never',
  }),
  mixing: z
    .number()
    .gt(0)
    .max(1)
    .default(1)
    .describe('Mixing coefficient α of α · policy + (1 − α) · reference; 1 replaces the reference.'),
  adapter: path.nullable().default(null).meta({
    label: 'Reference from adapter',
    description:
      'Folder of a PEFT adapter or of a checkpoint that is the reference policy, whatever the policy starts from.',
    empty: 'as `policy` says',
  }),
  model: path.nullable().default(null).meta({
    label: 'Teacher',
    description:
      'Name or folder of another model with the same vocabulary that is the reference policy: a teacher for distillation.',
    empty: 'none',
  }),
  server: teacherServerSection.nullable().default(null).meta({
    label: 'Teacher behind an address',
    description:
      'A vLLM or SGLang server, or `turnwise serve` (kind `vllm`), whose model is the reference policy instead.',
    empty: 'none',
  }),
})

export const evaluationSection = z.strictObject({
  every: wholeNumber(0, maxStepCount).default(10).meta({
    label: 'Evaluate every',
    description: 'Steps between evaluations; 0: only before and after training.',
  }),
  rows: wholeNumber(1, maxRows)
    .nullable()
    .default(null)
    .meta({ label: 'Validation rows', description: 'Maximum number of validation rows.', empty: 'all' }),
})

const stopRules = ['never', 'destroyed', 'problem'] as const

export const diagnosisSection = z.strictObject({
  stopOn: z
    .enum(stopRules)
    .default('never')
    .meta({
      label: 'Stop early on a finding',
      description:
        'When the run ends early: destroyed if its policy is destroyed or its reward has collapsed for good, problem at any problem in its diagnosis, never at none. The last checkpoint from before is kept.',
      options: { never: 'never', destroyed: 'the policy was destroyed', problem: 'any problem' },
    }),
})

export const checkpointsSection = z.strictObject({
  every: wholeNumber(0, maxStepCount).default(10).meta({
    label: 'Save every',
    description: 'Steps between checkpoints; 0: only at the end and when stopped.',
  }),
  keepLast: wholeNumber(1, maxStepCount).default(3).describe('Number of newest checkpoints to keep.'),
  keepBest: wholeNumber(0, maxStepCount).default(1).describe('Number of best checkpoints to keep as well.'),
  bestBy: z
    .string()
    .refine((name) => findDeclaration(name) !== undefined, 'the name of a metric')
    .default('eval_reward')
    .meta({ label: 'Best by metric', description: 'Metric that decides which checkpoints are best.' }),
  keepEvery: wholeNumber(0, maxStepCount).default(0).meta({
    label: 'Keep every',
    description: 'Keeps the checkpoints of every this many steps for good; 0: none.',
  }),
  diskBudgetMb: z.number().positive().max(1_000_000_000).nullable().default(null).meta({
    label: 'Disk budget (MB)',
    description: 'Deletes the oldest when all take more megabytes; the newest and the best are kept.',
  }),
  saveOptimizer: z
    .boolean()
    .default(true)
    .describe('Keep the optimizer’s moments: half the size, and needed for an exact resume.'),
  loraOnly: z.boolean().default(true).meta({
    label: 'Adapter only',
    description: 'Saves adapters only; false: every checkpoint also has a copy of the base model.',
  }),
  load: z
    .strictObject({
      optimizer: z
        .boolean()
        .default(true)
        .meta({ label: 'Take over the optimizer', description: 'Take over the optimizer’s moments.' }),
      overwriteReference: z.boolean().default(false).meta({
        label: 'Checkpoint becomes the reference',
        description: 'The reference policy becomes the checkpoint’s actor instead of its reference.',
      }),
      overwriteCritic: z.boolean().default(true).meta({
        label: 'Checkpoint becomes the critic',
        description: 'If the checkpoint has no critic, the critic starts from its actor.',
      }),
    })
    .prefault({})
    .describe('What a fork takes over from the checkpoint it starts from.'),
})

export const deviceSection = z.strictObject({
  kind: z
    .enum(deviceOptions)
    .default('auto')
    .meta({
      label: 'Device',
      description:
        'Device that computes; auto: the fastest that passed its check on this machine, for models of this size.',
      options: { auto: 'auto: the fastest that passed its check', ...offeredDevices },
    }),
  threads: wholeNumber(1, 1024).nullable().default(null).meta({
    description: 'CPU threads.',
    empty: 'one per physical core, or OMP_NUM_THREADS if that is lower',
  }),
  deviceId: wholeNumber(0, 1023)
    .default(0)
    .meta({ label: 'Device number', description: 'Which GPU of that kind.' }),
})
