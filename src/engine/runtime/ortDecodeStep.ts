import type { Device } from '#shared/device.ts'
import { blockWeight, linearWeights, rowWeight } from '../models/blocks.ts'
import { layerStates, routeStates, type LayerState } from '../models/layerStates.ts'
import type { AttentionWindow, LoraConfig } from '../models/config.ts'
import { generationProgram, layerInputName } from '../models/generationGraph.ts'
import { tokenPartName } from '../models/layerScope.ts'
import { headWeightName, type ModelSource } from '../models/source.ts'
import { choiceWidth } from '../models/tokenChoice.ts'
import type { AdapterParameters, AnsweringRole } from './adapterParameters.ts'
import type { DecodePass, DecodeStep, PassResult } from './generation/decoder.ts'
import { generationWeights, readsMappedWeights } from '../models/frozenWeights.ts'
import { maskThrough } from './generation/mask.ts'
import {
  chunkFeeds,
  leftOutFeeds,
  maskFeeds,
  positionFeeds,
  promptFeeds,
  RotaryTables,
  stateFeeds,
  withoutPrompts,
} from './passFeeds.ts'
import { ProgramSet } from './programs.ts'
import { type Feed, Session, floats } from './session.ts'
import { layerInputFeed, type Embedded } from './embedding.ts'

export interface DecodeStepOptions {
  readonly source: ModelSource
  /** int8: from the blocks that the source has beside exact weights; f32: from what learning reads too. */
  readonly precision: 'f32' | 'int8'
  readonly lora: LoraConfig
  readonly device: Device
  /** Exact weights are packed; see `packingPays`. */
  readonly packsWeights: boolean
  /** Rows may share prompts; see `sharingPays`. */
  readonly sharesPrompts: boolean
  /** Passes tell which experts their positions go through; false if absent. */
  readonly recordsRoutes?: boolean
  readonly embed: (ids: Int32Array, positions: Int32Array) => Promise<Embedded>
  readonly adapter: (role: AnsweringRole) => AdapterParameters
}

/** Time of packing, as a number of tokens. */
const PACKING_TOKENS = 256
/** Batch size above which packed weights bring no speed-up. */
const PACKED_ROWS = 8

/** Prompts are shared from this batch size on. */
const SHARING_ROWS = 5

/**
 * Decides if a packed copy of exact weights is worth its memory and the seconds it takes: it is where few rows decode
 * together, and do so for long. Products of few rows stream through the copy faster than through the mapped matrices,
 * on some processors half as fast again.
 */
export const packingPays = (rows: number, newTokens: number): boolean =>
  rows <= PACKED_ROWS && newTokens >= PACKING_TOKENS

/**
 * Decides if the decoding graph reads a prompt once for all rows that start from it. That takes 18 more nodes in each
 * layer, which makes a single row of a small model 7 % slower. Behind a window of one position there is nothing to
 * share.
 */
export const sharingPays = (rows: number, windows: readonly AttentionWindow[]): boolean =>
  rows >= SHARING_ROWS && !windows.includes(1)

/** Form of the weights that a pass multiplies with. */
type WeightForm = 'mapped' | 'packed' | 'rows' | 'blocks'

/**
 * Time of a pass over several positions relative to one: the first number, and so much more for each position behind the
 * first. Measured on the shape of qwen2.5-0.5b with one thread (bench/history/generation.md); with AMX, rows take half as much more.
 */
const severalPositions: Readonly<Record<WeightForm, readonly [number, number]>> = {
  mapped: [1.5, 0.02],
  packed: [1, 0.05],
  rows: [1, 0.1],
  blocks: [1, 0.13],
}

function weightForm({
  source,
  precision,
  packsWeights,
}: Pick<DecodeStepOptions, 'source' | 'precision' | 'packsWeights'>): WeightForm {
  if (readsMappedWeights(source, precision === 'int8')) return packsWeights ? 'packed' : 'mapped'
  const [linear] = linearWeights(source.config)
  return linear && rowWeight(source, linear.name) ? 'rows' : 'blocks'
}

/** Bytes of the weights that generation packs a copy of. */
export function packedForGeneration(
  options: Pick<DecodeStepOptions, 'source' | 'precision' | 'packsWeights'>,
): number {
  const { source } = options
  const form = weightForm(options)
  if (form === 'mapped') return 0
  const rounded = (name: string) => rowWeight(source, name)?.values ?? blockWeight(source, name)?.blocks
  const names = [...linearWeights(source.config).map(({ name }) => name), headWeightName(source.config)]
  const stored = names.map((name) => (form === 'packed' ? source.tensors.get(name) : rounded(name)))
  return stored.reduce((sum, location) => sum + (location?.byteLength ?? 0), 0)
}

