/** What the numbers of a run say about how it goes. */

/**
 * `note`: as it should be, though it may look alarming, or worth knowing; `warning`: learning suffers; `problem`: going on
 * like this is of no use.
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
  /**
   * Where to begin with the changes: the newest checkpoint; one of a step, because what came after it is damaged; or a new
   * run, because no checkpoint is sound.
   */
  readonly from: 'newest' | 'start' | number
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

/** A figure that was looked at, over the last steps. */
export interface Check {
  /** What it is, as charts call it. */
  readonly title: string
  /** Name of the metric; null where it is made of several. */
  readonly metric: string | null
  /** How it was at the start, where that is what it is compared with. */
  readonly before: number | null
  readonly value: number
  readonly unit: 'share' | 'nats' | 'reward' | 'times' | 'count'
  /** When it is a warning, in words: “above 50 %”. */
  readonly limit: string
  readonly isWithin: boolean
}

export interface Diagnosis {
  /** The training that was judged, the last one that began, from 0; null where the run is one training. */
  readonly stage: number | null
  /** Its steps so far: the first, and how many. */
  readonly firstStep: number
  readonly steps: number
  /** The gravest first; without those that another one of them explains. */
  readonly findings: readonly Finding[]
  /** The last step before the reward broke down for good; null where it did not. */
  readonly soundUntil: number | null
  /** Those that the run has numbers for. */
  readonly checks: readonly Check[]
}

/** What a run says of itself while it goes on, without what it rests on. */
export type Remark = Pick<Finding, 'id' | 'severity' | 'words'>
