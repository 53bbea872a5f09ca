/**
 * Seals of what runs train with that go on by themselves, made when they are left waiting: of a history or a folder which somebody else
 * changed meanwhile, nothing starts. What their processes write is sealed by these (ownWork.ts). Files that settings name are not compared.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import path from 'node:path'
import type { SettingChange } from '#shared/config/changes.ts'
import { isOwnSeal, ownSeal } from '#host/files/ownSeals.ts'
import { requireInside } from '#host/files/ownFiles.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import type { Store } from '#host/store/store.ts'
import { isOwnWork, sealWork } from './ownWork.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { changesOfRun } from './settingChanges.ts'

const settingsPrefix = 'host.run.'
const settingOf = (runId: string): string => `${settingsPrefix}${runId}`

/** Content of the seal of a run: it trains with this. */
export interface TrainedWith {
  /** Digests of the files that it began with. */
  readonly files: readonly (string | null)[]
  readonly changes: readonly SettingChange[]
}

/** Lets a run go on by itself as it is now. Errors: AppError 'run/not-found', 'file/…'; those of the store. */
export function sealRun(store: Store, runId: string): TrainedWith {
  const content = contentOf(store, runId)
  sealWork(store.runs.get(runId).directory, path.dirname(store.file))
  sealContent(store, runId, content)
  return content
}

/** Lets a run go on by itself with this, and with what its processes write. Errors: those of the store. */
export const sealContent = (store: Store, runId: string, content: TrainedWith): void =>
  store.settings.set(settingOf(runId), ownSeal(...sealedOf(store, runId, content)))

/** Tells whether a run is as it was when it was sealed. Errors: AppError 'run/not-found', 'file/unreadable'. */
export const isSealedRun = (store: Store, runId: string): boolean =>
  isOwnSeal(store.settings.get(settingOf(runId)), ...sealedOf(store, runId, contentOf(store, runId))) &&
  isOwnWork(store.runs.get(runId).directory, path.dirname(store.file))

/** Returns the ids of runs that have a seal. Errors: those of the store. */
export const sealedRuns = ({ settings }: Pick<Store, 'settings'>): readonly string[] =>
  [...settings.all().keys()]
    .filter((key) => key.startsWith(settingsPrefix))
    .map((key) => key.slice(settingsPrefix.length))

/** Forgets the seal of a run that is not left waiting any more. Errors: those of the store. */
export const forgetSeal = ({ settings }: Pick<Store, 'settings'>, runId: string): void =>
  settings.set(settingOf(runId), undefined)

/** Puts a run into the queue, as it is now. Errors: as `sealRun`. */
export function queueRun(store: Store, runId: string, options?: { readonly continueOnError: boolean }): void {
  sealRun(store, runId)
  store.queue.push(runId, options)
  store.runs.setStatus(runId, 'queued')
}

function contentOf({ runs }: Store, runId: string): TrainedWith {
  const { directory } = runs.get(runId)
  const { run, config, script } = runPaths(directory)
  const files = [run, config, script].map((each) => digestOf(each, directory))
  return { files, changes: changesOfRun(directory) }
}

const sealedOf = ({ file }: Store, runId: string, { files, changes }: TrainedWith) =>
  [path.dirname(file), settingOf(runId), [files, changes]] as const

const maxBytes = 4 << 20

function digestOf(file: string, directory: string): string | null {
  if (!existsSync(file)) return null
  requireInside(file, directory)
  return createHash('sha256').update(readSmallFile(file, maxBytes)).digest('hex')
}
