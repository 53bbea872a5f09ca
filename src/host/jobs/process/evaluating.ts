/**
 * Evaluates: rows are answered, or episodes played, by a model as it is or by a workflow, and judged as a run would
 * judge them.
 */
import { AppError, invalidData } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import type { PhaseProgress } from '#shared/events.ts'
import { roundedTo } from '#shared/precision.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { GenerateOptions } from '#engine/policy.ts'
import { encodePrompt, withSwitches, type Prompt, type PromptRow } from '#rl/rollout/prompts.ts'
import type { Trajectory } from '#rl/rollout/trajectory.ts'
import type { RewardSpec } from '#rl/rewards.ts'
import type { LiveWorkflow, Workflow } from '#rl/rollout/workflow.ts'
import { judgePrompts } from '#rl/training/judge.ts'
import { samplingOptions } from '#rl/training/plan.ts'
import { planRollOut, unwritten } from '#rl/training/rollOut.ts'
import { resolveEnvironment, type ResolvedEnvironment } from '#host/code/resolveEnvironment.ts'
import { stopIdsOf } from '#host/models/completing.ts'
import { openModel, type OpenedModel } from '#host/models/openModel.ts'
import { loadTokenizer, type LoadedTokenizer } from '#host/models/tokenizerFolder.ts'
import type { AnsweredRow, EvaluationInput, EvaluationNews } from '#host/jobs/evaluationJob.ts'
import { RunJudges } from '#host/judges/runJudges.ts'
import { resolveRewards } from '#host/code/resolveRewards.ts'
import { resolveWorkflows } from '#host/code/resolveWorkflow.ts'
import { maxRows } from '#host/training/openTraining.ts'
import type { Tools } from '#host/processes/job.ts'

/** Number of episodes played together: they are known when the last of them is over. */
const episodesAtOnce = 256

/** Errors: as of `judgeRows`, and those of models. */
export async function evaluate(asked: EvaluationInput, { say }: Tools<EvaluationNews>): Promise<void> {
  const { config, cacheDirectory, candidate, rows, samples, places } = asked
  const { workflow } = config.rollout
  using model = await openModel({
    ...candidate,
    device: config.device,
    precision: config.rollout.precision,
    base: roundedTo(config.base.precision),
    // A workflow may ask for many completions in one episode.
    maxRows: workflow === null ? Math.min(rows.length * samples, maxRows) : maxRows,
    newTokens: config.rollout.maxNewTokens,
    cacheDirectory,
  })
  await judgeRows(asked, model, {
    onProblem: (row, problem) => say({ row, problem }),
    onProgress: (progress) => void say({ progress }),
    onGroup: (group) => say(answeredRow(group, places)),
  })
}

/** Rows, and what judges the answers to them. */
export type JudgedRows = Omit<EvaluationInput, 'candidate'>

export interface JudgingListener {
  /** A row that makes no prompt, by its place. */
  readonly onProblem: (place: number, problem: string) => Promise<void>
  readonly onProgress?: (done: PhaseProgress) => void
  /** The trajectories of a row, as soon as all of them are judged. */
  readonly onGroup: (group: readonly Trajectory[]) => Promise<void>
}

/** Errors: those of rewards and environments; 'data/invalid' where no row makes a prompt. */
export async function judgeRows(
  asked: JudgedRows,
  model: OpenedModel,
  { onProblem, onProgress = () => undefined, onGroup }: JudgingListener,
): Promise<void> {
  const { config, directory, cacheDirectory, consents, samples, greedy } = asked
  await using judges = new RunJudges({ folder: directory, cacheDirectory, consents })
  await using rewards = await resolveRewards(config, directory, { consents, openJudge: judges.open })
  await using world = await resolveEnvironment(config, directory, { cacheDirectory, consents })
  await using workflows = await resolveWorkflows(config, directory)
  const workflow = workflows.all[0] ?? null
  const text = loadTokenizer(model.folder.directory)
  const prompts = await promptsOf(asked, { model, text, world }, onProblem)
  const isPlayed = workflow !== null || world.environment !== null
  await judgePrompts(prompts, {
    rollOut: rollOutOf(config, { model, text, world, workflow, rewards: rewards.specs }),
    samples,
    isGreedy: greedy,
    promptsAtOnce: isPlayed ? Math.ceil(episodesAtOnce / samples) : prompts.length,
    judging: { rewards: rewards.specs, onFailure: config.rewardFailures, tokenizer: text.tokenizer },
    onProgress,
    onGroup,
  })
}

