/**
 * The interface to ONNX Runtime: creates a session from a written graph; typed arrays go in and come out.
 *
 * What was measured on onnxruntime-node 1.30 and decides how the rest is built: CPU inputs are passed without a copy;
 * every fetched output is copied into a fresh array (about 2 GB/s), even when one is provided; `run` blocks its thread.
 * So large things are inputs or mapped weights, and outputs are few and small.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '#shared/errors.ts'
import type { Device } from '#shared/device.ts'
import { type OnnxModel, type Program, writeOnnx } from '../graph/onnx.ts'
import type { WeightNode } from '../graph/value.ts'
import { type SessionPurpose, dialectOf, keepContext, sessionOptions } from './device.ts'
import { InferenceSession, Tensor } from './onnxRuntime.ts'

export type Feed = Tensor

/** Returns the numbers of an f32 tensor. */
export const numbers = (tensor: Feed | undefined): Float32Array => tensor!.data as Float32Array

export const floats = (data: Float32Array, dims: readonly number[]): Feed => new Tensor('float32', data, dims)

/**
 * Frees what `Session.run` returned, at once. The collector waits until such arrays take tens of megabytes, and then marks the
 * whole heap, about once per micro-batch; until then their memory is not there for the next outputs. Whoever reads them
 * again finds them empty.
 */
export function free(...arrays: readonly Float32Array[]): void {
  for (const { buffer } of arrays) if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0)
}

/** Integers of 32 bits as an i64 tensor, written as pairs of 32-bit words: many times faster than through BigInt. */
export function int64s(values: Int32Array, dims: readonly number[]): Feed {
  const data = new BigInt64Array(values.length)
  const words = new Int32Array(data.buffer)
  for (let index = 0; index < values.length; index++) {
    words[2 * index] = values[index]!
    words[2 * index + 1] = values[index]! >> 31
  }
  return new Tensor('int64', data, dims)
}

/** Weights of a device on which they are fed. */
export interface FedWeights {
  weight(node: WeightNode): Promise<Feed>
}

export interface SessionOptions {
  readonly name: string
  readonly device: Device
  readonly purpose: SessionPurpose
  /** Weights that are fed and not mapped: once on the device for all sessions that read them. */
  readonly weights?: FedWeights
  /**
   * Outputs that stay on the device. Every run must then ask for the same outputs: the binding remembers those of the last
   * run and computes them again (onnxruntime-node 1.30).
   */
  readonly kept?: readonly string[]
}

export interface SessionRequest extends SessionOptions {
  /** Outputs to compute, by name. */
  readonly program: Program
}

type SessionInput = OnnxModel['inputs'][number]

/**
 * Returns a feed for an input whose numbers do not matter: empty where a dimension is open, zeros where all are fixed.
 */
export function emptyFeed({ dtype, shape }: SessionInput): Feed {
  const dims = shape.map((dim) => (typeof dim === 'number' ? dim : 0))
  const size = dims.reduce((total, dim) => total * dim, 1)
  return dtype === 'int64' ? int64s(new Int32Array(size), dims) : floats(new Float32Array(size), dims)
}

let profiles = 0

/**
 * Reads TURNWISE_PROFILE, which is for developers: the runtime writes what each session ran, and where, into that
 * folder.
 */
function profile(name: string) {
  const folder = process.env['TURNWISE_PROFILE']
  if (folder === undefined) return {}
  mkdirSync(folder, { recursive: true })
  return { enableProfiling: true, profileFilePrefix: join(folder, `${name}, ${String(++profiles)}`) }
}

/** One compiled model; its creator disposes it. */
export class Session {
  readonly name: string
  readonly inputs: readonly SessionInput[]
  readonly #device: Pick<Device, 'kind'>
  readonly #session: InferenceSession
  readonly #outputs: readonly string[]
  readonly #weights: Readonly<Record<string, Feed>>

  private constructor(
    session: InferenceSession,
    {
      name,
      inputs,
      outputs,
      weights,
      device,
    }: Pick<OnnxModel, 'inputs' | 'outputs'> & {
      readonly name: string
      readonly weights: Readonly<Record<string, Feed>>
      readonly device: Pick<Device, 'kind'>
    },
  ) {
    this.name = name
    this.#device = device
    this.inputs = inputs
    this.#session = session
    this.#outputs = outputs
    this.#weights = weights
  }

  /** Writes a program and opens it. */
  static create({ program, ...options }: SessionRequest): Promise<Session> {
    const dialect = dialectOf(options.device, options.weights !== undefined)
    return Session.open(writeOnnx(options.name, program, dialect), options)
  }

