/**
 * Finds and removes the CUDA library in the data directory. Reading guide of this folder: `cudaManifest` is the
 * committed list of its files; `packageIndex` finds their source; `installCuda` installs it; `installedCuda` (here)
 * tells if it is installed, and removes it. No process but workers ever loads it (engine/runtime/onnxRuntime.ts).
 */
import { readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { cudaFolderVariable } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import { makeFolder } from '#host/files/atomic.ts'
import { systemCode, writeError } from '#host/files/fileErrors.ts'
import { takeTurn } from '#host/files/turns.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { bytesOf } from '#host/workFolder/leftovers.ts'
import { manifestId, readCudaManifest, type CudaManifest } from './cudaManifest.ts'

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

const record = z.object({
  /** Id of the list it was made from. */
  id: z.string(),
  files: z.array(z.object({ name: z.string(), sizeBytes: z.number() })),
})
export type InstalledRecord = z.output<typeof record>

/** Returns the folder of the library that this version needs, with every file in it; null where there is none. */
export function installedCuda(dataDirectory: string, needed?: CudaManifest): string | null {
  const { folder, record: file } = cudaPaths(dataDirectory)
  const found = readRecord(file)
  const manifest = found === null ? null : (needed ?? readCudaManifest())
  const isWhole =
    found !== null &&
    manifest !== null &&
    found.id === manifestId(manifest) &&
    found.files.every(({ name, sizeBytes }) => sizeOf(path.join(folder, name)) === sizeBytes)
  return isWhole ? folder : null
}

function readRecord(file: string): InstalledRecord | null {
  try {
    return record.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data ?? null
  } catch {
    return null // never installed, or damaged: it is installed again
  }
}

const sizeOf = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.size

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
