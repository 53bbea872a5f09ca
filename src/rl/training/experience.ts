/** Turns trajectories into what algorithms learn from, with forward passes if log-probabilities or values are needed. */
import type { Heads, Policy, PolicyRole, TokenSequence } from '#engine/policy.ts'
import { prefixFamilies } from '#engine/prefixes.ts'
import type { Advantages, ConfiguredAlgorithm, Experience, LearningRow, Needs } from '../algorithms/types.ts'
import { completionMask, type Trajectory } from '../rollout/trajectory.ts'
import { forMicroBatches, type LearningLoad, microBatches } from './packing.ts'

export interface ScoringOptions {
  readonly policy: Pick<Policy, 'score' | 'contextLength' | 'vocabSize'>
  /** The policy whose log-probabilities are the reference's. */
  readonly referenceRole: 'reference' | 'base'
  readonly temperature: number
  readonly load: LearningLoad
}

/** A trajectory and its experience, as the update needs both. */
export interface TrainingRow {
  readonly trajectory: Trajectory
  readonly learning: LearningRow
}

/**
 * Rows to learn from, without the filtered ones. A forward pass runs only if its numbers are needed: over all
 * trajectories if they enter the advantages, otherwise over those that are kept. The behaviour policy is not scored at
 * all if the first and only update computes it anyway, or the loss does not use it.
 */
export async function prepareRows(
  trajectories: readonly Trajectory[],
  algorithm: ConfiguredAlgorithm,
  updates: number,
  options: ScoringOptions,
): Promise<TrainingRow[]> {
  const { needs } = algorithm
  const wanted = { ...needs, behavior: scoresBehavior(needs, updates) }
  const enterAdvantages = needs.behavior || needs.values
  const batch = enterAdvantages ? await scored(trajectories, trajectories, wanted, options) : trajectories
  const advantages = await algorithm.advantages(batch)
  const kept = advantages.kept.map((i) => trajectories[i]!)
  const rows = advantages.kept.map((i) => batch[i]!)
  const ready = enterAdvantages ? rows : await scored(kept, rows, wanted, options)
  return ready.map((row, k) => ({
    trajectory: kept[k]!,
    learning: learningRow(row, advantages, advantages.kept[k]!),
  }))
}

const scoresBehavior = ({ behavior, behaviorEntropies, ratio }: Needs, updates: number): boolean =>
  behavior || behaviorEntropies || (ratio && updates > 1)

const learningRow = (
  row: Experience,
  { tokens, returns, granularity }: Advantages,
  i: number,
): LearningRow => ({
  ...row,
  advantages: tokens[i]!,
  returns: returns?.[i] ?? null,
  ...(granularity === undefined ? {} : { granularity }),
})

async function scored(
  trajectories: readonly Trajectory[],
  rows: readonly Experience[],
  needs: Needs,
  options: ScoringOptions,
): Promise<Experience[]> {
  const pass = (
    isWanted: boolean,
    role: PolicyRole,
    {
      sequences = trajectories,
      likeliest = 0,
    }: { sequences?: readonly TokenSequence[]; likeliest?: number } = {},
  ) => (isWanted ? score(sequences, role, { ...options, likeliest }) : Promise.resolve(null))
  const behavior = await pass(needs.behavior, 'actor')
  const reference = await pass(needs.reference, options.referenceRole, { likeliest: needs.likeliest })
  const critic = await pass(needs.values, 'critic', { sequences: trajectories.map(throughLastState) })
  const mismatched = needs.mismatched ? await mismatchedLogRatios(trajectories, options) : null
  const entropies = needs.behaviorEntropies ? behavior : null
  const headOf = (heads: readonly Heads[] | null, i: number, name: 'logprobs' | 'entropies' | 'values') =>
    heads?.[i]?.[name] ?? null
  return rows.map((row, i) => ({
    ...row,
    behaviorLogprobs: headOf(behavior, i, 'logprobs'),
    behaviorEntropies: headOf(entropies, i, 'entropies'),
    referenceLogprobs: headOf(reference, i, 'logprobs'),
    mismatchedLogRatio: mismatched?.[i] ?? null,
    ...likeliestOf(reference?.[i], options.policy.vocabSize),
    ...valuesOf(trajectories[i]!, headOf(critic, i, 'values')),
  }))
}

