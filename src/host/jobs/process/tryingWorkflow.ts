/** Plays one episode of a workflow with a model as it is, and reports it request by request. */
import path from 'node:path'
import type { TrialNews } from '#shared/api/workflows.ts'
import { packArray } from '#shared/packedArray.ts'
import { roundedTo } from '#shared/precision.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { generatedTokens, rewardTrajectories } from '#rl/rollout/trajectoryRewards.ts'
import type { EpisodeNews } from '#rl/rollout/openEpisode.ts'
import { encodePrompt, withSwitches, type Prompt } from '#rl/rollout/prompts.ts'
import type { Trajectory } from '#rl/rollout/trajectory.ts'
import { samplingOptions } from '#rl/training/plan.ts'
import { planRollOut, unwritten } from '#rl/training/rollOut.ts'
import { tokenArrays } from '#rl/training/samples.ts'
import { resolveEnvironment } from '#host/code/resolveEnvironment.ts'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { stopIdsOf } from '#host/models/completing.ts'
import { openModel } from '#host/models/openModel.ts'
import { loadTokenizer, type LoadedTokenizer } from '#host/models/tokenizerFolder.ts'
import type { WorkflowTrialInput } from '#host/jobs/workflowTrial.ts'
import { RunJudges } from '#host/judges/runJudges.ts'
import { resolveRewards } from '#host/code/resolveRewards.ts'
import { resolveWorkflows } from '#host/code/resolveWorkflow.ts'
import { maxRows } from '#host/training/openTraining.ts'
import type { Tools } from '#host/processes/job.ts'

/** Errors: those of code, models, rewards and environments; 'data/invalid' where the row makes no prompt. */
export async function tryWorkflow(asked: WorkflowTrialInput, { say }: Tools<TrialNews>): Promise<void> {
  const { directory, candidate, cacheDirectory, consents, isEvaluation } = asked
  const config = withCode(asked)
  await using workflows = await resolveWorkflows(config, directory)
  await using judges = new RunJudges({ folder: directory, cacheDirectory, consents })
  await using rewards = await resolveRewards(config, directory, { consents, openJudge: judges.open })
  await using world = await resolveEnvironment(config, directory, { cacheDirectory, consents })
  using model = await openModel({
    ...candidate,
    device: config.device,
    precision: config.rollout.precision,
    base: roundedTo(config.base.precision),
    maxRows,
    newTokens: config.rollout.maxNewTokens,
    cacheDirectory,
  })
  const text = loadTokenizer(model.folder.directory)
  const { tokenizer } = text
  const decode = (ids: Iterable<number>) => tokenizer.decode(ids, { skipSpecialTokens: true })
  const sampling = samplingOptions({ config, stopIds: stopIdsOf(model.folder, text) })
  const role = model.role === 'base' ? 'base' : 'actor'
  const { policy } = model
  const judging = { rewards: rewards.specs, environment: world.environment }
  const code = { ...judging, workflow: workflows.all[0] ?? null }
  const acting = { config, model: { policy, ...text }, code }
  const rollOut = planRollOut(acting, { policy, generate: { role, sampling, decode }, decode })
  const prompt = world.environment === null ? promptOf(asked, text) : unwritten(asked.row)
  const time = isEvaluation
    ? ({ source: 'evaluation', step: 0 } as const)
    : ({ source: 'training', step: 1 } as const)
  const onNews = (news: EpisodeNews) => void say(told(news, tokenizer))
  const played = await rollOut([prompt], { ...time, groupSize: 1, onNews })
  const options = { rewards: rewards.specs, onFailure: config.rewardFailures, step: time.step, tokenizer }
  await say(endOf(await rewardTrajectories(played, options), tokenizer))
}

/** Writes the workflow to a file, as a run has it. */
function withCode({ config, code, settings, directory }: WorkflowTrialInput): RunConfig {
  const file = path.join(directory, `workflow.${code.language}`)
  writeFileAtomic(file, code.code)
  return { ...config, rollout: { ...config.rollout, workflow: { function: file, settings } } }
}

