/** Request and report of a bench; `bench.ts` measures. */
import type { DeviceKind } from '#shared/device.ts'
import type { HeldPrecision, RolloutPrecision } from '#shared/precision.ts'

/** `step`: a whole GRPO step; `parity`: the device's tokens and gradients beside the CPU's. */
export const benchParts = ['prefill', 'decode', 'train', 'step', 'parity'] as const
export type BenchPart = (typeof benchParts)[number]

/** Row lengths of a training batch: `rows` of `from`, or drawn evenly between `from` and `to`. */
export interface BenchLengths {
  readonly rows: number
  readonly from: number
  readonly to: number
}

export interface BenchRequest {
  /** A model folder, or the name of a shape filled with random weights. */
  readonly subject: { readonly model: string } | { readonly shape: string }
  readonly device: DeviceKind
  /** CPU threads; null = one per physical core. */
  readonly threads: number | null
  readonly parts: readonly BenchPart[]
  /** Rows decoded together. */
  readonly batches: readonly number[]
  readonly precisions: readonly RolloutPrecision[]
  /** Precision in which the base is held; decoding reads a rounded base too, whatever `precisions` say. */
  readonly base: HeldPrecision
  /** Number of measured steps of each part, after one that is not counted. */
  readonly steps: number
  readonly lengths: BenchLengths
  readonly activations: 'auto' | 'recompute' | 'save'
  /** Rank of the adapter on all linears; 0 measures generation on the base alone (and nothing can be trained). */
  readonly rank: number
  readonly cacheDirectory: string
}

/** Report of a benchmark; parts that were not requested are absent. */
export interface BenchReport {
  readonly shape: string
  readonly device: DeviceKind
  readonly threads: number
  /** 10⁹ floating-point operations per second that the device's f32 matrix product sustains. */
  readonly matmulPeakGflops: number
  readonly prefill?: {
    readonly tokensPerSecond: number
    /** Time to the first tokens of eight completions of one prompt, over that of one completion. */
    readonly groupOfEight: number
  }
  readonly decode?: readonly {
    readonly batch: number
    readonly precision: HeldPrecision
    readonly tokensPerSecond: number
  }[]
  readonly train?: {
    readonly tokensPerSecond: number
    /**
     * Work, recompute counted, as a fraction of the peak just before and after each step, in the median step: as it is
     * usually counted (`conventionalFlops`), and only what is really computed (`learningFlops`).
     */
    readonly peakFraction: number
    readonly computedPeakFraction: number
    readonly anonymousBytes: number
    readonly mappedBytes: number | null
  }
  readonly step?: StepFigures
  readonly parity?: ParityFigures
}

/** A step of GRPO in the median: rollout, rewards, advantages, gradients, update. */
export interface StepFigures {
  readonly completions: number
  readonly promptTokens: number
  readonly newTokens: number
  readonly seconds: number
  readonly rolloutSeconds: number
  readonly updateSeconds: number
}

/** The same work on the device and on the CPU. */
export interface ParityFigures {
  /** Precision of the CPU's base: the device's, or f32 where the CPU does not multiply in it. */
  readonly reference: HeldPrecision
  /** Greedily chosen tokens, and how many of them are the CPU's before the first that differs. */
  readonly tokens: number
  readonly sameTokens: number
  /** Largest difference of a log-probability of these, nats. */
  readonly logprobs: number
  /** Length of the difference of the adapter's gradients, relative to the length of the CPU's. */
  readonly gradient: number
}
