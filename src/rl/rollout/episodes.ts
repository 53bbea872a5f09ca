/**
 * Multi-turn rollouts: all episodes of a step advance together, turn by turn, and leave as they end. An episode depends
 * on (seed, step, row, sample) alone: neither the policy's nor the environment's random numbers depend on the rest of
 * the batch. All members of a group start from the same state with the same environment randomness.
 */
import type { Completion, GenerateOptions, Policy, Routes } from '#engine/policy.ts'
import type { OfferedTools } from '#engine/text/toolCalls.ts'
import type { PhaseProgress } from '#shared/events.ts'
import { randomStream, type RandomStream } from '#shared/random.ts'
import {
  type Environment,
  type EnvironmentAnswer,
  type EnvironmentTurn,
  framedObservation,
} from './environment.ts'
import { rewardFault } from '../rewards.ts'
import type { Prompt, PromptRow } from './prompts.ts'
import { completionText } from './rollout.ts'
import type { ContextOverflow, EpisodeEnd, UnscoredTrajectory } from './trajectory.ts'
import { unscored, withLaterRoutes } from './trajectory.ts'
import {
  masksOf,
  openTranscript,
  type Transcript,
  windowed,
  withFeedback,
  withGenerated,
} from './transcript.ts'
import type { TurnText } from './turnText.ts'

export interface EpisodeRequest {
  readonly rows: readonly PromptRow[]
  /** Episodes per row. */
  readonly groupSize: number
  readonly seed: number
  readonly step: number
  /** Held-out episodes start the same way at every step, so that evaluations can be compared. */
  readonly source: 'training' | 'evaluation'
  /** Row → how often it was already rolled out in this step. */
  readonly earlier?: ReadonlyMap<number, number>
  readonly onProgress?: (done: PhaseProgress) => void
}

export interface EpisodeLimits {
  readonly maxTurns: number
  /** Maximum tokens of a prompt; a longer one ends the episode, or drops turns from the window. */
  readonly maxPromptTokens: number
  /** True if the oldest turns leave the prompt when it is full. They stay in the trajectory. */
  readonly slidingWindow: boolean
  /** Maximum tokens of a whole trajectory before its last turn: what fits into one learning sequence. */
  readonly maxTranscriptTokens: number
  readonly contextLength: number
  /** Name of the teacher whose context it is; absent: it is the policy's, or the environment's. */
  readonly teacher?: string | undefined
  readonly maxNewTokens: number | null
}

export interface EpisodeOptions {
  /** Maximum tokens of a truncated episode's last state that the critic can read; null: there is no critic. */
  readonly criticTokens: number | null
  readonly environment: Environment
  readonly policy: Pick<Policy, 'generate'>
  readonly generate: GenerateOptions
  /** Text of generated ids, without special tokens. */
  readonly decode: (ids: Iterable<number>) => string
  readonly text: TurnText
  readonly limits: EpisodeLimits
}

interface Episode {
  /** Maximum number of turns. */
  readonly maxTurns: number
  readonly prompt: Prompt
  readonly group: number
  /** Continues to count if a row occurs twice in a step. */
  readonly sample: number
  /** Position 0 seeds the reset, position k+1 turn k. */
  readonly chance: RandomStream
  readonly state: unknown
  readonly transcript: Transcript
  /** Functions that the policy may call; null: none. */
  readonly offered: OfferedTools | null
  readonly logprobs: readonly number[]
  readonly routes?: Routes | undefined
  readonly rewards: readonly (number | null)[]
  readonly lastAction: string
  readonly stopReason: Completion['stopReason']
  /** null while the episode is open. */
  readonly end: EpisodeEnd | null
  /** Including the environment's last observation; null if nothing follows. */
  readonly left: Transcript | null
  readonly overflow: ContextOverflow | null
  readonly failure: string | null
  readonly columns: Readonly<Record<string, unknown>>
  readonly metrics: Readonly<Record<string, number>>
}