function promptOf({ row, config }: WorkflowTrialInput, { tokenizer, chatTemplate }: LoadedTokenizer): Prompt {
  const { prompt: form, tools, templateVariables } = config.data
  const encoder = { form, tools, tokenizer, chatTemplate: withSwitches(chatTemplate, templateVariables) }
  return encodePrompt(row.columns, row.row, encoder)
}

type Decoding = Pick<Tokenizer, 'decode'>

const tokensOf = (ids: ArrayLike<number>, tokenizer: Decoding) => ({
  ids: packArray(Int32Array.from(ids)),
  texts: generatedTokens({ ids, logprobs: null, turns: null }, tokenizer).map(({ text }) => text),
})

function told(news: EpisodeNews, tokenizer: Decoding): TrialNews {
  switch (news.type) {
    case 'request':
      return requestOf(news, tokenizer)
    case 'prompt': {
      const { type, number, ids, sampling } = news
      return { type, number, tokens: tokensOf(ids, tokenizer), sampling: { ...sampling } }
    }
    case 'completions': {
      const completions = news.completions.map(({ text, ids, logprobs, finishReason }) => ({
        text,
        finishReason,
        tokens: tokensOf(ids, tokenizer),
        logprobs: packArray(Float32Array.from(logprobs)),
      }))
      return { ...news, completions }
    }
    case 'answer':
      return answerOf(news, tokenizer)
    case 'printed':
      return { type: 'printed', lines: [...news.lines] }
    case 'failed':
      return { type: 'failed', message: news.message, line: news.line ?? null, column: news.column ?? null }
  }
}

function requestOf(
  { type, number, round, request }: EpisodeNews & { type: 'request' },
  tokenizer: Decoding,
): TrialNews {
  const { kind, ...asked } = request
  const { said, ids } = withoutIds(asked)
  const tokens = ids === null || kind === 'generate' ? null : tokensOf(ids, tokenizer)
  return { type, number, round, kind, said, tokens }
}

function answerOf({ number, answer }: EpisodeNews & { type: 'answer' }, tokenizer: Decoding): TrialNews {
  if (isIds(answer)) return { type: 'answer', number, answer: null, tokens: tokensOf(answer, tokenizer) }
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer))
    return { type: 'answer', number, answer, tokens: null }
  const { said, ids } = withoutIds(answer)
  return { type: 'answer', number, answer: said, tokens: ids && tokensOf(ids, tokenizer) }
}

const isIds = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'number')

function withoutIds(value: object): {
  readonly said: Record<string, unknown>
  readonly ids: readonly number[] | null
} {
  const { ids, ...said } = value as { readonly ids?: unknown }
  return { said, ids: isIds(ids) ? ids : null }
}

function endOf(trajectories: readonly Trajectory[], tokenizer: Decoding): TrialNews {
  const [first] = trajectories
  const { end, failure, rounds, requests } = first?.workflow ?? never()
  return {
    type: 'end',
    end,
    failure,
    rounds,
    requests,
    trajectories: end === 'returned' ? trajectories.map((each) => shown(each, tokenizer)) : [],
  }
}

function never(): never {
  throw new Error('Expected the outcome of a workflow.')
}

function shown(trajectory: Trajectory, tokenizer: Decoding) {
  const { reward, turnRewards, baselineReward: baseline, subgroup: group = 0, truncated } = trajectory
  const { texts } = tokensOf(trajectory.ids, tokenizer)
  const arrays = tokenArrays(trajectory)
  return {
    arrays: { ...arrays, texts, rewards: arrays.rewards ?? everywhere(trajectory) },
    reward: reward.total,
    parts: { ...reward.parts },
    turnRewards: [...turnRewards],
    baseline,
    group,
    truncated,
    logged: { ...reward.logged },
    metrics: { ...reward.metrics },
    failures: reward.failures.map(({ name, message }) => `${name}: ${message}`),
  }
}

/** Returns one reward for all actions as text. */
const everywhere = ({ actionMask, reward: { total } }: Trajectory): string | null =>
  total === null ? null : packArray(Float32Array.from(actionMask, (isAction) => isAction * total))
