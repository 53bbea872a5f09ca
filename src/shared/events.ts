/**
 * Events of a run: one discriminated union, plain JSON. Whoever stores or shows an event adds the time; the training
 * loop itself has no clock, so that a resumed run reports the same.
 */
import type { SettingChange } from './config/changes.ts'
import type { Device } from './device.ts'
import type { Remark } from './diagnosis.ts'
import type { ErrorCode } from './errors.ts'
import type { Metrics } from './metrics.ts'

/** State besides adapters and optimizer that the loop needs to continue exactly where it was. */
export interface TrainerState {
  /** Steps completed, counted across stages. */
  readonly step: number
  /** Current stage of the run, from 0; the following fields count from its start, except `tokens`. */
  readonly stage: number
  /** Prompts drawn so far; determines where in which pass over the (shuffled) training rows the next step begins. */
  readonly promptsDrawn: number
  /** Optimizer updates so far, skipped ones too; the position in the learning-rate schedule. */
  readonly updates: number
  /** Tokens of all trajectories. */
  readonly tokens: number
  readonly updateHistory: UpdateHistory
  /** True if any completion of the stage took part, which it does by its reward, if rewards are learned from; absent: it was not recorded. */
  readonly isScored?: boolean | undefined
  /** Rows that were drawn and not solved, in the order in which they come again; absent where none does. */
  readonly unsolved?: readonly UnsolvedRow[] | undefined
  /** Last value yielded by a training script, as JSON; absent without one. */
  readonly script?: unknown
}

export interface UnsolvedRow {
  /** Index in the training data. */
  readonly row: number
  /** Number of times that it came again in vain. */
  readonly tries: number
}

/** Reference for the check of the next update (rl/training/updateGuard.ts). */
export interface UpdateHistory {
  /** Gradient norms of the latest updates of each group, per unit of loss coefficients, oldest first. */
  readonly actor: readonly number[]
  readonly critic: readonly number[]
  /** Updates skipped in a row up to now. */
  readonly skipped: number
}

export type RunPhase = 'preparing' | 'evaluating' | 'training' | 'paused' | 'finished' | 'stopped'

/** Phase of a training process within a step; reported live and not stored. */
export type StepPhase = 'generating' | 'scoring' | 'learning' | 'evaluating' | 'saving'

/** Progress of the phase: completions of `total`. */
export interface PhaseProgress {
  readonly done: number
  readonly total: number
}

/** Per-token arrays of one trajectory, each base64 of little-endian numbers (packedArray.ts); the first covers all T tokens, the others the T−1 predictions. */
export interface TokenArrays {
  /** [T] i32, prompt first. */
  readonly ids: string
  /** [T−1] f32, 1 where the policy chose the next token. */
  readonly actionMask: string
  /** [T−1] f32, under the policy that learned; null when the trajectory took no part in the update. */
  readonly logprobs: string | null
  /** [T−1] f32, as the sampler recorded them. */
  readonly behaviorLogprobs: string | null
  /** [T−1] f32, under the reference policy, if the algorithm needs it. */
  readonly referenceLogprobs: string | null
  /** [T−1] f32, nats. */
  readonly entropies: string | null
  /** [T−1] f32. */
  readonly advantages: string | null
  /** [T−1] f32, reward of the token, or of its turn if only turns have rewards; absent if a single reward applies to all. */
  readonly rewards?: string
}

/** Reason why an episode ended before its task was over: the environment, a limit of the run, or a fault. */
export type EpisodeCut = 'truncated' | 'turn-limit' | 'context-limit' | 'failed'

/** Trajectory for inspection. */
export interface TrajectorySample {
  /** Row of the data set. */
  readonly row: number
  readonly prompt: string
  readonly completion: string
  /** Weighted sum; null when no reward function applied. */
  readonly reward: number | null
  /** Unweighted answer of each reward function. */
  readonly parts: Readonly<Record<string, number | null>>
  /** Mean over its tokens; null outside training. */
  readonly advantage: number | null
  readonly tokens: number
  /** Stop reason of the policy's last turn, or what broke the episode off. */
  readonly stopReason: 'stop-id' | 'stop-string' | 'length' | EpisodeCut
  /** Steps that the policy had learned from when it generated; absent: all before this one. */
  readonly version?: number
  /** Columns that reward functions logged for this completion. */
  readonly logged?: Readonly<Record<string, unknown>>
  /** Failures of reward functions, one sentence each. */
  readonly failures?: readonly string[]
  readonly arrays?: TokenArrays
}

/** Digests (SHA-256, hex) of everything that determines a run; reported once, before training begins. */
export interface RunManifest {
  /** Version of Turnwise and the runtimes it trains with. */
  readonly app: string
  readonly config: string
  readonly model: string
  /** Data file path → digest. */
  readonly data: Readonly<Record<string, string>>
  /** Reward name → digest of its code; built-ins: their id and settings. */
  readonly rewards: Readonly<Record<string, string>>
}

export interface ManifestEvent {
  readonly type: 'manifest'
  readonly manifest: RunManifest
}