/** Plays every row `groupSize` times to the end; returns groups in order of the rows, samples in order. */
export async function playEpisodes(
  request: EpisodeRequest,
  options: EpisodeOptions,
): Promise<UnscoredTrajectory[]> {
  let episodes = await openEpisodes(request, options)
  for (let turn = 0; ; turn++) {
    const live = episodes.filter(isLive)
    request.onProgress?.({ done: episodes.length - live.length, total: episodes.length })
    if (live.length === 0) break
    const completions = await generateTurn(live, turn, request, options)
    const answers = await environmentAnswers(live, turn, completions, options)
    const advanced = new Map(
      live.map((episode, i) => [episode, advance(episode, completions[i]!, answers[i]!, options)]),
    )
    episodes = episodes.map((episode) => advanced.get(episode) ?? episode)
  }
  return episodes.map((episode) => trajectoryOf(episode, options))
}

const isLive = ({ end }: Episode): boolean => end === null

/** Keeps an environment's random numbers apart from all others. */
const CHANCE_PURPOSE = 0xe417
const sourceNumbers = { training: 0, evaluation: 1 } as const

/** The environment's random numbers for a row, given how often it was already rolled out in this step. */
export function chanceOf(
  { seed, step, source }: Pick<EpisodeRequest, 'seed' | 'step' | 'source'>,
  row: number,
  earlier: number,
): RandomStream {
  const when = source === 'training' ? step : 0
  return randomStream(seed, CHANCE_PURPOSE, sourceNumbers[source], when, row, earlier)
}

/** Opens episodes with one reset per group: its members differ only in what the policy does. */
async function openEpisodes(request: EpisodeRequest, options: EpisodeOptions): Promise<Episode[]> {
  const { rows, groupSize } = request
  const seen = new Map(request.earlier)
  const groups = rows.map((row) => {
    const earlier = seen.get(row.row) ?? 0
    seen.set(row.row, earlier + 1)
    return { row, chance: chanceOf(request, row.row, earlier), first: earlier * groupSize }
  })
  const answers = await options.environment.reset(
    groups.map(({ row, chance }) => ({ row: row.columns, seed: seedAt(chance, 0) })),
  )
  return groups.flatMap(({ row, chance, first }, group) => {
    const opened = openEpisode(row, answers[group], options)
    const maxTurns = Math.min(options.limits.maxTurns, options.environment.turnsOf?.(row.columns) ?? Infinity)
    return Array.from({ length: groupSize }, (_, i) => ({
      ...opened,
      maxTurns,
      group,
      sample: first + i,
      chance,
    }))
  })
}

/** A whole number below 2³². */
export const seedAt = (chance: RandomStream, position: number): number =>
  Math.floor(chance.uniformAt(position) * 0x100000000)

type Opened = Omit<Episode, 'maxTurns' | 'group' | 'sample' | 'chance'>

function openEpisode(row: PromptRow, answer: EnvironmentAnswer | undefined, options: EpisodeOptions): Opened {
  const turn = checkedAnswer(answer)
  if ('failure' in turn) return { ...unopened(row), end: 'failed', failure: turn.failure }
  const { text, ids, offered } = options.text.opening(framedObservation(turn), turn.tools)
  const opened = {
    ...unopened(row),
    prompt: { ...row, text, ids },
    transcript: openTranscript(ids),
    offered,
    state: turn.state,
    ...loggedAfter(unopened(row), turn),
  }
  if (ids.length === 0) return { ...opened, end: 'failed', failure: 'The first observation has no tokens.' }
  const overflow = overflowOf(opened.transcript, options.limits)
  return overflow === null ? opened : { ...opened, end: 'context-limit', overflow }
}

