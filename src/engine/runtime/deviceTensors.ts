/**
 * Tensors that lie on a device which can hold them (WebGPU). Frozen weights are uploaded once and fed to every session
 * that reads them: as constants of the sessions there would be a copy for each.
 */
import { open } from 'node:fs/promises'
import type { Device } from '#shared/device.ts'
import { input, outputOf, type Dtype, type Value, type WeightNode } from '../graph/value.ts'
import { LEAST_HELD } from '../models/busTraffic.ts'
import type { FrozenTensors } from '../models/frozenWeights.ts'
import { HeldTensors, type HoldingOptions } from '../models/heldTensors.ts'
import type { ModelSource } from '../models/source.ts'
import { cast, mul } from '../ops/arithmetic.ts'
import { concat } from '../ops/layout.ts'
import { Tensor } from './onnxRuntime.ts'
import { OnDemand, Session, floats, type Feed, type FedWeights } from './session.ts'

/** Feeds of programs by name, valid until disposed. */
export interface HeldFeeds extends Disposable {
  readonly feeds: Readonly<Record<string, Feed>>
}

/** Home of a policy's tensors: on a device that holds them, or with the host. */
export interface TensorHome extends Disposable {
  /** The frozen ones, as programs read them. */
  readonly tensors: FrozenTensors
  /** A copy where programs read it, which the caller disposes. */
  upload(data: Float32Array, dims: readonly number[]): Promise<Feed>
  /** The same feeds where several runs can read them at the cost of one. */
  hold(feeds: HeldFeeds['feeds']): Promise<HeldFeeds>
  /** Weights fed to sessions beside their inputs; null where sessions map the weights themselves. */
  readonly weights: FedWeights | null
}

/** Weights are mapped by each session, and all else is fed anew in every run. */
export class HostTensors implements TensorHome {
  readonly weights = null
  readonly tensors: FrozenTensors

  constructor(source: ModelSource, options: Pick<HoldingOptions, 'bindingBytes'> = {}) {
    this.tensors = new HeldTensors(source, options)
  }

  upload(data: Float32Array, dims: readonly number[]): Promise<Feed> {
    return Promise.resolve(floats(data.slice(), dims))
  }

  hold(feeds: HeldFeeds['feeds']): Promise<HeldFeeds> {
    return Promise.resolve({ feeds, [Symbol.dispose]: nothing })
  }

  [Symbol.dispose](): void {
    // Arrays of the host are left to the collector.
  }
}

/** Types in which weights are uploaded. f16 goes up as f32 and is narrowed on the device, since the binding feeds no 16-bit numbers. */
type UploadType = 'float32' | 'float16' | 'uint8'

export class DeviceTensors implements TensorHome, FedWeights {
  readonly weights = this
  readonly tensors: FrozenTensors
  readonly #made: ReadonlyMap<string, Value>
  readonly #uploads = new OnDemand<Session>()
  readonly #weights = new Map<string, Promise<Feed>>()
  #lastWeight: Promise<void> = Promise.resolve()
  readonly #device: Device

  constructor(device: Device, source: ModelSource, options: Pick<HoldingOptions, 'bindingBytes'> = {}) {
    const made = new Map<string, Value>()
    this.#device = device
    this.#made = made
    this.tensors = new HeldTensors(source, { ...options, made })
  }

  /** A copy on the device, which the caller disposes. */
  upload(data: Float32Array, dims: readonly number[]): Promise<Feed> {
    return this.#copy('float32', floats(data, dims))
  }

  /** Uploads masks and tables; small ones are fed as they are. */
  async hold(feeds: HeldFeeds['feeds']): Promise<HeldFeeds> {
    const held: Record<string, Feed> = {}
    const dispose = () => Object.values(held).forEach(release)
    try {
      for (const [name, { type, data, dims, size }] of Object.entries(feeds))
        if (type === 'float32' && size >= LEAST_HELD)
          held[name] = await this.upload(data as Float32Array, dims)
    } catch (error) {
      dispose()
      throw error
    }
    return { feeds: { ...feeds, ...held }, [Symbol.dispose]: dispose }
  }

