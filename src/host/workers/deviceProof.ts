/**
 * Whether a device computes rightly: the self-test, run on it before the first run trains there and remembered with what
 * it was run on. A kernel may be wrong without a word (a GPU once trained on noise for a whole run), so a device that has
 * not proved itself is not believed.
 */
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { release } from 'node:os'
import path from 'node:path'
import { z } from 'zod'
import { deviceTitles, type Device } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { makeFolder, writeFileAtomic } from '../artifacts/atomic.ts'
import { runSelftest } from './selftest.ts'
import type { SelftestFinding } from './selftestReport.ts'

const proofSchema = z.object({
  /** What the test ran on; with another driver or runtime it is run again. */
  on: z.string(),
  checks: z.number(),
  seconds: z.number(),
  failures: z.array(z.object({ name: z.string(), measured: z.number().nullable(), limit: z.number() })),
})
export type DeviceProof = z.output<typeof proofSchema>

/**
 * Lets a device pass that has proved itself, and runs the test where nobody has yet. The CPU is not asked: tests of the
 * program itself run there.
 * @throws AppError `device/unsound` with the first check that failed.
 */
export async function requireProof(device: Device, cacheDirectory: string): Promise<void> {
  if (device.kind === 'cpu') return
  const proof = readProof(device, cacheDirectory) ?? (await proveDevice(device, cacheDirectory))
  const [first] = proof.failures
  if (!first) return
  const measured = first.measured === null ? 'no number' : first.measured.toExponential(1)
  throw new AppError(
    'device/unsound',
    `${deviceTitles[device.kind]} computes wrongly on this machine: ${proof.failures.length} of ${plural(proof.checks, 'check')} of the self-test failed. The first is ${first.name}, with an error of ${measured} where ${first.limit.toExponential(0)} is allowed.`,
    `Nothing was trained. Train on the CPU, or update the graphics driver; “turnwise selftest --device ${device.kind}” tests the device again.`,
  )
}

/** Runs the test and remembers its answer. */
export async function proveDevice(device: Device, cacheDirectory: string): Promise<DeviceProof> {
  const findings: SelftestFinding[] = []
  const startedAt = performance.now()
  for await (const finding of runSelftest({ device, full: false })) findings.push(finding)
  return rememberProof(device, cacheDirectory, { findings, seconds: (performance.now() - startedAt) / 1000 })
}

export interface ProvedFindings {
  readonly findings: readonly SelftestFinding[]
  readonly seconds: number
}

export function rememberProof(
  device: Device,
  cacheDirectory: string,
  { findings, seconds }: ProvedFindings,
): DeviceProof {
  const proof: DeviceProof = {
    on: identityOf(device),
    checks: findings.length,
    seconds,
    failures: findings
      .filter(({ passed }) => !passed)
      .map(({ name, measured, limit }) => ({
        name,
        measured: Number.isFinite(measured) ? measured : null,
        limit,
      })),
  }
  const file = proofFile(device, cacheDirectory)
  makeFolder(path.dirname(file))
  writeFileAtomic(file, `${JSON.stringify(proof, null, 2)}\n`)
  return proof
}

/** What was found on this very device; null where nobody has looked, or something changed since. */
function readProof(device: Device, cacheDirectory: string): DeviceProof | null {
  try {
    const found = proofSchema.safeParse(JSON.parse(readFileSync(proofFile(device, cacheDirectory), 'utf8')))
    return found.success && found.data.on === identityOf(device) ? found.data : null
  } catch {
    return null // never tested, or a file that tells nothing: it is tested again
  }
}

const proofFile = ({ kind, deviceId }: Device, cacheDirectory: string): string =>
  path.join(cacheDirectory, 'devices', `${kind}-${String(deviceId)}.json`)

/** The runtime, the adapters and the driver, as far as the system tells without asking the device. */
function identityOf({ kind, deviceId }: Device): string {
  const manifest: unknown = createRequire(import.meta.url)('onnxruntime-node/package.json')
  const { version } = z.object({ version: z.string() }).parse(manifest)
  const parts = [kind, String(deviceId), version, release(), ...linuxGraphics()]
  return `${kind} ${createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 16)}`
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

function listed(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted()
  } catch {
    return []
  }
}

function contents(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