function unopened(row: PromptRow): Opened {
  const ids = new Int32Array(0)
  return {
    prompt: { ...row, text: '', ids },
    state: null,
    transcript: openTranscript(ids),
    offered: null,
    logprobs: [],
    rewards: [],
    lastAction: '',
    stopReason: 'length',
    end: null,
    left: null,
    overflow: null,
    failure: null,
    columns: {},
    metrics: {},
  }
}

/** Returns the result of an environment, built-in or user-written, or a sentence that says why there is none. */
export function checkedAnswer(
  answer: EnvironmentAnswer | undefined,
): EnvironmentTurn | { readonly failure: string } {
  if (answer === undefined) return { failure: 'The environment returned nothing for this episode.' }
  if ('failure' in answer) {
    const { message, line = null } = answer.failure
    return { failure: line === null ? message : `${message} (line ${line})` }
  }
  const failure = answer.reward === null ? null : rewardFault(answer.reward)
  return failure === null ? answer : { failure }
}

/** Adds logged values; those of later turns replace those of earlier ones. */
const loggedAfter = (episode: Pick<Episode, 'columns' | 'metrics'>, turn: EnvironmentTurn) => ({
  columns: { ...episode.columns, ...turn.columns },
  metrics: { ...episode.metrics, ...turn.metrics },
})

/** null if the next turn fits. Without a window, the whole transcript is the prompt. */
export function overflowOf(
  transcript: Transcript,
  { maxPromptTokens, maxTranscriptTokens, slidingWindow, ...rest }: EpisodeLimits,
): ContextOverflow | null {
  const fullPromptLength = transcript.ids.length
  const isWindowed = slidingWindow && windowed(transcript, maxPromptTokens) !== null
  const limit = isWindowed ? maxTranscriptTokens : Math.min(maxPromptTokens, maxTranscriptTokens)
  if (fullPromptLength <= limit) return null
  const { contextLength, teacher, maxNewTokens } = rest
  return { fullPromptLength, maxPromptTokens: limit, contextLength, teacher, maxNewTokens }
}

/** One completion per open episode. Episodes that still share their transcript share its computation. */
async function generateTurn(
  live: readonly Episode[],
  turn: number,
  { seed, step }: EpisodeRequest,
  { policy, generate, limits }: EpisodeOptions,
): Promise<Completion[]> {
  const sharing = new Map<Transcript, number[]>()
  live.forEach(({ transcript }, i) => {
    sharing.set(transcript, [...(sharing.get(transcript) ?? []), i])
  })
  const members = [...sharing.values()]
  const requests = [...sharing].map(([transcript, places]) => ({
    promptIds: windowed(transcript, limits.maxPromptTokens) ?? transcript.ids,
    streams: places.map((i) => randomStream(seed, step, live[i]!.prompt.row, live[i]!.sample, turn)),
  }))
  const completions = new Array<Completion | undefined>(live.length)
  for await (const completion of policy.generate(requests, generate)) {
    const place = members[completion.request]?.[completion.sample]
    if (place === undefined) throw new Error(`Expected a request below ${requests.length}.`)
    completions[place] = completion
  }
  return Array.from(completions, (completion, place) => {
    if (completion === undefined)
      throw new Error(`Expected ${live.length} turns, number ${place} never came.`)
    return completion
  })
}

function environmentAnswers(
  live: readonly Episode[],
  turn: number,
  completions: readonly Completion[],
  { environment, generate, decode, text }: EpisodeOptions,
): Promise<readonly EnvironmentAnswer[]> {
  return environment.step(
    live.map(({ prompt, state, chance, offered }, i) => {
      const answer = offered && text.calls(completions[i]!, generate, offered)
      return {
        row: prompt.columns,
        seed: seedAt(chance, turn + 1),
        state,
        action: answer?.content ?? completionText(completions[i]!, generate, decode),
        ...(answer && { calls: answer.calls }),
      }
    }),
  )
}

