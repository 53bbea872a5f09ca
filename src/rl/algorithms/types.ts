/**
 * Interface of an algorithm. Reading guide of this folder:
 *
 *   grpo.ts …       one algorithm per file: its settings, its advantage and its loss as formulas
 *   registry.ts     the list
 *   define.ts       what such a file contains
 *   terms/          what formulas are made of: policyTerms (ratio, clip, KL, entropy, normaliser), unitTerms (means over turns
 *                   or trajectories), groupAdvantages, returns, rewards; differentiable: arithmetic that knows its derivatives
 *   types.ts        what goes in and out; the trainer knows nothing else
 *
 * An algorithm is arithmetic on plain f64 arrays. Every loss reaches the model only through ∂loss/∂{log-probability,
 * entropy, value} of each token, so these numbers are all it answers: no tensors, no engine.
 *
 * Given answers come in the same form: the action mask marks the tokens of the answer, a preference is two rows, the
 * chosen answer first, and an answer's mark is its reward: 1 = good, 0 = bad.
 *
 * Per-token arrays are in the shifted frame: a sequence of L tokens has T = L−1 entries, entry t is the prediction of
 * token t+1. Entries outside the action mask may hold anything and never influence a result.
 */
import type { ExperienceKind } from '#shared/experience.ts'
import type { Tallies } from './terms/tally.ts'
import type { ReturnGranularity } from './terms/turns.ts'

/** Reward that one function, or the environment, gave a trajectory. */
export interface RewardPart {
  /** Before the weight; null where the function does not apply. */
  readonly value: number | null
  readonly weight: number
}

/** One trajectory as algorithms see it; arrays are [T]. */
export interface Experience {
  /** Trajectories with the same number answer the same prompt. */
  readonly group: number
  /** 1 where the policy chose the token. */
  readonly actionMask: Uint8Array
  /** Turn of each action token, −1 elsewhere; null = all in turn 0. */
  readonly turnIds: Int32Array | null
  /** Reward of each turn, including the rewards of its single tokens. */
  readonly turnRewards: readonly number[]
  /** Parts of the reward by name; absent: it is one part. */
  readonly rewardParts?: Readonly<Record<string, RewardPart>>
  /** [T] rewards of single tokens, which `turnRewards` includes; null if there are none. */
  readonly tokenRewards: Float64Array | null
  /**
   * Log-probabilities under the parameters before the first update of the step, computed by the learner; null until scored.
   * Unless older ones generated the trajectory, they are the behaviour policy's, else those of the proximal policy.
   */
  readonly behaviorLogprobs: Float64Array | null
  /** Log-probabilities under the reference policy; null unless `needs.reference`. */
  readonly referenceLogprobs: Float64Array | null
  /** The critic's values before the first update; null unless `needs.values`. */
  readonly behaviorValues: Float64Array | null
  /** The critic's value of the state in which a truncated episode was left; null if nothing more could be earned. */
  readonly lastStateValue: number | null
  /** Entropy of the behaviour policy at each token, nats; null unless `needs.behaviorEntropies`. */
  readonly behaviorEntropies: Float64Array | null
  /** True if a limit or the environment ended the trajectory before it was over. */
  readonly truncated: boolean
  /** The largest number of tokens that the policy could have chosen; null = no limit. */
  readonly tokenLimit: number | null
  /** Reward of the greedy answer to the same prompt; null unless `needs.greedyBaseline`. */
  readonly baselineReward: number | null
  /**
   * Log-ratio of the policy to the reference, nats, summed over the answer of another row after this one's prompt, before
   * the first update; null or absent unless `needs.mismatched`.
   */
  readonly mismatchedLogRatio?: number | null
  /** The teacher's likeliest tokens; absent unless `needs.likeliest`. */
  readonly likeliest?: LikelyTokens
}

/** The K likeliest tokens of each prediction, [T·K] each, and their log-probabilities. */
export interface LikelyTokens {
  readonly ids: Int32Array
  readonly logprobs: Float64Array
}

/** Trajectories that answer the same prompt. */
export type Group<Member = Experience> = readonly Member[]

/** The advantages of a rollout batch. */
export interface Advantages {
  /** [B][T]; 0 outside the action mask. */
  readonly tokens: readonly Float64Array[]
  /** [B][T] targets of the value head; null without a critic. */
  readonly returns: readonly Float64Array[] | null
  /** Indices of the trajectories that take part in the update, ascending. */
  readonly kept: readonly number[]
  /** The granularity that `auto` resolved to for this batch, if the loss needs it. */
  readonly granularity?: ReturnGranularity
}