  /** The weight of that name, uploaded when it is first asked for; it stays until this is disposed. */
  weight(node: WeightNode): Promise<Feed> {
    const known = this.#weights.get(node.name)
    if (known) return known
    // One after the other: each needs a second buffer of its size until it is there, which the next one takes over.
    const uploaded = this.#lastWeight.then(() => this.#uploadWeight(node))
    this.#lastWeight = uploaded.then(nothing, nothing)
    this.#weights.set(node.name, uploaded)
    return uploaded
  }

  async #uploadWeight(node: WeightNode): Promise<Feed> {
    const { dtype, shape } = outputOf(node)
    const dims = shape as readonly number[]
    const type = uploadType(dtype)
    const uploaded = await this.#copy(type, await this.#read(node, type, dims))
    // A session keeps what it was last fed: one number instead.
    const point = dims.map(() => 1)
    release(
      await this.#copy(
        type,
        type === 'uint8' ? bytes(Uint8Array.of(0), point) : floats(new Float32Array(1), point),
      ),
    )
    return uploaded
  }

  /** Reads a weight that is stored on disk as it is fed; the CPU computes all others. */
  async #read(node: WeightNode, type: UploadType, dims: readonly number[]): Promise<Feed> {
    const made = this.#made.get(node.name)
    if (made) return floats(await computed(node.name, made), dims)
    if (type === 'float16') return floats(await computed(node.name, cast(outputOf(node), 'float32')), dims)
    const data = await readBytes(node)
    return type === 'uint8' ? bytes(data, dims) : floats(new Float32Array(data.buffer), dims)
  }

  async #copy(type: UploadType, x: Feed): Promise<Feed> {
    const rank = x.dims.length
    const session = await this.#uploads.get(`${type} ${String(rank)}`, () => this.#createUpload(type, rank))
    const { copy } = await session.runTensors({
      x,
      one: ONE,
      nothing: bytes(new Uint8Array(0), noRows(x.dims)),
    })
    return copy!
  }

  #createUpload(type: UploadType, rank: number): Promise<Session> {
    const axes = Array.from({ length: rank }, (_, axis) => `D${String(axis)}`)
    return Session.create({
      name: `upload of ${type}, rank ${String(rank)}`,
      program: { copy: copied(type, axes) },
      device: this.#device,
      purpose: 'learn',
      kept: ['copy'],
    })
  }

  [Symbol.dispose](): void {
    for (const weight of this.#weights.values()) void weight.then(release, () => undefined)
    this.#uploads[Symbol.dispose]()
  }
}

function uploadType(dtype: Dtype): UploadType {
  if (dtype === 'float32' || dtype === 'float16' || dtype === 'uint8') return dtype
  throw new Error(`Weights of ${dtype} are not held on a device.`)
}

/** Returns a computed copy of the input: the mere input would be handed back in the host's own memory. */
function copied(type: UploadType, axes: readonly string[]): Value {
  if (type === 'uint8')
    return concat([input('x', 'uint8', axes), input('nothing', 'uint8', ['none', ...axes.slice(1)])], 0)
  const x = mul(input('x', 'float32', axes), input('one', 'float32', [1]))
  return type === 'float16' ? cast(x, 'float16') : x
}

const noRows = (dims: readonly number[]): readonly number[] => [0, ...dims.slice(1)]

const bytes = (data: Uint8Array, dims: readonly number[]): Feed => new Tensor('uint8', data, dims)

async function computed(name: string, matrix: Value): Promise<Float32Array> {
  using session = await Session.create({
    name: `${name} on the CPU`,
    program: { matrix },
    device: { kind: 'cpu', threads: 1, deviceId: 0 },
    purpose: 'weights',
  })
  return (await session.run({}))['matrix']!
}

const nothing = (): void => undefined

const ONE = floats(Float32Array.of(1), [1])

/** Releases the memory of a tensor on a device; one of the host is left to the collector. */
export function release(tensor: Feed): void {
  if (tensor.location === 'gpu-buffer') tensor.dispose()
}

async function readBytes({ file, offset, byteLength }: WeightNode): Promise<Uint8Array<ArrayBuffer>> {
  const data = new Uint8Array(byteLength)
  const handle = await open(file)
  try {
    for (let read = 0; read < byteLength;) {
      const { bytesRead } = await handle.read(data, read, byteLength - read, offset + read)
      if (bytesRead === 0) throw new Error(`${file} is shorter than its header says.`)
      read += bytesRead
    }
  } finally {
    await handle.close()
  }
  return data
}
