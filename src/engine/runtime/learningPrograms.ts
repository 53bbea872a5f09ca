import type { Device } from '#shared/device.ts'
import type { FrozenProducts } from '#shared/precision.ts'
import type { Program } from '../graph/onnx.ts'
import type { Value } from '../graph/value.ts'
import type { LoraConfig } from '../models/config.ts'
import {
  type AttentionForm,
  type LayerParameters,
  type LayerPrograms,
  headPrograms,
  layerPrograms,
  type ValueHeadPrograms,
  valueHeadPrograms,
} from '../models/learningGraphs.ts'
import { loraInputs } from '../models/lora.ts'
import { type ModelSource, isMatrix, layerPrefix, layerTensors } from '../models/source.ts'
import type { FrozenMatrix } from '../ops/frozenMatmul.ts'
import {
  headMatrix,
  learningMatrix,
  learningPurpose,
  mappedWeight,
  multipliedMatrix,
} from '../models/frozenWeights.ts'
import { ProgramSet } from './programs.ts'
import { OnDemand, type Feed } from './session.ts'

/** Kind of backward pass: the layer is computed again, or its activations were kept and nothing is. */
export type BackwardPass = 'backward' | 'backwardFromSaved'

/** `forward 3`, `backward 3`, `head learn`, `value forward` … */
export type ProgramName =
  `${'forward' | BackwardPass} ${number}` | `head ${HeadPass}` | `value ${keyof ValueHeadPrograms}`
export type HeadPass = keyof ReturnType<typeof headPrograms>
/** The programs of long sequences are others. */
export type ProgramUse = 'score' | 'learn' | `${'score' | 'learn'} in blocks` | 'value' | 'alternatives'

export const programUse = (
  use: 'score' | 'learn',
  { attention }: { readonly attention: AttentionForm },
): ProgramUse => (attention === 'blocks' ? `${use} in blocks` : use)

type Programs = Record<string, Program>

export interface LearningProgramOptions {
  readonly source: ModelSource
  readonly lora: LoraConfig
  readonly device: Device
  /** The ways to go back that may be asked for. */
  readonly backward: readonly BackwardPass[]
  /** 'auto' if absent. */
  readonly products?: FrozenProducts
  /** Products in whole numbers read a packed copy of the weights, save for long sequences; false if absent. */
  readonly packsWeights?: boolean
  /** Sequences go through the experts that were recorded of them, where the model has experts; false if absent. */
  readonly replaysRoutes?: boolean
}

/**
 * The compiled programs of every layer and of the head, with weights mapped from disk: their pages are shared by all
 * sessions and can be dropped by the system at any time. Sets are made when first used: one that only scores and one that
 * learns, both again for long sequences, and the critic's value head. A layer has up to four programs: forward, forward that
 * also returns its activations, backward that computes the layer again, and backward from saved activations.
 */
export class LearningPrograms {
  readonly #source: ModelSource
  readonly #lora: LoraConfig
  readonly #device: Device
  readonly #backward: readonly BackwardPass[]
  readonly #products: FrozenProducts
  readonly #packsWeights: boolean
  readonly #replaysRoutes: boolean
  readonly #sets = new OnDemand<ProgramSet>()

  constructor(options: LearningProgramOptions) {
    const { source, lora, device, backward, products = 'auto' } = options
    const { packsWeights = false, replaysRoutes = false } = options
    this.#source = source
    this.#lora = lora
    this.#device = device
    this.#backward = backward
    this.#products = products
    this.#packsWeights = packsWeights
    this.#replaysRoutes = replaysRoutes
  }

  /** Runs one program of a set; the learning set has all that the scoring set has. */
  async run(
    use: ProgramUse,
    program: ProgramName,
    feeds: Readonly<Record<string, Feed>>,
    want?: readonly string[],
  ): Promise<Record<string, Float32Array>> {
    return (await this.#set(use)).run(program, feeds, want)
  }

  #set(use: ProgramUse): Promise<ProgramSet> {
    return this.#sets.get(use, () => this.#create(use))
  }

