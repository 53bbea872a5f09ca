/** The updates of a step: minibatch by minibatch, each split into micro-batches whose gradients add up. */
import type {
  Alternatives,
  Heads,
  LossCoefficients,
  Policy,
  RouterUse,
  TokenSequence,
  UpdateOptions,
} from '#engine/policy.ts'
import { prefixFamilies } from '#engine/prefixes.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import type { Metrics } from '#shared/metrics.ts'
import {
  alignSamplerLogprobs,
  correctionWeights,
  type MismatchRow,
  type WeightLimit,
} from './samplingMismatch.ts'
import { addTallies, type Tallies, tallyMeans } from '../algorithms/terms/tally.ts'
import type { ConfiguredAlgorithm, LossRow, PartLoss } from '../algorithms/types.ts'
import type { Trajectory } from '../rollout/trajectory.ts'
import { type TrainingRow, UNKNOWN } from './experience.ts'
import { balanceLoss, summedUse, useOf } from './routerBalance.ts'
import { forMicroBatches, type LearningLoad, microBatches } from './packing.ts'
import {
  coefficientFault,
  lossFault,
  type Reach,
  reachOf,
  type UpdateFault,
  type UpdateGuard,
} from './updateGuard.ts'

export interface UpdateSettings {
  readonly temperature: number
  readonly load: LearningLoad
  readonly maxGradNorm: number
  /** Limit on the weights of the mismatch correction; null = no correction. */
  readonly mismatchLimit: WeightLimit | null
  /** Leaves out trajectories that cannot change the gradient; they stay in the loss's normaliser. */
  readonly skipsZeroAdvantages: boolean
  /** Learning rates of the k-th update of the step. */
  readonly learningRatesAt: (update: number) => UpdateOptions['learningRates']
}

export interface Learning {
  readonly policy: Pick<Policy, 'accumulate' | 'gradientNorms' | 'update' | 'discardGradients'>
  readonly algorithm: ConfiguredAlgorithm
  /** Called before every update. */
  readonly guard: UpdateGuard
  readonly settings: UpdateSettings
  /** Decodes tokens for error messages. */
  readonly tokenizer: Pick<Tokenizer, 'decode'>
  /** Trajectories whose heads are kept, to be shown. */
  readonly shown: ReadonlySet<Trajectory>
}

export interface UpdateSummary {
  /** Optimizer updates taken, and those that were skipped. */
  readonly updates: number
  readonly skipped: number
  readonly metrics: Metrics
  /** Sampler and learner log-probabilities of the rows that have both, each row once. */
  readonly mismatch: readonly MismatchRow[]
  /** Rows without a complete record of the sampler. */
  readonly skippedRows: number
  /** Heads of the policy for the shown trajectories, from the last pass over each. */
  readonly heads: ReadonlyMap<Trajectory, ShownHeads>
}

/** [L−1] each, nats. */
export interface ShownHeads {
  readonly logprobs: Float32Array
  readonly entropies: Float32Array
}

interface Records {
  readonly mismatch: Map<TrainingRow, MismatchRow | null>
  readonly heads: Map<Trajectory, ShownHeads>
}

/**
 * One optimizer update per minibatch (row indices), in order; updates that the guard skips leave everything unchanged.
 * Metrics are means over the applied updates. Errors: AppError 'run/diverged', 'run/unsound' if the guard stops the
 * run.
 */
export async function learnFrom(
  rows: readonly TrainingRow[],
  minibatches: readonly (readonly number[])[],
  learning: Learning,
): Promise<UpdateSummary> {
  const records: Records = { mismatch: new Map(), heads: new Map() }
  const updates: Metrics[] = []
  for (const [update, indices] of minibatches.entries()) {
    const members = indices.map((i) => rows[i]!)
    const learned = await accumulateMinibatch(members, learning, records)
    if (await isAdmitted(members, learned, learning, records)) {
      const taken = await takeUpdate(learning, update)
      const { loss, tallies, routers } = learned
      updates.push({
        loss,
        ...tallyMeans(tallies),
        ...(routers && { aux_loss: balanceLoss(routers) }),
        ...taken,
      })
    }
  }
  const mismatch = [...records.mismatch.values()]
  return {
    updates: updates.length,
    skipped: learning.guard.skipped.length,
    metrics: meansOf(updates),
    mismatch: mismatch.filter((record) => record !== null),
    skippedRows: mismatch.filter((record) => record === null).length,
    heads: records.heads,
  }
}

