/**
 * Chooses a run's device: the configured one, the one it started on, or for `auto` the fastest that passed its check.
 * Training code receives the open device, never the setting; a `device` event in the log records it for resuming.
 */
import { computesIn, deviceTitles, type Device, type DeviceKind } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { plural } from '#shared/plural.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { plannedDevice } from '#host/devices/deviceChoice.ts'
import { chooseDevice } from '#host/models/openModel.ts'
import {
  readProof,
  rememberProof,
  type DeviceProof,
  type SelftestFinding,
} from '#host/devices/deviceRecords.ts'
import { runSelftest } from '#host/checks/selftest.ts'

export interface RunDevice {
  readonly device: Device
  /** Reason for the device, in a sentence. */
  readonly reason: string
}

export interface RunDeviceRequest {
  readonly config: Pick<RunConfig, 'device' | 'base'>
  readonly model: ModelFolder
  readonly cacheDirectory: string
  /** Device on which the run computed so far; null where it begins. */
  readonly before: DeviceKind | null
}

/** Errors: AppError 'device/unavailable', 'device/unsound'; none for `auto` in a run that begins, which then takes the CPU. */
export async function chooseRunDevice(request: RunDeviceRequest): Promise<RunDevice> {
  const { config, model, cacheDirectory, before } = request
  const isAuto = config.device.kind === 'auto'
  if (isAuto && before !== null)
    return { device: await goOn(request, before), reason: 'The run started on it.' }
  const { kind, reason } = plannedDevice(config, model.config, cacheDirectory)
  try {
    return { device: await sound(request, kind), reason }
  } catch (error) {
    const goesOnCpu = kind !== 'cpu' && computesIn('cpu', config.base.precision)
    if (!isAuto || !goesOnCpu || !(error instanceof AppError)) throw error
    return { device: await sound(request, 'cpu'), reason: error.message }
  }
}

async function sound({ config, cacheDirectory }: RunDeviceRequest, kind: DeviceKind): Promise<Device> {
  const device = await chooseDevice({ ...config.device, kind, tf32: config.base.precision === 'tf32' })
  await requireProof(device, cacheDirectory)
  return device
}

/**
 * Returns the device the run used before. On another device the rest of the run would not be what it would have been.
 */
async function goOn(request: RunDeviceRequest, kind: DeviceKind): Promise<Device> {
  try {
    return await sound(request, kind)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new AppError(
      error.code,
      error.message,
      `The run started on ${deviceTitles[kind]} and can only continue there; its checkpoints are intact. To continue on another device, fork it with that device. ${error.hint ?? ''}`.trim(),
      error,
    )
  }
}

/* Whether a device computes rightly: the self-test, run on it before the first run trains there and remembered with what
 * it was run on. A kernel may be wrong without a word (a GPU once trained on noise for a whole run), so a device that has
 * not proved itself is not believed. */

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
  throw new AppError(
    'device/unsound',
    `${deviceTitles[device.kind]} computes wrong results on this machine: ${proof.failures.length} of ${plural(proof.checks, 'check')} of the self-test failed, first ${first.name}${shortfall(first)}${proof.problem === null ? '.' : `: ${proof.problem}`}`,
    {
      text: 'Nothing was trained. Train on the CPU, or update the graphics driver and test the device again.',
      command: `\`turnwise selftest --device ${device.kind}${device.tf32 === true ? ' --tf32' : ''}\` does so.`,
    },
  )
}

const shortfall = ({ measured, limit }: DeviceProof['failures'][number]): string =>
  measured === null
    ? ''
    : `, with an error of ${measured.toExponential(1)} where ${limit.toExponential(0)} is allowed`

/** Runs the test and remembers its answer. */
export async function proveDevice(device: Device, cacheDirectory: string): Promise<DeviceProof> {
  const findings: SelftestFinding[] = []
  const startedAt = performance.now()
  for await (const finding of runSelftest({ device, full: false })) findings.push(finding)
  return rememberProof(device, cacheDirectory, { findings, seconds: (performance.now() - startedAt) / 1000 })
}