interface Opened {
  readonly model: OpenedModel
  readonly text: LoadedTokenizer
  readonly world: ResolvedEnvironment
}

interface Played extends Opened {
  readonly workflow: Workflow | LiveWorkflow | null
  /** A workflow may ask them. */
  readonly rewards: readonly RewardSpec[]
}

function rollOutOf(config: RunConfig, { model, text, world, workflow, rewards }: Played) {
  const { policy, folder } = model
  const decode = (ids: Iterable<number>) => text.tokenizer.decode(ids, { skipSpecialTokens: true })
  const stopIds = stopIdsOf(folder, text)
  const role = model.role === 'base' ? 'base' : 'actor'
  const generate: GenerateOptions = { role, sampling: samplingOptions({ config, stopIds }), decode }
  const code = { workflow, rewards, environment: world.environment }
  const acting = { config, model: { policy, ...text }, code }
  return planRollOut(acting, { policy, generate, decode })
}

/** Returns the prompts; a row that makes no prompt is reported, and costs no other one. */
async function promptsOf(
  asked: JudgedRows,
  opened: Opened,
  onProblem: JudgingListener['onProblem'],
): Promise<Prompt[]> {
  const { rows, places } = asked
  if (opened.world.environment !== null) return rows.map(unwritten)
  const made = rows.map((row) => promptOrProblem(row, asked, opened))
  const problems = made.filter((each) => 'error' in each)
  for (const { row, error } of problems) await onProblem(places[row] ?? row, error.message)
  const [first] = problems
  if (first === undefined || problems.length < rows.length) return made.filter((each) => 'ids' in each)
  const none =
    rows.length === 1 ? 'The only row gives no prompt' : `None of the ${rows.length} rows gives a prompt`
  throw new AppError(first.error.code, `${none}. ${first.error.message}`, first.error.hint)
}

function promptOrProblem(
  { row, columns }: PromptRow,
  { config, places }: Pick<JudgedRows, 'config' | 'places'>,
  { model, text }: Opened,
): Prompt | { readonly row: number; readonly error: AppError } {
  const { prompt: form, tools, templateVariables, maxPromptTokens } = config.data
  const chatTemplate = withSwitches(text.chatTemplate, templateVariables)
  const room = model.policy.contextLength - config.rollout.maxNewTokens
  const encoder = { form, tools, tokenizer: text.tokenizer, chatTemplate, places }
  try {
    return short(encodePrompt(columns, row, encoder), Math.min(maxPromptTokens ?? room, room), places)
  } catch (error) {
    if (error instanceof AppError) return { row, error }
    throw error
  }
}

function short(prompt: Prompt, limit: number, places: readonly number[]): Prompt {
  if (prompt.ids.length <= limit) return prompt
  throw invalidData(
    `The prompt of row ${(places[prompt.row] ?? prompt.row) + 1} has ${plural(prompt.ids.length, 'token')}, and ${Math.max(0, limit)} are left beside a completion.`,
    'Allow fewer new tokens, or shorten the prompts.',
  )
}

function answeredRow(group: readonly Trajectory[], places: readonly number[]): AnsweredRow {
  const [first] = group
  if (first === undefined) throw new Error('Expected a group with trajectories.')
  return {
    row: places[first.prompt.row] ?? first.prompt.row,
    prompt: first.prompt.text,
    samples: group.map(({ completion, completionTokens, truncated, episode, workflow, reward }) => ({
      completion,
      reward: reward.total,
      parts: reward.parts,
      tokens: completionTokens,
      truncated,
      turns: episode?.turns ?? workflow?.turns ?? null,
      ...(reward.metrics === undefined ? {} : { metrics: reward.metrics }),
      ...(reward.logged === undefined ? {} : { logged: reward.logged }),
      ...(reward.failures.length === 0
        ? {}
        : { failures: reward.failures.map(({ name, message }) => `${name}: ${message}`) }),
    })),
  }
}
