/**
 * Installs the CUDA library in the data directory: downloaded in parts, each checked against its digest, all or nothing.
 * ONNX Runtime's npm package has no CUDA provider; it comes with NVIDIA's libraries from a Python package index, by range
 * requests for the files that `cudaManifest` lists and no others.
 */
import { createHash } from 'node:crypto'
import {
  createReadStream,
  createWriteStream,
  lstatSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import path from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createInflateRaw } from 'node:zlib'
import { AppError } from '#shared/errors.ts'
import { makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { download, requireSpace, sizeAt } from '#host/files/download.ts'
import { writeError, writing } from '#host/files/fileErrors.ts'
import { readSmallText } from '#host/files/strictJson.ts'
import { bytesOf } from '#host/workFolder/leftovers.ts'
import {
  manifestId,
  packedFiles,
  total,
  type CudaManifest,
  type PackedFile,
  type Wheel,
} from './cudaManifest.ts'
import {
  cudaPaths,
  discard,
  installedCuda,
  lockCuda,
  isOf,
  listName,
  recordName,
  runtimeFolder,
  type InstalledRecord,
} from './installedCuda.ts'
import { bytesOf as bytesAt, findWheel, type IndexAccess } from './packageIndex.ts'

export interface CudaInstallation {
  readonly dataDirectory: string
  readonly manifest: CudaManifest
  readonly access: IndexAccess
}

export interface CudaProgress {
  readonly doneBytes: number
  readonly totalBytes: number
}

export interface CudaPlan {
  /** Bytes that remain to be downloaded. */
  readonly downloadBytes: number
  /** Bytes to download in all. */
  readonly totalBytes: number
  readonly installedBytes: number
  /** Packages with their versions. */
  readonly packages: readonly string[]
  /** True if it is complete, in the version needed. */
  readonly isInstalled: boolean
  /** Bytes already on the disk, also of an unfinished installation. */
  readonly presentBytes: number
}

/** Describes what installing would do; no server is asked for it. */
export function planCuda(dataDirectory: string, manifest: CudaManifest): CudaPlan {
  const { folder, unfinished } = cudaPaths(dataDirectory)
  const isInstalled = installedCuda(dataDirectory, manifest) !== null
  const files = packedFiles(manifest)
  const totalBytes = total(files.map(({ packedBytes }) => packedBytes))
  const isStarted = isOfList(unfinished, manifest)
  const fetched = isStarted ? total(files.map((file) => fetchedOf(file, unfinished))) : 0
  return {
    downloadBytes: isInstalled ? 0 : totalBytes - fetched,
    totalBytes,
    installedBytes: total(files.map(({ sizeBytes }) => sizeBytes)) + bytesOf(runtimeFolder()),
    packages: manifest.wheels.map((wheel) => `${wheel.package} ${wheel.version}`),
    isInstalled,
    presentBytes: bytesOf(folder) + bytesOf(unfinished),
  }
}

function fetchedOf({ name, packedBytes, sizeBytes }: PackedFile, folder: string): number {
  if (bytesOf(path.join(folder, name)) === sizeBytes) return packedBytes
  return Math.min(packedBytes, bytesOf(path.join(folder, partOf(name))))
}

const partOf = (name: string): string => `${name}.part`

/**
 * Installs the library and yields the progress. An interrupted installation continues the next time. Errors: AppError
 * 'store/busy' while another process installs it; those of asking the index; 'server/unsuitable' where it sends other
 * bytes than the list says; 'file/unwritable', also where the disk is too small: nothing was fetched then.
 */
export async function* installCuda(installation: CudaInstallation): AsyncGenerator<CudaProgress> {
  const { dataDirectory, manifest } = installation
  const { libraries, folder, unfinished } = cudaPaths(dataDirectory)
  makeFolder(libraries)
  using _lock = lockCuda(dataDirectory)
  if (installedCuda(dataDirectory, manifest) !== null) return
  if (lstatSync(unfinished, { throwIfNoEntry: false })?.isDirectory() === false) rmSync(unfinished)
  makeFolder(unfinished)
  takeUp(unfinished, manifest)
  await requireRoom(installation)
  const totalBytes = total(packedFiles(manifest).map(({ packedBytes }) => packedBytes))
  let before = 0
  for (const wheel of manifest.wheels) {
    for await (const bytes of fetchWheel(wheel, unfinished, installation)) {
      yield { doneBytes: before + bytes, totalBytes }
    }
    before += total(wheel.files.map(({ packedBytes }) => packedBytes))
    yield { doneBytes: before, totalBytes }
  }
  finish(unfinished, manifest)
  discard(folder)
  rename(unfinished, folder)
  installedCuda(dataDirectory, manifest)
}

/**
 * Takes up an interrupted installation: parts of files of this list, and those with its digests. Files fetched for another list are
 * of no use, and the folder may have come from elsewhere, with anything in it.
 */
function takeUp(folder: string, manifest: CudaManifest): void {
  const isOurs = isOfList(folder, manifest)
  const digests = new Map(packedFiles(manifest).map(({ name, sha256 }) => [name, sha256]))
  const parts = new Set([...digests.keys()].map(partOf))
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name)
    const isUseful = entry.isFile() && (parts.has(entry.name) || isOf(file, digests.get(entry.name) ?? ''))
    if (!isOurs || !isUseful) rmSync(file, { recursive: true, force: true })
  }
  writeFileAtomic(path.join(folder, listName), manifestId(manifest))
}

