/**
 * Results of device checks on this machine, kept in the cache folder. A result is valid for the runtime, cards and
 * driver it was found with; with others the device counts as unchecked.
 */
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, cpus, release } from 'node:os'
import path from 'node:path'
import { z } from 'zod'
import { attempt } from '#shared/attempt.ts'
import type { Device, DeviceCheck } from '#shared/device.ts'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { makeOwnFolder } from '#host/files/ownFiles.ts'
import { readSmallText } from '#host/files/strictJson.ts'
import { fittingPrecisions } from './memoryFit.ts'

/** Identity of a device: threads do not count. */
export type DevicePlace = Pick<Device, 'kind' | 'deviceId' | 'tf32'>

const proofSchema = z.object({
  /** Digest of what the test ran on; `with` says the same in words. */
  on: z.string(),
  with: z.string(),
  /** Epoch milliseconds. */
  at: z.number(),
  checks: z.number(),
  seconds: z.number(),
  failures: z.array(z.object({ name: z.string(), measured: z.number().nullable(), limit: z.number() })),
  /** Reason why it ended early, in a sentence. */
  problem: z.string().nullable(),
})
export type DeviceProof = z.output<typeof proofSchema>

const speedSchema = z.object({
  on: z.string(),
  speeds: z.array(z.object({ parameters: z.number(), ratio: z.number().nullable() })),
  memoryBytes: z.number().nullable(),
  problem: z.string().nullable(),
})

const throughputSchema = z.object({
  on: z.string(),
  /** Epoch milliseconds. */
  at: z.int(),
  /** Parameters of the model that it was measured with. */
  parameters: z.int(),
  rates: z.array(
    z.object({
      /** Precision in which the base was held. */
      precision: z.enum(fittingPrecisions),
      /** Work per second, in the units of models/tokenWork.ts. */
      generating: z.number().positive(),
      learning: z.number().positive(),
    }),
  ),
})
/** Amount that a device computes in a second. */
export type Throughput = Omit<z.output<typeof throughputSchema>, 'on'>

export interface ProvedFindings {
  readonly findings: readonly SelftestFinding[]
  readonly seconds: number
  /** Reason why there are no more of them; if absent, the error of the first that ended in one. */
  readonly problem?: string | null
}

/** Returns the self-test's finding on this very device; null where it was never run, or something changed since. */
export const readProof = (place: DevicePlace, cacheDirectory: string): DeviceProof | null =>
  read(proofSchema, proofFile(place, cacheDirectory), identityOf(place))

export function rememberProof(
  place: DevicePlace,
  cacheDirectory: string,
  { findings, seconds, problem = findings.find(({ broke }) => broke)?.sentence ?? null }: ProvedFindings,
): DeviceProof {
  const proof: DeviceProof = {
    on: identityOf(place),
    with: withWords(),
    at: Date.now(),
    checks: findings.length,
    seconds,
    problem,
    failures: findings
      .filter(({ passed }) => !passed)
      .map(({ name, measured, limit }) => ({
        name,
        measured,
        limit,
      })),
  }
  write(proofFile(place, cacheDirectory), proof)
  return proof
}

export interface Measured extends Pick<DeviceCheck, 'speeds' | 'memoryBytes'> {
  /** Reason why nothing more was measured, in a sentence. */
  readonly problem: string | null
}

export function rememberSpeeds(place: DevicePlace, cacheDirectory: string, measured: Measured): void {
  write(speedFile(place, cacheDirectory), { on: besideCpu(place), ...measured })
}

export const readThroughput = (place: DevicePlace, cacheDirectory: string): Throughput | null =>
  read(throughputSchema, throughputFile(place, cacheDirectory), besideCpu(place))

export function rememberThroughput(place: DevicePlace, cacheDirectory: string, measured: Throughput): void {
  write(throughputFile(place, cacheDirectory), { on: besideCpu(place), ...measured })
}

/** Returns everything known of a device; null where it was never checked in its present state. */
export function readCheck(place: DevicePlace, cacheDirectory: string): DeviceCheck | null {
  const proof = readProof(place, cacheDirectory)
  if (proof === null) return null
  const { at, with: words, checks, failures, problem } = proof
  const measured = read(speedSchema, speedFile(place, cacheDirectory), besideCpu(place))
  return {
    at,
    with: words,
    checks,
    failures,
    problem: problem ?? measured?.problem ?? null,
    speeds: measured?.speeds ?? [],
    memoryBytes: measured?.memoryBytes ?? null,
  }
}