/**
 * Log-probability of what a teacher finds likely and the policy does not have, such as a row that pads its table: for
 * both, so that it counts as nothing.
 */
export const UNKNOWN = -80

function likeliestOf(heads: Heads | undefined, vocabSize: number): Pick<Experience, 'likeliest'> {
  if (heads?.alternatives === undefined) return {}
  const { ids, logprobs } = heads.alternatives
  const isKnown = (id: number) => id < vocabSize
  if (ids.every(isKnown)) return { likeliest: { ids, logprobs } }
  return {
    likeliest: {
      ids: ids.map((id) => (isKnown(id) ? id : 0)),
      logprobs: logprobs.map((logprob, at) => (isKnown(ids[at]!) ? logprob : UNKNOWN)),
    },
  }
}

/**
 * [rows] log-ratio of the policy to the reference, nats, of the answer of the row before after each row's prompt (of the last
 * row's after the first), as far as the model can read.
 */
async function mismatchedLogRatios(
  trajectories: readonly Trajectory[],
  { referenceRole, ...options }: ScoringOptions,
): Promise<number[]> {
  const { contextLength } = options.policy
  const sequences = trajectories.map(({ prompt }, i): TokenSequence => {
    const other = trajectories.at(i - 1)!
    const answer = other.ids.subarray(other.prompt.ids.length)
    const ids = Int32Array.from([...prompt.ids, ...answer]).subarray(0, contextLength)
    return { ids, actionMask: completionMask(prompt.ids.length, ids.length) }
  })
  const policy = await score(sequences, 'actor', options)
  const reference = await score(sequences, referenceRole, options)
  return sequences.map(({ actionMask }, i) =>
    actionMask.reduce(
      (sum, isAction, t) =>
        isAction === 1 ? sum + policy[i]!.logprobs[t]! - reference[i]!.logprobs[t]! : sum,
      0,
    ),
  )
}

/**
 * Extends a truncated episode by one more prediction in the state where it was left: that of a token that was never
 * generated, whose id is not read.
 */
function throughLastState(trajectory: Trajectory): TokenSequence {
  const { actionMask, lastState, routes } = trajectory
  if (lastState === null) return trajectory
  const longer = new Int32Array(lastState.length + 1)
  longer.set(lastState)
  const mask = new Uint8Array(lastState.length).fill(1, -1)
  mask.set(actionMask.subarray(0, lastState.length - 1))
  // They are those of what both begin with: the state goes on behind all that was sampled.
  return { ids: longer, actionMask: mask, ...(routes && { routes }) }
}

function valuesOf(
  { actionMask, lastState }: Trajectory,
  values: Float64Array | null,
): Pick<Experience, 'behaviorValues' | 'lastStateValue'> {
  if (values === null || lastState === null) return { behaviorValues: values, lastStateValue: null }
  const behaviorValues = Float64Array.from(actionMask, (isAction, t) => (isAction === 1 ? values[t]! : 0))
  return { behaviorValues, lastStateValue: values[lastState.length - 1]! }
}

/** Heads of every sequence, in order. */
export async function score(
  sequences: readonly TokenSequence[],
  role: PolicyRole,
  {
    policy,
    temperature,
    load,
    likeliest = 0,
  }: Omit<ScoringOptions, 'referenceRole'> & { readonly likeliest?: number },
): Promise<Heads[]> {
  const heads = new Array<Heads>(sequences.length)
  const lengths = sequences.map(({ ids }) => ids.length)
  const rows = { lengths, families: prefixFamilies(sequences) }
  await forMicroBatches(microBatches(rows, load, 1), async (batch) => {
    const answers = await policy.score(
      batch.map((i) => sequences[i]!),
      { role, temperature, ...(likeliest > 0 && { likeliest }) },
    )
    batch.forEach((i, position) => (heads[i] = answers[position]!))
  })
  return heads
}