/** A trajectory in a minibatch. */
export interface LearningRow extends Experience {
  readonly advantages: Float64Array
  readonly returns: Float64Array | null
  /** Granularity of the `Advantages` it comes from; absent = resolved for the minibatch alone. */
  readonly granularity?: ReturnGranularity
}

/** A row for learning once the heads of the current policy are known. */
export interface LossRow extends LearningRow {
  readonly behaviorLogprobs: Float64Array
  readonly logprobs: Float64Array
  readonly entropies: Float64Array
  readonly values: Float64Array | null
  /** Weight of each token's policy term that corrects the mismatch between sampler and learner; null = 1. */
  readonly correction: Float64Array | null
  /** [T] log-probabilities recorded by the sampler; null or absent = the behaviour policy's. */
  readonly samplerLogprobs?: Float64Array | null
  /** [T·K] log-probabilities that the current policy gives to the teacher's likeliest tokens. */
  readonly likeliestLogprobs?: Float64Array
}

/** A token of a batch: its row, and its index in the shifted frame. */
export interface TokenPlace {
  readonly row: number
  readonly place: number
}

/** ∂loss/∂head of one trajectory, [T]; null if the loss does not depend on that head. */
export interface HeadCoefficients {
  readonly logprobs: Float64Array
  readonly entropies: Float64Array | null
  readonly values: Float64Array | null
  /** [T·K] of the log-probabilities of the teacher's likeliest tokens. */
  readonly alternatives?: Float64Array | null
}

/** The contribution of one micro-batch to the loss; those of a minibatch add up to its loss. */
export interface PartLoss {
  readonly loss: number
  /** One per row. */
  readonly coefficients: readonly HeadCoefficients[]
  readonly tallies: Tallies
}

/** The loss of one minibatch, computed micro-batch by micro-batch. */
export type MinibatchLoss = (part: readonly LossRow[]) => PartLoss

/** Quantities to compute before `advantages` is called, and how rows may be split into micro-batches. */
export interface Needs {
  /** The advantage depends on behaviour log-probabilities. */
  readonly behavior: boolean
  /** The loss depends on the behaviour policy, which must be scored if there is more than one update. */
  readonly ratio: boolean
  /** The loss depends on the behaviour policy's entropies, which must be computed before the first update. */
  readonly behaviorEntropies: boolean
  readonly reference: boolean
  readonly values: boolean
  /** The reward of a greedy answer to each prompt. */
  readonly greedyBaseline: boolean
  /** Log-ratios to the reference of answers after prompts of other rows. */
  readonly mismatched: boolean
  /** Rewards enter the advantages or the loss: completions without one take no part. */
  readonly rewards: boolean
  /** The reference has to be another model. */
  readonly teacher: boolean
  /** Likeliest tokens of the teacher at each prediction; 0: none. */
  readonly likeliest: number
  /** The loss has a coefficient on the entropy. */
  readonly entropyGradient: boolean
  /** Number of consecutive rows that must stay in one micro-batch, such as 2 for a chosen and a rejected answer. */
  readonly unit: number
}

/** Decides which groups are kept; the others are replaced by groups of further prompts. */
export interface GroupAcceptance {
  /** Tells whether the finished group of one prompt can be learned from. */
  accepts(group: Group<Pick<Experience, 'turnRewards' | 'rewardParts'>>): boolean
  /** Maximum further rounds of prompts that a step draws before it continues with the groups it has. */
  readonly rounds: number
}

/** An algorithm with its settings applied, as the trainer uses it. */
export interface ConfiguredAlgorithm {
  readonly id: string
  readonly experience: ExperienceKind
  readonly groupSize: { readonly default: number; readonly minimum: number }
  readonly needs: Needs
  readonly acceptance: GroupAcceptance | null
  advantages(batch: readonly Experience[]): Advantages | Promise<Advantages>
  /** True if a row with advantage 0 has no gradient, whatever its probabilities are. */
  readonly needsAdvantage: boolean
  /**
   * Called with the rows of every micro-batch before their loss is computed. Throws an AppError if nothing can be learned
   * from them; `textOf` decodes the token that shows it.
   */
  admit?(rows: readonly LossRow[], textOf: (token: TokenPlace) => string | undefined): void
  minibatchLoss(minibatch: readonly LearningRow[]): MinibatchLoss
}
