/** Produces the trajectories of a run: completions of prompts, episodes in an environment, or episodes of a workflow. */
import { AppError, invalidConfig } from '#shared/errors.ts'
import type { PhaseProgress } from '#shared/events.ts'
import { groupsOf } from '../algorithms/terms/groups.ts'
import { type Environment, withFormatBonus } from '../rollout/environment.ts'
import type { Policy } from '#engine/policy.ts'
import type { ChatTemplate } from '#engine/text/chatTemplate.ts'
import { type EpisodeLimits, type EpisodeOptions, playEpisodes } from '../rollout/episodes.ts'
import {
  type DataRow,
  type EncodedPrompts,
  encodePrompts,
  type Prompt,
  type PromptRow,
  withSwitches,
} from '../rollout/prompts.ts'
import type { EpisodeNews } from '../rollout/openEpisode.ts'
import { generateTrajectories, type RolloutOptions } from '../rollout/rollout.ts'
import type { UnscoredTrajectory } from '../rollout/trajectory.ts'
import { createTurnText, type TurnText } from '../rollout/turnText.ts'
import { playWorkflow } from '../rollout/workflows.ts'
import type { WorkflowToolOptions } from '../rollout/workflowTools.ts'
import { orOther, readerOf } from './conflicts.ts'
import type { PlanningParts, RunCode, RunRows, TrainDependencies, TrainedModel } from './dependencies.ts'

export interface RollOutRequest {
  /** Trajectories per prompt. */
  readonly groupSize: number
  readonly step: number
  /** Steps that the policy has learned from; absent: all before this one. */
  readonly version?: number
  /** Evaluation decodes greedily, and its episodes begin the same way at every step. */
  readonly source: 'training' | 'evaluation'
  /** Decodes greedily in training too. */
  readonly isGreedy?: boolean
  /** Row → how often it was already rolled out in this step; such a row gets other samples. */
  readonly earlier?: ReadonlyMap<number, number>
  /** Called with the number of trajectories that are done. */
  readonly onProgress?: (done: PhaseProgress) => void
  /** Called with the trajectories of each prompt as they are done; with those of episodes when all are over. */
  readonly onGroup?: (group: readonly UnscoredTrajectory[]) => void
  /** Called with the news of the one episode of a workflow. */
  readonly onNews?: (news: EpisodeNews) => void
}

/** Returns groups in order, samples in order. */
export type RollOut = (prompts: readonly Prompt[], request: RollOutRequest) => Promise<UnscoredTrajectory[]>

/** Parts of a run that rollouts need; `code` has an algorithm only if a policy learns from them. */
export interface ActingParts extends Pick<TrainDependencies, 'config'> {
  readonly model: Pick<TrainedModel, 'tokenizer' | 'chatTemplate' | 'teacher'> & {
    readonly policy: ActingPolicy
  }
  readonly code: Partial<RunCode>
}

/** A policy as rollouts see it. */
export type ActingPolicy = Pick<Policy, 'generate' | 'vocabSize' | 'contextLength'>

export function planRollOut(dependencies: ActingParts, options: RolloutOptions): RollOut {
  const { seed } = dependencies.config
  const { workflow = null } = dependencies.code
  const { policy } = dependencies.model
  const episodes = episodeOptions(dependencies, options)
  const tools = workflow && workflowTools(dependencies)
  return (prompts, request) => {
    const isGreedy = request.isGreedy ?? request.source === 'evaluation'
    const generate = { ...options.generate, sampling: { ...options.generate.sampling, greedy: isGreedy } }
    const batch = { ...request, prompts, seed }
    if (workflow && tools) {
      const own = { ...options, policy, generate, workflow, tools: tools(request.step) }
      return telling(request, playWorkflow(batch, own))
    }
    return episodes === null
      ? generateTrajectories(batch, { ...options, generate })
      : telling(request, playEpisodes({ ...batch, rows: prompts }, { ...episodes, generate }))
  }
}

async function telling(
  { onGroup }: RollOutRequest,
  playing: Promise<UnscoredTrajectory[]>,
): Promise<UnscoredTrajectory[]> {
  const played = await playing
  for (const group of groupsOf(played)) onGroup?.(group)
  return played
}

/** An environment writes the prompts of its episodes when they begin. */
export function promptsOf(dependencies: PlanningParts, rows: readonly DataRow[]): EncodedPrompts {
  const { config, code, data, model } = dependencies
  const { policy, tokenizer } = model
  const room = policy.contextLength - config.rollout.maxNewTokens
  if (room < 1) {
    throw invalidConfig(
      `rollout.maxNewTokens is ${config.rollout.maxNewTokens}, but ${readerOf(model)} reads only ${policy.contextLength} tokens.`,
      `Lower rollout.maxNewTokens so that a prompt fits too.${orOther(model)}`,
    )
  }
  if (code.environment)
    return { prompts: rows.map((columns, row) => unwritten({ row, columns })), tooLong: [] }
  const limit = Math.min(config.data.maxPromptTokens ?? room, room)
  const { prompt: form, tools, templateVariables } = config.data
  const chatTemplate = withSwitches(model.chatTemplate, templateVariables)
  const places = placesOf(data, rows)
  return encodePrompts(rows, { form, tools, tokenizer, chatTemplate, places }, limit)
}

