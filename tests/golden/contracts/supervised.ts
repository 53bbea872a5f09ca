/** Learning from answers somebody wrote: SFT, DPO and its relatives. */
import { tallyMeans } from '#rl/algorithms/terms/tally.ts'
import { distillation } from '#rl/algorithms/distillation.ts'
import { dpo } from '#rl/algorithms/dpo.ts'
import { kto } from '#rl/algorithms/kto.ts'
import { orpo } from '#rl/algorithms/orpo.ts'
import { sft } from '#rl/algorithms/sft.ts'
import { simpo } from '#rl/algorithms/simpo.ts'
import type { BuiltInAlgorithm } from '#rl/algorithms/define.ts'
import type { Advantages, ConfiguredAlgorithm, LossRow } from '#rl/algorithms/types.ts'
import { completionMask } from '#rl/rollout/trajectory.ts'
import {
  asFloatRows,
  asList,
  asMaskRows,
  asNumbers,
  asObject,
  exact,
  single,
  type JsonObject,
} from '../contract.ts'
import { headGradients } from './engine.ts'
import { bareExperience } from '../../rl/bareExperience.ts'

interface Answer {
  readonly group: number
  readonly actionMask: Uint8Array
  readonly logprobs: Float64Array
  readonly referenceLogprobs: Float64Array | null
  readonly turnRewards?: readonly number[]
  readonly mismatchedLogRatio?: number
}

function lossRows(algorithm: ConfiguredAlgorithm, answers: readonly Answer[]): LossRow[] {
  const batch = answers.map((answer) => ({
    ...bareExperience,
    turnRewards: [],
    ...answer,
    turnIds: null,
    behaviorLogprobs: answer.logprobs,
    behaviorValues: null,
  }))
  const { tokens } = algorithm.advantages(batch) as Advantages
  return batch.map((row, i) => ({
    ...row,
    advantages: tokens[i]!,
    returns: null,
    entropies: new Float64Array(row.logprobs.length),
    values: null,
    correction: null,
  }))
}

function preferences(inputs: JsonObject): unknown {
  const answersOf = (side: 'chosen' | 'rejected'): Answer[] => {
    const masks = asMaskRows(inputs[`${side}_mask`])
    const reference = asFloatRows(inputs[`${side}_ref_lp`])
    return asFloatRows(inputs[`${side}_lp`]).map((logprobs, group) => ({
      group,
      actionMask: masks[group]!,
      logprobs,
      referenceLogprobs: reference[group]!,
    }))
  }
  const rejected = answersOf('rejected')
  const algorithm = dpo.configure({ beta: inputs.beta, nllAlpha: inputs.nll_alpha })
  const rows = lossRows(
    algorithm,
    answersOf('chosen').flatMap((chosen, i) => [chosen, rejected[i]!]),
  )
  const lossOf = algorithm.minibatchLoss(rows)
  const { loss, coefficients } = lossOf(rows)
  const pairs = rejected.map((_, i) => lossOf(rows.slice(2 * i, 2 * i + 2)).tallies)
  const everySecond = <T>(items: readonly T[], first: 0 | 1): T[] => items.filter((_, i) => i % 2 === first)
  const slopes = coefficients.map(({ logprobs }) => logprobs)
  return {
    loss,
    chosen_rewards: pairs.map((tallies) => tallies['rewards/chosen']!.sum),
    rejected_rewards: pairs.map((tallies) => tallies['rewards/rejected']!.sum),
    grad_chosen_lp: everySecond(slopes, 0),
    grad_rejected_lp: everySecond(slopes, 1),
  }
}

/** Rows as TRL's trainer has them, and its metrics. */
const asTrained =
  (algorithm: BuiltInAlgorithm) =>
  (inputs: JsonObject): unknown => {
    const masks = asMaskRows(inputs.action_mask)
    const reference = inputs.ref_lp === undefined ? null : asFloatRows(inputs.ref_lp)
    const labels = inputs.labels === undefined ? null : asNumbers(inputs.labels)
    const gaps = inputs.mismatched_log_ratios === undefined ? null : asNumbers(inputs.mismatched_log_ratios)
    const configured = algorithm.configure(asObject(inputs.settings))
    const rows = lossRows(
      configured,
      asFloatRows(inputs.lp).map((logprobs, i) => ({
        logprobs,
        group: Math.floor(i / configured.needs.unit),
        actionMask: masks[i]!,
        referenceLogprobs: reference?.[i] ?? null,
        ...(labels && { turnRewards: [labels[i]!] }),
        ...(gaps && { mismatchedLogRatio: gaps[i]! }),
      })),
    )
    const { loss, coefficients, tallies } = configured.minibatchLoss(rows)(rows)
    return { loss, metrics: tallyMeans(tallies), grad_lp: coefficients.map(({ logprobs }) => logprobs) }
  }

