/** Estimates the time of a whole step from that of one group (calibrate.ts). */
import type { RunConfig } from '#shared/runConfig.ts'

/** Tokens are means over trajectories or prompts. */
export interface StepMeasures {
  /** True if the policy generates what it learns from. */
  readonly isActing: boolean
  /** Trajectories. */
  readonly groupSize: number
  /** Prompt tokens of the row that was measured, and of all rows. */
  readonly longestPrompt: number
  readonly meanPrompt: number
  /** Prompt and completion of the row that was measured. */
  readonly rowTokens: number
  /** null if nothing is generated, or there was no room to measure it. */
  readonly decoding: {
    readonly promptSeconds: number
    /** Factor by which a token takes longer when `batchRows` completions decode together instead of one group. */
    readonly slowdown: number
    readonly batchRows: number
  } | null
  /** `forward`: the passes before the update. */
  readonly seconds: {
    readonly generating: number
    readonly scoring: number
    readonly forward: number
    readonly update: number
  }
  /** Tokens in the forward passes and the update. */
  readonly learnedTokens: number
}

export interface Estimate {
  /** Seconds. */
  readonly expected: number
  readonly low: number
  readonly high: number
}

/** Completions grow and shrink during training, and other programs use the machine too. */
const [quicker, slower] = [0.75, 1.5]

/**
 * One step. `high`: every row as long as the longest, no gain from decoding groups together, and none from generating while
 * learning: servers may use the processors that learn.
 */
export function estimateStep({ rollout, optimization }: RunConfig, measures: StepMeasures): Estimate {
  const { promptsPerStep } = rollout
  const { seconds, groupSize, learnedTokens } = measures
  const rows = promptsPerStep * groupSize
  const perToken =
    learnedTokens === 0 ? 0 : (seconds.forward + optimization.epochs * seconds.update) / learnedTokens
  const learning = (tokens: number) => rows * tokens * perToken
  const scoring = promptsPerStep * seconds.scoring
  const collected = generating(rows, measures) + scoring
  const learned = learning(expectedTokens(measures))
  // Ahead of learning, the rewards too are computed while the step before is learned.
  const overlaps = measures.isActing && rollout.maxStaleness > 0
  const expected = overlaps ? Math.max(collected, learned) : collected + learned
  const longest = promptsPerStep * seconds.generating + scoring + learning(measures.rowTokens)
  const high = Math.max(slower * (collected + learned), longest)
  return { expected, low: quicker * expected, high }
}

/** Tokens of all trajectories of a step, prompts included, as `num_tokens` counts them. */
export const estimateTokens = ({ rollout }: RunConfig, measures: StepMeasures): number =>
  Math.round(rollout.promptsPerStep * measures.groupSize * expectedTokens(measures))

/** One evaluation of `rows` held-out rows: greedy completions with their rewards, or the loss of given answers. */
export function estimateEvaluation(rows: number, measures: StepMeasures): number {
  const { isActing, seconds, groupSize, learnedTokens } = measures
  if (isActing) return generating(rows, measures) + (rows * seconds.scoring) / Math.max(groupSize, 1)
  // A forward pass is a third of learning.
  return learnedTokens === 0 ? 0 : (rows * expectedTokens(measures) * seconds.update) / learnedTokens / 3
}

/** Prompts one after the other, tokens of many completions together. */
function generating(rows: number, { seconds, decoding, groupSize, ...tokens }: StepMeasures): number {
  const groups = rows / Math.max(groupSize, 1)
  if (decoding === null) return groups * seconds.generating
  const prompt = Math.min(decoding.promptSeconds, seconds.generating)
  const decode = (seconds.generating - prompt) * decoding.slowdown
  const rounds = Math.max(rows / decoding.batchRows, 1 / Math.max(decoding.slowdown, 1))
  return groups * prompt * (tokens.meanPrompt / Math.max(tokens.longestPrompt, 1)) + rounds * decode
}

const expectedTokens = ({ rowTokens, longestPrompt, meanPrompt }: StepMeasures): number =>
  Math.max(1, rowTokens - longestPrompt + meanPrompt)

/** Number of evaluations in a run of that many steps: before it, at the interval, and at its end. */
export const evaluationsOf = (steps: number, every: number): number =>
  2 + (every > 0 ? Math.ceil(steps / every) - 1 : 0)
