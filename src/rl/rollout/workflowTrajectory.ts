/**
 * Turns what a workflow returns into trajectories. What the policy did is taken from the engine's records alone: a
 * token may be called an action only if the engine generated it in this episode, and its log-probability is the one
 * recorded then.
 */
import type { Routes, StopReason } from '#engine/policy.ts'
import { rewardFault } from '../rewards.ts'
import { sumOf } from './trajectoryRewards.ts'
import type { ReturnedReward, ReturnedTrajectory } from './workflow.ts'
import type { Prompt, PromptRow } from './prompts.ts'
import type { Continuation } from './workflowTools.ts'
import type { Reward, UnscoredTrajectory, WorkflowOutcome } from './trajectory.ts'
import { firstRoutes, unscored, withLaterRoutes } from './trajectory.ts'
import { joined, masksOf } from './transcript.ts'

/** A completion requested by an episode. */
export interface Generated {
  readonly promptIds: Int32Array
  readonly ids: Int32Array
  readonly logprobs: Float64Array
  readonly routes?: Routes
  readonly stopReason: StopReason
  /** Text without the stop string. */
  readonly text: string
  readonly maxNewTokens: number
}

/** State of an episode when it ends. */
export interface EndedEpisode {
  readonly row: PromptRow
  /** Index of its row in the batch. */
  readonly group: number
  /** Completions in the order of the requests. */
  readonly generated: readonly Generated[]
  /** Texts of prompts that need not be decoded from their ids. */
  readonly prompts: readonly Pick<Prompt, 'text' | 'ids'>[]
  /** Answers of the environment after turns; none without a critic. */
  readonly continuations: readonly Continuation[]
  /** Values logged by the episode itself. */
  readonly columns: Readonly<Record<string, unknown>>
  readonly metrics: Readonly<Record<string, number>>
  readonly requests: number
  readonly rounds: number
}

export interface TrajectoryParts {
  /** Text of generated ids, without special tokens. */
  readonly decode: (ids: Iterable<number>) => string
  readonly contextLength: number
  readonly vocabSize: number
  /** True if a critic values the states that truncated episodes are left in. */
  readonly hasCritic: boolean
}

/** Errors of the episode, each a sentence. */
export class TrajectoryFault extends Error {}

/** The trajectories that an episode returned, with what the engine recorded of them. Throws TrajectoryFault. */
export function returnedTrajectories(
  returned: readonly ReturnedTrajectory[],
  episode: EndedEpisode,
  parts: TrajectoryParts,
): UnscoredTrajectory[] {
  // Named groups are numbered from 1, in order of first appearance.
  const names = [...new Set(returned.map(({ group }) => group))].filter((name) => name !== undefined)
  const subgroupOf = (name: ReturnedTrajectory['group']) => (name === undefined ? 0 : names.indexOf(name) + 1)
  return returned.map((each) => returnedTrajectory(each, subgroupOf(each.group), episode, parts))
}

function returnedTrajectory(
  returned: ReturnedTrajectory,
  subgroup: number,
  episode: EndedEpisode,
  parts: TrajectoryParts,
): UnscoredTrajectory {
  const ids = checkedIds(returned, parts)
  const actions = actionsOf(returned)
  const pieces = piecesOf(ids, runsOf(actions), episode.generated)
  const own = assembled(ids, pieces, episode, parts)
  return {
    ...own,
    subgroup,
    truncated: returned.truncated ?? own.truncated,
    lastState: returned.truncated === true && parts.hasCritic ? lastStateOf(ids, episode, parts) : null,
    baselineReward: checkedReward(returned.baseline ?? null, 'baseline'),
    workflow: {
      ...outcome(episode, 'returned'),
      reward: rewardOf(returned, actions, pieces.length),
      turns: pieces.length,
      columns: { ...episode.columns, ...returned.columns },
      metrics: { ...episode.metrics, ...returned.metrics },
    },
  }
}

/**
 * Returns the last state as an environment has it: with what it said after the last turn, where that is known and not
 * too long to be read.
 */
function lastStateOf(
  ids: Int32Array,
  { continuations }: EndedEpisode,
  { contextLength }: TrajectoryParts,
): Int32Array {
  const next = continuations.find(({ after }) => isSame(after, ids))?.ids
  return next !== undefined && next.length <= contextLength ? next : ids
}

/** An episode without a trajectory, as far as it came: its last completion. `failure` null: it was rejected. */
export function endedEarly(
  episode: EndedEpisode,
  failure: string | null,
  parts: TrajectoryParts,
): UnscoredTrajectory {
  const last = episode.generated.at(-1)
  const ids = last ? joined(last.promptIds, last.ids) : (episode.prompts[0]?.ids ?? new Int32Array(0))
  const start = last?.promptIds.length ?? 0
  const pieces = last ? [{ start, end: ids.length, from: 0, generated: last }] : []
  return {
    ...assembled(ids, pieces, episode, parts),
    workflow: {
      ...outcome(episode, failure === null ? 'rejected' : 'failed'),
      failure,
      turns: pieces.length,
    },
  }
}