/** Device of the run, reported once, before training begins: a resumed run uses the same. */
export interface DeviceEvent {
  readonly type: 'device'
  readonly step: number
  readonly device: Device
  /** Reason for the choice, in a sentence. */
  readonly reason: string
}

/** Address at which agents act in the run, reported by every process that takes it up. */
export interface AgentsEvent {
  readonly type: 'agents'
  readonly step: number
  /** `http://127.0.0.1:PORT` */
  readonly address: string
}

/** Seconds. */
export interface ExpectedSeconds {
  readonly expected: number
  readonly high: number
}

/** A stage of the run and how it is evaluated. */
export interface ScheduledStage {
  /** Steps of the run completed when the stage begins and when it ends. */
  readonly firstStep: number
  readonly lastStep: number
  /** Steps between evaluations; 0: only before and after. */
  readonly evaluateEvery: number
  /** Steps between checkpoints; 0 or absent: only at the end. */
  readonly checkpointEvery?: number | undefined
  /** 0: it is never evaluated. */
  readonly heldOutRows: number
  /** Expectation of a trial before the run; null without one. */
  readonly expected: {
    readonly step: ExpectedSeconds
    readonly evaluation: ExpectedSeconds
    readonly checkpoint?: ExpectedSeconds | undefined
  } | null
}

/** External trainer of the run, reported by each of its processes that takes the run up. */
export interface EngineEvent {
  readonly type: 'engine'
  readonly step: number
  /** Versions of its packages, by name. */
  readonly versions: Readonly<Record<string, string>>
  /** Number of processes that train together. */
  readonly processes: number
  /** Device in the trainer's words. */
  readonly device: string
  /** Differences from Turnwise, one sentence each; reported when the run begins. */
  readonly notes: readonly string[]
}

/** Remaining schedule; reported by every process that takes the run up, at `step`. */
export interface ScheduleEvent {
  readonly type: 'schedule'
  readonly step: number
  readonly stages: readonly ScheduledStage[]
}

export interface StatusEvent {
  readonly type: 'status'
  readonly phase: RunPhase
  /** Steps completed, of `steps`. */
  readonly step: number
  readonly steps: number
}

/**
 * Settings were changed after `step`, or are reapplied there. Every such event has all changes of the run, and the last
 * one in the log counts, even if a resume discarded it.
 */
export interface SettingsChangedEvent {
  readonly type: 'settings-changed'
  readonly step: number
  /** Sorted by step. */
  readonly changes: readonly SettingChange[]
}

/** A completed step. */
export interface StepEvent {
  readonly type: 'step'
  /** Number of the step, from 1. */
  readonly step: number
  readonly steps: number
  readonly metrics: Metrics
}

export interface EvaluationEvent {
  readonly type: 'evaluation'
  /** Steps completed at that time; 0 = before training. */
  readonly step: number
  /** Validation rows evaluated. */
  readonly rows: number
  readonly metrics: Metrics
}

export interface SamplesEvent {
  readonly type: 'samples'
  readonly step: number
  readonly source: 'rollout' | 'evaluation'
  readonly samples: readonly TrajectorySample[]
}

/** Asks the listener to write a checkpoint now: the loop goes on only when it asks for the next event. */
export interface CheckpointDueEvent {
  readonly type: 'checkpoint-due'
  readonly step: number
  readonly reason: 'interval' | 'paused' | 'stopped' | 'finished'
  readonly state: TrainerState
}

export interface CheckpointSavedEvent {
  readonly type: 'checkpoint-saved'
  readonly step: number
  /** The checkpoint's folder, which `adapter` options accept. */
  readonly directory: string
  /** Eval reward measured at this step; null if it was not measured. */
  readonly reward: number | null
  readonly sizeBytes: number
  /** Time to write it; absent if it existed already. */
  readonly seconds?: number
}

/** Older checkpoints that retention removed. */
export interface CheckpointsRemovedEvent {
  readonly type: 'checkpoints-removed'
  readonly step: number
  readonly directories: readonly string[]
}

export interface WarningEvent {
  readonly type: 'warning'
  readonly step: number
  readonly message: string
}

/** Problems found in the metrics, whenever they change: most severe first, empty if all is well again. */
export interface DiagnosisEvent {
  readonly type: 'diagnosis'
  readonly step: number
  readonly findings: readonly Remark[]
}

/** Error that ends the run. */
export interface ErrorEvent {
  readonly type: 'error'
  readonly code: ErrorCode | null
  readonly message: string
  readonly hint?: string
}

/** An event of a run. Programs mostly need `step`, `evaluation` and `checkpoint-saved`. */
export type RunEvent =
  | StatusEvent
  | ManifestEvent
  | DeviceEvent
  | AgentsEvent
  | EngineEvent
  | ScheduleEvent
  | SettingsChangedEvent
  | StepEvent
  | EvaluationEvent
  | SamplesEvent
  | CheckpointDueEvent
  | CheckpointSavedEvent
  | CheckpointsRemovedEvent
  | WarningEvent
  | DiagnosisEvent
  | ErrorEvent
