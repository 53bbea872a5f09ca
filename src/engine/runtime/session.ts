/**
 * The door to ONNX Runtime: a written graph becomes a session, typed arrays go in and come out.
 *
 * What was measured on onnxruntime-node 1.30 and decides how the rest is built: CPU inputs are passed without a copy;
 * every fetched output is copied into a fresh array (about 2 GB/s), even when one is provided; `run` blocks its thread.
 * So large things are inputs or mapped weights, and outputs are few and small.
 */
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { AppError } from '#shared/errors.ts'
import type { Device } from '#shared/device.ts'
import type { Value } from '../graph/value.ts'
import type { OnnxModel } from '../graph/onnx.ts'
import { writeOnnx } from '../graph/onnx.ts'
import type { SessionPurpose } from './device.ts'
import { sessionOptions } from './device.ts'

export type Feed = Tensor

export const floats = (data: Float32Array, dims: readonly number[]): Feed => new Tensor('float32', data, dims)

/** Integers below 2³¹ as an i64 tensor, written as pairs of 32-bit words: many times faster than through BigInt. */
export function int64s(values: Int32Array, dims: readonly number[]): Feed {
  const data = new BigInt64Array(values.length)
  const words = new Int32Array(data.buffer)
  for (let index = 0; index < values.length; index++) words[2 * index] = values[index]!
  return new Tensor('int64', data, dims)
}

export interface SessionRequest {
  readonly name: string
  /** What to compute, by output name. */
  readonly program: Readonly<Record<string, Value>>
  readonly device: Device
  readonly purpose: SessionPurpose
}

/** One compiled program; whoever creates it disposes it. */
export class Session {
  readonly name: string
  readonly #session: InferenceSession
  readonly #inputs: OnnxModel['inputs']
  readonly #outputs: readonly string[]

  private constructor(
    name: string,
    session: InferenceSession,
    inputs: OnnxModel['inputs'],
    outputs: readonly string[],
  ) {
    this.name = name
    this.#session = session
    this.#inputs = inputs
    this.#outputs = outputs
  }

  /** @throws AppError `runtime/failed` when ONNX Runtime refuses the graph or the device. */
  static async create({ name, program, device, purpose }: SessionRequest): Promise<Session> {
    const model = writeOnnx(name, program)
    const options = sessionOptions(device, purpose)
    const folder = model.externalFolder
      ? { model_external_initializers_file_folder_path: model.externalFolder }
      : {}
    const session = { ...(options.extra?.['session'] as Record<string, string> | undefined), ...folder }
    try {
      const created = await InferenceSession.create(model.bytes, {
        ...options,
        extra: { ...options.extra, session },
      })
      return new Session(name, created, model.inputs, model.outputs)
    } catch (error) {
      throw failure(`ONNX Runtime could not prepare ${name}`, error)
    }
  }

  /** Computes the outputs named in `want` (default: all); `feeds` may hold more than this program reads. */
  async run(
    feeds: Readonly<Record<string, Feed>>,
    want: readonly string[] = this.#outputs,
  ): Promise<Record<string, Float32Array>> {
    const used: Record<string, Feed> = {}
    for (const { name } of this.#inputs) {
      const feed = feeds[name]
      if (!feed) throw new Error(`${this.name} needs the input ${name}.`)
      used[name] = feed
    }
    try {
      const results = await this.#session.run(used, want)
      return Object.fromEntries(want.map((name) => [name, results[name]?.data as Float32Array]))
    } catch (error) {
      const shapes = this.#inputs
        .map(({ name }) => `${name} [${used[name]?.dims.join(', ') ?? ''}]`)
        .join(', ')
      throw failure(`ONNX Runtime failed in ${this.name} (${shapes})`, error)
    }
  }

  [Symbol.dispose](): void {
    void this.#session.release() // the native session goes at once; only the promise is late
  }
}

function failure(what: string, error: unknown): AppError {
  const text = error instanceof Error ? error.message : String(error)
  const outOfMemory = /bad_alloc|Failed to allocate|out of memory/i.test(text)
  return outOfMemory
    ? new AppError(
        'runtime/out-of-memory',
        `${what}: not enough memory.`,
        'Lower the token budget, the rows per batch or the context length.',
        error,
      )
    : new AppError(
        'runtime/failed',
        `${what}: ${text.split('\n')[0] ?? text}`,
        'The files on disk are unchanged.',
        error,
      )
}
