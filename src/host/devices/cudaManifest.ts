/**
 * What of which wheels makes the CUDA library, and where in them it lies: written by scripts/cuda/manifest.ts, committed,
 * and the only thing that is trusted of what a package index sends.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { digest } from '#shared/api/common.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'

const size = z.int().min(1)

/** A file in a wheel, found without the wheel's own directory: a part of it can be fetched alone. */
const packedFile = z.strictObject({
  /** What it is called where it is installed; all lie in one folder, where they find each other. */
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._+-]*$/),
  /** Of its deflated bytes in the wheel. */
  offset: size,
  packedBytes: size,
  sizeBytes: size,
  /** Of the file itself. */
  sha256: digest,
})

const wheel = z.strictObject({
  package: z.string().regex(/^[a-z0-9-]+$/),
  version: z.string(),
  file: z.string().regex(/^[A-Za-z0-9_.-]+\.whl$/),
  sizeBytes: size,
  sha256: digest,
  files: z.tuple([packedFile], packedFile),
})

const cudaManifest = z.strictObject({
  format: z.literal(1),
  /** Of onnxruntime-node: the library is a part of that very build. */
  runtime: z.string(),
  /** Such as linux-x64. */
  platform: z.string(),
  wheels: z.tuple([wheel], wheel),
})

export type PackedFile = z.output<typeof packedFile>
export type Wheel = z.output<typeof wheel>
export type CudaManifest = z.output<typeof cudaManifest>

export const cudaManifestFile = (platform: string): string =>
  path.join(resourcesDirectory, 'libraries', `cuda-${platform}.json`)

/** For whoever keeps builds of their own: another list than the committed one. */
const otherManifest = 'TURNWISE_CUDA_MANIFEST'

/** null where ONNX Runtime has no CUDA for Node on this system. Errors: a list that is none. */
export function readCudaManifest(): CudaManifest | null {
  const file = process.env[otherManifest] || cudaManifestFile(`${process.platform}-${process.arch}`)
  return existsSync(file) ? parseCudaManifest(readFileSync(file, 'utf8')) : null
}

/** Errors: whatever is wrong with a list that this program or its owner made. */
export const parseCudaManifest = (text: string): CudaManifest => cudaManifest.parse(JSON.parse(text))

/** Two lists have the same id only where they install the same. */
export const manifestId = (manifest: CudaManifest): string =>
  createHash('sha256').update(JSON.stringify(manifest)).digest('hex').slice(0, 16)

export const packedFiles = ({ wheels }: CudaManifest): readonly PackedFile[] =>
  wheels.flatMap(({ files }) => files)

export const total = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0)
