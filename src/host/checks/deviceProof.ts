/**
 * Whether a device computes rightly: the self-test, run on it before the first run trains there and remembered with what
 * it was run on. A kernel may be wrong without a word (a GPU once trained on noise for a whole run), so a device that has
 * not proved itself is not believed.
 */
import { deviceTitles, type Device } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { readProof, rememberProof, type DeviceProof } from '#host/devices/deviceRecords.ts'
import { runSelftest } from './selftest.ts'
import type { SelftestFinding } from '#host/devices/selftestReport.ts'

/**
 * Lets a device pass that has proved itself, and runs the test where nobody has yet, or it did not come to its end. The
 * CPU is not asked: tests of the program itself run there.
 * @throws AppError `device/unsound` with the first check that failed.
 */
export async function requireProof(device: Device, cacheDirectory: string): Promise<void> {
  if (device.kind === 'cpu') return
  const known = readProof(device, cacheDirectory)
  const proof = known?.problem === null ? known : await proveDevice(device, cacheDirectory)
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
