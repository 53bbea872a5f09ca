/**
 * Questions that need ONNX Runtime, asked by a process that must not load it: each is answered by a short-lived process
 * of its own (questionProcess.ts, answering.ts), which dies with whoever asked.
 */
import type { Device, DeviceReport } from '#shared/device.ts'
import type { GivenJudgeSettings } from '#shared/config/judge.ts'
import { AppError } from '#shared/errors.ts'
import type { BlockPrecision, PrecisionEffect } from '#shared/precision.ts'
import type { EvaluatedPrompt } from '#shared/api/evaluations.ts'
import type { TrialNews } from '#shared/api/workflows.ts'
import type { PhaseProgress } from '#shared/events.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { SamplingOptions, StopReason } from '#engine/policy.ts'
import type { ChatMessage } from '#shared/messages.ts'
import type { GeneratedToken, RewardAnswer, RewardInput } from '#rl/rewards.ts'
import type { Reward } from '#rl/rollout/trajectory.ts'
import type { PromptForm, PromptRow } from '#rl/rollout/prompts.ts'
import type { DataRow } from '#host/data/dataFile.ts'
import type { ProjectReport, ProjectRequest } from '#host/exchange/project/project.ts'
import type { ExportProgress, ExportReport, ExportRequest } from '#host/export/exports.ts'
import type { CalibrationNews } from './calibrationReport.ts'
import type { DevicePlace, SelftestFinding } from '#host/devices/deviceRecords.ts'
import type { SpeedNews, ThroughputNews } from '#host/checks/deviceSpeed.ts'
import type { FittingPrecision } from '#host/devices/memoryFit.ts'
import type { RewardsConfig } from '#host/code/resolveRewards.ts'
import type { CodeSource } from '#host/sandbox/sandbox.ts'
import { forkProcess, scriptPath } from '#host/processes/childProcess.ts'
import {
  Inbox,
  unpackError,
  type ErrorEnvelope,
  type WorkerEnvironment,
  type WorkerProcess,
} from '#host/processes/messages.ts'
import { processMeter } from '#host/processes/processorTime.ts'
import { Overrun, withinLimit, type WorkLimit } from '#host/processes/workLimit.ts'

/** A model's folder, with an adapter's or a checkpoint's on top; null = the base alone. */
export interface Candidate {
  readonly directory: string
  readonly adapter: string | null
  /** Longest prompt plus completion; null or absent: as the model's own positions reach. */
  readonly contextLength?: number | null
}

type Sampling = Omit<SamplingOptions, 'stopIds'>

