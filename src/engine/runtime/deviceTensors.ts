/**
 * Tensors that lie on a device which can hold them (WebGPU). Frozen weights are uploaded once and fed to every session
 * that reads them: as constants of the sessions there would be a copy for each.
 */
import { open } from 'node:fs/promises'
import type { Device } from '#shared/device.ts'
import { input, weight, type Value } from '../graph/value.ts'
import { type ModelSource, type TensorLocation, expectedTensors } from '../models/source.ts'
import { mul } from '../ops/arithmetic.ts'
import { LEAST_HELD } from '../models/busTraffic.ts'
import { frozenValues, learningMatrix } from '../models/frozenWeights.ts'
import { OnDemand, Session, floats, type Feed, type FedWeights } from './session.ts'

/** What programs are fed under their names, for whoever runs them until it is disposed. */
export interface HeldFeeds extends Disposable {
  readonly feeds: Readonly<Record<string, Feed>>
}

/** Where a policy's tensors are: on a device that holds them, or with the host. */
export interface TensorHome extends Disposable {
  /** A frozen tensor in f32, as programs read it. */
  value(name: string): Value
  /** A copy where programs read it, which the caller disposes. */
  upload(data: Float32Array, dims: readonly number[]): Promise<Feed>
  /** The same feeds where several runs can read them at the cost of one. */
  hold(feeds: HeldFeeds['feeds']): Promise<HeldFeeds>
  /** What sessions are fed beside their inputs; null where they map the weights themselves. */
  readonly weights: FedWeights | null
}

/** Weights are mapped by each session, and all else is fed anew in every run. */
export class HostTensors implements TensorHome {
  readonly weights = null
  readonly value: (name: string) => Value

  constructor(source: ModelSource) {
    this.value = frozenValues(source)
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

const shapesOf = ({ config }: ModelSource): ReadonlyMap<string, readonly number[]> =>
  new Map(expectedTensors(config).map(({ name, shape }) => [name, shape]))

export class DeviceTensors implements TensorHome, FedWeights {
  readonly weights = this
  readonly #uploads = new OnDemand<Session>()
  readonly #weights = new Map<string, Promise<Feed>>()
  #lastWeight: Promise<void> = Promise.resolve()
  readonly #device: Device
  readonly #source: ModelSource
  readonly #shapes: ReadonlyMap<string, readonly number[]>

  constructor(device: Device, source: ModelSource) {
    this.#device = device
    this.#source = source
    this.#shapes = shapesOf(source)
  }

  /** A frozen tensor in f32, as programs read it. */
  value(name: string): Value {
    const shape = this.#shapes.get(name)
    if (!shape) throw new Error(`The model has no tensor ${name}.`)
    return weight(name, { shape, file: '', offset: 0, byteLength: 0 })
  }

  /** A copy on the device, which the caller disposes. */
  async upload(data: Float32Array, dims: readonly number[]): Promise<Feed> {
    const session = await this.#upload(dims.length)
    const { copy } = await session.runTensors({ x: floats(data, dims), one: ONE })
    return copy!
  }

  /** Masks and tables; what is small is fed as it is. */
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
  weight(name: string): Promise<Feed> {
    const known = this.#weights.get(name)
    if (known) return known
    // One after the other: each needs a second buffer of its size until it is there, which the next one takes over.
    const uploaded = this.#lastWeight.then(() => this.#uploadWeight(name))
    this.#lastWeight = uploaded.then(nothing, nothing)
    this.#weights.set(name, uploaded)
    return uploaded
  }

  async #uploadWeight(name: string): Promise<Feed> {
    const dims = this.#shapes.get(name)!
    const uploaded = await this.upload(await this.#read(name), dims)
    // A session keeps what it was last fed: one number instead.
    const point = dims.map(() => 1)
    release(await this.upload(Float32Array.of(0), point))
    return uploaded
  }

  /** Exact ones from their file; what the source has in another form only, the CPU turns into f32. */
  async #read(name: string): Promise<Float32Array> {
    const exact = this.#source.tensors.get(name)
    if (exact?.dtype === 'F32' && exact.arrangement === undefined) return readFloats(exact)
    const [, inputs = 0] = this.#shapes.get(name)!
    using session = await Session.create({
      name: `${name} in f32`,
      program: { matrix: learningMatrix(this.#source, name, inputs) },
      device: { kind: 'cpu', threads: 1, deviceId: 0 },
      purpose: 'weights',
    })
    return (await session.run({}))['matrix']!
  }

  /** A product with a fed 1: of the mere input, the runtime would hand back the host's own memory. */
  #upload(rank: number): Promise<Session> {
    return this.#uploads.get(String(rank), () => this.#createUpload(rank))
  }

  #createUpload(rank: number): Promise<Session> {
    const x = input(
      'x',
      'float32',
      Array.from({ length: rank }, (_, axis) => `D${String(axis)}`),
    )
    return Session.create({
      name: `upload of rank ${String(rank)}`,
      program: { copy: mul(x, input('one', 'float32', [1])) },
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

const nothing = (): void => undefined

const ONE = floats(Float32Array.of(1), [1])

/** Gives a device's memory back; one of the host is left to the collector. */
export function release(tensor: Feed): void {
  if (tensor.location === 'gpu-buffer') tensor.dispose()
}

async function readFloats({ file, offset, byteLength }: TensorLocation): Promise<Float32Array> {
  const data = new Float32Array(byteLength / Float32Array.BYTES_PER_ELEMENT)
  const handle = await open(file)
  try {
    const bytes = new Uint8Array(data.buffer)
    for (let read = 0; read < byteLength;) {
      const { bytesRead } = await handle.read(bytes, read, byteLength - read, offset + read)
      if (bytesRead === 0) throw new Error(`${file} is shorter than its header says.`)
      read += bytesRead
    }
  } finally {
    await handle.close()
  }
  return data
}
