/**
 * The file of `turnwise train CONFIG.json`: model, data, rewards, and training settings. The window writes the same
 * file. Omitted keys take the defaults given here; unknown keys are refused.
 */
import { z } from 'zod'
import { conflict, schemaProblems } from './config/problems.ts'
import { path, wholeNumber, maxStepCount, maxTokenCount } from './config/settings.ts'
import { environmentSection, pythonSection, rewardLimitsSection, rewardSection } from './config/rewards.ts'
import { engineSection } from './config/engine.ts'
import { rolloutSection } from './config/rollout.ts'
import {
  adapterSection,
  algorithmSection,
  baseSection,
  checkpointsSection,
  dataSection,
  deviceSection,
  diagnosisSection,
  evaluationSection,
  optimizationSection,
  referenceSection,
} from './config/sections.ts'
import { ConfigError } from './errors.ts'

/** Makes all keys optional and without defaults: omitted ones apply as in the rest of the file. */
function asChanges(section: z.ZodObject): z.ZodObject {
  const shape = Object.entries(section.shape).map(([name, field]) => [
    name,
    withoutDefault(field as z.ZodType),
  ])
  return z.strictObject(Object.fromEntries(shape) as Record<string, z.ZodType>)
}

function withoutDefault(field: z.ZodType): z.ZodType {
  const isFilledIn = field instanceof z.ZodDefault || field instanceof z.ZodPrefault
  const bare: z.ZodType = isFilledIn ? (field.unwrap() as z.ZodType) : field
  const optional: z.ZodType = bare.optional()
  return optional.meta(field.meta() ?? {})
}

const stageSchema = z.strictObject({
  name: z.string().min(1).optional().describe('Name of the stage.'),
  data: asChanges(dataSection).optional().describe('Rows of the stage.'),
  algorithm: algorithmSection
    .optional()
    .describe('How the policy learns; its settings start from their defaults.'),
  rollout: asChanges(rolloutSection).optional().describe('How completions are generated.'),
  reference: asChanges(referenceSection).optional().describe('The reference policy.'),
  optimization: asChanges(optimizationSection).optional().describe('How parameters are updated.'),
  evaluation: asChanges(evaluationSection).optional().describe('Evaluation on the validation split.'),
  steps: wholeNumber(1, maxStepCount)
    .nullable()
    .optional()
    .meta({ description: 'Length of the stage in steps.', empty: 'as many as the passes need' }),
  passes: z
    .number()
    .positive()
    .max(1_000_000)
    .optional()
    .describe('Passes over its training rows; `steps` overrides it.'),
})

export const runConfigSchema = z.strictObject({
  name: z.string().min(1).optional().describe('Shown in lists.'),
  model: path.describe('Folder of a Hugging Face model.'),
  contextLength: wholeNumber(2, maxTokenCount).nullable().default(null).meta({
    description: 'Maximum length of prompt plus completion. Dynamic and LongRoPE scaling depend on it.',
    empty: 'the model’s own limit',
  }),
  base: baseSection.prefault({}).meta({ label: 'Base model', description: 'The frozen parameters.' }),
  adapter: adapterSection
    .prefault({})
    .meta({ label: 'Adapter', description: 'The parameters that are trained.' }),
  data: dataSection,
  rewards: z
    .array(rewardSection)
    .default([])
    .describe(
      'Reward functions; their weighted sum is the reward. Required if the algorithm learns from rewards and there is no environment.',
    ),
  environment: environmentSection.nullable().default(null).meta({
    label: 'Environment',
    description: 'Environment of one or several turns that gives rewards.',
    empty: 'completions of prompts',
  }),
  rewardFailures: z
    .enum(['null', 'zero', 'fail'])
    .default('null')
    .meta({
      label: 'When a reward fails',
      description: 'If a reward function fails: leave it out, count 0, or end the run.',
      options: { null: 'leave it out', zero: 'count 0', fail: 'end the run' },
    }),
  rewardLimits: rewardLimitsSection
    .prefault({})
    .meta({ label: 'Limits of reward code', description: 'Limits on your own reward code.' }),
  python: pythonSection
    .prefault({})
    .meta({ label: 'Python', description: 'Rewards and environments in Python, which are not sandboxed.' }),
  algorithm: algorithmSection.prefault({}).describe('How the policy learns.'),
  rollout: rolloutSection
    .prefault({})
    .meta({ label: 'Rollout', description: 'How completions are generated.' }),
  reference: referenceSection
    .prefault({})
    .meta({ label: 'Reference policy', description: 'The reference policy, where one is used.' }),
  optimization: optimizationSection
    .prefault({})
    .meta({ label: 'Optimization', description: 'How parameters are updated.' }),
  steps: wholeNumber(1, maxStepCount)
    .nullable()
    .default(null)
    .meta({ description: 'Length of the run in steps.', empty: 'as many as the passes need' }),
  passes: z
    .number()
    .positive()
    .max(1_000_000)
    .default(1)
    .describe('Passes over the training rows; `steps` overrides it.'),
  evaluation: evaluationSection
    .prefault({})
    .meta({ label: 'Evaluation', description: 'Greedy decoding on the validation split.' }),
  checkpoints: checkpointsSection
    .prefault({})
    .meta({ label: 'Checkpoints', description: 'Checkpoints to keep.' }),
  diagnosis: diagnosisSection
    .prefault({})
    .meta({ label: 'Diagnosis', description: 'Checks of the running training.' }),
  shownTrajectories: wholeNumber(0, 1_000_000).default(16).meta({
    label: 'Samples shown per step',
    description: 'Trajectories kept per step for inspection: as many whole groups as fit.',
  }),
  tensorboard: z.boolean().default(false).meta({
    label: 'TensorBoard',
    description: 'Also write metrics and samples as TensorBoard event files, into the run’s folder.',
  }),
  wandb: z.boolean().default(false).meta({
    label: 'Weights & Biases',
    description: 'Also write metrics and samples for `wandb sync`, into the run’s folder; nothing is sent.',
  }),
  seed: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(42).describe('Same seed, same machine, same run.'),
  stages: z
    .array(stageSchema)
    .default([])
    .describe(
      'Consecutive trainings in one run, such as demonstrations, preferences, rewards: each states what differs from the rest of the file. It starts from the policy of the previous stage, which is also its reference.',
    ),
  device: deviceSection.prefault({}).meta({ label: 'Device', description: 'Hardware.' }),
  engine: engineSection.prefault({}).meta({ label: 'Engine', description: 'Who trains the run.' }),
})

