/** Decides which checkpoints of a run to keep, and deletes the others. */
import { existsSync, readdirSync, realpathSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { findDeclaration } from '#shared/metrics.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { removeFolder } from '#host/files/atomic.ts'
import { writing } from '#host/files/fileErrors.ts'
import {
  checkpointProblem,
  listCheckpoints,
  surveyCheckpoints,
  type CheckpointEntry,
  type DamagedCheckpoint,
} from '#host/models/checkpoints.ts'
import { requireOwn } from '#host/files/ownFiles.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'

export interface Retention extends Pick<
  RunConfig['checkpoints'],
  'keepLast' | 'keepBest' | 'bestBy' | 'keepEvery' | 'diskBudgetMb'
> {
  /** Folder of a checkpoint whose files this process still reads, links resolved; other folders mean nothing. */
  readonly inUse?: string | null
  /** Step after which the run broke down: the newest checkpoint up to it stays, for those after it are of no use. */
  readonly soundUntil?: number | null
  /** Checkpoints from the newest one up to this step on stay until they have proved sound. */
  readonly provedUntil?: number | null
}

/** Eval reward with greedy decoding. */
export const defaultRanking = 'eval_reward'

/** Lists those with a value of the metric, best first; of equal ones the newest first. */
export function rankCheckpoints(
  entries: readonly CheckpointEntry[],
  metric: string = defaultRanking,
): CheckpointEntry[] {
  const sign = findDeclaration(metric)?.better === 'lower' ? 1 : -1
  const valueOf = ({ metrics }: CheckpointEntry) => metrics[metric]
  return entries
    .filter((entry) => valueOf(entry) !== undefined)
    .sort((a, b) => sign * ((valueOf(a) ?? 0) - (valueOf(b) ?? 0)) || b.step - a.step)
}

/** null where no checkpoint has a value of the metric. */
export const bestCheckpoint = (
  entries: readonly CheckpointEntry[],
  metric: string = defaultRanking,
): CheckpointEntry | null => rankCheckpoints(entries, metric)[0] ?? null

export interface PruneReport {
  /** Folders that are gone, oldest first. */
  readonly removed: readonly string[]
  /** Bytes of the checkpoints that stayed. */
  readonly sizeBytes: number
  /** True if they take more than the budget, and none of them may go. */
  readonly isOverBudget: boolean
}

/**
 * Removes what the rules do not keep, then, oldest first, what exceeds the disk budget; never the newest whole
 * checkpoint nor the best one. Only the holder of the run's lock may call it. Errors: AppError 'file/unwritable'.
 */
export function pruneCheckpoints(runDirectory: string, retention: Retention): PruneReport {
  repairCheckpoints(runDirectory)
  const entries = listCheckpoints(runDirectory)
  const newest = entries.findLast(({ directory }) => checkpointProblem(directory) === null) ?? null
  // Without a whole one nothing is removed: a person may still want parts of what is left.
  const kept = new Set(
    newest === null ? entries : withinBudget(keptByRules(entries, newest, retention), newest, retention),
  )
  for (const entry of entries) if (realpathSync(entry.directory) === retention.inUse) kept.add(entry)
  for (const entry of needed(entries, retention)) kept.add(entry)
  const removed = entries.filter((entry) => !kept.has(entry)).map(({ directory }) => directory)
  removed.forEach(removeFolder)
  const sizeBytes = totalBytes([...kept])
  return { removed, sizeBytes, isOverBudget: sizeBytes > budgetOf(retention) }
}

/** Lists the checkpoints to go back to if a run breaks down, or may have done so without having shown it yet. */
function needed(
  entries: readonly CheckpointEntry[],
  { soundUntil = null, provedUntil = null }: Retention,
): readonly CheckpointEntry[] {
  const upTo = (last: number) => entries.findLastIndex(({ step }) => step <= last)
  if (soundUntil !== null) return entries.slice(upTo(soundUntil), upTo(soundUntil) + 1)
  return provedUntil === null ? [] : entries.slice(Math.max(0, upTo(provedUntil)))
}

const budgetOf = ({ diskBudgetMb }: Retention): number => (diskBudgetMb ?? Infinity) * 1e6

const totalBytes = (entries: readonly CheckpointEntry[]): number =>
  entries.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)

