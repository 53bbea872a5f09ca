/** What the folder of a run tells at a glance, read from its config and its event log. */
import { z } from 'zod'
import { count } from '#shared/api/common.ts'
import type { RunStatus, RunSummary } from '#shared/runs.ts'
import { readEvents, type LoggedEvent } from './eventLog.ts'
import { runHolder, runPaths, type RunFolder } from './runFolder.ts'
import { readJsonObject } from '#host/files/strictJson.ts'

const metrics = z.record(z.string(), z.number().nullable())
const loggedStep = z.object({ type: z.literal('step'), step: count, steps: count, metrics })
const loggedEvaluation = z.object({ type: z.literal('evaluation'), step: count, metrics })
const loggedStatus = z.object({
  type: z.literal('status'),
  phase: z.string(),
  step: count,
  steps: count,
})
const summarizedConfig = z.object({
  name: z.string().nullable().default(null),
  model: z.string().default(''),
  seed: z.int().default(0),
  algorithm: z.object({ id: z.string() }).default({ id: '' }),
})

/** All but samples, which are most of a log. */
const summarizedTypes = ['resumed', 'status', 'step', 'evaluation', 'error']

export function summarizeRun({ id, directory, createdAt }: RunFolder): RunSummary {
  const paths = runPaths(directory)
  const config = summarizedConfig.parse(readJsonObject(paths.config, 'file/unreadable'))
  const events = readEvents(paths.events, summarizedTypes)
  return {
    id,
    directory,
    createdAt,
    ...config,
    algorithm: config.algorithm.id,
    status: statusOf(directory, events),
    ...progressOf(events),
    ...rewardsOf(events),
  }
}

function progressOf(events: readonly LoggedEvent[]): Pick<RunSummary, 'step' | 'steps'> {
  const step = pick(events, loggedStep).at(-1)
  const status = pick(events, loggedStatus).at(-1)
  return { step: step?.step ?? status?.step ?? 0, steps: step?.steps ?? status?.steps ?? null }
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
  const phase = pick(events, loggedStatus).at(-1)?.phase
  if (runHolder(directory) !== null) return phase === 'paused' ? 'paused' : 'running'
  const last = events.at(-1)
  if (last === undefined) return 'new'
  if (last.type === 'error') return 'failed'
  return phase === 'finished' || phase === 'stopped' ? phase : 'interrupted'
}