function isOfList(folder: string, manifest: CudaManifest): boolean {
  const file = path.join(folder, listName)
  return (
    statSync(file, { throwIfNoEntry: false })?.isFile() === true &&
    readSmallText(file) === manifestId(manifest)
  )
}

/** Checks the disk space. A part lies beside what is unpacked of it, but only one part at a time. */
async function requireRoom({ dataDirectory, manifest }: CudaInstallation): Promise<void> {
  const { libraries, unfinished, folder } = cudaPaths(dataDirectory)
  const { installedBytes } = planCuda(dataDirectory, manifest)
  const largestPart = Math.max(...packedFiles(manifest).map(({ packedBytes }) => packedBytes))
  const bytes = installedBytes + largestPart - bytesOf(unfinished)
  const replaced = bytesOf(folder) > 0 ? ' remove the older one first (turnwise device remove cuda),' : ''
  await requireSpace(libraries, {
    bytes: Math.max(0, bytes),
    what: 'The CUDA library',
    advice: `${replaced} keep the data directory on a larger disk (TURNWISE_HOME)`.trim(),
  })
}

/**
 * Fetches a wheel and yields the bytes of its parts as they arrive. The index is asked only where something is missing.
 */
async function* fetchWheel(
  wheel: Wheel,
  folder: string,
  { access }: CudaInstallation,
): AsyncGenerator<number> {
  let address: string | null = null
  let before = 0
  for (const file of wheel.files) {
    if ((await sizeAt(path.join(folder, file.name))) !== file.sizeBytes) {
      address ??= await findWheel(wheel, access)
      for await (const bytes of fetchFile(file, { folder, address, wheel, access })) yield before + bytes
    }
    before += file.packedBytes
    yield before
  }
}

interface Source {
  readonly folder: string
  readonly address: string
  readonly wheel: Wheel
  readonly access: IndexAccess
}

const fetchFile = (file: PackedFile, { folder, address, wheel, access }: Source): AsyncGenerator<number> =>
  download({
    part: path.join(folder, partOf(file.name)),
    sizeBytes: file.packedBytes,
    from: (start) =>
      bytesAt(address, { start: file.offset + start, end: file.offset + file.packedBytes }, access),
    accept: (part) => unpack(part, path.join(folder, file.name), file),
    refusal: () =>
      new AppError(
        'server/unsuitable',
        `${file.name} of ${wheel.file} does not have the expected digest.`,
        'It was removed, and nothing is installed. Install again, or from another index.',
      ),
  })

/** The file appears under its name only where it is the one that is meant. */
async function unpack(part: string, target: string, { sizeBytes, sha256 }: PackedFile): Promise<boolean> {
  const unpacked = `${target}.unpacked`
  const hash = createHash('sha256')
  let size = 0
  const check = new Transform({
    transform(chunk: Buffer, _encoding, pass) {
      size += chunk.byteLength
      hash.update(chunk)
      // A file that unfolds to more than it may must not fill the disk.
      pass(size > sizeBytes ? new Error(tooMuch) : null, chunk)
    },
  })
  try {
    const output = createWriteStream(unpacked, { flush: true })
    await pipeline(createReadStream(part), createInflateRaw(), check, output)
  } catch (error) {
    rmSync(unpacked, { force: true })
    if (isDamage(error)) return false
    throw writeError(target, error)
  }
  const isMeant = hash.digest('hex') === sha256
  if (isMeant) {
    rename(unpacked, target)
    rmSync(part)
  } else rmSync(unpacked)
  return isMeant
}

const tooMuch = 'more than is stated'

/** Returns true if the bytes are damaged, rather than the disk. */
const isDamage = (error: unknown): boolean =>
  error instanceof Error &&
  (error.message === tooMuch || ('code' in error && /^Z_|^ERR_ZLIB/.test(String(error.code))))

/**
 * Adds what ONNX Runtime's package brings: it looks for the library beside itself, and its own folder may be read-only.
 */
function finish(folder: string, manifest: CudaManifest): void {
  const own = runtimeFolder()
  for (const name of readdirSync(own))
    writeFileAtomic(path.join(folder, name), readFileSync(path.join(own, name)))
  const record: InstalledRecord = { id: manifestId(manifest) }
  writeFileAtomic(path.join(folder, recordName), `${JSON.stringify(record)}\n`)
}

function rename(from: string, to: string): void {
  writing(to, () => renameSync(from, to))
}
