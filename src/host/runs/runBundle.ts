/** Exports a run's history to one file, and imports such a file on another machine. */
import { existsSync, rmSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { invalidData, refusal } from '#shared/errors.ts'
import { count, runId as runIdSchema } from '#shared/api/common.ts'
import { settingChange } from '#shared/config/changes.ts'
import {
  makeFolder,
  replaceFolder,
  writeFileAtomic,
  requireFree,
  writeUserFile,
  type UserFileOptions,
} from '#host/files/atomic.ts'
import { readEvents } from '#host/workFolder/eventLog.ts'
import { openRunFolder, runPaths } from '#host/workFolder/runFolder.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { RunKeeper } from './runHistory.ts'
import type { Store } from '#host/store/store.ts'
import { discardUpload, findUpload } from '#host/transports/uploads.ts'

const format = 'turnwise-run-1'

/** Exports config, manifest, every number and every event of a run, without samples. Errors: those of writeUserFile. */
export function exportBundle(
  store: Store,
  runId: string,
  file: string,
  options: UserFileOptions,
): { path: string; sizeBytes: number } {
  requireFree(file, options)
  const { config, manifest, ...run } = store.runs.get(runId)
  const { events } = runPaths(run.directory)
  const bundle = {
    format,
    run,
    config: JSON.parse(config) as unknown,
    manifest,
    metrics: store.metrics.table(runId),
    // The folder may be gone: then what the history remembers.
    events: existsSync(events)
      ? readEvents(events).filter(({ type }) => !leftOut.has(type))
      : store.events.list(runId).map(({ event }) => event),
    checkpoints: store.checkpoints.list(runId),
  }
  const text = `${JSON.stringify(bundle)}\n`
  writeUserFile(file, text, options)
  return { path: path.resolve(file), sizeBytes: Buffer.byteLength(text) }
}

const leftOut: ReadonlySet<string> = new Set(['samples', 'resumed', 'damaged-line'])

/** Plausible time: before, there was no Turnwise; a clock that is as far ahead is wrong. */
const plausibleInstant = z.int().min(Date.UTC(2020)).max(Date.UTC(2100))

const bundleSchema = z.object({
  format: z.literal(format),
  run: z.object({
    id: runIdSchema,
    name: z.string().nullable(),
    createdAt: plausibleInstant,
    step: count,
    steps: count.nullable(),
    status: z.string(),
    tags: z.array(z.string()),
    notes: z.string(),
    parentRunId: z.string().nullable(),
    parentCheckpointStep: count.nullable(),
    settingChanges: z.array(settingChange).default([]),
  }),
  config: z.looseObject({ model: z.string() }),
  events: z.array(z.looseObject({ type: z.string(), at: z.number() })),
})

type Bundle = z.output<typeof bundleSchema>

const maxBytes = 512 << 20
const importedTag = 'imported'

export type BundleSource = { readonly path: string } | { readonly uploadId: string }

/** Errors: AppError 'data/invalid' for another file, 'api/refused' for a run that is known, 'file/…'. */
export async function importBundle(host: RunKeeper, source: BundleSource): Promise<{ runId: string }> {
  const { store, history, notifier, dataDirectory } = host
  const { uploads, runs } = dataFolders(dataDirectory)
  const file = 'path' in source ? source.path : await findUpload(uploads, source.uploadId)
  const bundle = readBundle(file)
  const { id, name, tags, notes } = bundle.run
  const directory = path.join(runs, id)
  if (store.runs.find(id) !== null || existsSync(directory)) {
    throw refusal('The history already has this run.', 'Nothing was changed.')
  }
  await replaceFolder(directory, (folder) => writeFolder(folder, bundle, dataDirectory))
  try {
    history.refresh(history.add(openRunFolder(dataDirectory, directory)))
    if (name !== null) store.runs.setName(id, name)
    store.runs.setTags(id, [...new Set([...tags, importedTag].map((tag) => tag.toWellFormed()))])
    store.runs.setNotes(id, notes)
  } catch (error) {
    takeBack(host, id, directory)
    throw error
  }
  if ('uploadId' in source) await discardUpload(uploads, source.uploadId)
  notifier.notify()
  return { runId: id }
}

/** Removes a run that could not be imported completely. */
function takeBack({ store, history }: RunKeeper, id: string, directory: string): void {
  rmSync(directory, { recursive: true, force: true })
  if (store.runs.find(id) !== null) history.forget(id)
}

function readBundle(file: string): Bundle {
  const result = bundleSchema.safeParse(readJsonObject(file, 'data/invalid', maxBytes))
  if (result.success) return result.data
  const [issue] = result.error.issues
  throw invalidData(
    `${file} is not an exported run (see ${issue?.path.join('.') ?? ''}).`,
    'Export the run again with this version of Turnwise.',
  )
}

function writeFolder(folder: string, { run, config, events }: Bundle, home: string): void {
  const { id, createdAt, parentRunId, parentCheckpointStep } = run
  const parent = parentRunId === null ? null : { runId: parentRunId, step: parentCheckpointStep ?? 0 }
  const paths = runPaths(folder)
  makeFolder(paths.checkpoints)
  writeFileAtomic(paths.config, `${JSON.stringify(config, null, 2)}\n`)
  const kept = events.filter(({ type }) => !leftOut.has(type))
  const lines = [...kept, ...withoutCheckpoints(run, kept), ...closing(run)]
  writeFileAtomic(paths.events, lines.map((event) => `${JSON.stringify(event)}\n`).join(''))
  writeFileAtomic(paths.run, `${JSON.stringify({ format: 1, id, createdAt, parent, home })}\n`)
}

/** Checkpoints lie on the machine that trained; that and how long they were written stays part of the history. */
function withoutCheckpoints({ step }: Bundle['run'], events: Bundle['events']): object[] {
  const saved = events.flatMap(({ type, directory }) =>
    type === 'checkpoint-saved' && typeof directory === 'string' ? [directory] : [],
  )
  const directories = [...new Set(saved)]
  return directories.length === 0 ? [] : [{ at: Date.now(), type: 'checkpoints-removed', step, directories }]
}

/** Returns the end of an imported run; it cannot go on here, however it ended. */
function closing({ step, steps, status, settingChanges }: Bundle['run']): object[] {
  const at = Date.now()
  const how = status === 'finished' ? '' : ` There it was ${status}.`
  const message = `Imported from another history: numbers and events only.${how}`
  return [
    ...(settingChanges.length === 0 ? [] : [{ at, type: 'settings-changed', step, changes: settingChanges }]),
    { at, type: 'warning', step, message },
    { at, type: 'status', phase: 'finished', step, steps: steps ?? step },
  ]
}
