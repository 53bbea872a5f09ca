/**
 * Finds and removes the CUDA library in the data directory. Reading guide of this folder: `cudaManifest` is the
 * committed list of its files; `packageIndex` finds their source; `installCuda` installs it; `installedCuda` (here)
 * tells if it is installed, and removes it. No process but workers ever loads it (engine/runtime/onnxRuntime.ts).
 */
import { type Dirent, lstatSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { z } from 'zod'
import { attempt } from '#shared/attempt.ts'
import { cudaFolderVariable } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import { hasMachineKey, isOurs, isOwnSeal, ownSeal } from '#host/files/ownSeals.ts'
import { makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { sha256Of } from '#host/files/contentHash.ts'
import { systemCode, writeError } from '#host/files/fileErrors.ts'
import { readSmallText } from '#host/files/strictJson.ts'
import { takeTurn } from '#host/files/turns.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { bytesOf } from '#host/workFolder/leftovers.ts'
import { manifestId, packedFiles, readCudaManifest, type CudaManifest } from './cudaManifest.ts'

export const cudaPaths = (dataDirectory: string) => {
  const { libraries } = dataFolders(dataDirectory)
  const inside = (name: string) => path.join(libraries, name)
  return {
    libraries,
    /** Appears when it is whole. */
    folder: inside('cuda'),
    /** Folder of what was fetched so far; stays where installing is interrupted. */
    unfinished: inside('cuda-unfinished'),
    /** File of the turn to change it; stays, outside of the folder of libraries. */
    turn: path.join(dataDirectory, '.libraries.turn'),
    /** File that describes the content of the folder. */
    record: path.join(inside('cuda'), recordName),
  }
}

export const recordName = 'installed.json'

/** Name of the file that says which list a folder is filled from. */
export const listName = 'list'

const record = z.object({
  /** Id of the list it was made from. */
  id: z.string(),
  /** Seal of the files whose digests were compared here; absent: none were. */
  seal: z.string().optional(),
})
export type InstalledRecord = z.output<typeof record>

/** Purpose of the seal of the record. */
const sealedAs = 'cuda'

/**
 * Returns the folder of the library that this version needs, with every file in it and nothing else; null where there is none. Any
 * code could be in a folder that came from elsewhere, so the digests of the list decide. They are compared once: then the record
 * has a seal, under this person's own key, of what the file system says of these very files. Without such a key, which whoever made
 * the folder would otherwise need, each process compares them.
 */
export function installedCuda(dataDirectory: string, needed?: CudaManifest): string | null {
  const { folder, record: file } = cudaPaths(dataDirectory)
  const found = readRecord(file)
  const manifest = found === null ? null : (needed ?? readCudaManifest())
  if (found === null || manifest === null || found.id !== manifestId(manifest)) return null
  const expected = expectedFiles(manifest)
  const marks = marksOf(folder, expected)
  if (marks === null) return null
  const sealed = [dataDirectory, sealedAs, marks] as const
  if (hasMachineKey() && isOwnSeal(found.seal, ...sealed)) return folder
  if (!isMeant(folder, expected, marks)) return null
  keepSeal(file, { id: found.id, seal: ownSeal(...sealed) })
  return folder
}

/** Compares the digests of files that have these marks, once in a process: it asks before each process that it starts. */
function isMeant(folder: string, files: readonly ExpectedFile[], marks: string): boolean {
  const known = compared.get(marks)
  if (known !== undefined) return known
  const isWhole = files.every(({ name, sha256 }) => isOf(path.join(folder, name), sha256()))
  compared.set(marks, isWhole)
  return isWhole
}

const compared = new Map<string, boolean>()

interface ExpectedFile {
  readonly name: string
  readonly sizeBytes: number
  readonly sha256: () => string
}

/** Lists what belongs into the folder; the runtime's own files are as its package has them. */
function expectedFiles(manifest: CudaManifest): ExpectedFile[] {
  const own = readdirSync(runtimeFolder()).map((name) => {
    const file = path.join(runtimeFolder(), name)
    return { name, sizeBytes: statSync(file).size, sha256: () => sha256Of(file) }
  })
  const packed = packedFiles(manifest).map(({ sha256, ...file }) => ({ ...file, sha256: () => sha256 }))
  return [...packed.filter(({ name }) => !own.some((each) => each.name === name)), ...own]
}

export function runtimeFolder(): string {
  const manifest = createRequire(import.meta.url).resolve('onnxruntime-node/package.json')
  return path.join(path.dirname(manifest), 'bin/napi-v6', process.platform, process.arch)
}

/** Returns false also for what is no ordinary file. */
export const isOf = (file: string, sha256: string): boolean =>
  attempt(() => lstatSync(file).isFile() && sha256Of(file) === sha256, false)

/**
 * Lists what the file system says of these files: their numbers and times of birth and change. null: one is missing, of another size,
 * no ordinary file or another user's, who may exchange it later, or others are there, which the system might load in their place.
 */
function marksOf(folder: string, files: readonly ExpectedFile[]): string | null {
  const known = new Set([...files.map(({ name }) => name), recordName, listName])
  const entries = entriesOf(folder).filter(({ name }) => !name.startsWith('.'))
  if (!entries.every((entry) => entry.isFile() && known.has(entry.name))) return null
  const places = [folder, path.dirname(folder)].map((place) => lstatSync(place, { bigint: true }))
  if (!places.every(isOurs)) return null
  const marks: string[] = []
  for (const { name, sizeBytes } of files) {
    const status = lstatSync(path.join(folder, name), { bigint: true, throwIfNoEntry: false })
    if (status === undefined || Number(status.size) !== sizeBytes || !isOurs(status)) return null
    marks.push([name, status.ino, status.birthtimeNs, status.ctimeNs, status.mtimeNs].join(' '))
  }
  return [folder, ...marks].join('\n')
}

function entriesOf(folder: string): Dirent[] {
  // The folder may be gone meanwhile.
  return attempt(() => readdirSync(folder, { withFileTypes: true }), [])
}

function keepSeal(file: string, sealed: InstalledRecord): void {
  try {
    writeFileAtomic(file, `${JSON.stringify(sealed)}\n`)
  } catch {
    // On a disk that is read-only each process compares them itself.
  }
}

function readRecord(file: string): InstalledRecord | null {
  // What was never installed, or is damaged, is installed again.
  return attempt(() => record.safeParse(JSON.parse(readSmallText(file))).data ?? null, null)
}

/** Environment variables for processes that load ONNX Runtime; empty where there is nothing to set. */
export const cudaEnvironment = (dataDirectory: string): Readonly<Record<string, string>> => ({
  [cudaFolderVariable]: installedCuda(dataDirectory) ?? '',
})

/**
 * Removes the library and everything fetched for it; returns the disk space that is freed. Errors: AppError
 * 'file/unwritable', 'store/busy'.
 */
export function removeCuda(dataDirectory: string): { readonly freedBytes: number } {
  const { libraries, folder, unfinished } = cudaPaths(dataDirectory)
  makeFolder(libraries)
  using _lock = lockCuda(dataDirectory)
  const freedBytes = bytesOf(folder) + bytesOf(unfinished)
  discard(folder)
  discard(unfinished)
  return { freedBytes }
}

/** Removes a folder so that readers see it gone at once, whatever happens during the removal. */
export function discard(folder: string): void {
  const leaving = path.join(path.dirname(folder), `.${path.basename(folder)}.${process.pid}.removed`)
  try {
    rmSync(leaving, { recursive: true, force: true })
    renameSync(folder, leaving)
    rmSync(leaving, { recursive: true, force: true })
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw writeError(folder, error)
  }
}

/**
 * Locks the library: one process at a time installs or removes it; a process that has ended holds nobody up. Errors:
 * AppError 'store/busy', 'file/unwritable'.
 */
export function lockCuda(dataDirectory: string): Disposable {
  const turn = takeTurn(cudaPaths(dataDirectory).turn)
  if (turn === null) throw busy()
  return turn
}

const busy = (): AppError =>
  new AppError(
    'store/busy',
    'Another process is installing or removing the CUDA library.',
    'Nothing was changed. Try again when it is done: what was fetched so far is kept.',
  )

/** Error for systems where there can be no CUDA. */
const noCudaHere = (): AppError =>
  new AppError(
    'device/unavailable',
    `ONNX Runtime supports CUDA for Node on Linux x64 only; this is ${process.platform}-${process.arch}.`,
    process.platform === 'win32'
      ? 'DirectML and WebGPU work with GPUs of any vendor here and need no installation.'
      : 'WebGPU uses the GPU if there is a driver for it.',
  )

/** Errors: AppError 'device/unavailable' where there can be none. */
export function requireCudaManifest(): CudaManifest {
  const manifest = readCudaManifest()
  if (manifest === null) throw noCudaHere()
  return manifest
}