function keptByRules(
  entries: readonly CheckpointEntry[],
  newest: CheckpointEntry,
  { keepLast, keepBest, bestBy, keepEvery }: Retention,
): CheckpointEntry[] {
  const last = entries.slice(-keepLast)
  const best = rankCheckpoints(entries, bestBy).slice(0, keepBest)
  const isMilestone = ({ step }: CheckpointEntry) => keepEvery > 0 && step % keepEvery === 0
  return entries.filter(
    (entry) => entry === newest || last.includes(entry) || best.includes(entry) || isMilestone(entry),
  )
}

function withinBudget(
  entries: readonly CheckpointEntry[],
  newest: CheckpointEntry,
  retention: Retention,
): CheckpointEntry[] {
  const best = retention.keepBest === 0 ? null : bestCheckpoint(entries, retention.bestBy)
  let excess = totalBytes(entries) - budgetOf(retention)
  return entries.filter((entry) => {
    if (excess <= 0 || entry === newest || entry === best) return true
    excess -= entry.sizeBytes
    return false
  })
}

/**
 * Restores what was being replaced and removes what was being written or deleted when a process was killed. Only while
 * no other process trains the run. Errors: AppError 'file/unwritable'.
 */
export function repairCheckpoints(runDirectory: string): void {
  const { checkpoints } = runPaths(runDirectory)
  requireOwn(checkpoints, 'folder')
  const names = existsSync(checkpoints) ? readdirSync(checkpoints) : []
  writing(checkpoints, () => {
    for (const name of names) {
      const previous = /^\.(step-\d{6,})\.previous$/.exec(name)?.[1]
      const place = previous === undefined ? null : path.join(checkpoints, previous)
      if (place !== null && !existsSync(place)) renameSync(path.join(checkpoints, name), place)
      else if (/^\..*\.(removed|partial|previous)$/.test(name))
        rmSync(path.join(checkpoints, name), { recursive: true, force: true })
    }
  })
}

export interface LaterCheckpoints {
  /** Folders that are gone, oldest first. */
  readonly removed: readonly string[]
  /** Incomplete checkpoints; each is now named with `.damaged` at the end. */
  readonly damaged: readonly DamagedCheckpoint[]
}

/**
 * Makes room for a run that goes on from `step`: what lies after it belongs to a history that is given up, and a later
 * resume must not pick it. Damaged ones are kept under another name. Only the holder of the run's lock may call it.
 */
export function clearLaterCheckpoints(runDirectory: string, step: number): LaterCheckpoints {
  repairCheckpoints(runDirectory)
  const { entries, damaged } = surveyCheckpoints(runDirectory)
  const later = entries
    .filter((entry) => entry.step > step)
    .map((entry) => ({ entry, problem: checkpointProblem(entry.directory) }))
  const unusable = [
    ...damaged.filter((entry) => entry.step > step),
    ...later.flatMap(({ entry, problem }) =>
      problem === null ? [] : [{ step: entry.step, directory: entry.directory, problem }],
    ),
  ].sort((a, b) => a.step - b.step)
  const whole = later.filter(({ problem }) => problem === null).map(({ entry }) => entry.directory)
  for (const { directory } of unusable) setAside(directory)
  whole.forEach(removeFolder)
  return { removed: whole, damaged: unusable }
}

function setAside(directory: string): void {
  const aside = `${directory}.damaged`
  writing(directory, () => {
    rmSync(aside, { recursive: true, force: true })
    renameSync(directory, aside)
  })
}
