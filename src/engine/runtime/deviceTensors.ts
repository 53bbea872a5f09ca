/**
 * Tensors that lie on a device which can hold them (WebGPU). Frozen weights are uploaded once and fed to every session
 * that reads them: as constants of the sessions there would be a copy for each.
 */
import { open } from 'node:fs/promises'
import type { Device } from '#shared/device.ts'
import type { WeightNode } from '../graph/value.ts'
import { input, outputOf } from '../graph/value.ts'
import { mul } from '../ops/arithmetic.ts'
import { Session, floats, type Feed } from './session.ts'

export class DeviceTensors {
  readonly #uploads = new Map<number, Promise<Session>>()
  readonly #weights = new Map<string, Promise<Feed>>()
  readonly #device: Device

  constructor(device: Device) {
    this.#device = device
  }

  /** A copy on the device, which the caller disposes. */
  async upload(data: Float32Array, dims: readonly number[]): Promise<Feed> {
    const session = await this.#upload(dims.length)
    const { copy } = await session.runTensors({ x: floats(data, dims), one: ONE })
    return copy!
  }

  /** The weight, uploaded when it is first asked for; it stays until this is disposed. */
  weight(node: WeightNode): Promise<Feed> {
    const known = this.#weights.get(node.name)
    if (known) return known
    const uploaded = readWeight(node).then((data) => this.upload(data, outputOf(node).shape as number[]))
    this.#weights.set(node.name, uploaded)
    return uploaded
  }

  /** A product with a fed 1: of the mere input, the runtime would hand back the host's own memory. */
  #upload(rank: number): Promise<Session> {
    const known = this.#uploads.get(rank)
    if (known) return known
    const x = input(
      'x',
      'float32',
      Array.from({ length: rank }, (_, axis) => `D${String(axis)}`),
    )
    const session = Session.create({
      name: `upload of rank ${String(rank)}`,
      program: { copy: mul(x, input('one', 'float32', [1])) },
      device: this.#device,
      purpose: 'learn',
      kept: ['copy'],
    })
    this.#uploads.set(rank, session)
    return session
  }

  [Symbol.dispose](): void {
    for (const weight of this.#weights.values()) void weight.then(release, () => undefined)
    for (const session of this.#uploads.values()) {
      void session.then(
        (created) => {
          created[Symbol.dispose]()
        },
        () => undefined,
      )
    }
  }
}

const ONE = floats(Float32Array.of(1), [1])

/** Gives a device's memory back; one of the host is left to the collector. */
export function release(tensor: Feed): void {
  if (tensor.location === 'gpu-buffer') tensor.dispose()
}

async function readWeight({ file, offset, byteLength, name, outputs }: WeightNode): Promise<Float32Array> {
  if (outputs[0]?.dtype !== 'float32') throw new Error(`Expected ${name} in f32, got ${outputs[0]?.dtype}.`)
  const data = new Float32Array(byteLength / Float32Array.BYTES_PER_ELEMENT)
  const handle = await open(file)
  try {
    const bytes = new Uint8Array(data.buffer)
    for (let read = 0; read < byteLength;) {
      const { bytesRead } = await handle.read(bytes, read, byteLength - read, offset + read)
      if (bytesRead === 0) throw new Error(`${file} ends before the bytes of ${name}.`)
      read += bytesRead
    }
  } finally {
    await handle.close()
  }
  return data
}
