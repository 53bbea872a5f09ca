/**
 * Trains every weight of a small model from scratch on the same graphs that adapters learn with: weights are graph inputs
 * instead of mapped constants, so one pair of sessions serves all layers.
 */
import type { Device } from '#shared/device.ts'
import { SequentialRandom, randomStream } from '#shared/random.ts'
import type { Value } from '#engine/graph/value.ts'
import { input } from '#engine/graph/value.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import type { LayerParameters } from '#engine/models/learningGraphs.ts'
import { gradientName, layerPrograms, trainedHeadProgram } from '#engine/models/learningGraphs.ts'
import {
  type NamedTensor,
  type ExpectedTensor,
  expectedTensors,
  finalNormNames,
  headWeightName,
  layerPrefix,
  layerTensors,
} from '#engine/models/source.ts'
import { adamw, type AdamWFactors, type AdamWSettings } from '#engine/optimizers/adamw.ts'
import { HostNumbers } from '#engine/runtime/hostNumbers.ts'
import type { ParameterGroup } from '#engine/optimizers/optimizer.ts'
import type { TokenSequence } from '#engine/policy.ts'
import type { PackedBatch } from '#engine/runtime/packedBatch.ts'
import { packBatch } from '#engine/runtime/packedBatch.ts'
import { RotaryTables } from '#engine/runtime/passFeeds.ts'
import type { Feed } from '#engine/runtime/session.ts'
import { Session, floats, int64s } from '#engine/runtime/session.ts'

export interface FullTrainerOptions {
  readonly config: ModelConfig
  readonly device: Device
  /** Of the initial weights. */
  readonly seed: number
  /** Deviation of the normal initial weights; outputs into the residual stream get it divided by √(2·layers). */
  readonly initializerRange: number
}

export interface FullStep {
  readonly learningRate: number
  readonly maxGradNorm: number
  readonly optimizer: AdamWSettings
}

interface Sessions {
  readonly forward: Session
  readonly backward: Session
  readonly head: Session
}

interface Slot extends ExpectedTensor {
  readonly offset: number
  readonly size: number
}

export class FullTrainer {
  readonly #config: ModelConfig
  readonly #sessions: Sessions
  readonly #slots: ReadonlyMap<string, Slot>
  readonly #parameters: Float32Array
  readonly #gradients: Float32Array
  readonly #first: Float32Array
  readonly #second: Float32Array
  #updates = 0
  readonly #rotary: readonly RotaryTables[]

  private constructor(options: FullTrainerOptions, sessions: Sessions) {
    this.#config = options.config
    this.#sessions = sessions
    const slots: Slot[] = []
    let offset = 0
    for (const tensor of expectedTensors(options.config)) {
      const size = tensor.shape.reduce((total, dim) => total * dim, 1)
      slots.push({ ...tensor, offset, size })
      offset += size
    }
    this.#slots = new Map(slots.map((slot) => [slot.name, slot]))
    this.#parameters = initialWeights(slots, options)
    this.#gradients = new Float32Array(offset)
    this.#first = new Float32Array(offset)
    this.#second = new Float32Array(offset)
    this.#rotary = options.config.ropes.map((rope) => new RotaryTables(rope))
  }

  static async create(options: FullTrainerOptions): Promise<FullTrainer> {
    const { config, device } = options
    requireAlike(config)
    const shapes = new Map(expectedTensors(config).map(({ name, shape }) => [name, shape]))
    const inputOf = (name: string): Value => input(name, 'float32', shapes.get(name) ?? [])
    const weights = new Map(
      layerTensors(config, 0).map(({ name, shape }) => [name, input(name, 'float32', shape)]),
    )
    const weightOf = (path: string): Value => weights.get(path) ?? input(path, 'float32', [])
    const parameters: LayerParameters = {
      adapter: new Map(),
      trained: [...weights.values()],
      weight: weightOf,
      matrix: weightOf,
    }
    const programs = layerPrograms(config, parameters, { layer: 0, inputGradient: true })
    const head = trainedHeadProgram(config, {
      vector: inputOf,
      table: inputOf(headWeightName(config)),
    })
    const create = (name: string, program: Readonly<Record<string, Value>>) =>
      Session.create({ name, program, device, purpose: 'learn' })
    return new FullTrainer(options, {
      forward: await create('layer forward', programs.forwardSaving),
      backward: await create('layer backward', programs.backwardFromSaved),
      head: await create('head', head),
    })
  }