/** An episode after one more turn of policy and environment. */
function advance(
  episode: Episode,
  completion: Completion,
  answer: EnvironmentAnswer,
  options: EpisodeOptions,
): Episode {
  const { ids, logprobs, stopReason, routes } = completion
  const { maxPromptTokens } = options.limits
  // A turn that was shown a window says nothing about the tokens of the whole.
  const isWhole =
    (windowed(episode.transcript, maxPromptTokens) ?? episode.transcript.ids) === episode.transcript.ids
  const spoken = {
    ...episode,
    routes: isWhole ? withLaterRoutes(episode.routes, routes) : episode.routes,
    transcript: withGenerated(episode.transcript, ids),
    logprobs: [...episode.logprobs, ...logprobs],
    lastAction: completionText(completion, options.generate, options.decode),
    stopReason,
  }
  const turn = checkedAnswer(answer)
  if ('failure' in turn) {
    return { ...spoken, rewards: [...episode.rewards, null], end: 'failed', failure: turn.failure }
  }
  const told = {
    ...spoken,
    state: turn.state,
    rewards: [...episode.rewards, turn.reward],
    ...loggedAfter(episode, turn),
  }
  if (turn.terminated) return { ...told, end: 'terminated' }
  if (turn.truncated === true) return leave(told, 'truncated', turn, options)
  if (told.rewards.length === told.maxTurns) return leave(told, 'turn-limit', turn, options)
  const transcript = answered(told.transcript, turn, options.text)
  const overflow = overflowOf(transcript, options.limits)
  if (overflow === null) return { ...told, transcript }
  return { ...leave(told, 'context-limit', turn, options), transcript, overflow }
}

/**
 * The state that the critic values: what the policy would have read next, or, if that is too long or empty, its own
 * last turn.
 */
function leave(
  episode: Episode,
  end: EpisodeEnd,
  turn: EnvironmentTurn,
  { criticTokens, text }: EpisodeOptions,
): Episode {
  if (criticTokens === null) return { ...episode, end }
  const isSilent = turn.observation === null
  const next = isSilent ? episode.transcript : answered(episode.transcript, turn, text)
  return { ...episode, end, left: next.ids.length <= criticTokens ? next : episode.transcript }
}

/** The transcript with the observation that follows the policy's last token. */
export function answered(
  transcript: Transcript,
  turn: Pick<EnvironmentTurn, 'observation' | 'prefix' | 'suffix'>,
  text: TurnText,
): Transcript {
  return withFeedback(transcript, text.feedback(framedObservation(turn), transcript.ids.at(-1)!))
}

function trajectoryOf(episode: Episode, { decode, limits }: EpisodeOptions): UnscoredTrajectory {
  const { prompt, group, transcript, rewards, end, left, stopReason, lastAction } = episode
  const { actionMask, turnIds } = masksOf(transcript)
  const completionTokens = episode.logprobs.length
  return {
    ...unscored,
    prompt,
    group,
    ids: transcript.ids,
    actionMask,
    turnIds: limits.maxTurns === 1 ? null : turnIds,
    samplerLogprobs: Float64Array.from(episode.logprobs),
    ...(episode.routes && { routes: episode.routes }),
    completion: rewards.length > 1 ? decode(transcript.ids.subarray(transcript.openingLength)) : lastAction,
    completionTokens,
    stopReason,
    truncated: end !== 'terminated',
    episode: outcomeOf(episode),
    lastState: left?.ids ?? null,
  }
}

function outcomeOf(episode: Episode): UnscoredTrajectory['episode'] {
  const { maxTurns, rewards, end, lastAction, overflow, failure, columns, metrics } = episode
  const given = rewards.filter((reward) => reward !== null)
  return {
    end: end ?? 'turn-limit',
    turns: rewards.length,
    turnRewards: Array.from({ length: maxTurns }, (_, turn) => rewards[turn] ?? 0),
    total: given.length === 0 ? null : given.reduce((sum, reward) => sum + reward, 0),
    lastAction,
    overflow,
    failure,
    columns,
    metrics,
  }
}