/** Decides whether the update may be applied; if not, its accumulated gradients are discarded. */
async function isAdmitted(
  members: readonly TrainingRow[],
  { fault, reach }: Learned,
  { policy, guard }: Learning,
  records: Records,
): Promise<boolean> {
  const mismatch = members.flatMap((row) => records.mismatch.get(row) ?? [])
  const gradNorms = await policy.gradientNorms()
  const found = fault ?? guard.faultOf({ reach, gradNorms, mismatch })
  if (found === null) {
    guard.taken({ reach, gradNorms })
    return true
  }
  policy.discardGradients()
  guard.refuse(found)
  return false
}

async function takeUpdate({ policy, settings }: Learning, update: number): Promise<Metrics> {
  const learningRates = settings.learningRatesAt(update)
  const { gradNorms } = await policy.update({ learningRates, maxGradNorm: settings.maxGradNorm })
  return {
    learning_rate: learningRates.actor,
    ...(gradNorms.actor === undefined ? {} : { grad_norm: gradNorms.actor }),
    ...(gradNorms.critic === undefined ? {} : { 'grad_norm/critic': gradNorms.critic }),
  }
}

/** Results of a minibatch, or of a micro-batch. */
interface Learned extends Pick<PartLoss, 'loss' | 'tallies'> {
  readonly reach: Reach
  /** Decisions of routers; null without experts. */
  readonly routers: RouterUse | null
  /** Fault that makes its gradients unusable; null if they are usable. */
  readonly fault: UpdateFault | null
}

/** Gradients of one minibatch, without micro-batches whose loss is invalid. */
async function accumulateMinibatch(
  members: readonly TrainingRow[],
  learning: Learning,
  records: Records,
): Promise<Learned> {
  const { policy, algorithm, settings, shown } = learning
  const lossOf = algorithm.minibatchLoss(members.map(({ learning }) => learning))
  const computed = members.filter((row) => !isLeftOut(row, learning))
  const trajectories = computed.map(({ trajectory }) => trajectory)
  const families = settings.load.sharesPrefixes ? prefixFamilies(trajectories) : undefined
  const lengths = trajectories.map(({ ids }) => ids.length)
  const cut = microBatches({ lengths, ...(families && { families }) }, settings.load, algorithm.needs.unit)
  // Micro-batches may finish in any order, but sums must not depend on it: each has a slot of its own.
  const parts = new Array<Learned>(cut.batches.length)
  const mismatch = algorithm.needs.ratio ? records.mismatch : null
  if (mismatch) computed.forEach((row) => mismatch.set(row, null))
  const options = { temperature: settings.temperature, entropyGradient: algorithm.needs.entropyGradient }
  try {
    await forMicroBatches(cut, async (indices, batch) => {
      const part = indices.map((i) => computed[i]!)
      const sequences = part.map(sequenceOf)
      await policy.accumulate(sequences, options, (heads) => {
        part.forEach(({ trajectory }, i) => {
          if (shown.has(trajectory)) records.heads.set(trajectory, copyOf(heads[i]!))
        })
        const lossRows = part.map((row, i) => lossRow(row, heads[i]!, settings.mismatchLimit, mismatch))
        algorithm.admit?.(lossRows, ({ row, place }) => textAt(part[row]!, place + 1, learning))
        const answer = lossOf(lossRows)
        const { loss, coefficients } = answer
        const fault = lossFault(loss) ?? coefficientFault(coefficients)
        const tallies = addTallies([answer.tallies, entropyTally(lossRows)])
        parts[batch] = { loss, tallies, reach: reachOf(coefficients), routers: useOf(heads), fault }
        return fault === null ? coefficients : coefficients.map(nothingOf)
      })
    })
  } catch (error) {
    policy.discardGradients()
    throw error
  }
  return {
    loss: parts.reduce((sum, { loss }) => sum + loss, 0),
    tallies: addTallies(parts.map(({ tallies }) => tallies)),
    routers: summedUse(parts.map(({ routers }) => routers)),
    reach: {
      actor: parts.reduce((sum, { reach }) => sum + reach.actor, 0),
      critic: parts.reduce((sum, { reach }) => sum + reach.critic, 0),
    },
    fault: parts.find(({ fault }) => fault !== null)?.fault ?? null,
  }
}

