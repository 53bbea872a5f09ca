/**
 * Rewards: what trajectories are worth. Several named functions score each completion; their weighted sum is the reward the
 * algorithm sees, every part stays visible under its own name, and an environment's rewards come in addition. The sum is laid on
 * the turns and tokens that earned it. A dry run of a reward uses the same sum. A score comes from the sandbox by way of
 * host/sandbox/answers.ts; what a trajectory has earned goes on to algorithms/terms/groupAdvantages.ts.
 *
 * Where a function does not apply, its part is left out of the sum. A completion no function applies to has no reward at all
 * (total `null`) and takes no part in learning (the contract of TRL's reward functions).
 */
import { createStreamingDecoder } from '#engine/text/streamingDecode.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { AppError } from '#shared/errors.ts'
import { partsApart } from '../algorithms/terms/groups.ts'
import { poolByTurns, turnOfTokens } from '../algorithms/terms/turns.ts'
import {
  faultOf,
  type GeneratedToken,
  type RewardAnswer,
  type RewardFault,
  rewardFault,
  type RewardInput,
  type RewardSpec,
  type Valued,
} from '../rewards.ts'
import type {
  EpisodeOutcome,
  PlacedReward,
  Reward,
  RewardFailure,
  Trajectory,
  UnscoredTrajectory,
  WorkflowOutcome,
} from './trajectory.ts'

/** Treatment of a part whose function failed: left out, counted as 0, or the run ends. */
export type RewardFailurePolicy = 'null' | 'zero' | 'fail'

export interface RewardOptions {
  readonly rewards: readonly RewardSpec[]
  readonly onFailure: RewardFailurePolicy
  readonly step: number
  /** Tokenizer for functions that want to see tokens. */
  readonly tokenizer: Pick<Tokenizer, 'decode'>
}

/**
 * Adds the rewards: those of the environment turn by turn, and those of the reward functions, which judge the last thing
 * the policy said and count for its last turn, or for the tokens and turns that they name. A trajectory without any
 * reward teaches nothing.
 */
export async function rewardTrajectories(
  trajectories: readonly UnscoredTrajectory[],
  { rewards, onFailure, step, tokenizer }: RewardOptions,
): Promise<Trajectory[]> {
  const wantTokens = rewards.some((spec) => spec.function.needsTokens === true)
  const open = trajectories.filter(({ workflow }) => isJudged(workflow))
  const inputs = open.map((trajectory): RewardInput => ({
    prompt: trajectory.prompt.text,
    completion: trajectory.episode?.lastAction ?? trajectory.completion,
    row: trajectory.prompt.columns,
    step,
    turnLengths: turnLengthsOf(trajectory),
    ...(wantTokens ? { tokens: tokensOf(trajectory, tokenizer) } : {}),
  }))
  const scored = await scoreRewards(rewards, inputs, onFailure)
  const scores = new Map(open.map((trajectory, i) => [trajectory, scored[i]!]))
  const weights = new Map(rewards.map(({ name, weight }) => [name, weight]))
  return trajectories.map((trajectory) => {
    const { episode, workflow } = trajectory
    const judged = scores.get(trajectory) ?? unjudged
    const played = episode === null ? judged : withEnvironment(episode, judged, onFailure)
    const reward = workflow ? withWorkflow(workflow, judged, onFailure) : played
    const placed = laidOut(trajectory, reward, workflow ? reward : judged)
    return { ...trajectory, reward, ...partsApart(reward.parts, weights), ...placed }
  })
}

const unjudged: Reward = { parts: {}, total: null, failures: [] }

/** Returns true if the reward functions are called; a workflow may have said what its trajectory is worth. */
const isJudged = (workflow: WorkflowOutcome | undefined): boolean =>
  workflow === undefined || (workflow.end === 'returned' && workflow.reward === null)

