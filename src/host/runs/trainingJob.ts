/**
 * Defines the job of training one run. It outlives a host that dies: it then ends after its step, with a checkpoint.
 * Events do not travel between the processes: they are in the run's log, and the host is notified when it grows.
 */
import type { SettingChange } from '#shared/config/changes.ts'
import type { PhaseProgress, RunPhase, ScheduledStage, StepPhase } from '#shared/events.ts'
import type { Job } from '#host/processes/job.ts'

export interface TrainingRequest {
  /** Holds config.json. */
  readonly runDirectory: string
  readonly cacheDirectory: string
  /** Folder of this machine's consents to Python; absent: no Python runs. */
  readonly consents?: string
  /** Key that agents show which act in the run; absent: nobody knows it. */
  readonly agentKey?: string
  /** Folder of the checkpoint to go on from; null = from the start. */
  readonly resumeFrom: string | null
  /** Changes of the run's settings, some of them made for this start; absent: those of its log. */
  readonly changes?: readonly SettingChange[] | undefined
  /** Expectation of a trial with the same settings, by stage; null or absent where none was made. */
  readonly expected?: readonly ScheduledStage['expected'][] | null
  /** Evaluate and stop after this step, to be continued; absent: train to the end. */
  readonly until?: number
}

export type TrainingNews =
  /** The log grew; `phase` is the new one where it changed. */
  | { readonly type: 'grown'; readonly phase: RunPhase | null }
  /** Part of a step that has begun or moved on, a few times a second at most. */
  | { readonly type: 'phase'; readonly phase: StepPhase; readonly progress: PhaseProgress | null }
  /** Sign of life, sent every few seconds whatever goes on. */
  | { readonly type: 'alive' }

export type TrainingOrder =
  /** Wait after the current step, with a checkpoint. */
  | { readonly type: 'pause' }
  /** `changes`: all of the run's settings, some of them made during the pause; absent: none were made. */
  | { readonly type: 'unpause'; readonly changes?: readonly SettingChange[] | undefined }
  /** End after the current step, with a checkpoint. */
  | { readonly type: 'stop' }

export const trainingJob: Job<'training', TrainingRequest, TrainingNews, TrainingOrder> = {
  name: 'training',
  outlivesHost: true,
}
