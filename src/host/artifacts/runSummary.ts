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
const loggedStatus = z.object({ type: z.literal('status'), phase: z.string(), step: z.number(), steps: z.number() })
const summarizedConfig = z.object({
  name: z.string().optional(),
  model: z.string(),
  seed: z.number(),
  algorithm: z.object({ id: z.string() }),
})

export function summarizeRun(run: RunFolder): RunSummary {
  const paths = runPaths(run.directory)
  const config = summarizedConfig.safeParse(readJsonObject(paths.config, 'file/unreadable')).data
  const events = readEvents(paths.events)
  const steps = pick(events, loggedStep)
  const evaluations = pick(events, loggedEvaluation)
  const statuses = pick(events, loggedStatus)
  return {
    ...run,
    name: config?.name ?? null,
    status: statusOf(run.directory, events, statuses.at(-1)?.phase),
    step: steps.at(-1)?.step ?? 0,
    steps: steps.at(-1)?.steps ?? statuses.at(-1)?.steps ?? null,
    algorithm: config?.algorithm.id ?? '',
    seed: config?.seed ?? 0,
    model: config?.model ?? '',
    reward: steps.at(-1)?.metrics['reward'] ?? null,
    rewardBefore: evaluations[0]?.metrics['eval_reward'] ?? null,
    rewardAfter: evaluations.at(-1)?.metrics['eval_reward'] ?? null,
  }
}

/** Every event of one kind; one that does not fit its schema is passed over. */
function pick<T>(events: readonly LoggedEvent[], schema: z.ZodType<T>): T[] {
  return events.flatMap((event) => schema.safeParse(event).data ?? [])
}

function statusOf(directory: string, events: readonly LoggedEvent[], phase: string | undefined): RunStatus {
  if (runHolder(directory) !== null) return 'running'
  const last = events.at(-1)
  if (last === undefined) return 'new'
  if (last.type === 'error') return 'failed'
  return phase === 'finished' || phase === 'stopped' ? phase : 'interrupted'
}