export type Question =
  | { readonly type: 'devices' }
  | { readonly type: 'selftest'; readonly full: boolean; readonly place: DevicePlace }
  /** How fast it is beside the CPU. */
  | { readonly type: 'measure-device'; readonly place: DevicePlace }
  /** How much it computes in a second. */
  | {
      readonly type: 'measure-throughput'
      readonly place: DevicePlace
      readonly precisions: readonly FittingPrecision[]
    }
  | {
      readonly type: 'complete'
      /** One after the other; those of one base share it. */
      readonly candidates: readonly Candidate[]
      readonly prompt: { readonly text: string } | { readonly messages: readonly ChatMessage[] }
      readonly samples: number
      readonly seed: number
      readonly sampling: Sampling
      /** null: the usual one. */
      readonly device: Device | null
      readonly cacheDirectory: string
    }
  /** One completion of each row. */
  | {
      readonly type: 'complete-rows'
      readonly candidate: Candidate
      readonly rows: readonly DataRow[]
      readonly form: PromptForm
      /** Also tells the tokens of each completion. */
      readonly withTokens?: boolean
      readonly seed: number
      readonly sampling: Sampling
      readonly cacheDirectory: string
    }
  /** Every row answered or played, and judged; prompts come as their last sample is done. */
  | {
      readonly type: 'evaluate'
      readonly candidate: Candidate
      /** Of which what trains is not read. */
      readonly config: RunConfig
      /** Has the code of rewards and environment, as the folder of a run has. */
      readonly directory: string
      readonly rows: readonly PromptRow[]
      /** What answers and problems call each row. */
      readonly places: readonly number[]
      /** Of each row. */
      readonly samples: number
      readonly greedy: boolean
      readonly cacheDirectory: string
      /** Those of this machine to Python. */
      readonly consents: string
    }
  /** One episode, told as it happens. */
  | {
      readonly type: 'try-workflow'
      readonly candidate: Candidate
      /** Of which what trains is not read; its paths are absolute. */
      readonly config: RunConfig
      readonly code: CodeSource
      readonly settings: Readonly<Record<string, string | number | boolean>>
      /** Random numbers depend on its number, as those of a run do. */
      readonly row: PromptRow
      readonly isEvaluation: boolean
      /** For copies of code, as the folder of a run has them; whoever asks removes it. */
      readonly directory: string
      readonly cacheDirectory: string
      readonly consents: string
    }
  /** What rounding does to the model in this folder, one answer for each precision. */
  | {
      readonly type: 'check-precision'
      readonly directory: string
      readonly precisions: readonly BlockPrecision[]
      readonly cacheDirectory: string
    }
  | { readonly type: 'export'; readonly request: ExportRequest }
  /** Needs no runtime, but the model's tokenizer on every row. */
  | { readonly type: 'write-project'; readonly request: ProjectRequest }
  /** What a run's rewards say of one completion; a pattern among their settings may never come to an end. */
  | {
      readonly type: 'score-text'
      readonly config: RewardsConfig
      readonly runDirectory: string
      readonly cacheDirectory: string
      /** Those of this machine to Python; absent: no Python runs. */
      readonly consents?: string
      readonly input: RewardInput
    }
  /** What a judge says of completions, some of them at a time. */
  | {
      readonly type: 'judge'
      /** Paths absolute. */
      readonly settings: GivenJudgeSettings
      readonly inputs: readonly RewardInput[]
      readonly cacheDirectory: string
      readonly consents: string
    }
  /** Every row answered by a teacher, and scored. */
  | {
      readonly type: 'answer-rows'
      /** Which model, where, and how it samples; paths absolute. */
      readonly teacher: GivenJudgeSettings
      readonly rows: readonly DataRow[]
      /** Of each row. */
      readonly samples: number
      readonly seed: number
      /** How rows become prompts, and what scores the answers; no rewards: nothing does. */
      readonly config: RewardsConfig
      /** Keeps the answers: none is asked for twice. */
      readonly folder: string
      readonly cacheDirectory: string
      readonly consents: string
    }
  /** What a run of this config would need; its paths are absolute. */
  | {
      readonly type: 'calibrate'
      readonly config: RunConfig
      readonly cacheDirectory: string
      readonly consents: string
    }

/** A piece of a completion as it is generated; the last one says why it ended. */
export interface CompletionPiece {
  readonly candidate: number
  readonly sample: number
  /** What was added. */
  readonly text: string
  /** So far. */
  readonly tokens: number
  readonly stopReason: StopReason | null
  /** Of all samples of the candidate; null before the end. */
  readonly tokensPerSecond: number | null
}

/** A row that makes no prompt has a problem instead. */
export type RowCompletion =
  | {
      readonly row: number
      readonly prompt: string
      readonly completion: string
      /** null where nobody asked. */
      readonly tokens: readonly GeneratedToken[] | null
    }
  | { readonly row: number; readonly problem: string }

export type AnsweredRow = Omit<EvaluatedPrompt, 'columns'>

/** A row with its samples, why it makes no prompt, or how many samples are done. */
export type EvaluationNews =
  AnsweredRow | { readonly row: number; readonly problem: string } | { readonly progress: PhaseProgress }

/** Answers to the inputs from `from` on. */
export interface JudgedInputs {
  readonly from: number
  readonly answers: readonly RewardAnswer[]
  readonly seconds: number
}

/** Some rows, in order. */
export interface TaughtRows {
  /** Rows so far. */
  readonly done: number
  readonly answers: readonly TaughtAnswer[]
  readonly problems: readonly { readonly row: number; readonly problem: string }[]
}