/** Returns the reward that a workflow gave, or else that of the functions. Errors: `workflow/failed`. */
function withWorkflow(
  { end, failure, reward: own, turns, columns, metrics }: WorkflowOutcome,
  judged: Reward,
  onFailure: RewardFailurePolicy,
): Reward {
  if (failure !== null && onFailure === 'fail') throw workflowFailed(failure)
  const isZero = end === 'failed' && onFailure === 'zero' && turns > 0
  const given = own ?? (isZero ? { ...judged, total: 0 } : judged)
  return {
    ...given,
    failures: failure === null ? given.failures : [{ name: 'workflow', message: failure }],
    ...notEmpty('logged', { ...columns, ...given.logged }),
    ...notEmpty('metrics', { ...metrics, ...given.metrics }),
  }
}

const workflowFailed = (failure: string): AppError =>
  new AppError(
    'workflow/failed',
    `The workflow failed: ${failure}`,
    'Correct the workflow, or let rewardFailures leave such episodes out.',
  )

/** Number of turns of the policy. */
const turnsOf = ({ episode, workflow }: Pick<UnscoredTrajectory, 'episode' | 'workflow'>): number =>
  episode?.turns ?? workflow?.turns ?? 1

/** Tokens of each turn of the policy. */
function turnLengthsOf(trajectory: UnscoredTrajectory): number[] {
  const lengths = new Array<number>(turnsOf(trajectory)).fill(0)
  for (const turn of turnOfTokens(trajectory)) if (turn >= 0) lengths[turn]! += 1
  return lengths
}

/** Returns everything that the policy generated, without what stands between its turns. */
function tokensOf(
  { ids, actionMask, turnIds, samplerLogprobs }: UnscoredTrajectory,
  tokenizer: Pick<Tokenizer, 'decode'>,
): GeneratedToken[] {
  const isAction = (_: unknown, t: number) => actionMask[t] === 1
  const turns = turnOfTokens({ actionMask, turnIds }).filter(isAction)
  return generatedTokens(
    { ids: ids.subarray(1).filter(isAction), logprobs: samplerLogprobs, turns },
    tokenizer,
  )
}

interface Generated {
  readonly ids: ArrayLike<number>
  readonly logprobs: ArrayLike<number> | null
  /** Turn of each token; null: all are of one turn. */
  readonly turns: ArrayLike<number> | null
}

export function generatedTokens(
  { ids, logprobs, turns }: Generated,
  tokenizer: Pick<Tokenizer, 'decode'>,
): GeneratedToken[] {
  const decoder = createStreamingDecoder(tokenizer, { skipSpecialTokens: false })
  const turnAt = (k: number) => (k < ids.length ? (turns?.[k] ?? 0) : null)
  return Array.from(ids, (id, k) => {
    const text = decoder.push(id)
    const turn = turnAt(k)!
    const isLast = turnAt(k + 1) !== turn
    return { id, text: isLast ? text + decoder.finish() : text, logprob: logprobs?.[k] ?? null, turn }
  })
}

/** Name under which an environment's own reward is charted. */
const environmentPart = 'environment'

function withEnvironment(episode: EpisodeOutcome, judged: Reward, onFailure: RewardFailurePolicy): Reward {
  const own = environmentReward(episode, onFailure)
  const isLeftOut = episode.turns === 0 || (episode.failure !== null && own === null)
  const message = episode.failure ?? openingFault(episode)
  const failures = message === null ? [] : [{ name: environmentPart, message }]
  return {
    parts: { [environmentPart]: own, ...judged.parts },
    total: isLeftOut ? null : sumOf([own, judged.total]),
    failures: [...failures, ...judged.failures],
    logged: { ...episode.columns, ...judged.logged },
    metrics: { ...episode.metrics, ...judged.metrics },
  }
}

/** Reason why an episode never began, as a sentence: this is no fault of the environment's, but it must be reported. */
function openingFault({ turns, overflow }: EpisodeOutcome): string | null {
  if (turns > 0 || overflow === null) return null
  const { fullPromptLength, maxPromptTokens, contextLength, teacher, maxNewTokens } = overflow
  const context = teacher === undefined ? 'the context' : `the teacher ${teacher}’s context`
  const reserved =
    maxNewTokens === null
      ? ''
      : `, since ${context} of ${contextLength} must also hold ${maxNewTokens} new tokens`
  return `The first observation has ${fullPromptLength} tokens, but at most ${maxPromptTokens} fit${reserved}.`
}

