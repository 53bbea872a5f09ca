/**
 * Checks that the numbers of an update can be right before it changes anything, on every device. A kernel can be wrong
 * without a word, and rewards or learning rates can drive numbers out of f32. The guard refuses an update
 *
 *   - whose loss, coefficients or gradient are not finite, or whose squares AdamW's second moment could not hold;
 *   - whose gradient is far longer than its loss coefficients account for, or than earlier ones in this run were;
 *   - whose completions the sampler and the learner disagree about by more than rounding explains.
 *
 * Gradients are compared per unit of what they are sums of: ‖Σ cₜ s ∇ log pₜ / T‖ ≤ Σ|cₜ| · s / T · max‖∇ log p‖, with
 * the coefficients c, the adapter's scale s and the temperature T. So neither the size of rewards nor settings of the loss,
 * the adapter or the sampler make a long gradient suspicious; what is left is the model's own ∂log p/∂parameters, of norm 0.04 to 3.
 */
import { loraScale } from '#engine/models/config.ts'
import type { GradientNorms, LossCoefficients } from '#engine/policy.ts'
import type { DeviceKind } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import type { UpdateHistory } from '#shared/events.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { MismatchRow } from './samplingMismatch.ts'
import { mean, quantile } from '../algorithms/terms/groups.ts'

/** Norm per unit. At such a norm the rounding of a parameter of 0.1 in f32 moves a log-probability by nats: neither is right. */
const largestNorm = 1e9
/** Times the median of earlier norms per unit in the run, or 1. Norms of healthy runs reach 20 times theirs, of destroyed ones 4e4. */
const largestJump = 1e6
const remembered = 20
/** Below it Σ|c| is rounding of coefficients that cancel, and there is nothing to divide by. */
const leastReach = 1e-12

/** Mean |sampler − learner|, nats per token at temperature 1. In f32 healthy runs stay below 1e-5, destroyed ones below 1e-4. */
export const exactGapLimit = 0.05
/**
 * The same limit with 8-bit products or weights: the starter model has 0.002 to 0.006; at 0.5 a token is 1.6 times as
 * likely to one as to the other.
 */
const roundedGapLimit = 0.5

const largestF32 = 2 ** 127 * (2 - 2 ** -23)
const manyInARow = 10

export const noUpdates: UpdateHistory = { actor: [], critic: [], skipped: 0 }

/** Why an update is refused. */
export interface UpdateFault {
  /** `diverged`: not finite; `unsound`: finite, but not what a right computation gives. */
  readonly code: 'run/diverged' | 'run/unsound'
  /** A clause: what became of which number. */
  readonly what: string
  /** Advice, as sentences. */
  readonly remedy: string
}

/** Σ|∂loss/∂head| over the tokens of a minibatch: of log-probabilities and entropies, and of values. */
export interface Reach {
  readonly actor: number
  readonly critic: number
}

export interface UpdateNumbers {
  readonly reach: Reach
  readonly gradNorms: GradientNorms
  /** Rows whose tokens sampler and learner both scored under the same parameters. */
  readonly mismatch: readonly MismatchRow[]
}

export interface GuardSettings {
  readonly onUnsound: 'stop' | 'skip'
  readonly maxGradNorm: number
  readonly temperature: number
  readonly adapterScale: number
  /**
   * Mean, nats per token at temperature 1; null: there is none, as the sampler is another machine, which has a limit of its
   * own, or learning leaves parts of the adapter out (dropout), which sampling does not.
   */
  readonly gapLimit: number | null
  readonly device: DeviceKind
}

export function guardSettings(
  config: RunConfig,
  run: Pick<GuardSettings, 'temperature' | 'device'>,
): GuardSettings {
  const { adapter, base, optimization, rollout } = config
  const isRounded = base.precision !== 'f32' || rollout.precision !== 'f32'
  const gapLimit = isRounded ? roundedGapLimit : exactGapLimit
  return {
    onUnsound: optimization.unsoundUpdates,
    maxGradNorm: optimization.maxGradNorm ?? Infinity,
    ...run,
    adapterScale: loraScale({ ...adapter, targets: [] }),
    gapLimit: rollout.server === null && adapter.dropout === 0 ? gapLimit : null,
  }
}