export const unwritten = (row: PromptRow): Prompt => ({ ...row, text: '', ids: new Int32Array(0) })

/** Index of each row in its data set, by which errors name it. */
export const placesOf = (
  { heldOut, places }: RunRows,
  rows: readonly DataRow[],
): readonly number[] | undefined => (rows === heldOut ? places?.heldOut : places?.train)

/** Returns null without an environment. */
function episodeOptions(dependencies: ActingParts, options: RolloutOptions): EpisodeOptions | null {
  const {
    config,
    model: { policy },
    code: { environment, algorithm },
  } = dependencies
  if (!environment || config.environment === null) return null
  return {
    ...options,
    environment: rewarded(environment, config.environment),
    text: turnTextOf(dependencies).text,
    limits: episodeLimits(dependencies, config.environment, environment),
    criticTokens: algorithm?.needs.values === true ? policy.contextLength : null,
  }
}

type EnvironmentConfig = NonNullable<TrainDependencies['config']['environment']>

const rewarded = (environment: Environment, { formatBonus }: EnvironmentConfig): Environment =>
  formatBonus === 0 ? environment : withFormatBonus(environment, formatBonus)

function turnTextOf({ config, model: { tokenizer, ...model } }: ActingParts): {
  readonly chatTemplate: Pick<ChatTemplate, 'render'> | null
  readonly text: TurnText
} {
  const { applyChatTemplate = true, strictBoundary = true } = config.environment ?? {}
  const chatTemplate = withSwitches(model.chatTemplate, config.data.templateVariables)
  return {
    chatTemplate,
    text: createTurnText({ tokenizer, chatTemplate, applyChatTemplate, strictBoundary }),
  }
}

/** `limit`: of the run; null: as the environment suggests, or the row says. */
const withTurns = (environment: Environment, limit: number | null): Environment => ({
  ...environment,
  maxTurns: limit ?? environment.maxTurns,
  turnsOf: (row) => Math.min(limit ?? Infinity, environment.turnsOf?.(row) ?? environment.maxTurns),
  reset: (starts) => environment.reset(starts),
  step: (actions) => environment.step(actions),
})

function workflowTools(dependencies: ActingParts): (step: number) => WorkflowToolOptions {
  const { config, code, model } = dependencies
  const { algorithm, environment = null, rewards = [] } = code
  const own = config.environment
  const world = environment && own && rewarded(environment, own)
  const shared = {
    environment: world && withTurns(world, own.maxTurns),
    hasCritic: algorithm?.needs.values === true,
    tokenizer: model.tokenizer,
    ...turnTextOf(dependencies),
  }
  return (step) => ({ ...shared, rewards: { rewards, onFailure: config.rewardFailures, step } })
}

function episodeLimits(
  { config: { rollout }, model: { policy, teacher } }: ActingParts,
  { maxTurns, slidingWindow, contextLength: wanted }: EnvironmentConfig,
  { maxTurns: suggested, turnsOf }: Environment,
): EpisodeLimits {
  const contextLength = Math.min(wanted ?? policy.contextLength, policy.contextLength)
  const { maxNewTokens } = rollout
  const maxPromptTokens = promptBudget(contextLength, maxNewTokens)
  if (maxPromptTokens === 0) {
    throw invalidConfig(
      `environment.contextLength is ${contextLength}, and rollout.maxNewTokens ${maxNewTokens} leaves no room for a prompt.`,
      'Raise the first or lower the second.',
    )
  }
  return {
    maxTurns: maxTurns ?? (turnsOf === undefined ? suggested : Infinity),
    maxPromptTokens,
    slidingWindow,
    maxTranscriptTokens: policy.contextLength - maxNewTokens,
    contextLength,
    ...(contextLength === policy.contextLength && { teacher }),
    maxNewTokens,
  }
}

/** Maximum turns of an episode of the run. Errors: AppError 'config/invalid' naming the row with an invalid setting. */
export function maxTurnsOf(dependencies: PlanningParts): number {
  const {
    config,
    data,
    code: { environment },
  } = dependencies
  if (!environment) return 1
  const limit = config.environment?.maxTurns ?? Infinity
  if (environment.turnsOf === undefined) return Math.min(limit, environment.maxTurns)
  const turns = [data.train, data.heldOut].flatMap((rows) => {
    const places = placesOf(data, rows)
    return rows.map((row, i) => turnsAt(environment, row, (places?.[i] ?? i) + 1))
  })
  return Math.min(limit, Math.max(...turns))
}

/** `number`: that of the row in its data set, from 1. */
function turnsAt(environment: Environment, row: DataRow, number: number): number {
  try {
    return environment.turnsOf?.(row) ?? environment.maxTurns
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new AppError(error.code, `Row ${number}: ${error.message}`, error.hint, error)
  }
}

/** The longest prompt, in tokens, that leaves room for the completion; for one token if its length is not limited. */
export function promptBudget(contextLength: number, maxNewTokens: number | null): number {
  const reserved = Math.max(1, Math.min(maxNewTokens ?? 1, contextLength))
  return Math.max(0, contextLength - reserved)
}
