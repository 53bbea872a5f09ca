/**
 * `state.json` of a checkpoint: where the run stood, and the size and SHA-256 of every other file. The last field is a
 * digest of all others, so that a single changed byte anywhere in the checkpoint is noticed.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { count } from '#shared/api/common.ts'
import { AppError } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import { noUpdates } from '#rl/training/updateGuard.ts'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { sha256Of } from '#host/files/contentHash.ts'
import {
  isJsonObject,
  JsonSyntaxError,
  parseStrictJson,
  readSmallFile,
  regularFileSize,
} from '#host/files/strictJson.ts'

const formatVersion = 3
/** Knew no history of updates. */
const oldestVersion = 2
const stateName = 'state.json'
export const maxStateBytes = 4 * 1024 * 1024

export const stateFile = (directory: string): string => path.join(directory, stateName)

/** Name of a file inside the folder: it must not lead out of it. */
const fileName = z.string().regex(/^(?!.*\.\.)\w[\w./-]*$/)
const filesSchema = z.record(fileName, z.strictObject({ bytes: count, sha256: z.string() }))

const slopes = z.array(z.number().nonnegative()).readonly()
const historySchema = z.strictObject({ actor: slopes, critic: slopes, skipped: count })

const stateSchema = z.strictObject({
  format: z.int().min(oldestVersion).max(formatVersion),
  trainer: z.strictObject({
    step: count,
    stage: count.default(0),
    promptsDrawn: count,
    updates: count,
    tokens: count,
    updateHistory: historySchema.default(noUpdates),
    isScored: z.boolean().optional(),
    unsolved: z
      .array(z.strictObject({ row: count, tries: count }))
      .readonly()
      .optional(),
    script: z.unknown().optional(),
  }),
  /** Updates the optimizer took; null: its moments were not kept. */
  optimizerStep: count.nullable(),
  events: count,
  reward: z.number().nullable(),
  metrics: z.record(z.string(), z.number()),
  files: filesSchema,
})

export type CheckpointState = z.infer<typeof stateSchema>

export const isCheckpoint = (directory: string): boolean => existsSync(stateFile(directory))

export const damagedCheckpoint = (directory: string, problem: string): AppError =>
  new AppError('checkpoint/invalid', `${directory} is not a complete checkpoint: ${problem}.`, {
    text: 'Other checkpoints of the run are not affected.',
    command: '`turnwise runs show` lists them.',
  })

/** Seals what lies in the folder; to be written last. Returns the size of the whole checkpoint in bytes. */
export function writeState(directory: string, state: Omit<CheckpointState, 'format' | 'files'>): number {
  const files = digestsOf(directory)
  const text = sealed({ format: formatVersion, ...state, files })
  writeFileAtomic(stateFile(directory), text)
  return sizeOf({ files }) + Buffer.byteLength(text)
}

/** The state as it was written. Errors: AppError 'checkpoint/invalid', 'file/unreadable'. */
export function readState(directory: string): CheckpointState & { readonly sizeBytes: number } {
  const file = stateFile(directory)
  if (!existsSync(file)) throw damagedCheckpoint(directory, `it has no ${stateName}`)
  const bytes = readSmallFile(file, maxStateBytes)
  const { digest: _, ...document } = parseDocument(directory, bytes)
  requireFormat(directory, document['format'])
  const parsed = stateSchema.safeParse(document)
  if (!parsed.success || !Buffer.from(sealed(document)).equals(bytes)) {
    throw damagedCheckpoint(directory, `${stateName} has changed since it was written`)
  }
  return { ...parsed.data, sizeBytes: sizeOf(parsed.data) + bytes.length }
}

function parseDocument(directory: string, bytes: Uint8Array): Record<string, unknown> {
  try {
    const document = parseStrictJson(bytes)
    if (isJsonObject(document)) return document
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    throw damagedCheckpoint(directory, `${stateName} is not valid JSON, ${error.message}`)
  }
  throw damagedCheckpoint(directory, `${stateName} does not hold a JSON object`)
}

function requireFormat(directory: string, format: unknown): void {
  const isNumber = typeof format === 'number'
  if (isNumber && format >= oldestVersion && format <= formatVersion) return
  const claim =
    !isNumber || format < oldestVersion
      ? 'was written by an earlier version of Turnwise, whose checkpoint format is no longer supported'
      : 'was written by a newer version of Turnwise'
  throw new AppError(
    'checkpoint/invalid',
    `The checkpoint ${directory} ${claim} (format ${shorten(JSON.stringify(format ?? null))}, not ${formatVersion}).`,
    'Nothing was changed. Open it with the version that wrote it, or start the run again.',
  )
}

function sealed(document: Readonly<Record<string, unknown>>): string {
  const digest = createHash('sha256')
    .update(JSON.stringify(document, null, 2))
    .digest('hex')
  return `${JSON.stringify({ ...document, digest }, null, 2)}\n`
}

const sizeOf = ({ files }: Pick<CheckpointState, 'files'>): number =>
  Object.values(files).reduce((sum, { bytes }) => sum + bytes, 0)

/** Returns size and SHA-256 of every file below a folder, by relative path. */
function digestsOf(folder: string): CheckpointState['files'] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  return Object.fromEntries(
    files.map((entry) => {
      const file = path.join(entry.parentPath, entry.name)
      const name = path.relative(folder, file).replaceAll(path.sep, '/')
      return [name, { bytes: regularFileSize(file), sha256: sha256Of(file) }]
    }),
  )
}

/** Compares every file with its digest. Errors: AppError 'checkpoint/invalid' naming the first that differs. */
export function requireWhole(directory: string, { files }: Pick<CheckpointState, 'files'>): void {
  for (const [name, expected] of Object.entries(files)) {
    const file = path.join(directory, name)
    if (!existsSync(file)) throw damagedCheckpoint(directory, `${name} is missing`)
    if (regularFileSize(file) !== expected.bytes || sha256Of(file) !== expected.sha256) {
      throw damagedCheckpoint(directory, `${name} has changed since it was written`)
    }
  }
}
