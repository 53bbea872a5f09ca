/**
 * Seals of what runs train with that go on by themselves, made when they are left waiting: of a history or a folder which somebody else
 * changed meanwhile, nothing starts. Files that settings name are not compared.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { isOwnSeal, ownSeal } from '#host/consents/ownSeals.ts'
import { requireInside } from '#host/files/ownFiles.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import type { Store } from '#host/store/store.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { changesOfRun } from './settingChanges.ts'

const settingOf = (runId: string): string => `host.run.${runId}`

/** Lets a run go on by itself as it is now. Errors: AppError 'run/not-found', 'file/unreadable'; those of the store. */
export const sealRun = (store: Store, runId: string): void =>
  store.settings.set(settingOf(runId), ownSeal(...trainedWith(store, runId)))

/** Tells whether a run is as it was when it was sealed. Errors: as `sealRun`. */
export const isSealedRun = (store: Store, runId: string): boolean =>
  isOwnSeal(store.settings.get(settingOf(runId)), ...trainedWith(store, runId))

/** Forgets the seal of a run that is not left waiting any more. Errors: those of the store. */
export const forgetSeal = ({ settings }: Pick<Store, 'settings'>, runId: string): void =>
  settings.set(settingOf(runId), undefined)

/** Puts a run into the queue, as it is now. Errors: as `sealRun`. */
export function queueRun(store: Store, runId: string, options?: { readonly continueOnError: boolean }): void {
  sealRun(store, runId)
  store.queue.push(runId, options)
  store.runs.setStatus(runId, 'queued')
}

function trainedWith({ runs, file }: Store, runId: string) {
  const { directory } = runs.get(runId)
  const { run, config, script } = runPaths(directory)
  const digests = [run, config, script].map((each) => digestOf(each, directory))
  return [path.dirname(file), settingOf(runId), [digests, changesOfRun(directory)]] as const
}

const maxBytes = 4 << 20

function digestOf(file: string, directory: string): string | null {
  if (!existsSync(file)) return null
  requireInside(file, directory)
  return createHash('sha256').update(readSmallFile(file, maxBytes)).digest('hex')
}