/** Judges the updates of one step, one after the other. */
export class UpdateGuard {
  readonly #settings: GuardSettings
  readonly #step: number
  readonly #skipped: UpdateFault[] = []
  #history: UpdateHistory

  constructor(settings: GuardSettings, step: number, history: UpdateHistory) {
    this.#settings = settings
    this.#step = step
    this.#history = history
  }

  /** History that the next step compares with. */
  get history(): UpdateHistory {
    return this.#history
  }

  /** Updates of this step that were skipped. */
  get skipped(): readonly UpdateFault[] {
    return this.#skipped
  }

  /** Returns the fault of the numbers; null if they can be right. */
  faultOf({ reach, gradNorms, mismatch }: UpdateNumbers): UpdateFault | null {
    const { maxGradNorm, gapLimit, temperature } = this.#settings
    const norms = Object.values(gradNorms)
    if (!norms.every(Number.isFinite)) return diverged('the gradient became infinite or not a number')
    const long = norms.find((norm) => Math.min(norm, maxGradNorm) ** 2 > largestF32)
    if (long !== undefined) return squareOverflow(long)
    const limit = gapLimit === null ? Infinity : gapLimit / Math.min(1, temperature)
    return (
      gapFault(mismatch, limit) ??
      this.#normFault('actor', gradNorms.actor, reach.actor) ??
      this.#normFault('critic', gradNorms.critic, reach.critic)
    )
  }

  #normFault(group: keyof Reach, norm: number | undefined, coefficients: number): UpdateFault | null {
    const unit = this.#unitOf(group, coefficients)
    const earlier = this.#history[group]
    const median = earlier.length === 0 ? null : quantile(earlier, 0.5)
    const limit = median === null ? largestNorm : Math.min(largestNorm, largestJump * Math.max(1, median))
    if (norm === undefined || norm <= limit * unit) return null
    const of = group === 'actor' ? 'the gradient norm' : 'the critic’s gradient norm'
    const compared =
      median === null
        ? `more than any f32 computation gives for such a loss`
        : `but ${figure(median * unit)} is usual in this run for such a loss`
    return unsound(`${of} became ${figure(norm)}, ${compared}`)
  }

  /** The norm of a gradient whose ∂log p/∂parameters have norm 1. */
  #unitOf(group: keyof Reach, coefficients: number): number {
    const { adapterScale, temperature } = this.#settings
    const sampling = group === 'actor' ? Math.min(1, temperature) : 1
    return (Math.max(coefficients, leastReach) * Math.max(1, adapterScale)) / sampling
  }

  /** The update was taken: later ones are compared with it. */
  taken({ reach, gradNorms }: Pick<UpdateNumbers, 'reach' | 'gradNorms'>): void {
    const longer = (group: keyof Reach): readonly number[] => {
      const norm = gradNorms[group]
      if (norm === undefined || reach[group] <= leastReach) return this.#history[group]
      return [...this.#history[group], norm / this.#unitOf(group, reach[group])].slice(-remembered)
    }
    this.#history = { actor: longer('actor'), critic: longer('critic'), skipped: 0 }
  }

  /**
   * The update is not taken, and its gradients are forgotten already. Errors: AppError of the fault's code where the
   * config says stop, or too many were skipped in a row.
   */
  refuse(fault: UpdateFault): void {
    const skipped = this.#history.skipped + 1
    const { onUnsound, device } = this.#settings
    this.#skipped.push(fault)
    this.#history = { ...this.#history, skipped }
    if (onUnsound === 'skip' && skipped < manyInARow) return
    const others = onUnsound === 'skip' ? `, nor were the ${skipped - 1} before it` : ''
    const isUnsound = fault.code === 'run/unsound'
    const text = [
      'The adapter is unchanged, and earlier checkpoints are intact.',
      fault.remedy,
      ...(isUnsound && device !== 'cpu'
        ? ['Meanwhile fork from the last checkpoint with device.kind set to cpu.']
        : []),
    ].join(' ')
    throw new AppError(
      fault.code,
      `In step ${this.#step} ${fault.what}; the update was not applied${others}.`,
      isUnsound ? { text, command: `\`turnwise selftest --device ${device}\` tests the device.` } : text,
    )
  }

  /** Returns the log's words about skipped updates; null if there were none. */
  warning(updates: number): string | null {
    const [first] = this.#skipped
    if (first === undefined) return null
    const { length } = this.#skipped
    const which = updates === 1 ? 'The update' : `${length} of ${updates} updates`
    return `${which} of step ${this.#step} ${length === 1 ? 'was' : 'were'} skipped, and the adapter left unchanged: ${first.what}.`
  }
}

