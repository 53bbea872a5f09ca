/**
 * Deleted runs, kept for a week: `trash/<run id>` is the run's folder as it was, `trash/<run id>.json` what only the
 * history knew of it. Every step is one rename, so that a process may be killed in between: what it left undone is
 * finished by the next host (`tidyTrash`).
 */
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { attempt } from '#shared/attempt.ts'
import { AppError } from '#shared/errors.ts'
import type { RunRecord } from '#shared/runs.ts'
import { makeFolder, removeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { reading, writing } from '#host/files/fileErrors.ts'
import { requireInside, requireOwn } from '#host/files/ownFiles.ts'
import { readSmallText } from '#host/files/strictJson.ts'
import { isRunFolder, lockRun, runPaths } from '#host/workFolder/runFolder.ts'
import { workNames } from '#host/workFolder/workFolder.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { RunKeeper } from './runHistory.ts'
import type { Supervisor } from './supervisor.ts'
import { bytesOf } from '#host/workFolder/leftovers.ts'
import type { PlacedScore } from '#host/store/samples.ts'

export const keptInTrashMs = 7 * 24 * 60 * 60 * 1000

/** Age from which a step left by another process counts as abandoned rather than under way. */
const leftAfterMs = 60_000

/** Facts that no file in the run's own folder has. */
type Described = Pick<RunRecord, 'name' | 'tags' | 'notes' | 'status' | 'error' | 'stderrTail'> & {
  readonly scores: readonly PlacedScore[]
}

export type TrashedRun = OutputOf<Api, 'runs.trash'>[number]

type Parts = Omit<RunKeeper, 'notifier'>

/** Takes a run's folder out of the way, and the run out of the history. Errors: AppError 'run/busy', 'file/unwritable'. */
function trashRun({ dataDirectory, store, history }: Parts, runId: string): void {
  const { directory, name, tags, notes, status, error, stderrTail } = store.runs.get(runId)
  if (existsSync(directory)) {
    const trash = trashOf(dataDirectory)
    if (!isRunFolder(directory)) {
      throw new AppError('file/unwritable', `${directory} is not the folder of a run, so it was not touched.`)
    }
    lockRun(directory)[Symbol.dispose]()
    makeFolder(trash)
    removeFromTrash(trash, runId) // an imported run can come again and be deleted again
    const described: Described = {
      name,
      tags,
      notes,
      status,
      error,
      stderrTail,
      scores: store.samples.placedScores(runId),
    }
    const about = { deletedAt: Date.now(), ...described }
    writeFileAtomic(aboutFile(trash, runId), `${JSON.stringify(about)}\n`)
    move(directory, path.join(trash, runId))
  }
  history.forget(runId)
}

/** The last deleted first. */
export function trashedRuns(dataDirectory: string): TrashedRun[] {
  const trash = trashOf(dataDirectory)
  return runIdsIn(trash)
    .map((runId) => {
      const directory = path.join(trash, runId)
      const about = readAbout(trash, runId)
      const deletedAt = about.deletedAt ?? statSync(directory).ctimeMs
      return {
        runId,
        deletedAt,
        until: deletedAt + keptInTrashMs,
        name: about.name ?? nameInConfig(directory),
        sizeBytes: bytesOf(directory),
      }
    })
    .sort((a, b) => b.deletedAt - a.deletedAt)
}

/** Puts a run back in its place, with everything known of it. Errors: AppError 'run/not-found', 'file/unwritable'. */
export function restoreRun(parts: Parts, runId: string): void {
  const { runs } = dataFolders(parts.dataDirectory)
  const trash = trashOf(parts.dataDirectory)
  if (!isRunFolder(path.join(trash, runId))) {
    throw new AppError(
      'run/not-found',
      'That run is no longer in the trash.',
      'Deleted runs are kept there for a week, unless the trash is emptied.',
    )
  }
  makeFolder(runs)
  move(path.join(trash, runId), path.join(runs, runId))
  parts.history.adoptRun(runId)
  describe(parts, runId)
}

/** Removes some or all of the trash for good; returns how many bytes that freed. Errors: AppError 'file/unwritable'. */
export function emptyTrash(dataDirectory: string, runIds?: readonly string[]): number {
  const trash = trashOf(dataDirectory)
  const removed = trashedRuns(dataDirectory).filter(({ runId }) => runIds?.includes(runId) ?? true)
  for (const { runId } of removed) removeFromTrash(trash, runId)
  return removed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
}

function removeFromTrash(trash: string, runId: string): void {
  removeFolder(path.join(trash, runId))
  remove(aboutFile(trash, runId))
}

/**
 * Finishes what a killed process left, and removes what has been in the trash for a week. Errors: AppError
 * 'file/unwritable'.
 */
export function tidyTrash(parts: Parts): void {
  const { dataDirectory, store, history } = parts
  const trash = trashOf(dataDirectory)
  if (!existsSync(trash)) return
  const names = readdirSync(trash)
  for (const name of names.filter((each) => each.endsWith('.removed'))) remove(path.join(trash, name))
  const abouts = names.flatMap((name) => /^(run_[\w-]+)\.json$/.exec(name)?.[1] ?? [])
  for (const runId of abouts.filter((each) => isLeft(trash, each))) describe(parts, runId)
  for (const runId of runIdsIn(trash)) {
    const run = store.runs.find(runId)
    if (run !== null && !existsSync(run.directory)) history.forget(runId)
  }
  const old = trashedRuns(dataDirectory).filter(({ until }) => until < Date.now())
  if (old.length > 0)
    emptyTrash(
      dataDirectory,
      old.map(({ runId }) => runId),
    )
}

/** A description whose run was restored, or never came. */
const isLeft = (trash: string, runId: string): boolean =>
  !existsSync(path.join(trash, runId)) && statSync(aboutFile(trash, runId)).mtimeMs < Date.now() - leftAfterMs

/** Gives a restored run back what only the history knew; for a run that is not taken in yet, at a later start. */
function describe({ dataDirectory, store }: Parts, runId: string): void {
  const { runs } = dataFolders(dataDirectory)
  const trash = trashOf(dataDirectory)
  const run = store.runs.find(runId)
  if (run === null && existsSync(path.join(runs, runId))) return
  if (run !== null) giveBack(store, run, readAbout(trash, runId))
  remove(aboutFile(trash, runId))
}

function giveBack({ runs, samples }: Parts['store'], { id, status }: RunRecord, about: About): void {
  if (about.name !== undefined) runs.setName(id, about.name)
  if (about.tags !== undefined) runs.setTags(id, about.tags)
  if (about.notes !== undefined) runs.setNotes(id, about.notes)
  samples.addPlacedScores(id, about.scores ?? [])
  // The log ends without a word where its process died: only the host that saw it knows why.
  const isKnownBetter = about.status === 'failed' || about.status === 'interrupted'
  if (status === 'interrupted' && isKnownBetter)
    runs.setStatus(id, about.status, { error: about.error ?? null, stderrTail: about.stderrTail ?? null })
}

/** Errors: AppError 'file/unwritable' where a link has its name: what is deleted there would lie elsewhere. */
function trashOf(dataDirectory: string): string {
  const { trash } = dataFolders(dataDirectory)
  requireOwn(trash, 'folder')
  return trash
}

const aboutFile = (trash: string, runId: string): string => path.join(trash, `${runId}.json`)

type About = Partial<Described & { readonly deletedAt: number }>

/** Reads our own file; a run without it, or with half of it, can be restored all the same. */
const readAbout = (trash: string, runId: string): About =>
  attempt(() => JSON.parse(readSmallText(aboutFile(trash, runId))) as About, {})

const nameInConfig = (directory: string): string | null =>
  attempt(() => {
    const file = runPaths(directory).config
    requireInside(file, directory)
    const config = JSON.parse(readSmallText(file)) as { name?: unknown }
    return typeof config.name === 'string' ? config.name : null
  }, null)

const runIdsIn = (trash: string): string[] =>
  workNames(trash, 'run_').filter((name) => isRunFolder(path.join(trash, name)))

function move(from: string, to: string): void {
  writing(from, () => renameSync(from, to))
}

function remove(target: string): void {
  writing(target, () => rmSync(target, { recursive: true, force: true }))
}

// The files of a run, and removing them.

/** Lists the files of a run; empty where the folder is gone. */
export function runFiles(directory: string): { path: string; sizeBytes: number }[] {
  if (!existsSync(directory)) return []
  return reading(directory, () =>
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name))
      .map((file) => ({ path: file, sizeBytes: statSync(file).size })),
  )
}

/**
 * Puts a run that nobody trains into the trash, from where it can be restored for a week. Errors: AppError 'run/busy',
 * 'run/not-found', 'file/unwritable'.
 */
export function deleteRun(host: RunKeeper & { readonly supervisor: Supervisor }, runId: string): void {
  if (host.supervisor.status(runId) !== null) {
    throw new AppError('run/busy', 'The run is being trained.', 'Stop it first.')
  }
  trashRun(host, runId)
  tidyTrash(host)
  host.notifier.notify()
}