const outcome = (
  { columns, metrics, requests, rounds }: EndedEpisode,
  end: WorkflowOutcome['end'],
): WorkflowOutcome => ({ end, failure: null, reward: null, turns: 0, columns, metrics, requests, rounds })

/** The action spans [start, end) that one completion covers, starting at its id `from`. */
interface Piece {
  readonly start: number
  readonly end: number
  readonly from: number
  readonly generated: Generated
}

function assembled(
  ids: Int32Array,
  pieces: readonly Piece[],
  { row, group, prompts }: EndedEpisode,
  { decode }: TrajectoryParts,
): UnscoredTrajectory {
  const [first, second] = pieces
  const promptIds = ids.slice(0, first?.start ?? ids.length)
  const known = prompts.find((prompt) => isSame(prompt.ids, promptIds))
  const { actionMask, turnIds } = masksOf({ ids, turns: pieces })
  const text = second === undefined && isWhole(first) ? first?.generated.text : undefined
  return {
    ...unscored,
    ...endOf(pieces.at(-1)),
    prompt: { ...row, text: known?.text ?? decode(promptIds), ids: promptIds },
    group,
    ids,
    actionMask,
    turnIds: second === undefined ? null : turnIds,
    samplerLogprobs: Float64Array.from(pieces.flatMap(logprobsOf)),
    ...routesOf(pieces),
    completion: text ?? decode(ids.subarray(promptIds.length)),
    completionTokens: pieces.reduce((sum, { start, end }) => sum + end - start, 0),
    tokenLimit: pieces.reduce((sum, { generated }) => sum + generated.maxNewTokens, 0),
    episode: null,
    lastState: null,
  }
}

/** Experts of the tokens that the pieces were generated behind and consist of; a window's are of other places. */
function routesOf(pieces: readonly Piece[]): { readonly routes?: Routes } {
  const routes = pieces
    .filter(({ start, from, generated }) => start - from === generated.promptIds.length)
    .map(({ end, generated: { routes: own } }) => own && firstRoutes(own, end))
    .reduce(withLaterRoutes, undefined)
  return routes === undefined ? {} : { routes }
}

function endOf(last: Piece | undefined): Pick<UnscoredTrajectory, 'stopReason' | 'truncated'> {
  const { stopReason = 'length' } = last?.generated ?? {}
  return { stopReason, truncated: stopReason === 'length' && isEnd(last) }
}

/** Returns true if a completion's last token is part of the trajectory; otherwise its truncation does not count. */
const isEnd = (piece: Piece | undefined): boolean =>
  piece !== undefined && piece.from + piece.end - piece.start === piece.generated.ids.length

const isWhole = (piece: Piece | undefined): boolean => isEnd(piece) && piece?.from === 0

const logprobsOf = ({ start, end, from, generated }: Piece): number[] => [
  ...generated.logprobs.subarray(from, from + end - start),
]

function checkedIds({ ids }: ReturnedTrajectory, { contextLength, vocabSize }: TrajectoryParts): Int32Array {
  if (ids.length > contextLength) {
    throw new TrajectoryFault(
      `The trajectory has ${ids.length} tokens, but the run reads only ${contextLength}.`,
    )
  }
  const unknown = ids.find((id) => id >= vocabSize)
  if (unknown !== undefined)
    throw new TrajectoryFault(`The trajectory has a token ${unknown}, which the model does not have.`)
  return Int32Array.from(ids)
}

/** [L] 1 at each token that the workflow calls an action. */
function actionsOf({ ids, actions }: ReturnedTrajectory): Uint8Array {
  const marked = new Uint8Array(ids.length)
  const isMask = (given: ReturnedTrajectory['actions']): given is readonly (number | boolean)[] =>
    !Array.isArray(given[0])
  if (isMask(actions)) {
    if (actions.length !== ids.length) {
      throw new TrajectoryFault(`“actions” has ${actions.length} entries for ${ids.length} tokens.`)
    }
    actions.forEach((isAction, i) => (marked[i] = Number(isAction)))
    return marked
  }
  for (const [start, end] of actions) {
    if (!(start < end && end <= ids.length)) {
      throw new TrajectoryFault(`“actions” has a span from ${start} to ${end} in ${ids.length} tokens.`)
    }
    marked.fill(1, start, end)
  }
  return marked
}

interface Run {
  readonly start: number
  readonly end: number
}

function runsOf(actions: Uint8Array): Run[] {
  const runs: Run[] = []
  for (let at = 0; at < actions.length; at++) {
    if (actions[at] === 0) continue
    const start = at
    while (actions[at + 1] === 1) at++
    runs.push({ start, end: at + 1 })
  }
  if (runs.length === 0) throw new TrajectoryFault('No token of the trajectory is an action.')
  if (runs[0]?.start === 0) throw new TrajectoryFault('The first token of a trajectory cannot be an action.')
  return runs
}

