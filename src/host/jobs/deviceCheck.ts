/**
 * Checks a device: the self-test and, if that passes, its speed compared with the CPU. Both run in separate processes,
 * so that a driver that crashes or hangs ends only those, and that outcome is recorded.
 */
import type { DeviceCheck, DeviceReport, DeviceSpeed } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import { CardMeter } from '#host/processes/cardLoad.ts'
import type { SpeedNews } from '#host/checks/deviceSpeed.ts'
import type { Ask, Job } from '#host/processes/job.ts'
import {
  readCheck,
  rememberProof,
  rememberSpeeds,
  type DevicePlace,
  type SelftestFinding,
} from '#host/devices/deviceRecords.ts'

/** Every kind of device, tried for real, and how many threads this machine computes with. */
export interface DeviceList {
  readonly devices: readonly DeviceReport[]
  readonly physicalCores: number
  readonly defaultThreads: number
}

export const deviceListJob: Job<'device list', null, DeviceList> = { name: 'device list' }

export const deviceTestJob: Job<
  'device test',
  { readonly full: boolean; readonly place: DevicePlace },
  SelftestFinding
> = { name: 'device test' }

/** Compares its speed with the CPU's. */
export const deviceSpeedJob: Job<'device speed', { readonly place: DevicePlace }, SpeedNews> = {
  name: 'device speed',
}

export type CheckNews = { readonly finding: SelftestFinding } | { readonly measured: SpeedNews }

export interface CheckRequest {
  /** Starts the processes. */
  readonly ask: Ask
  readonly place: DevicePlace
  readonly cacheDirectory: string
  readonly signal: AbortSignal
  /** A process that says nothing for so long is ended: it hangs, or is too slow to be of use. */
  readonly silentMs?: number
}

/** A driver may compile dozens of kernels before the first finding on a model. */
const testSilenceMs = 180_000
const speedSilenceMs = 60_000

/**
 * Checks a device: yields the current step and returns the result that is kept; null where it was cancelled. Errors:
 * AppError 'device/unavailable' where the device cannot be started; 'file/unwritable'.
 */
export async function* checkDevice(request: CheckRequest): AsyncGenerator<CheckNews, DeviceCheck | null> {
  const { place, cacheDirectory, signal } = request
  const startedAt = performance.now()
  const findings: SelftestFinding[] = []
  const ending: Ending = { problem: null, isSilent: false }
  for await (const finding of asked(
    request,
    { job: deviceTestJob, input: { full: false, place } },
    { ending, silentMs: testSilenceMs },
  )) {
    findings.push(finding)
    yield { finding }
  }
  if (signal.aborted) return null
  const { problem } = ending
  const seconds = (performance.now() - startedAt) / 1000
  const proof = rememberProof(place, cacheDirectory, {
    findings,
    seconds,
    ...(problem !== null && { problem }),
  })
  const isSound = proof.problem === null && proof.failures.length === 0
  if (isSound && place.kind !== 'cpu') yield* measureDevice(request)
  return hasGoneAway(signal) ? null : readCheck(place, cacheDirectory)
}

/**
 * The second half of a check. A device that takes far longer than the CPU is given up, and larger models are not tried on
 * it. Errors: as `checkDevice`.
 */
export async function* measureDevice(request: CheckRequest): AsyncGenerator<CheckNews, void> {
  const { place, cacheDirectory, signal } = request
  const speeds: DeviceSpeed[] = []
  const ending: Ending = { problem: null, isSilent: false }
  let tried: number | null = null
  for await (const measured of asked(
    request,
    { job: deviceSpeedJob, input: { place } },
    { ending, silentMs: speedSilenceMs },
  )) {
    if ('speed' in measured) speeds.push(measured.speed)
    else tried = measured.on === 'device' ? measured.parameters : null
    yield { measured }
  }
  if (signal.aborted) return
  const isGivenUp = ending.isSilent && tried !== null
  if (isGivenUp && tried !== null) speeds.push({ parameters: tried, ratio: null })
  const problem = isGivenUp ? null : ending.problem
  rememberSpeeds(place, cacheDirectory, { speeds, memoryBytes: await memoryOf(place), problem })
}

/** Memory of the card; null where the system does not tell. */
async function memoryOf({ kind }: DevicePlace): Promise<number | null> {
  const meter = new CardMeter()
  await meter.refresh()
  return meter.read(kind)?.totalBytes ?? null
}

interface Ending {
  /** Problem, in sentences. */
  problem: string | null
  isSilent: boolean
}

async function* asked<Input, Item>(
  { ask, signal, silentMs: requested }: CheckRequest,
  { job, input }: { readonly job: Job<string, Input, Item>; readonly input: Input },
  { ending, silentMs: usual }: { readonly ending: Ending; readonly silentMs: number },
): AsyncGenerator<Item> {
  const silentMs = requested ?? usual
  const silence = new AbortController()
  const wait = () => setTimeout(() => silence.abort(), silentMs)
  let timer = wait()
  try {
    for await (const answer of ask(job, input, AbortSignal.any([signal, silence.signal]))) {
      clearTimeout(timer)
      yield answer
      timer = wait()
    }
  } catch (error) {
    if (!(error instanceof Error) || isUnavailable(error)) throw error
    ending.problem = error.message
  } finally {
    clearTimeout(timer)
  }
  if (!silence.signal.aborted) return
  ending.isSilent = true
  ending.problem = `It did not answer for ${String(silentMs / 1000)} s and was stopped.`
}

const isUnavailable = (error: Error): boolean =>
  error instanceof AppError && error.code === 'device/unavailable'

/** A function: it changes while the loop waits. */
const hasGoneAway = ({ aborted }: AbortSignal): boolean => aborted