/** The trajectory, and the tokens in whose place the loss wants to know how likely they are. */
const sequenceOf = ({ trajectory, learning: { likeliest } }: TrainingRow): TokenSequence =>
  likeliest === undefined ? trajectory : { ...trajectory, alternatives: likeliest.ids }

const isLeftOut = (
  { trajectory, learning }: TrainingRow,
  { algorithm, settings, shown }: Learning,
): boolean =>
  settings.skipsZeroAdvantages &&
  algorithm.needsAdvantage &&
  !shown.has(trajectory) &&
  learning.advantages.every((advantage) => advantage === 0)

function textAt({ trajectory }: TrainingRow, place: number, { tokenizer }: Learning): string | undefined {
  const id = trajectory.ids[place]
  return id === undefined ? undefined : tokenizer.decode([id], { skipSpecialTokens: false })
}

/** Zero coefficients, for which the engine runs no backward pass; work already submitted finishes as usual. */
const nothingOf = ({ logprobs }: LossCoefficients): LossCoefficients => ({
  logprobs: new Float64Array(logprobs.length),
  entropies: null,
  values: null,
})

const copyOf = ({ logprobs, entropies }: Heads): ShownHeads => ({
  logprobs: Float32Array.from(logprobs),
  entropies: Float32Array.from(entropies),
})

/**
 * Builds the row of the loss. In the first and only update, the policy still is the behaviour policy, so its own
 * log-probabilities serve as both.
 */
function lossRow(
  row: TrainingRow,
  { logprobs, entropies, values, alternatives }: Heads,
  limit: WeightLimit | null,
  mismatch: Map<TrainingRow, MismatchRow | null> | null,
): LossRow {
  const { learning, trajectory } = row
  const { actionMask } = learning
  const behaviorLogprobs = learning.behaviorLogprobs ?? logprobs
  const aligned = alignSamplerLogprobs(behaviorLogprobs, actionMask, trajectory.samplerLogprobs)
  const samplerLogprobs = aligned.logprobs
  const gap = { behaviorLogprobs, samplerLogprobs, actionMask }
  mismatch?.set(row, aligned.skipped ? null : gap)
  const correction = limit === null ? null : correctionWeights(gap, limit)
  return {
    ...learning,
    behaviorLogprobs,
    logprobs,
    entropies,
    values,
    correction,
    samplerLogprobs,
    ...(alternatives && { likeliestLogprobs: knownLogprobs(alternatives, learning) }),
  }
}

const knownLogprobs = ({ logprobs }: Alternatives, { likeliest }: TrainingRow['learning']): Float64Array =>
  logprobs.map((logprob, at) => (likeliest?.logprobs[at] === UNKNOWN ? UNKNOWN : logprob))

function entropyTally(rows: readonly LossRow[]): Tallies {
  let [sum, count] = [0, 0]
  for (const { actionMask, entropies } of rows) {
    actionMask.forEach((isAction, t) => {
      if (isAction === 1) [sum, count] = [sum + entropies[t]!, count + 1]
    })
  }
  return { entropy: { sum, count } }
}

/** Mean of each metric over the records that have it; the learning rate is the last one's. */
function meansOf(records: readonly Metrics[]): Metrics {
  const single = (record: Metrics): Tallies =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, { sum: value ?? 0, count: 1 }]))
  const last = records.at(-1)?.learning_rate
  return {
    ...tallyMeans(addTallies(records.map(single))),
    ...(last === undefined ? {} : { learning_rate: last }),
  }
}