/**
 * Lays out what each turn earned in all, and which part of it stands on single tokens. `judged`: the functions' share
 * of `reward`.
 */
function laidOut(
  trajectory: UnscoredTrajectory,
  { total }: Reward,
  judged: Reward,
): Pick<Trajectory, 'turnRewards' | 'tokenRewards'> {
  if (total === null) return { turnRewards: [], tokenRewards: null }
  const { last, perTurn, perToken }: PlacedReward = judged.placed ?? { ...whole, last: judged.total }
  const tokenRewards = perToken === null ? null : onActions(trajectory.actionMask, perToken)
  const turns = turnsOf(trajectory)
  const own = trajectory.episode?.turnRewards ?? Array.from({ length: turns }, () => null)
  const lastTurn = turns - 1
  const onTokens = tokenRewards && poolByTurns(tokenRewards, turnOfTokens(trajectory), own.length, 'sum')
  const turnRewards = own.map(
    (value, k) =>
      sumOf([value, k === lastTurn ? last : null, perTurn?.[k] ?? null, onTokens?.[k] ?? null]) ?? 0,
  )
  return { turnRewards, tokenRewards }
}

const whole = { perTurn: null, perToken: null }

/** [T] values of the generated tokens where they are predicted, 0 elsewhere. */
function onActions(actionMask: Uint8Array, values: readonly number[]): Float64Array {
  let next = 0
  return Float64Array.from(actionMask, (isAction) => (isAction === 1 ? values[next++]! : 0))
}

/** null where the environment gave none, or failed and failures count for nothing. Errors: `environment/failed`. */
function environmentReward(
  { failure, total }: EpisodeOutcome,
  onFailure: RewardFailurePolicy,
): number | null {
  if (failure === null) return total
  if (onFailure === 'fail') throw environmentFailed(failure)
  return onFailure === 'zero' ? (total ?? 0) : null
}

/** Returns the sum; null where there is nothing to add. */
export function sumOf(values: readonly (number | null)[]): number | null {
  const given = values.filter((value) => value !== null)
  return given.length === 0 ? null : given.reduce((sum, value) => sum + value, 0)
}

const environmentFailed = (failure: string): AppError =>
  new AppError(
    'environment/failed',
    `The environment failed: ${failure}`,
    'Correct the environment, or let rewardFailures leave such episodes out.',
  )

/**
 * Scores a batch, in order. Throws `reward/failed` under the policy `fail`, and what keeps a function from working at
 * all (an AppError of its own).
 */
export async function scoreRewards(
  specs: readonly RewardSpec[],
  inputs: readonly RewardInput[],
  onFailure: RewardFailurePolicy,
): Promise<Reward[]> {
  const answers = await Promise.all(specs.map((spec) => askFunction(spec, inputs)))
  return inputs.map((_, i) =>
    combinedReward(
      specs.map((spec, k) => ({ spec, answer: answers[k]?.[i] })),
      onFailure,
      inputs[i]!.turnLengths,
    ),
  )
}

export interface Answered {
  readonly spec: Pick<RewardSpec, 'name' | 'weight'>
  readonly answer: RewardAnswer | undefined
}

/** One completion's reward from the answers of all functions. Errors as scoreRewards. */
export function combinedReward(
  answers: readonly Answered[],
  onFailure: RewardFailurePolicy,
  turnLengths?: readonly number[],
): Reward {
  const parts: Record<string, number | null> = {}
  const failures: RewardFailure[] = []
  const [logged, metrics]: [Record<string, unknown>, Record<string, number>] = [{}, {}]
  let total: number | null = null
  let placed = nowhere
  for (const { spec, answer: given } of answers) {
    const answer = checked(given, spec.weight, turnLengths)
    let part: number | null
    if ('failure' in answer) {
      const message = sentenceOf(answer)
      if (onFailure === 'fail') throw rewardFailed(spec.name, message)
      failures.push({ name: spec.name, message })
      part = onFailure === 'zero' ? 0 : null
      placed = withAnswer(placed, spec.weight, { value: part })
    } else {
      part = answer.value
      placed = withAnswer(placed, spec.weight, answer)
      Object.assign(logged, ownNames(spec.name, answer.columns, logged))
      Object.assign(metrics, ownNames(spec.name, answer.metrics, metrics))
    }
    parts[spec.name] = part
    if (part !== null) total = (total ?? 0) + spec.weight * part
  }
  return {
    parts,
    total,
    failures,
    ...notEmpty('logged', logged),
    ...notEmpty('metrics', metrics),
    ...withPlaces(placed),
  }
}

