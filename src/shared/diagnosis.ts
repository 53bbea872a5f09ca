/** Diagnosis of a run by its metrics. */

/**
 * `note`: normal, though it may look alarming, or worth knowing; `warning`: learning suffers; `problem`: continuing is
 * of no use.
 */
export type FindingSeverity = 'note' | 'warning' | 'problem'

export type FindingId =
  | 'policy-destroyed'
  | 'reward-collapse'
  | 'entropy-explosion'
  | 'gradient-spikes'
  | 'reward-size'
  | 'rewards-cancel'
  | 'sampling-too-wide'
  | 'sampling-too-narrow'
  | 'kl-too-heavy'
  | 'held-out-other-task'
  | 'groups-all-right'
  | 'groups-all-wrong'
  | 'groups-alike'
  | 'loss-zero-at-start'
  | 'constant-reward'
  | 'reward-failures'
  | 'no-reward'
  | 'format-mismatch'
  | 'cap-hits'
  | 'entropy-collapse'
  | 'kl-runaway'
  | 'diverged'
  | 'updates-skipped'
  | 'clip-share-high'
  | 'clip-share-low'
  | 'sampler-gap'
  | 'one-reward-dominates'
  | 'longer-not-better'
  | 'held-out-gap'
  | 'learns-nothing'
  | 'answer-in-prompt'
  | 'other-template'
  | 'held-out-other-language'
  | 'held-out-other-form'
  | 'reward-is-length'
  | 'reward-is-noise'
  | 'reward-is-one-word'

/** Value that a finding is based on. */
export interface Evidence {
  /** Name of a metric, or a description of what was counted. */
  readonly of: string
  /** Value over the steps, inclusive; null: it was NaN or infinite. */
  readonly value: number | null
  readonly fromStep: number
  readonly toStep: number
}

/** Link to the relevant samples or charts. */
export type LookAt =
  | { readonly kind: 'samples'; readonly fromStep: number; readonly toStep: number }
  | { readonly kind: 'reward'; readonly name: string }
  | { readonly kind: 'checkpoint'; readonly step: number }
  | { readonly kind: 'selftest' }

export interface Proposal {
  readonly words: string
  /** Settings by dotted name, in the form of a fork; empty if there is only something to look at. */
  readonly changes: Readonly<Record<string, unknown>>
  /**
   * Start of a fork with the changes: the newest checkpoint; that of a step, because later ones are damaged; or a new
   * run, because no checkpoint is sound.
   */
  readonly from: 'newest' | 'start' | number
  readonly lookAt: LookAt | null
}

export interface Finding {
  readonly id: FindingId
  readonly severity: FindingSeverity
  /** Explanation for people. */
  readonly words: string
  readonly evidence: readonly Evidence[]
  readonly proposals: readonly Proposal[]
}

/** Value that was checked, over the last steps. */
export interface Check {
  /** Title as in charts. */
  readonly title: string
  /** Name of the metric; null if it is derived from several. */
  readonly metric: string | null
  /** Initial value, if it is the reference. */
  readonly before: number | null
  readonly value: number
  readonly unit: 'share' | 'nats' | 'reward' | 'times' | 'count'
  /** Threshold of a warning in words: “above 50 %”. */
  readonly limit: string
  readonly isWithin: boolean
}

export interface Diagnosis {
  /** Diagnosed stage, the last one started, from 0; null if the run has no stages. */
  readonly stage: number | null
  /** First step of that stage, and its number of steps so far. */
  readonly firstStep: number
  readonly steps: number
  /** Most severe first, without those explained by another one. */
  readonly findings: readonly Finding[]
  /** Last step before the reward collapsed permanently; null if it did not. */
  readonly soundUntil: number | null
  /** Checks for which the run has metrics. */
  readonly checks: readonly Check[]
}

/** Finding as a run reports it during training, without its evidence. */
export type Remark = Pick<Finding, 'id' | 'severity' | 'words'>
