/**
 * Adapters on a device that holds tensors: gradients add up there and the optimizer steps there. An array of the host is uploaded when
 * the device first needs it and fetched when the host asks for it; in between it may be behind. An update brings down only
 * sums of squares, of which the guard and clipping make the norm; a whole array only when it is fetched, for instance
 * for a checkpoint or an export.
 */
import { holdsTensors, type Device } from '#shared/device.ts'
import { input } from '../graph/value.ts'
import type { Program } from '../graph/onnx.ts'
import type { LoraConfig, ModelConfig } from '../models/config.ts'
import { layerInputName } from '../models/generationGraph.ts'
import { loraSlots } from '../models/lora.ts'
import { add, mul } from '../ops/arithmetic.ts'
import { concat, piece, reshape } from '../ops/layout.ts'
import type { AdamWFactors, TrainedArrays } from '../optimizers/adamw.ts'
import { adamwProgram, movedNames, squaresProgram } from '../optimizers/adamwProgram.ts'
import { sumOfSquares, type TrainedNumbers } from '../optimizers/optimizer.ts'
import type { AdapterParameters } from './adapterParameters.ts'
import { release, type HeldFeeds, type TensorHome } from './deviceTensors.ts'
import { addTo, type ParameterHome } from './parameterHome.ts'
import { OnDemand, Session, floats, numbers, type Feed } from './session.ts'

export interface DeviceParametersOptions {
  readonly config: ModelConfig
  readonly lora: LoraConfig
  readonly device: Device
  readonly home: TensorHome
}

/** An array on the device. */
interface Copy {
  readonly feed: Feed
  /** The host's array is behind. */
  isAhead: boolean
}

/** A gradient: what segments of layers have added up, each from its first entry on. */
interface GradientSum {
  pieces: { readonly offset: number; readonly feed: Feed }[]
  /** The pieces did not fit each other, or were put back: the host adds up until the gradient is cleared. */
  isWithHost: boolean
}

export class DeviceParameters implements ParameterHome {
  readonly #options: DeviceParametersOptions
  readonly #sessions = new OnDemand<Session>()
  readonly #copies = new Map<Float32Array, Copy>()
  readonly #adapters = new Map<Float32Array, Promise<SharedAdapter>>()
  readonly #gradients = new Map<Float32Array, GradientSum>()

  constructor(options: DeviceParametersOptions) {
    this.#options = options
  }

  /** Cut into its tensors once, for all who take it before it changes. */
  async take({ values }: AdapterParameters): Promise<HeldFeeds> {
    if (values.length === 0) return noTensors
    const known = this.#adapters.get(values)
    if (known) return (await known).take()
    const cut = this.#cut(values)
    this.#adapters.set(values, cut)
    try {
      return (await cut).take()
    } catch (error) {
      this.#adapters.delete(values)
      throw error
    }
  }

  async #cut(values: Float32Array): Promise<SharedAdapter> {
    const held = this.#copies.get(values)?.feed
    const adapter = held ?? (await this.#upload(values))
    const { config, lora } = this.#options
    const feeds = await this.#run('adapter', () => cutProgram(config, lora), { adapter })
    if (!held) release(adapter)
    return new SharedAdapter(feeds)
  }

  async add(gradients: Float32Array, part: Feed, offset: number): Promise<void> {
    const sum = this.#sumOf(gradients)
    const at = sum.pieces.findIndex((other) => other.offset === offset && lengthOf(other) === part.dims[0])
    const known = sum.pieces[at]
    if (known) {
      const { total } = await this.#run('sum', sumProgram, { sum: known.feed, part })
      sum.pieces[at] = { offset, feed: total! }
      release(known.feed)
      release(part)
      return
    }
    const added = { offset, feed: part }
    if (!sum.isWithHost && !sum.pieces.some((other) => isOverlapping(other, added))) {
      sum.pieces = [...sum.pieces, added].sort((a, b) => a.offset - b.offset)
      return
    }
    await this.#bringHome(gradients, sum)
    addTo(gradients, await this.#read(part), offset)
    release(part)
  }

  /** Moves the sum to the host, which adds up from here on. */
  async #bringHome(gradients: Float32Array, sum: GradientSum): Promise<void> {
    await this.fetch(gradients)
    this.#drop(sum)
    sum.isWithHost = true
  }