/** Returns a field with the entries; no field where there are none. */
const notEmpty = <Name extends string, Entries extends object>(
  name: Name,
  entries: Entries,
): Partial<Record<Name, Entries>> =>
  (Object.keys(entries).length === 0 ? {} : { [name]: entries }) as Partial<Record<Name, Entries>>

const nowhere: PlacedReward = { last: null, perTurn: null, perToken: null }

const withPlaces = (placed: PlacedReward): Pick<Reward, 'placed'> =>
  placed.perTurn === null && placed.perToken === null ? {} : { placed }

/** Adds the answer of another function about the same completion. */
function withAnswer({ last, perTurn, perToken }: PlacedReward, weight: number, answer: Valued): PlacedReward {
  const { value } = answer
  const isWhole = answer.perToken === undefined && answer.perTurn === undefined
  return {
    last: isWhole && value !== null ? (last ?? 0) + weight * value : last,
    perTurn: added(perTurn, answer.perTurn, weight),
    perToken: added(perToken, answer.perToken, weight),
  }
}

function added(
  sums: readonly number[] | null,
  values: readonly number[] | undefined,
  weight: number,
): readonly number[] | null {
  return values?.map((value, i) => (sums?.[i] ?? 0) + weight * value) ?? sums
}

/** Renames logged values: where two functions log under one name, the second's gets its function's name in front. */
function ownNames<T>(
  name: string,
  logged: Readonly<Record<string, T>> | undefined,
  taken: Readonly<Record<string, T>>,
): Record<string, T> {
  const entries = Object.entries(logged ?? {})
  return Object.fromEntries(
    entries.map(([key, value]) => [Object.hasOwn(taken, key) ? `${name}.${key}` : key, value]),
  )
}

/** One answer per input; a function that throws gives none of them any. */
async function askFunction(
  spec: RewardSpec,
  inputs: readonly RewardInput[],
): Promise<readonly RewardAnswer[]> {
  try {
    return await spec.function.score(inputs)
  } catch (error) {
    if (error instanceof AppError) throw error
    return inputs.map(() => faultOf(error))
  }
}

function checked(
  answer: RewardAnswer | undefined,
  weight: number,
  turnLengths: readonly number[] | undefined,
): RewardAnswer {
  if (answer === undefined)
    return { failure: { message: 'The function returned nothing for this completion.' } }
  if ('failure' in answer || answer.value === null) return answer
  const { value, perToken = [], perTurn = [] } = answer
  const faults = [value, ...perToken, ...perTurn].map((each) => rewardFault(each, weight))
  const message = faults.find((fault) => fault !== null) ?? lengthFault(answer, turnLengths)
  return message === null ? answer : { failure: { message } }
}

/** Rewards of tokens or turns that are not there, as a sentence. */
function lengthFault(
  { perToken, perTurn }: Valued,
  turnLengths: readonly number[] | undefined,
): string | null {
  if (turnLengths === undefined) return null
  const tokens = turnLengths.reduce((sum, length) => sum + length, 0)
  const expected = (what: string, needed: number, got: number) =>
    needed === got ? null : `Expected ${needed} rewards, one per ${what}, got ${got}.`
  return (
    (perToken && expected('token', tokens, perToken.length)) ??
    (perTurn && expected('turn', turnLengths.length, perTurn.length)) ??
    null
  )
}

const sentenceOf = ({ failure: { message, line = null, column = null } }: RewardFault): string =>
  line === null ? message : `${message} (line ${line}${column === null ? '' : `, column ${column}`})`

function rewardFailed(name: string, message: string): AppError {
  return new AppError(
    'reward/failed',
    `The reward function “${name}” failed: ${message}`,
    'Correct the function, or let failures count as “null” or “zero” in the reward settings.',
  )
}
