/** What a self-test answers; `selftest.ts` runs it. */

export const selftestParts = ['operators', 'architectures', 'probes'] as const
export type SelftestPart = (typeof selftestParts)[number]

/** One question to this installation and its answer. */
export interface SelftestFinding {
  /** `ops/Softmax`, `model/gradient`, `model/samplerGap`. */
  readonly name: string
  readonly passed: boolean
  readonly measured: number
  /** The largest value that passes. */
  readonly limit: number
  /** What was compared, and in words what is wrong if it failed. */
  readonly sentence: string
}