export interface TaughtAnswer {
  readonly row: number
  readonly sample: number
  readonly text: string
  readonly isTruncated: boolean
  /** null: nothing scored it, or no reward applied. */
  readonly reward: number | null
}

/** How far it is, and at last the report. */
export type ExportNews = { readonly progress: ExportProgress } | { readonly result: ExportReport }

/** What comes back, one or more of it. */
export interface Answers {
  readonly devices: {
    readonly devices: readonly DeviceReport[]
    readonly physicalCores: number
    readonly defaultThreads: number
  }
  readonly selftest: SelftestFinding
  readonly 'measure-device': SpeedNews
  readonly 'measure-throughput': ThroughputNews
  readonly complete: CompletionPiece
  readonly 'complete-rows': RowCompletion
  readonly evaluate: EvaluationNews
  readonly calibrate: CalibrationNews
  readonly export: ExportNews
  readonly 'write-project': ProjectReport
  readonly 'score-text': Reward
  readonly judge: JudgedInputs
  readonly 'answer-rows': TaughtRows
  readonly 'check-precision': PrecisionEffect
  readonly 'try-workflow': TrialNews
}

export type FromQuestion =
  | { readonly type: 'item'; readonly item: Answers[keyof Answers] }
  | { readonly type: 'done' }
  | { readonly type: 'failed'; readonly error: ErrorEnvelope }

/** Starts the script `questionProcess`. */
export type StartQuestion = (environment?: WorkerEnvironment) => WorkerProcess<Question, FromQuestion>

export const questionStarter: StartQuestion = (environment) =>
  forkProcess(scriptPath('questionProcess'), 'inherit', environment)

/**
 * Answers as they come; leaving the loop or aborting ends the process. Errors: what the answering failed with; AppError
 * 'runtime/failed' when the process died; an Overrun when an answer took it more than `limit`.
 */
export type Ask = <Asked extends Question>(
  question: Asked,
  signal: AbortSignal,
  limit?: WorkLimit,
) => AsyncGenerator<Answers[Asked['type']]>

/** The part of a host that asks a process of its own what only ONNX Runtime can tell. */
export interface Asking {
  readonly ask: Ask
}

/** `environment`: asked for each process, as it may change. */
export const createAsk = (start: StartQuestion, environment: () => WorkerEnvironment = () => ({})): Ask =>
  async function* (question, signal, limit) {
    if (signal.aborted) return
    const process = start(environment())
    const inbox = new Inbox<FromQuestion>()
    const kill = () => process.kill()
    process.onMessage((message) => inbox.add(message))
    void process.ended.then(({ failure, signal: by }) => {
      inbox.add({ type: 'failed', error: deathOf(failure ?? by ?? 'without a word') })
    })
    signal.addEventListener('abort', kill)
    process.send(question)
    const meter = processMeter(() => process.pid)
    try {
      for (;;) {
        const next = inbox.next()
        const message = await (limit === undefined ? next : withinLimit(next, meter, limit))
        if (message instanceof Overrun) throw message
        if (message.type === 'done' || hasGoneAway(signal)) return
        if (message.type === 'failed') throw unpackError(message.error)
        // Which answers belong to which question is the contract of answering.ts.
        yield message.item as never
      }
    } finally {
      signal.removeEventListener('abort', kill)
      kill()
      if (hasGoneAway(signal)) await process.ended // what it leaves behind can be cleared then
    }
  }

/** A function: it changes while the loop waits. */
const hasGoneAway = ({ aborted }: AbortSignal): boolean => aborted

const deathOf = (how: string): ErrorEnvelope => ({
  code: 'runtime/failed',
  message: `The process that computed the answer ended unexpectedly (${how}).`,
  hint: 'The system may have been short of memory: try a smaller model, or stop a run first.',
  stack: undefined,
})

/** The answer to a question that has one. Errors: as asking. */
export async function askOnce<Asked extends Question>(
  ask: Ask,
  question: Asked,
  signal: AbortSignal,
  limit?: WorkLimit,
): Promise<Answers[Asked['type']]> {
  for await (const answer of ask(question, signal, limit)) return answer
  throw new AppError('api/cancelled', 'The request was cancelled.')
}