const slower = 'Scale rewards to about 1, or resume from the last checkpoint with a lower learning rate.'

const diverged = (what: string, remedy = slower): UpdateFault => ({ code: 'run/diverged', what, remedy })

const unsound = (what: string): UpdateFault => ({
  code: 'run/unsound',
  what,
  remedy:
    'Either the device computes wrongly or this is a fault in Turnwise: test the device, and if it passes, please report this with the run’s config.',
})

/** null where the loss is finite. */
export const lossFault = (loss: number): UpdateFault | null =>
  Number.isFinite(loss)
    ? null
    : diverged(
        `the loss became ${loss}`,
        'Resume from the last checkpoint with a lower learning rate or a smaller clip range.',
      )

/** The engine multiplies gradients of log-probabilities by the coefficients in f32, where a larger number would be infinite. */
export function coefficientFault(rows: readonly LossCoefficients[]): UpdateFault | null {
  for (const row of rows) {
    for (const part of [row.logprobs, row.entropies, row.values, row.alternatives]) {
      const broken = part?.find((value) => !(Math.abs(value) <= largestF32))
      if (broken !== undefined) return diverged(`a loss coefficient became ${broken}, more than f32 can hold`)
    }
  }
  return null
}

export const reachOf = (rows: readonly LossCoefficients[]): Reach => ({
  actor: rows.reduce(
    (sum, row) => sum + sizeOf(row.logprobs) + sizeOf(row.entropies) + sizeOf(row.alternatives ?? null),
    0,
  ),
  critic: rows.reduce((sum, row) => sum + sizeOf(row.values), 0),
})

const sizeOf = (values: Float64Array | null): number =>
  values?.reduce((sum, value) => sum + Math.abs(value), 0) ?? 0

/** Fault of a gradient whose square AdamW's second moment cannot hold. */
const squareOverflow = (norm: number): UpdateFault =>
  diverged(
    `the gradient norm became ${figure(norm)}, whose square f32 cannot hold`,
    `${slower} Clipping (optimization.maxGradNorm) also helps.`,
  )

function gapFault(rows: readonly MismatchRow[], limit: number): UpdateFault | null {
  const gaps = rows.flatMap(({ behaviorLogprobs, samplerLogprobs, actionMask }) =>
    [...actionMask.keys()].flatMap((t) =>
      actionMask[t] === 1 ? [Math.abs(behaviorLogprobs[t]! - samplerLogprobs[t]!)] : [],
    ),
  )
  const gap = mean(gaps)
  if (gaps.length === 0 || gap <= limit) return null
  return unsound(
    `sampler and learner disagreed by ${figure(gap)} nats per token on the same completions; rounding explains at most ${figure(limit)}`,
  )
}

const figure = (value: number): string =>
  Math.abs(value) >= 1e6 ? value.toExponential(1) : String(Number(value.toPrecision(2)))
