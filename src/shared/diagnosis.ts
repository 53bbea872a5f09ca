/** What the numbers of a run say about how it goes. */

/**
 * `note`: as it should be, though it may look alarming, or worth knowing; `warning`: learning suffers; `problem`: going on
 * like this is of no use.
 */
export type FindingSeverity = 'note' | 'warning' | 'problem'

export type FindingId =
  | 'groups-all-right'
  | 'groups-all-wrong'
  | 'groups-alike'
  | 'loss-zero-at-start'
  | 'dead-reward'
  | 'reward-failures'
  | 'no-reward'
  | 'format-mismatch'
  | 'cap-hits'
  | 'entropy-collapse'
  | 'kl-runaway'
  | 'diverged'
  | 'clip-share-high'
  | 'clip-share-low'
  | 'sampler-gap'
  | 'one-reward-dominates'
  | 'longer-not-better'
  | 'held-out-gap'

/** A number that a finding rests on. */
export interface Evidence {
  /** Name of a metric, or in words what was counted. */
  readonly of: string
  /** Over the steps, inclusive; null: it was no number. */
  readonly value: number | null
  readonly fromStep: number
  readonly toStep: number
}

/** Where to look. */
export type LookAt =
  | { readonly kind: 'samples'; readonly fromStep: number; readonly toStep: number }
  | { readonly kind: 'reward'; readonly name: string }
  | { readonly kind: 'checkpoint'; readonly step: number }
  | { readonly kind: 'selftest' }

export interface Proposal {
  readonly words: string
  /** Settings by dotted name, as a fork takes them; empty where there is only something to look at. */
  readonly changes: Readonly<Record<string, unknown>>
  readonly lookAt: LookAt | null
}

export interface Finding {
  readonly id: FindingId
  readonly severity: FindingSeverity
  /** What it means, for people. */
  readonly words: string
  readonly evidence: readonly Evidence[]
  readonly proposals: readonly Proposal[]
}

export interface Diagnosis {
  /** The training that was judged, the last one that began, from 0; null where the run is one training. */
  readonly stage: number | null
  /** Its steps so far: the first, and how many. */
  readonly firstStep: number
  readonly steps: number
  /** The gravest first. */
  readonly findings: readonly Finding[]
}
