/** What the folder of a run tells at a glance, read from its config and its event log. */
import { z } from 'zod'
import { readEvents, type LoggedEvent } from './eventLog.ts'
import { runHolder, runPaths, type RunFolder } from './runFolder.ts'
import { readJsonObject } from './strictJson.ts'

export type RunStatus = 'new' | 'running' | 'finished' | 'stopped' | 'failed' | 'interrupted'

export interface RunSummary {
  readonly id: string
  readonly name: string | null
  readonly directory: string
  /** Epoch milliseconds. */
  readonly createdAt: number
  readonly status: RunStatus
  /** Steps completed, of `steps`; `steps` is null until the run has begun. */
  readonly step: number
  readonly steps: number | null
  readonly algorithm: string
  readonly seed: number
  readonly model: string
  /** Mean reward of the last step. */
  readonly reward: number | null
  /** Held-out reward with greedy decoding, at the first and the last evaluation. */
  readonly rewardBefore: number | null
  readonly rewardAfter: number | null
}

const metrics = z.record(z.string(), z.number().nullable())
const loggedStep = z.object({ type: z.literal('step'), step: z.number(), steps: z.number(), metrics })
const loggedEvaluation = z.object({ type: z.literal('evaluation'), step: z.number(), metrics })
const loggedStatus = z.object({
  type: z.literal('status'),
  phase: z.string(),
  step: z.number(),
  steps: z.number(),
})
const summarizedConfig = z.object({
  name: z.string().nullable().default(null),
  model: z.string().default(''),
  seed: z.number().default(0),
  algorithm: z.object({ id: z.string() }).default({ id: '' }),
})

export function summarizeRun(run: RunFolder): RunSummary {
  const paths = runPaths(run.directory)
  const config = summarizedConfig.parse(readJsonObject(paths.config, 'file/unreadable'))
  const events = readEvents(paths.events)
  return {
    ...run,
    ...config,
    algorithm: config.algorithm.id,
    status: statusOf(run.directory, events),
    ...progressOf(events),
    ...rewardsOf(events),
  }
}

function progressOf(events: readonly LoggedEvent[]): Pick<RunSummary, 'step' | 'steps'> {
  const step = pick(events, loggedStep).at(-1)
  const status = pick(events, loggedStatus).at(-1)
  return { step: step?.step ?? 0, steps: step?.steps ?? status?.steps ?? null }
}

function rewardsOf(
  events: readonly LoggedEvent[],
): Pick<RunSummary, 'reward' | 'rewardBefore' | 'rewardAfter'> {
  const heldOut = pick(events, loggedEvaluation).map((event) => event.metrics['eval_reward'] ?? null)
  return {
    reward: pick(events, loggedStep).at(-1)?.metrics['reward'] ?? null,
    rewardBefore: heldOut[0] ?? null,
    rewardAfter: heldOut.at(-1) ?? null,
  }
}

/** Every event of one kind; one that does not fit its schema is passed over. */
function pick<T>(events: readonly LoggedEvent[], schema: z.ZodType<T>): T[] {
  return events.flatMap((event) => schema.safeParse(event).data ?? [])
}

function statusOf(directory: string, events: readonly LoggedEvent[]): RunStatus {
  if (runHolder(directory) !== null) return 'running'
  const last = events.at(-1)
  if (last === undefined) return 'new'
  if (last.type === 'error') return 'failed'
  const phase = pick(events, loggedStatus).at(-1)?.phase
  return phase === 'finished' || phase === 'stopped' ? phase : 'interrupted'
}