/** Config with every default filled in. */
export type RunConfig = z.output<typeof runConfigSchema>
/** Config as written in a file or a program: everything with a default may be omitted. */
export type RunConfigInput = z.input<typeof runConfigSchema>

/** Checks a parsed config file and fills in the defaults. Errors: ConfigError, listing every problem. */
export function parseRunConfig(json: unknown): RunConfig {
  const result = runConfigSchema.safeParse(json, { reportInput: true })
  if (!result.success)
    throw new ConfigError(schemaProblems(result.error.issues), {
      text: 'Correct the file.',
      command: '`turnwise help train` describes every key.',
    })
  requireDistinctNames(result.data.rewards)
  return result.data
}

/** Tells whether something in a config scores completions: reward functions, an environment, a workflow or an agent. */
export const isRewarded = ({
  rewards,
  environment,
  rollout,
}: Pick<RunConfig, 'rewards' | 'environment' | 'rollout'>): boolean =>
  rewards.length > 0 || environment !== null || rollout.workflow !== null || rollout.agent !== null

/** Returns the config of each stage, without stages of its own; a run without stages is its only one. */
export function stagesOf(config: RunConfig): readonly [RunConfig, ...RunConfig[]] {
  const { stages, ...rest } = config
  const [first, ...others] = stages.map((stage) => mergeStage(rest, stage))
  return first === undefined ? [config] : [first, ...others]
}

/** Applies a stage's changes. Every value of both has been validated, so nothing remains to be checked. */
function mergeStage(config: Omit<RunConfig, 'stages'>, stage: z.output<typeof stageSchema>): RunConfig {
  const { name: _, algorithm, steps, passes, ...sections } = stage
  const merged = Object.entries(sections).map(
    ([section, changes]) =>
      [section, { ...(config[section as keyof typeof sections] as object), ...(changes as object) }] as const,
  )
  return {
    ...config,
    stages: [],
    ...Object.fromEntries(merged),
    ...(algorithm === undefined ? {} : { algorithm }),
    ...(steps === undefined ? {} : { steps }),
    ...(passes === undefined ? {} : { passes }),
    // A stage's own passes determine its length, whatever the rest of the file says about steps.
    ...(passes !== undefined && steps === undefined ? { steps: null } : {}),
  }
}

/** Name of a reward on charts. */
export const rewardName = (entry: {
  readonly function: string
  readonly name?: string | undefined
}): string => entry.name ?? functionName(entry.function)

/** Name of a file, or its part after #; id of a built-in. */
const functionName = (id: string): string =>
  /\.(?:[cm]?[jt]s|py)#(.+)$/.exec(id)?.[1] ?? id.replace(/^.*[\\/]/, '').replace(/\.(?:[cm]?[jt]s|py)$/, '')

function requireDistinctNames(rewards: RunConfig['rewards']): void {
  const names = rewards.map(rewardName)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice === undefined) return
  const message = `two rewards are called “${twice}”.`
  throw new ConfigError([conflict('rewards', message)], 'Give one of them a `name`.')
}
