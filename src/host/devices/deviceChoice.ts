/** Resolves `auto` from the recorded device checks (deviceRecords.ts) without opening a device. */
import {
  computesIn,
  deviceKinds,
  deviceTitles,
  holdsTensors,
  type DeviceCheck,
  type DeviceKind,
  type DeviceSpeed,
} from '#shared/device.ts'
import { isHalfPrecision, type BasePrecision } from '#shared/precision.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import { planDevice, plannedLora } from '#engine/models/deviceMemory.ts'
import { onlyOnCpu } from '#engine/models/programSupport.ts'
import { expertElements } from '#engine/models/work.ts'
import { expectedTensors } from '#engine/models/source.ts'
import { elementCount } from '#host/files/safetensors.ts'
import { readCheck } from './deviceRecords.ts'

export interface DeviceChoice {
  readonly kind: DeviceKind
  /** Reason for the choice, in a sentence. */
  readonly reason: string
}

export interface AutoRequest {
  readonly model: ModelConfig
  /** Precision in which the base is held. */
  readonly base: BasePrecision
  readonly deviceId: number
  readonly cacheDirectory: string
}

/**
 * Returns the device on which a run that begins with this config will compute, if nothing is wrong with the device
 * then.
 */
export function plannedDevice(
  { device: { kind, deviceId }, base }: Pick<RunConfig, 'device' | 'base'>,
  model: ModelConfig,
  cacheDirectory: string,
): DeviceChoice {
  if (kind !== 'auto') return { kind, reason: 'As the config says.' }
  return autoDevice({ model, base: base.precision, deviceId, cacheDirectory })
}

/** The fastest device that passed its check, for models as large as this; the CPU where none is known to be faster. */
export function autoDevice(request: AutoRequest): DeviceChoice {
  const { model, base, deviceId, cacheDirectory } = request
  const feature = onlyOnCpu(model)
  if (feature !== null)
    return { kind: 'cpu', reason: `Models with ${feature} are computed on the CPU so far.` }
  const [best] = deviceKinds
    .filter((kind) => keepsBase(kind, base))
    .flatMap((kind) => candidate(request, kind, readCheck({ kind, deviceId }, cacheDirectory)) ?? [])
    .toSorted((a, b) => Number(b.fits) - Number(a.fits) || b.ratio - a.ratio)
  if (best === undefined) return { kind: 'cpu', reason: nobodyPassed(base) }
  const { kind, ratio, fits } = best
  const title = deviceTitles[kind]
  if (!fits) return { kind: 'cpu', reason: `The model is too large for the memory of ${title} here.` }
  if (ratio > 1)
    return { kind, reason: `For models of this size it is ${times(ratio)} as fast as the CPU here.` }
  return { kind: 'cpu', reason: `${title} is not faster for models of this size here.` }
}

/** Tests whether `auto` may use a device for the base. 16 bits on one that holds tensors are out: no record says whether its adapter has them. */
export const keepsBase = (kind: DeviceKind, base: BasePrecision): boolean =>
  computesIn(kind, base) && !(isHalfPrecision(base) && holdsTensors({ kind }))

const nobodyPassed = (base: BasePrecision): string =>
  base === 'f32'
    ? 'No other device has passed its check on this machine.'
    : `No other device that passed its check on this machine supports a base in ${base}.`

/** True if an NVIDIA card has passed its check on this machine. */
export function hasCard(cacheDirectory: string): boolean {
  const check = readCheck({ kind: 'cuda', deviceId: 0 }, cacheDirectory)
  return check !== null && check.problem === null && check.failures.length === 0
}

interface Candidate {
  readonly kind: DeviceKind
  /** Speed relative to the CPU. */
  readonly ratio: number
  readonly fits: boolean
}

/** Sequences that a card has room to learn from. */
const LEAST_LENGTH = 1024

/** null: the CPU itself, or a device that has not passed. */
function candidate(
  { model, base }: AutoRequest,
  kind: DeviceKind,
  check: DeviceCheck | null,
): Candidate | null {
  if (kind === 'cpu' || check === null || check.problem !== null || check.failures.length > 0) return null
  const speed = speedFor(parameterCount(model), check.speeds)
  if (speed === null) return null
  return { kind, ratio: speed.ratio ?? 0, fits: fitsOn(kind, { model, base }, check.memoryBytes) }
}

function fitsOn(
  kind: DeviceKind,
  { model: config, base }: Pick<AutoRequest, 'model' | 'base'>,
  memoryBytes: number | null,
): boolean {
  if (memoryBytes === null) return true
  const length = Math.min(LEAST_LENGTH, config.contextLength)
  return planDevice({ config, lora: plannedLora, base, kind, memoryBytes, length, tokens: length }).fits
}

/**
 * Returns the speed measured with the largest model that is no larger than this one, since a device's lead only grows
 * with the model; with the smallest one where all are larger.
 */
function speedFor(parameters: number, speeds: readonly DeviceSpeed[]): DeviceSpeed | null {
  const ascending = speeds.toSorted((a, b) => a.parameters - b.parameters)
  return ascending.findLast((speed) => speed.parameters <= parameters) ?? ascending[0] ?? null
}

export const parameterCount = (model: ModelConfig): number =>
  expectedTensors(model).reduce((sum, { shape }) => sum + elementCount(shape), 0)

/** Parameters that a token goes through: all but the experts that were not chosen for it. */
export const activeParameters = (model: ModelConfig): number =>
  parameterCount(model) - expertElements(model).idle

const times = (ratio: number): string => `${ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(1)} times`