/** The completions that the actions consist of, in order. Throws TrajectoryFault for forged ids. */
function piecesOf(ids: Int32Array, runs: readonly Run[], generated: readonly Generated[]): Piece[] {
  const pieces: Piece[] = []
  for (const { start, end } of runs) {
    for (let at = start; at < end;) {
      const piece = pieceAt(ids, { start: at, end }, generated, pieces)
      if (piece === null) {
        throw new TrajectoryFault(
          `Tokens ${at} to ${end - 1} are called actions, but the engine did not generate them in this episode.`,
        )
      }
      pieces.push(piece)
      at = piece.end
    }
  }
  return pieces
}

/**
 * Finds the part of the ids that one completion covers: in its own context, or else in a window from which old turns
 * were left out.
 */
function pieceAt(
  ids: Int32Array,
  { start: at, end }: Run,
  generated: readonly Generated[],
  earlier: readonly Piece[],
): Piece | null {
  const before = ids.subarray(0, at)
  const fitting = (each: Generated, from: number): Piece[] => {
    const length = Math.min(end - at, each.ids.length - from)
    const isSaid = isSame(ids.subarray(at, at + length), each.ids.subarray(from, from + length))
    return length > 0 && isSaid ? [{ start: at, end: at + length, from, generated: each }] : []
  }
  const exact = generated.flatMap((each) => {
    const from = at - each.promptIds.length
    const isBehind = from >= 0 && isSame(before, joined(each.promptIds, each.ids.subarray(0, from)))
    return isBehind ? fitting(each, from) : []
  })
  if (exact[0] !== undefined) return exact[0]
  const used = new Set(earlier.map((piece) => piece.generated))
  const shown = generated.filter((each) => !used.has(each) && isWindow(each.promptIds, before))
  const windows = shown.flatMap((each) => fitting(each, 0))
  // The more of it was shown, the nearer it is to the whole.
  return windows.sort((a, b) => b.generated.promptIds.length - a.generated.promptIds.length)[0] ?? null
}

/** Returns true if the prompt is a prefix and a suffix of these ids. */
function isWindow(prompt: Int32Array, before: Int32Array): boolean {
  let [first, last] = [0, 0]
  while (first < prompt.length && prompt[first] === before[first]) first++
  while (last < prompt.length && prompt.at(-1 - last) === before.at(-1 - last)) last++
  return prompt.length < before.length && first > 0 && last > 0 && first + last >= prompt.length
}

/** null and absent differ: if the result says nothing about rewards, the reward functions score it. */
function rewardOf(
  { reward, turnRewards, tokenRewards }: ReturnedTrajectory,
  actions: Uint8Array,
  turns: number,
): Reward | null {
  if (reward === undefined && turnRewards === undefined && tokenRewards === undefined) return null
  const given = wholeReward(reward)
  const last = checkedReward(given.total, 'reward')
  const perTurn = checkedRewards(turnRewards, 'turnRewards', turns)
  const ofAll = checkedRewards(tokenRewards, 'tokenRewards', actions.length)
  const perToken = ofAll && ofAll.filter((_, i) => actions[i] === 1)
  return {
    total: sumOf([last, ...(perTurn ?? []), ...(perToken ?? [])]),
    parts: given.parts,
    failures: given.failures.map((message) => ({ name: 'workflow', message })),
    placed: { last, perTurn: earned(perTurn), perToken: earned(perToken) },
  }
}

interface WholeReward {
  readonly total: number | null
  readonly parts: NonNullable<ReturnedReward['parts']>
  readonly failures: readonly string[]
}

function wholeReward(reward: ReturnedTrajectory['reward']): WholeReward {
  const given = typeof reward === 'object' ? reward : null
  const total = given === null ? (reward as number | null | undefined) : given.total
  return { total: total ?? null, parts: given?.parts ?? {}, failures: given?.failures ?? [] }
}

const earned = (values: readonly (number | null)[] | null): readonly number[] | null =>
  values && values.map((value) => value ?? 0)

function checkedRewards(
  values: readonly (number | null)[] | undefined,
  name: string,
  expected: number,
): readonly (number | null)[] | null {
  if (values === undefined) return null
  if (values.length !== expected) {
    const what = name === 'turnRewards' ? 'turns' : 'tokens'
    throw new TrajectoryFault(
      `“${name}” has ${values.length} rewards, but the trajectory has ${expected} ${what}.`,
    )
  }
  return values.map((value) => checkedReward(value, name))
}

function checkedReward(value: number | null, name: string): number | null {
  const fault = value === null ? null : rewardFault(value)
  if (fault !== null) throw new TrajectoryFault(`“${name}”: ${fault}`)
  return value
}

const isSame = (a: Int32Array, b: Int32Array): boolean =>
  a.length === b.length && a.every((id, i) => id === b[i])
