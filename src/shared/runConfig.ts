/**
 * The file of `turnwise train CONFIG.json`: what is learned, from which data, towards which reward, and how. The
 * window writes the same file. Everything not said has the default given here; keys that are not known are refused.
 */
import { z } from 'zod'
import { describeIssue } from './configProblems.ts'
import {
  adapterSection,
  algorithmSection,
  baseSection,
  checkpointsSection,
  dataSection,
  deviceSection,
  diagnosisSection,
  evaluationSection,
  mostSteps,
  mostTokens,
  optimizationSection,
  path,
  referenceSection,
  rewardLimitsSection,
  rewardSection,
  rolloutSection,
  wholeNumber,
} from './configSections.ts'
import { mergeStage, stageSchema } from './configStages.ts'
import { environmentSchema } from './environmentConfig.ts'
import { AppError } from './errors.ts'

export const runConfigSchema = z.strictObject({
  name: z.string().min(1).optional().describe('Shown in lists.'),
  model: path.describe('Folder of a Hugging Face model.'),
  contextLength: wholeNumber(2, mostTokens)
    .nullable()
    .default(null)
    .describe(
      'Longest prompt plus completion; null: as far as the model’s positions reach without being stretched anew. Models with dynamic or LongRoPE scaling rotate by it.',
    ),
  base: baseSection.prefault({}).describe('The parameters that stay as they are.'),
  adapter: adapterSection.prefault({}).describe('The parameters that are trained.'),
  data: dataSection,
  rewards: z
    .array(rewardSection)
    .default([])
    .describe(
      'Reward functions; their weighted sum is the reward. Needed where an algorithm learns from rewards without an environment.',
    ),
  environment: environmentSchema
    .nullable()
    .default(null)
    .describe('A world of one or several turns that gives rewards; null: completions of prompts.'),
  rewardFailures: z
    .enum(['null', 'zero', 'fail'])
    .default('null')
    .describe('When a reward function fails: leave it out, count 0, or end the run.'),
  rewardLimits: rewardLimitsSection.prefault({}).describe('What reward code of your own may use.'),
  algorithm: algorithmSection.prefault({}).describe('How the policy learns.'),
  rollout: rolloutSection.prefault({}).describe('How completions are generated.'),
  reference: referenceSection.prefault({}).describe('What the policy is kept close to, where it is.'),
  optimization: optimizationSection.prefault({}).describe('How parameters are updated.'),
  steps: wholeNumber(1, mostSteps)
    .nullable()
    .default(null)
    .describe('Length of the run in steps; null: as many as `passes` need.'),
  passes: z
    .number()
    .positive()
    .max(1_000_000)
    .default(1)
    .describe('Passes over the training rows when `steps` is null.'),
  evaluation: evaluationSection.prefault({}).describe('Greedy decoding on the validation split.'),
  checkpoints: checkpointsSection.prefault({}).describe('What is kept on the way.'),
  diagnosis: diagnosisSection.prefault({}).describe('What is said of the run while it goes on.'),
  shownTrajectories: wholeNumber(0, 1_000_000)
    .default(16)
    .describe('Trajectories kept of every step, to look at: as many whole groups as fit.'),
  seed: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(42).describe('Same seed, same machine, same run.'),
  stages: z
    .array(stageSchema)
    .default([])
    .describe(
      'Trainings that follow each other in one run, such as demonstrations, preferences, rewards: what each of them does differently from the rest of the file. The policy of a finished stage is start and reference of the next.',
    ),
  device: deviceSection.prefault({}).describe('Hardware.'),
})

export type RunConfig = z.output<typeof runConfigSchema>

/** Checks a parsed config file and fills in the defaults. Errors: `config/invalid`, listing every problem. */
export function parseRunConfig(json: unknown): RunConfig {
  const config = parsed(json, '')
  requireDistinctNames(config.rewards)
  stagesOf(config)
  return config
}

function parsed(json: unknown, where: string): RunConfig {
  const result = runConfigSchema.safeParse(json, { reportInput: true })
  if (result.success) return result.data
  const problems = result.error.issues.flatMap((issue) => describeIssue(issue))
  const noun = problems.length === 1 ? 'a problem' : `${problems.length} problems`
  throw new AppError(
    'config/invalid',
    `The run config has ${noun}${where}: ${problems.join(' ')}`,
    'Correct the file; `turnwise help train` describes every key.',
  )
}

/** The config of each stage, which has none itself; a run without stages is its own only one. Errors: as `parseRunConfig`. */
export function stagesOf(config: RunConfig): readonly [RunConfig, ...RunConfig[]] {
  const { stages, ...rest } = config
  const [first, ...others] = stages.map((stage, i) => parsed(mergeStage(rest, stage), ` in stages[${i}]`))
  return first === undefined ? [config] : [first, ...others]
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
    `rewards: two rewards are called “${twice}”.`,
    'Give one of them a `name`.',
  )
}