/** Logits of student and teacher, [tokens][V]; the gradient is that of the student's logits. */
function divergence(inputs: JsonObject): unknown {
  const logprobsOf = (logits: readonly Float64Array[]): Float64Array => {
    const rows = logits.map((row) => {
      const largest = Math.max(...row)
      const total = row.reduce((sum, z) => sum + Math.exp(z - largest), 0)
      return row.map((z) => z - largest - Math.log(total))
    })
    return Float64Array.from(rows.flatMap((row) => [...row]))
  }
  const student = asFloatRows(inputs.lp)
  const size = student[0]!.length
  const [own, theirs] = [logprobsOf(student), logprobsOf(asFloatRows(inputs.ref))]
  const tokens = new Float64Array(student.length)
  const actionMask = new Uint8Array(student.length).fill(1)
  const { beta: jsdBeta } = asObject(inputs.settings)
  const algorithm = distillation.configure({ compares: 'top-k', jsdBeta })
  const answer = { group: 0, actionMask, logprobs: tokens, referenceLogprobs: tokens }
  const ids = Int32Array.from(own, (_, at) => at % size)
  const rows = lossRows(algorithm, [answer]).map((row) => ({
    ...row,
    likeliest: { ids, logprobs: theirs },
    likeliestLogprobs: own,
  }))
  const { loss, coefficients } = algorithm.minibatchLoss(rows)(rows)
  const slopes = coefficients[0]!.alternatives!
  return {
    loss,
    grad_lp: student.map((_, t) => {
      const here = slopes.subarray(t * size, (t + 1) * size)
      const sum = here.reduce((all, slope) => all + slope, 0)
      return here.map((slope, k) => slope - Math.exp(own[t * size + k]!) * sum)
    }),
  }
}

async function demonstrations(inputs: JsonObject): Promise<unknown> {
  const ids = asList(inputs.input_ids).map(asNumbers)
  const lengths = asMaskRows(inputs.attention_mask).map((row) => row.reduce((sum, one) => sum + one, 0))
  const promptLengths = asNumbers(inputs.prompt_lengths)
  const masks = ids.map((row, i) => {
    const mask = new Uint8Array(row.length - 1)
    mask.set(completionMask(promptLengths[i]!, lengths[i]!))
    return mask
  })
  const nothing = ids.map((row) => new Float64Array(row.length - 1))
  const forward = await headGradients(inputs, 1, nothing)
  const algorithm = sft.configure({})
  const rows = lossRows(
    algorithm,
    masks.map((actionMask, group) => ({
      group,
      actionMask,
      logprobs: Float64Array.from(forward.logprobs[group]!),
      referenceLogprobs: null,
    })),
  )
  const { loss, coefficients } = algorithm.minibatchLoss(rows)(rows)
  const backward = await headGradients(
    inputs,
    1,
    coefficients.map(({ logprobs }) => logprobs),
  )
  return {
    labels: masks.map((mask, i) =>
      Array.from(mask, (isAnswer, t) => (isAnswer === 1 ? ids[i]![t + 1] : -100)),
    ),
    loss,
    grad_hidden: backward.gradHidden,
    grad_lm_head_weight: backward.gradWeight,
    grad_lm_head_bias: backward.gradBias,
  }
}

export const supervisedContracts = {
  'dpo.loss': exact(preferences),
  'sft.loss': exact(demonstrations),
  // TRL computes odds and shares in f32.
  'gkd.loss': exact(divergence),
  'orpo.loss': single(asTrained(orpo)),
  'simpo.loss': single(asTrained(simpo)),
  'kto.loss': exact(asTrained(kto)),
}
