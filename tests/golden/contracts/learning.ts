/** Replays the updates of a whole `learn` call: minibatch by minibatch, each cut into parts that must add up. */
import { alignSamplerLogprobs, correctionWeights, summarizeMismatch } from '#rl/training/samplingMismatch.ts'
import { addTallies, tallyMeans } from '#rl/algorithms/terms/tally.ts'
import type { Advantages, ConfiguredAlgorithm, Experience, LossRow } from '#rl/algorithms/types.ts'
import { asFloatRows, asList, asMaskRows, asNumbers, asTurnRows, type JsonObject } from '../contract.ts'
import { bareExperience } from '../../rl/bareExperience.ts'

const PART_SIZE = 3

export interface Replay {
  readonly losses: readonly number[]
  readonly metrics: Readonly<Record<string, number>>
  readonly logprobSlopes: readonly Float64Array[]
  readonly valueGradients: readonly Float64Array[]
}

/** Rows of a `learn` case before anything is computed. */
export function experiencesOf(inputs: JsonObject, groupSize: number): Experience[] {
  const masks = asMaskRows(inputs.action_mask)
  const turnIds = inputs.turn_ids === undefined ? null : asTurnRows(inputs.turn_ids)
  const behavior = inputs.lp_old === undefined ? null : asFloatRows(inputs.lp_old)
  const reference = inputs.lp_ref === undefined ? null : asFloatRows(inputs.lp_ref)
  const values = inputs.values_old === undefined ? null : asFloatRows(inputs.values_old)
  return masks.map((actionMask, i) => ({
    ...bareExperience,
    group: Math.floor(i / groupSize),
    actionMask,
    turnIds: turnIds?.[i] ?? null,
    turnRewards: rewardsOfRow(inputs, i),
    behaviorLogprobs: behavior?.[i] ?? null,
    referenceLogprobs: reference?.[i] ?? null,
    behaviorValues: values?.[i] ?? null,
  }))
}

function rewardsOfRow(inputs: JsonObject, row: number): number[] {
  const rewards = asList(inputs.rewards)[row]
  return typeof rewards === 'number' ? [rewards] : asNumbers(rewards)
}

export function replayUpdates(
  algorithm: ConfiguredAlgorithm,
  batch: readonly Experience[],
  advantages: Advantages,
  inputs: JsonObject,
): Replay {
  const rows = lossRows(batch, advantages, inputs)
  const logprobSlopes = rows.map(({ logprobs }) => new Float64Array(logprobs.length))
  const valueGradients = rows.map(({ logprobs }) => new Float64Array(logprobs.length))
  const updates = asList(inputs.minibatches).map((entry) => {
    const indices = asNumbers(entry)
    const lossOf = algorithm.minibatchLoss(indices.map((i) => rows[i]!))
    const parts = partsOf(indices).map((part) => {
      const answer = lossOf(part.map((i) => rows[i]!))
      answer.coefficients.forEach(({ logprobs, values }, position) => {
        add(logprobSlopes[part[position]!]!, logprobs)
        if (values) add(valueGradients[part[position]!]!, values)
      })
      return answer
    })
    const loss = parts.reduce((sum, part) => sum + part.loss, 0)
    return { loss, means: { loss, ...tallyMeans(addTallies(parts.map(({ tallies }) => tallies))) } }
  })
  return {
    losses: updates.map(({ loss }) => loss),
    metrics: meanOfEach(updates.map(({ means }) => means)),
    logprobSlopes,
    valueGradients,
  }
}

const partsOf = (indices: readonly number[]): number[][] =>
  Array.from({ length: Math.ceil(indices.length / PART_SIZE) }, (_, p) =>
    indices.slice(p * PART_SIZE, (p + 1) * PART_SIZE),
  )

const add = (target: Float64Array, values: Float64Array): void =>
  values.forEach((value, t) => (target[t]! += value))

function meanOfEach(records: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const names = new Set(records.flatMap((record) => Object.keys(record)))
  return Object.fromEntries(
    [...names].map((name) => {
      const values = records.flatMap((record) => (record[name] === undefined ? [] : [record[name]]))
      return [name, values.reduce((sum, value) => sum + value, 0) / values.length]
    }),
  )
}

function lossRows(batch: readonly Experience[], advantages: Advantages, inputs: JsonObject): LossRow[] {
  const logprobs = asFloatRows(inputs.lp)
  const values = inputs.values === undefined ? null : asFloatRows(inputs.values)
  const sampling = inputs.sampling_logps === undefined ? null : mismatchRows(inputs)
  const cap = capOf(inputs)
  return batch.map((row, i) => ({
    ...row,
    advantages: advantages.tokens[i]!,
    returns: advantages.returns?.[i] ?? null,
    ...(advantages.granularity === undefined ? {} : { granularity: advantages.granularity }),
    behaviorLogprobs: row.behaviorLogprobs!,
    logprobs: logprobs[i]!,
    entropies: new Float64Array(logprobs[i]!.length),
    values: values?.[i] ?? null,
    correction:
      sampling === null
        ? null
        : correctionWeights(
            {
              behaviorLogprobs: row.behaviorLogprobs!,
              samplerLogprobs: sampling[i]!.logprobs,
              actionMask: row.actionMask,
            },
            { cap, mode: 'truncate' },
          ),
  }))
}

const capOf = (inputs: JsonObject): number =>
  Number(inputs.cap ?? (inputs.config as JsonObject | undefined)?.vllm_importance_sampling_cap ?? 2)

function mismatchRows(inputs: JsonObject) {
  const behavior = asFloatRows(inputs.lp_old)
  const masks = asMaskRows(inputs.action_mask)
  const recorded = asList(inputs.sampling_logps)
  return behavior.map((logprobs, i) => {
    const row = recorded[i]
    const flat = row === null || row === undefined ? null : Float64Array.from(asNumbers(row))
    return alignSamplerLogprobs(logprobs, masks[i]!, flat)
  })
}

/** The sampling-mismatch metrics of a case under their reference names. */
export function mismatchMetrics(inputs: JsonObject): Record<string, number> {
  const aligned = mismatchRows(inputs)
  const behavior = asFloatRows(inputs.lp_old)
  const masks = asMaskRows(inputs.action_mask)
  const rows = aligned.map(({ logprobs }, i) => ({
    behaviorLogprobs: behavior[i]!,
    samplerLogprobs: logprobs,
    actionMask: masks[i]!,
  }))
  const summary = summarizeMismatch(rows, { cap: capOf(inputs), mode: 'truncate' })!
  return {
    vllm_is_delta_mean: summary.differenceMean,
    vllm_is_ratio_mean: summary.ratioMean,
    vllm_is_ratio_p95: summary.ratioHigh,
    vllm_is_frac_clamped: summary.cappedShare,
    vllm_is_rows_skipped: aligned.filter(({ skipped }) => skipped).length,
  }
}

/** Contract of `sampling_mismatch`. */
export function samplingMismatch(inputs: JsonObject): unknown {
  const aligned = mismatchRows(inputs)
  return {
    aligned: aligned.map(({ logprobs }) => logprobs),
    rows_skipped: aligned.filter(({ skipped }) => skipped).length,
    metrics: mismatchMetrics(inputs),
  }
}