  /** @throws AppError `runtime/failed` when ONNX Runtime refuses the graph or the device. */
  static async open(
    model: OnnxModel,
    { name, device, purpose, weights, kept = [] }: SessionOptions,
  ): Promise<Session> {
    const options = sessionOptions(device, purpose)
    const location = (output: string): 'gpu-buffer' | 'cpu' => (kept.includes(output) ? 'gpu-buffer' : 'cpu')
    const locations = Object.fromEntries(model.outputs.map((output) => [output, location(output)]))
    const folder = model.externalFolder
      ? { model_external_initializers_file_folder_path: model.externalFolder }
      : {}
    const session = { ...(options.extra?.['session'] as Record<string, string> | undefined), ...folder }
    try {
      await keepContext(device)
      const created = await InferenceSession.create(model.bytes, {
        ...options,
        ...(kept.length > 0 ? { preferredOutputLocation: locations } : {}),
        ...profile(name),
        extra: { ...options.extra, session },
      })
      const fed = await Promise.all(
        model.fedWeights.map(async (node) => [node.name, await weights?.weight(node)] as const),
      )
      return new Session(created, {
        ...model,
        name,
        device,
        weights: Object.fromEntries(fed) as Record<string, Feed>,
      })
    } catch (error) {
      throw failure(`ONNX Runtime could not prepare ${name}`, error, device)
    }
  }

  /** Computes the outputs named in `want` (default: all); `feeds` may hold more than this program reads. */
  async run(
    feeds: Readonly<Record<string, Feed>>,
    want: readonly string[] = this.#outputs,
  ): Promise<Record<string, Float32Array>> {
    const results = await this.runTensors(feeds, want)
    return Object.fromEntries(want.map((name) => [name, results[name]?.data as Float32Array]))
  }

  /** Returns the outputs as tensors; those of `kept` are on the device and belong to the caller, who disposes them. */
  async runTensors(
    feeds: Readonly<Record<string, Feed>>,
    want: readonly string[] = this.#outputs,
  ): Promise<Record<string, Feed>> {
    const used: Record<string, Feed> = { ...this.#weights }
    for (const { name } of this.inputs) {
      const feed = feeds[name]
      if (!feed) throw new Error(`${this.name} needs the input ${name}.`)
      used[name] = feed
    }
    try {
      return await this.#session.run(used, want)
    } catch (error) {
      const shapes = this.inputs
        .map(({ name }) => `${name} [${used[name]?.dims.join(', ') ?? ''}]`)
        .join(', ')
      throw failure(`ONNX Runtime failed in ${this.name} (${shapes})`, error, this.#device)
    }
  }

  [Symbol.dispose](): void {
    void this.#session.release() // the native session goes at once; only the promise is late
  }
}

/**
 * Messages of runtimes and drivers when there is too little memory; WebGPU reports a tensor that is too large in three
 * further ways.
 */
const outOfMemory = /bad_alloc|Failed to allocate|out of memory|OUTOFMEMORY|8007000E|ALLOC_FAILED/i
const tooLarge =
  /is invalid due to a previous error|exceeds the max buffer size|exceeds the max.*binding size|maxStorageBuffersPerShaderStage/i

function failure(what: string, error: unknown, { kind }: Pick<Device, 'kind'>): AppError {
  const text = error instanceof Error ? error.message : String(error)
  if (kind !== 'cpu' && (outOfMemory.test(text) || tooLarge.test(text))) {
    return new AppError(
      'device/out-of-memory',
      `${what}: the device does not have enough memory.`,
      'Lower optimization.tokenBudget, rollout.maxNewTokens or the group size, or train on the CPU.',
      error,
    )
  }
  return outOfMemory.test(text)
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

/** Keeps objects that are made on first request, by key, and disposed together. */
export class OnDemand<Made extends Disposable> implements Disposable {
  readonly #made = new Map<string, Promise<Made>>()

  get(key: string, make: () => Promise<Made>): Promise<Made> {
    const known = this.#made.get(key)
    if (known) return known
    const made = make()
    this.#made.set(key, made)
    return made
  }

  [Symbol.dispose](): void {
    for (const made of this.#made.values()) {
      // A failure to open was reported to the caller that asked for it; there is nothing to release.
      void made.then(
        (created) => {
          created[Symbol.dispose]()
        },
        () => undefined,
      )
    }
    this.#made.clear()
  }
}