  /** One update; returns the mean of −logprob over the action tokens of the batch (nats). */
  async step(
    sequences: readonly TokenSequence[],
    { learningRate, maxGradNorm, optimizer }: FullStep,
  ): Promise<number> {
    const batch = packBatch(sequences, this.#config, { rotary: this.#rotary, shares: false })
    this.#gradients.fill(0)
    const loss = await this.#differentiate(batch)
    const groups = [this.#group(learningRate, true), this.#group(learningRate, false)]
    await adamw.step({ groups, step: ++this.#updates, maxGradNorm }, optimizer)
    return loss
  }

  async #differentiate(batch: PackedBatch): Promise<number> {
    const { layers, hiddenSize } = this.#config
    const tapes: Record<string, Feed>[] = []
    let hidden = this.#embed(batch.ids)
    for (let layer = 0; layer < layers; layer++) {
      const feeds = {
        ...batch.feeds,
        ...this.#layerFeeds(layer),
        hidden: floats(hidden, [batch.tokens, hiddenSize]),
      }
      const { output, ...activations } = await this.#sessions.forward.run(feeds)
      const saved = Object.entries(activations).map(
        ([name, data]) => [name, floats(data, [batch.tokens, data.length / batch.tokens])] as const,
      )
      tapes.push({ ...feeds, ...Object.fromEntries(saved) })
      hidden = output!
    }
    const { loss, cotangent: fromHead } = await this.#head(batch, hidden)
    let cotangent = fromHead
    for (let layer = layers - 1; layer >= 0; layer--) {
      const feeds = { ...tapes.pop(), cotangent: floats(cotangent, [batch.tokens, hiddenSize]) }
      const results = await this.#sessions.backward.run(feeds)
      for (const { name } of layerTensors(this.#config, layer)) {
        this.#add(`${layerPrefix(this.#config, layer)}${name}`, results[gradientName(name)]!)
      }
      cotangent = results[gradientName('hidden')]!
    }
    this.#addRows(this.#config.names.embedding, batch.ids, cotangent)
    return loss
  }

  async #head(batch: PackedBatch, hidden: Float32Array): Promise<{ loss: number; cotangent: Float32Array }> {
    const { hiddenSize } = this.#config
    const rows = batch.headRows.length
    const chosen = new Float32Array(rows * hiddenSize)
    batch.headRows.forEach((row, index) => {
      chosen.set(hidden.subarray(row * hiddenSize, (row + 1) * hiddenSize), index * hiddenSize)
    })
    const own = [...finalNormNames(this.#config), headWeightName(this.#config)]
    const results = await this.#sessions.head.run({
      hidden: floats(chosen, [rows, hiddenSize]),
      targets: int64s(batch.headTargets, [rows]),
      inverseTemperature: floats(Float32Array.of(1), [1]),
      coefficients: floats(new Float32Array(rows).fill(-1 / rows), [rows, 1]),
      ...Object.fromEntries(own.map((name) => [name, this.#feed(name)])),
    })
    for (const name of own) this.#add(name, results[gradientName(name)]!)
    const cotangent = new Float32Array(batch.tokens * hiddenSize)
    const slopes = results[gradientName('hidden')]!
    batch.headRows.forEach((row, index) => {
      cotangent.set(slopes.subarray(index * hiddenSize, (index + 1) * hiddenSize), row * hiddenSize)
    })
    return { loss: -results['logprob']!.reduce((total, value) => total + value, 0) / rows, cotangent }
  }

  #slot(name: string): Slot {
    const slot = this.#slots.get(name)
    if (!slot) throw new Error(`The model has no tensor ${name}.`)
    return slot
  }

  #feed(name: string): Feed {
    const { offset, size, shape } = this.#slot(name)
    return floats(this.#parameters.subarray(offset, offset + size), shape)
  }

  #layerFeeds(layer: number): Record<string, Feed> {
    return Object.fromEntries(
      layerTensors(this.#config, layer).map(({ name }) => [
        name,
        this.#feed(`${layerPrefix(this.#config, layer)}${name}`),
      ]),
    )
  }

  #embed(ids: Int32Array): Float32Array {
    const { hiddenSize } = this.#config
    const { offset } = this.#slot(this.#config.names.embedding)
    const rows = new Float32Array(ids.length * hiddenSize)
    ids.forEach((id, row) => {
      const start = offset + id * hiddenSize
      rows.set(this.#parameters.subarray(start, start + hiddenSize), row * hiddenSize)
    })
    return rows
  }

  #add(name: string, gradient: Float32Array): void {
    const { offset } = this.#slot(name)
    for (let index = 0; index < gradient.length; index++) this.#gradients[offset + index]! += gradient[index]!
  }

  #addRows(name: string, ids: Int32Array, rows: Float32Array): void {
    const { offset } = this.#slot(name)
    const width = this.#config.hiddenSize
    ids.forEach((id, row) => {
      for (let at = 0; at < width; at++) this.#gradients[offset + id * width + at]! += rows[row * width + at]!
    })
  }

  /** Matrices decay, norms and biases do not. */
  #group(learningRate: number, matrices: boolean): ParameterGroup<AdamWFactors> {
    const slots = [...this.#slots.values()].filter(({ shape }) => shape.length > 1 === matrices)
    const numbers = slots.map(({ offset, size }) => {
      const own = (array: Float32Array) => array.subarray(offset, offset + size)
      return new HostNumbers({
        values: own(this.#parameters),
        gradients: own(this.#gradients),
        first: own(this.#first),
        second: own(this.#second),
      })
    })
    return matrices ? { numbers, learningRate } : { numbers, learningRate, weightDecay: 0 }
  }

  /** A copy of every weight under its Hugging Face name. */
  tensors(): NamedTensor[] {
    return [...this.#slots.values()].map(({ name, shape, offset, size }) => ({
      name,
      shape,
      data: this.#parameters.slice(offset, offset + size),
    }))
  }

  [Symbol.dispose](): void {
    for (const session of Object.values(this.#sessions)) (session as Session)[Symbol.dispose]()
  }
}

/** One pair of sessions serves all layers, and embeddings learn as rows of one table. */
function requireAlike({ mixers, names, embeddingScale }: ModelConfig): void {
  const [first] = mixers
  const isAlike = mixers.every(
    (mixer) =>
      mixer.kind === 'attention' &&
      first?.kind === 'attention' &&
      mixer.window === first.window &&
      mixer.rope === first.rope,
  )
  if (isAlike && names.positions === null && embeddingScale === 1) return
  throw new Error('Training from scratch knows only models whose layers are all alike.')
}

function initialWeights(
  slots: readonly Slot[],
  { config, seed, initializerRange }: FullTrainerOptions,
): Float32Array {
  const random = new SequentialRandom(randomStream(seed, 0xf11))
  const parameters = new Float32Array(slots.reduce((total, { size }) => total + size, 0))
  for (const { name, shape, offset, size } of slots) {
    const isResidualOutput = name.endsWith('o_proj.weight') || name.endsWith('down_proj.weight')
    const deviation = initializerRange / (isResidualOutput ? Math.sqrt(2 * config.layers) : 1)
    const draw = (): number => {
      if (shape.length > 1) return deviation * random.normal()
      return name.endsWith('bias') ? 0 : 1
    }
    for (let index = 0; index < size; index++) parameters[offset + index] = draw()
  }
  return parameters
}
