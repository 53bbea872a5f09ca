/** A model opened to be asked: scored, differentiated or let speak. Training is opened in entry.ts. */
import { computesIn, type Device, type DeviceKind, type DeviceOption } from '#shared/device.ts'
import type { HeldPrecision, RolloutPrecision } from '#shared/precision.ts'
import type { LoraConfig } from '#engine/models/config.ts'
import type { AnsweringRole } from '#engine/runtime/adapterParameters.ts'
import { defaultDevice, int8Form, requireDevice, requireProducts } from '#engine/runtime/device.ts'
import { packingPays } from '#engine/runtime/ortDecodeStep.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { asPolicySource } from './baseCache.ts'
import { openModelFolder, type ModelFolder } from './modelFolder.ts'
import { adapterForModel, readAdapter, type Adapter } from '#host/adapters/peft.ts'
import { autoDevice } from '#host/devices/deviceChoice.ts'

export interface OpenModelRequest {
  readonly directory: string
  /** PEFT folder; null = the base alone. */
  readonly adapter: string | null
  /** Longest prompt plus completion; null: as the model's own positions reach. */
  readonly contextLength?: number | null
  readonly device: Omit<DeviceRequest, 'kind'> & { readonly kind: DeviceOption | null }
  /** Precision in which generation reads a base in f32. */
  readonly precision: RolloutPrecision
  /** Precision of the base; null: the one the adapter was trained on. */
  readonly base: HeldPrecision | null
  /** Prepares it to tell the likeliest tokens of predictions; false if absent. */
  readonly tellsLikeliest?: boolean
  /** Rows generated together. */
  readonly maxRows: number
  /** Tokens of a completion at most, where it is known. */
  readonly newTokens?: number
  readonly cacheDirectory: string
}

export interface OpenedModel extends Disposable {
  readonly folder: ModelFolder
  readonly policy: OrtPolicy
  /** Role whose adapter answers; `base` without an adapter. */
  readonly role: AnsweringRole
}

/** Base without parameters to train. */
export const noAdapter: LoraConfig = { rank: 1, alpha: 1, rsLora: false, targets: [] }

/** Errors: AppError 'model/…', 'adapter/invalid', 'device/unavailable', 'file/…'. */
export async function openModel(request: OpenModelRequest): Promise<OpenedModel> {
  const folder = openModelFolder(request.directory, request)
  const adapter = request.adapter === null ? null : openAdapter(request.adapter, folder)
  const requested = request.base ?? adapter?.base ?? 'f32'
  const device = await chooseDevice(requestFor(folder, requested, request))
  const base = request.base ?? baseOn(device, requested)
  await requireProducts(device, base) // before the base is rounded to it
  const { precision, maxRows } = request
  const precisions = { base, rollout: precision, int8Form: int8Form(device), maxRows }
  const source = await asPolicySource(folder, precisions, request.cacheDirectory)
  const policy = await createOrtPolicy({
    source,
    device,
    ...(adapter === null ? { lora: noAdapter } : { lora: adapter.config, adapter: adapter.tensors }),
    loraSeed: 0,
    rolloutPrecision: request.precision,
    activations: 'recompute',
    maxRows: request.maxRows,
    ...(request.tellsLikeliest === true && { further: ['likeliest'] as const }),
    packsWeights: packingPays(request.maxRows, request.newTokens ?? 0),
  })
  return {
    folder,
    policy,
    role: adapter === null ? 'base' : 'actor',
    [Symbol.dispose]: () => policy[Symbol.dispose](),
  }
}

/**
 * Returns the precision of the base on a device: what was trained in 16 bits is nearly the same in f32, which every
 * device computes.
 */
const baseOn = ({ kind }: Device, trainedOn: HeldPrecision): HeldPrecision =>
  computesIn(kind, trainedOn) ? trainedOn : 'f32'

/** `auto` is answered for this model. */
function requestFor(
  { config: model }: ModelFolder,
  base: HeldPrecision,
  { device, cacheDirectory }: OpenModelRequest,
): DeviceRequest {
  const { kind, deviceId = 0 } = device
  if (kind !== 'auto') return { ...device, kind }
  return { ...device, kind: autoDevice({ model, base, deviceId, cacheDirectory }).kind }
}

/** Reads an adapter and checks it against the model. */
export const openAdapter = (directory: string, { config }: ModelFolder): Adapter =>
  adapterForModel(readAdapter(directory), config, directory)

export interface DeviceRequest {
  readonly kind: DeviceKind | null
  readonly threads: number | null
  readonly deviceId?: number
  /** TF32 setting, as in `Device`. */
  readonly tf32?: boolean
}

/** Opens the requested device; unset parts take the defaults. */
export async function chooseDevice(requested: DeviceRequest): Promise<Device> {
  const defaults = defaultDevice()
  const device: Device = {
    kind: requested.kind ?? defaults.kind,
    threads: requested.threads ?? defaults.threads,
    deviceId: requested.deviceId ?? 0,
    ...(requested.tf32 === true ? { tf32: true } : {}),
  }
  await requireDevice(device)
  return device
}

/** Sequences cut into batches of a bounded number of tokens, in order: memory must not grow with the input. */
export function* tokenBatches<T extends { readonly ids: Int32Array }>(rows: readonly T[]): Generator<T[]> {
  const limit = 2048
  let batch: T[] = []
  let tokens = 0
  for (const row of rows) {
    if (batch.length > 0 && tokens + row.ids.length > limit) {
      yield batch
      ;[batch, tokens] = [[], 0]
    }
    batch.push(row)
    tokens += row.ids.length
  }
  if (batch.length > 0) yield batch
}