interface Compiled extends Disposable {
  run(
    program: 'row' | 'rows',
    feeds: Readonly<Record<string, Feed>>,
    want: readonly string[],
  ): Promise<Record<string, Float32Array>>
}

/** Compiles both programs in one session where they share mapped weights; else one that serves any number of rows. */
async function compile(options: DecodeStepOptions, form: WeightForm): Promise<Compiled> {
  const { source, lora, device, precision, sharesPrompts, recordsRoutes = false } = options
  const rounded = precision === 'int8'
  const name = 'generation'
  const programOf = (isOneRow: boolean) =>
    generationProgram(source.config, lora, generationWeights(source, { rounded, isOneRow }), {
      sharesPrompts,
      recordsRoutes,
    })
  if (form === 'mapped') {
    const programs = { row: programOf(true), rows: programOf(false) }
    return ProgramSet.create(name, programs, device, 'learn')
  }
  const program = programOf(form === 'packed')
  const session = await Session.create({ name, program, device, purpose: 'generate' })
  return {
    run: (_, feeds, want) => session.run(feeds, want),
    [Symbol.dispose]: () => {
      session[Symbol.dispose]()
    },
  }
}

/**
 * The generation graph as one session. Exact weights are used where they lie on disk, in one form for a single row and
 * another for several; those in blocks, and exact ones where it pays, are packed when it is created.
 */
export class OrtDecodeStep implements DecodeStep {
  readonly states: readonly LayerState[]
  readonly vocabSize: number
  readonly choiceWidth: number | null
  readonly leavesOut = true
  readonly sharesPrompts: boolean
  /** Absent where a draft that fails could not be taken back. */
  readonly passCost?: (positions: number) => number
  readonly #options: DecodeStepOptions
  readonly #compiled: Compiled
  readonly #remembers: boolean
  readonly #rotary: readonly RotaryTables[]

  private constructor(options: DecodeStepOptions, form: WeightForm, compiled: Compiled) {
    const { config } = options.source
    const { vocabSize, ropes } = config
    this.states = [...layerStates(config), ...(options.recordsRoutes ? routeStates(config) : [])]
    this.vocabSize = vocabSize
    this.choiceWidth = choiceWidth(vocabSize)
    this.#options = options
    this.sharesPrompts = options.sharesPrompts
    this.#remembers = this.states.some(({ kind }) => kind === 'matrix')
    if (!this.#remembers) {
      const [several, each] = severalPositions[form]
      this.passCost = (positions) => (positions === 1 ? 1 : several + each * (positions - 1))
    }
    this.#compiled = compiled
    this.#rotary = ropes.map((rope) => new RotaryTables(rope))
  }

  static async create(options: DecodeStepOptions): Promise<OrtDecodeStep> {
    const form = weightForm(options)
    return new OrtDecodeStep(options, form, await compile(options, form))
  }

  async run(pass: DecodePass): Promise<PassResult> {
    const { rows, length, want } = pass
    const names = this.states.map(({ name }) => `new ${name}`)
    const program = rows * length === 1 ? 'row' : 'rows'
    const results = await this.#compiled.run(program, await this.#feeds(pass, rows, length), [
      ...(want === 'none' ? [] : [want]),
      ...names,
    ])
    return {
      scores: want === 'none' ? new Float32Array(0) : results[want]!,
      fresh: names.map((name) => results[name]!),
    }
  }

  async #feeds(asked: DecodePass, rows: number, length: number): Promise<Record<string, Feed>> {
    const pass = this.sharesPrompts && !asked.prompts ? withoutPrompts(asked, this.states) : asked
    const { cache, role, prompts } = pass
    const { config } = this.#options.source
    const embedded = await this.#options.embed(pass.ids, pass.positions)
    const adapter = this.#options.adapter(role)
    const feeds: Record<string, Feed> = {
      hidden: floats(embedded.hidden, [rows * length, config.hiddenSize]),
      ...positionFeeds(pass, this.#rotary),
      ...maskFeeds(config, pass, (window) => maskThrough(pass, window)),
      ...(this.#remembers ? chunkFeeds(pass) : {}),
    }
    if (this.choiceWidth !== null) {
      const { leftOut = Array.from({ length: rows }, () => []) } = pass
      Object.assign(feeds, leftOutFeeds(leftOut, this.choiceWidth))
    }
    if (prompts) Object.assign(feeds, promptFeeds(this.#options.source.config, pass, prompts))
    Object.assign(feeds, stateFeeds(cache, rows))
    for (let layer = 0; layer < config.layers; layer++) {
      for (const [name, feed] of Object.entries(adapter.feeds(layer)))
        feeds[layerInputName(layer, name)] = feed
      const own = layerInputFeed(config, embedded, layer)
      if (own) feeds[layerInputName(layer, tokenPartName)] = own
    }
    return feeds
  }

  [Symbol.dispose](): void {
    this.#compiled[Symbol.dispose]()
  }
}