  numbers(arrays: TrainedArrays): TrainedNumbers<AdamWFactors> {
    return {
      squares: () => this.#squares(arrays.gradients),
      move: (factors) => this.#move(arrays, factors),
    }
  }

  async #squares(gradients: Float32Array): Promise<number> {
    const { length } = gradients
    const gradient = await this.#total(gradients)
    return sumOfSquares(async (unit) => {
      const feeds = { gradient, unit: scalar(unit) }
      const program = () => squaresProgram(length)
      const { sums } = await this.#run('squares', program, feeds, {
        key: `squares of ${String(length)}`,
        isRead: true,
      })
      return numbers(sums)
    })
  }

  async #move(arrays: TrainedArrays, factors: AdamWFactors): Promise<void> {
    const { values, first, second, gradients } = arrays
    const gradient = await this.#total(gradients)
    const before = {
      values: await this.#copy(values),
      first: await this.#copy(first),
      second: await this.#copy(second),
    }
    this.#forgetAdapter(values) // its tensors make room
    const given = Object.fromEntries(
      Object.entries(factors).map(([name, factor]) => [name, scalar(factor as number)] as const),
    )
    const after = await this.#run('adamw', adamwProgram, { ...given, ...before, gradient })
    for (const name of ['values', 'first', 'second'] as const) {
      release(before[name])
      this.#copies.set(arrays[name], { feed: after[movedNames[name]]!, isAhead: true })
    }
    // A session keeps what it was last fed: single numbers instead.
    const point = scalar(0)
    const points = { values: point, first: point, second: point, gradient: point }
    Object.values(await this.#run('adamw', adamwProgram, { ...given, ...points })).forEach(release)
  }

  /** The whole gradient in one tensor, which stays part of the sum. */
  async #total(gradients: Float32Array): Promise<Feed> {
    const sum = this.#sumOf(gradients)
    const length = sum.pieces.reduce((total, part) => total + lengthOf(part), 0)
    if (length < gradients.length) {
      await this.#bringHome(gradients, sum)
      sum.pieces = [{ offset: 0, feed: await this.#upload(gradients) }]
      sum.isWithHost = false
    } else if (sum.pieces.length > 1) {
      const feeds = sum.pieces.map(({ feed }, index) => [`piece ${String(index)}`, feed] as const)
      const program = () => joinProgram(feeds.length)
      const key = `join of ${String(feeds.length)}`
      const { total } = await this.#run('join', program, Object.fromEntries(feeds), { key })
      this.#drop(sum)
      sum.pieces = [{ offset: 0, feed: total! }]
    }
    return sum.pieces[0]!.feed
  }

  async fetch(array: Float32Array): Promise<void> {
    const copy = this.#copies.get(array)
    if (copy?.isAhead === true) {
      array.set(await this.#read(copy.feed))
      copy.isAhead = false
    }
    const pieces = this.#gradients.get(array)?.pieces ?? []
    if (pieces.length > 0) array.fill(0)
    for (const { offset, feed } of pieces) addTo(array, await this.#read(feed), offset)
  }

  changed(array: Float32Array): void {
    const copy = this.#copies.get(array)
    if (copy) release(copy.feed)
    this.#copies.delete(array)
    this.#forgetAdapter(array)
    const sum = this.#gradients.get(array)
    if (!sum) return
    this.#drop(sum)
    sum.isWithHost = true
  }

  clear(gradients: Float32Array): void {
    gradients.fill(0)
    const sum = this.#gradients.get(gradients)
    if (sum) this.#drop(sum)
    this.#gradients.delete(gradients)
  }

  #forgetAdapter(values: Float32Array): void {
    const adapter = this.#adapters.get(values)
    this.#adapters.delete(values)
    void adapter?.then(
      (shared) => shared.forget(),
      () => undefined,
    )
  }

  #drop(sum: GradientSum): void {
    for (const { feed } of sum.pieces) release(feed)
    sum.pieces = []
  }

  #sumOf(gradients: Float32Array): GradientSum {
    const known = this.#gradients.get(gradients)
    if (known) return known
    const sum: GradientSum = { pieces: [], isWithHost: false }
    this.#gradients.set(gradients, sum)
    return sum
  }

  async #copy(array: Float32Array): Promise<Feed> {
    const known = this.#copies.get(array)
    if (known) return known.feed
    const feed = await this.#upload(array)
    this.#copies.set(array, { feed, isAhead: false })
    return feed
  }

  #upload(array: Float32Array): Promise<Feed> {
    return this.#options.home.upload(array, [array.length])
  }

  async #read(feed: Feed): Promise<Float32Array> {
    if (feed.location !== 'gpu-buffer') return numbers(feed)
    const { copy } = await this.#run('download', copyProgram, { x: feed, one: scalar(1) }, { isRead: true })
    return numbers(copy)
  }

  /** Outputs stay on the device, unless the host reads them. `key` tells programs of one name apart. */
  async #run(
    name: string,
    program: () => Program,
    feeds: Readonly<Record<string, Feed>>,
    { key = name, isRead = false } = {},
  ): Promise<Readonly<Record<string, Feed>>> {
    const { device } = this.#options
    const session = await this.#sessions.get(key, () => {
      const outputs = program()
      const kept = !isRead && holdsTensors(device) ? Object.keys(outputs) : []
      return Session.create({ name, program: outputs, device, purpose: 'learn', kept })
    })
    return session.runTensors(feeds)
  }

  [Symbol.dispose](): void {
    for (const { feed } of this.#copies.values()) release(feed)
    this.#copies.clear()
    for (const values of [...this.#adapters.keys()]) this.#forgetAdapter(values)
    for (const sum of this.#gradients.values()) this.#drop(sum)
    this.#sessions[Symbol.dispose]()
  }
}

/** Tensors of an adapter; they are released when the adapter is forgotten and nobody uses them any more. */
class SharedAdapter {
  readonly #feeds: Readonly<Record<string, Feed>>
  #users = 0
  #isForgotten = false

  constructor(feeds: Readonly<Record<string, Feed>>) {
    this.#feeds = feeds
  }

  take(): HeldFeeds {
    this.#users++
    return {
      feeds: this.#feeds,
      [Symbol.dispose]: () => {
        this.#users--
        this.#release()
      },
    }
  }

  forget(): void {
    this.#isForgotten = true
    this.#release()
  }

  #release(): void {
    if (this.#isForgotten && this.#users === 0) Object.values(this.#feeds).forEach(release)
  }
}

/** The tensors of a model without an adapter. */
const noTensors: HeldFeeds = { feeds: {}, [Symbol.dispose]: () => undefined }

const scalar = (value: number): Feed => floats(Float32Array.of(value), [1])

const lengthOf = ({ feed }: GradientSum['pieces'][number]): number => feed.dims[0]!

const isOverlapping = (a: GradientSum['pieces'][number], b: GradientSum['pieces'][number]): boolean =>
  a.offset < b.offset + lengthOf(b) && b.offset < a.offset + lengthOf(a)

/** A slice for each tensor: one kernel that wrote all of them would need more buffers at once than devices have bindings for. */
function cutProgram(config: ModelConfig, lora: LoraConfig): Program {
  const slots = loraSlots(config, lora)
  const total = slots.reduce((sum, { size }) => sum + size, 0)
  const whole = input('adapter', 'float32', [total])
  return Object.fromEntries(
    slots.map(({ layer, input: name, offset, size, shape }) => [
      layerInputName(layer, name),
      reshape(piece(whole, offset, size), shape),
    ]),
  )
}

const sumProgram = (): Program => ({
  total: add(input('sum', 'float32', ['G']), input('part', 'float32', ['G'])),
})

function joinProgram(count: number): Program {
  const pieces = Array.from({ length: count }, (_, index) =>
    input(`piece ${String(index)}`, 'float32', [`G${String(index)}`]),
  )
  return { total: concat(pieces, 0) }
}

const copyProgram = (): Program => ({
  copy: mul(input('x', 'float32', ['G']), input('one', 'float32', [1])),
})