function read<T extends { readonly on: string }>(schema: z.ZodType<T>, file: string, on: string): T | null {
  // A missing or damaged file tells nothing: it is asked again.
  return attempt(() => {
    const found = schema.safeParse(JSON.parse(readSmallText(file)))
    return found.success && found.data.on === on ? found.data : null
  }, null)
}

function write(file: string, content: object): void {
  makeOwnFolder(path.dirname(file))
  writeFileAtomic(file, `${JSON.stringify(content, null, 2)}\n`)
}

const proofFile = ({ kind, deviceId, tf32 = false }: DevicePlace, cacheDirectory: string): string =>
  path.join(cacheDirectory, 'devices', `${kind}-${String(deviceId)}${tf32 ? '-tf32' : ''}.json`)
const speedFile = ({ kind, deviceId }: DevicePlace, cacheDirectory: string): string =>
  path.join(cacheDirectory, 'devices', `${kind}-${String(deviceId)}-speed.json`)

const throughputFile = ({ kind, deviceId }: DevicePlace, cacheDirectory: string): string =>
  path.join(cacheDirectory, 'devices', `${kind}-${String(deviceId)}-throughput.json`)

/**
 * Digests what is tested: the runtime, the adapters and the driver, as far as the system tells without asking the
 * device.
 */
function identityOf({ kind, deviceId }: DevicePlace): string {
  const parts = [kind, String(deviceId), ...selftestParts, runtimeVersion(), release(), ...linuxGraphics()]
  return `${kind} ${digestOf(parts)}`
}

/** A cache folder may lie on a disk that several machines share. */
const besideCpu = (place: DevicePlace): string =>
  digestOf([identityOf(place), cpus()[0]?.model ?? '', String(availableParallelism())])

const digestOf = (parts: readonly string[]): string =>
  createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 16)

function runtimeVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('onnxruntime-node/package.json')
  return z.object({ version: z.string() }).parse(manifest).version
}

/** Describes the same in words for people. */
function withWords(): string {
  const driver = /(?:Kernel Module|for \S+)\s+([\d.]+)/.exec(contents('/proc/driver/nvidia/version'))?.[1]
  return `ONNX Runtime ${runtimeVersion()}${driver === undefined ? '' : `, NVIDIA driver ${driver}`}`
}

/** Chosen Vulkan drivers, NVIDIA's driver, and vendor and device of each card. */
function linuxGraphics(): string[] {
  const chosen = ['VK_ICD_FILENAMES', 'VK_DRIVER_FILES'].map((name) => process.env[name] ?? '')
  const cards = listed('/sys/class/drm').filter((name) => /^card\d+$/.test(name))
  const ids = cards.flatMap((card) =>
    ['vendor', 'device'].map((file) => contents(`/sys/class/drm/${card}/device/${file}`)),
  )
  const files = ['/usr/share/vulkan/icd.d', '/etc/vulkan/icd.d'].flatMap(listed)
  return [...chosen, contents('/proc/driver/nvidia/version'), ...ids, ...files]
}

const listed = (folder: string): string[] => attempt(() => readdirSync(folder).toSorted(), [])

const contents = (file: string): string => attempt(() => readFileSync(file, 'utf8'), '')

/* What a self-test answers; `selftest.ts` runs it. */

export const selftestParts = ['operators', 'products', 'architectures', 'precisions', 'probes'] as const
export type SelftestPart = (typeof selftestParts)[number]

/** One question to this installation and its answer. */
export interface SelftestFinding {
  /** `ops/Softmax`, `model/gradient`, `model/samplerGap`. */
  readonly name: string
  readonly passed: boolean
  /** Null if it was no number, or the check ended in an error. */
  readonly measured: number | null
  /** The largest value that passes. */
  readonly limit: number
  /** Names what was compared and, if it failed, what is wrong. */
  readonly sentence: string
  /** True if it ended in an error, which is the sentence. */
  readonly broke?: true
}