  #create(use: ProgramUse): Promise<ProgramSet> {
    switch (use) {
      case 'score':
        return this.#open('scoring', this.#scoringPrograms('parts'), this.#packsWeights)
      case 'score in blocks':
        return this.#open('scoring in blocks', this.#scoringPrograms('blocks'))
      case 'learn':
        return this.#open('learning', this.#learningPrograms('parts'), this.#packsWeights)
      case 'learn in blocks':
        return this.#open('learning in blocks', this.#learningPrograms('blocks'))
      case 'alternatives':
        return this.#open('head with alternatives', this.#alternativesPrograms())
      case 'value':
        return this.#open('value head', this.#valuePrograms())
    }
  }

  #open(name: string, programs: Programs, isPacked = false): Promise<ProgramSet> {
    const purpose = isPacked ? 'learn-packed' : learningPurpose(this.#source)
    return ProgramSet.create(name, programs, this.#device, purpose)
  }

  #valuePrograms(): Programs {
    const { config } = this.#source
    const { forward, backward } = valueHeadPrograms(config, (name) => this.weight(name))
    return { 'value forward': forward, 'value backward': backward }
  }

  #alternativesPrograms(): Programs {
    const { alternatives, likeliest, learnAlternatives } = this.#head()
    return {
      'head alternatives': alternatives,
      'head likeliest': likeliest,
      'head learnAlternatives': learnAlternatives,
    }
  }

  #scoringPrograms(attention: AttentionForm): Programs {
    const programs: Programs = { 'head score': this.#head().score }
    for (let layer = 0; layer < this.#source.config.layers; layer++) {
      programs[`forward ${layer}`] = this.#layer(layer, { drops: false, attention }).forward
    }
    return programs
  }

  #learningPrograms(attention: AttentionForm): Programs {
    const { score, learn, learnEntropy } = this.#head()
    const programs: Programs = {
      'head score': score,
      'head learn': learn,
      'head learnEntropy': learnEntropy,
    }
    const saves = this.#backward.includes('backwardFromSaved')
    for (let layer = 0; layer < this.#source.config.layers; layer++) {
      const all = this.#layer(layer, { drops: (this.#lora.dropout ?? 0) > 0, attention })
      programs[`forward ${layer}`] = saves ? all.forwardSaving : all.forward
      for (const pass of this.#backward) programs[`${pass} ${layer}`] = all[pass]
    }
    return programs
  }

  #head(): ReturnType<typeof headPrograms> {
    const vector = (name: string): Value => this.weight(name)
    return headPrograms(this.#source.config, { vector, ...headMatrix(this.#source, this.#products) })
  }

  #layer(
    layer: number,
    { drops, attention }: { readonly drops: boolean; readonly attention: AttentionForm },
  ): LayerPrograms {
    const { config } = this.#source
    const adapter = loraInputs(config, this.#lora, layer)
    const [vectors, matrices] = [new Map<string, Value>(), new Map<string, FrozenMatrix>()]
    for (const tensor of layerTensors(config, layer)) {
      const fullName = `${layerPrefix(config, layer)}${tensor.name}`
      if (isMatrix(tensor)) matrices.set(tensor.name, this.#matrix(fullName, tensor.shape[1] as number))
      else vectors.set(tensor.name, this.weight(fullName))
    }
    const parameters: LayerParameters = {
      adapter,
      drops,
      replaysRoutes: this.#replaysRoutes,
      trained: [...adapter.values()].flatMap(({ a, b }) => [a, b]),
      weight: (path) => known(vectors, path),
      matrix: (path) => known(matrices, path),
    }
    return layerPrograms(config, parameters, { layer, attention })
  }

  #matrix(name: string, inputs: number): FrozenMatrix {
    return this.#products === 'f32'
      ? learningMatrix(this.#source, name, inputs)
      : multipliedMatrix(this.#source, name, inputs)
  }

  /** A frozen f32 tensor by its full name, which the runtime maps. */
  weight(name: string): Value {
    return mappedWeight(this.#source, name)
  }

  [Symbol.dispose](): void {
    this.#sets[Symbol.dispose]()
  }
}

function known<Found>(weights: ReadonlyMap<string, Found>, path: string): Found {
  const value = weights.get(path)
  if (value === undefined) throw new Error(`A layer has no weight ${path}.`)
  return value
}
