/**
 * Decoding on a device that gives every tensor back after each run (CUDA, DirectML): keys and values are kept by the host and
 * go up once for a run, which computes prompts or many tokens of each row (models/decodeLoop.ts).
 */
import { unrolled, type LoopProgram } from '../ops/branches.ts'
import type { Program } from '../graph/onnx.ts'
import { layerStates, slotsBehind, type LayerState } from '../models/layerStates.ts'
import type { AttentionWindow, LoraConfig } from '../models/config.ts'
import { decodeLoop, loopNames, placesName } from '../models/decodeLoop.ts'
import { deviceGenerationPrograms } from '../models/deviceGeneration.ts'
import type { DeviceWeights } from '../models/generationGraph.ts'
import { choiceWidth } from '../models/tokenChoice.ts'
import type { ModelSource } from '../models/source.ts'
import type { AdapterParameters, AnsweringRole } from './adapterParameters.ts'
import type { DecodePass, DecodeStep, LoopPass, LoopResult, PassResult } from './generation/decoder.ts'
import type { StateCache } from './generation/stateCache.ts'
import { maskThrough } from './generation/mask.ts'
import type { ParameterHome } from './parameterHome.ts'
import {
  boundedUniforms,
  maskFeeds,
  positionFeeds,
  rotaryFeeds,
  RotaryTables,
  stateFeeds,
} from './passFeeds.ts'
import type { Feeds, ProgramDefinition, Programs } from './programs.ts'
import { floats, int64s, type Feed, numbers } from './session.ts'

const names = { prompt: 'prompt', behind: 'behind a cache', turns: 'decoding' } as const

/** W, the most tokens of a run; written out one after the other, they take their place in the graph each. */
const maxTurns = { loop: 64, unrolled: 8 } as const

export type Repetition = keyof typeof maxTurns

/** Prompts, what comes behind a cache, and the loop where the graph can choose. */
export function residentDefinitions(
  { config }: ModelSource,
  lora: LoraConfig,
  weights: DeviceWeights,
  repetition: Repetition,
): Record<string, ProgramDefinition<Program | LoopProgram>> {
  const { prompt, behind } = deviceGenerationPrograms(config, lora, weights)
  const turns = maxTurns[repetition]
  const loop = decodeLoop(config, lora, weights, turns)
  return {
    [names.prompt]: { program: () => prompt },
    [names.behind]: { program: () => behind },
    ...(loop
      ? { [names.turns]: { program: () => (repetition === 'loop' ? loop : unrolled(loop, turns)) } }
      : {}),
  }
}

export interface ResidentStepOptions {
  readonly source: ModelSource
  /** Programs of `residentDefinitions`, perhaps among others. */
  readonly programs: Programs
  readonly parameters: Pick<ParameterHome, 'take'>
  readonly adapter: (role: AnsweringRole) => AdapterParameters
  /** Repetition with which the programs were defined. */
  readonly repetition: Repetition
}

/** Position of unfilled slots, behind every other: they are never seen. */
const UNFILLED = 2 ** 24

export class ResidentStep implements DecodeStep {
  readonly states: readonly LayerState[]
  readonly vocabSize: number
  readonly choiceWidth: number | null
  readonly maxTurns: number
  readonly #options: ResidentStepOptions
  readonly #rotary: readonly RotaryTables[]

  constructor(options: ResidentStepOptions) {
    const { vocabSize, ropes } = options.source.config
    this.states = layerStates(options.source.config)
    this.vocabSize = vocabSize
    this.choiceWidth = choiceWidth(vocabSize)
    this.maxTurns = this.choiceWidth === null ? 1 : maxTurns[options.repetition]
    this.#options = options
    this.#rotary = ropes.map((rope) => new RotaryTables(rope))
  }

  async run(pass: DecodePass): Promise<PassResult> {
    const { cache, rows, want } = pass
    const { config } = this.#options.source
    const name = cache.capacity === 0 ? names.prompt : names.behind
    const states = this.states.map(({ name }) => name)
    using adapter = await this.#adapter(pass.role)
    const results = await this.#options.programs.run(
      name,
      {
        ids: int64s(pass.ids, [pass.ids.length]),
        ...positionFeeds(pass, this.#rotary),
        ...maskFeeds(config, pass, (window) => maskThrough(pass, window)),
        ...this.#cacheFeeds(cache, rows),
        ...adapter.feeds,
      },
      [...(want === 'none' ? [] : [want]), ...states],
    )
    return {
      scores: want === 'none' ? new Float32Array(0) : numbers(results[want]),
      fresh: states.map((name) => numbers(results[name])),
    }
  }

  async loop(pass: LoopPass): Promise<LoopResult> {
    const { cache, rows, turns, want } = pass
    const states = this.states.map(({ name }) => `latest ${name}`)
    using adapter = await this.#adapter(pass.role)
    const results = await this.#options.programs.run(
      names.turns,
      {
        ...this.#loopFeeds(pass),
        ...rotaryFeeds(this.#rotary, Math.max(...pass.positions) + this.maxTurns),
        ...this.#cacheFeeds(cache, rows),
        ...adapter.feeds,
      },
      [want, 'ids', ...states],
    )
    // Turns that are written out are all computed, also those that nobody asked for.
    const done = Math.min(turns, results['ids']!.dims[0]!)
    const scores = numbers(results[want])
    return {
      turns: done,
      length: this.maxTurns,
      scores: scores.subarray(0, (scores.length / results[want]!.dims[0]!) * done),
      ids: Int32Array.from(numbers(results['ids']).subarray(0, done * rows)),
      fresh: this.states.map(({ kind }, index) => {
        const found = results[states[index]!]!
        return kind === 'slots' ? numbers(found) : byRow(found, this.maxTurns)
      }),
    }
  }

  #loopFeeds({ cache, rows, turns, ids, positions, uniforms, room, want, ...pass }: LoopPass): Feeds {
    const drawn = new Float32Array(this.maxTurns * rows)
    drawn.set(boundedUniforms(uniforms))
    const stops = pass.stopIds.length > 0 ? pass.stopIds : [-1]
    const { config } = this.#options.source
    const places = config.windows.map((window, index) => [
      placesName(index),
      slotPlaces(cache, { rows, turns: this.maxTurns, window }),
    ])
    return {
      ...(Object.fromEntries(places) as Feeds),
      [loopNames.turns]: int64s(Int32Array.of(turns), [1]),
      [loopNames.ids]: int64s(ids, [rows]),
      [loopNames.positions]: int64s(positions, [rows, 1]),
      [loopNames.uniforms]: floats(drawn, [this.maxTurns, rows, 1]),
      [loopNames.greedy]: floats(Float32Array.of(Number(want === 'best')), [1]),
      [loopNames.latest]: int64s(Int32Array.of(rows, config.kvHeads, this.maxTurns, config.headDim), [4]),
      [loopNames.open]: floats(new Float32Array(rows).fill(1), [rows, 1]),
      [loopNames.room]: floats(Float32Array.from(room), [rows, 1]),
      [loopNames.stops]: floats(Float32Array.from(stops), [1, stops.length]),
      inverseTemperature: floats(Float32Array.from(pass.inverseTemperatures), [rows, 1]),
      scored: int64s(
        Int32Array.from({ length: rows }, (_, row) => row),
        [rows],
      ),
    }
  }

  #adapter(role: AnsweringRole) {
    return this.#options.parameters.take(this.#options.adapter(role))
  }

  #cacheFeeds(cache: StateCache, rows: number): Feeds {
    return cache.capacity === 0 ? {} : stateFeeds(cache, rows, { prefix: 'past ' })
  }
}

/** [T, B, 1, 1, C] of T turns → [B, 1, `length`, C], of which T are filled. */
function byRow(result: Feed, length: number): Float32Array {
  const [turns = 0, rows = 0, , , channels = 0] = result.dims
  const data = numbers(result)
  const ordered = new Float32Array(rows * length * channels)
  for (let row = 0; row < rows; row++) {
    for (let turn = 0; turn < turns; turn++) {
      const from = (turn * rows + row) * channels
      ordered.set(data.subarray(from, from + channels), (row * length + turn) * channels)
    }
  }
  return ordered
}

interface LoopSlots {
  readonly rows: number
  readonly turns: number
  readonly window: AttentionWindow
}

/**
 * Returns the position that each slot behind a window holds, and that each of the latest slots will hold: [B, 1, 1, P +
 * W].
 */
function slotPlaces(cache: StateCache, { rows, turns, window }: LoopSlots): Feed {
  const slots = slotsBehind(window, cache.capacity)
  const width = slots + turns
  const places = new Float32Array(rows * width).fill(UNFILLED)
  for (let row = 0; row < rows; row++) {
    const filled = cache.lengthOf(row)
    for (let position = Math.max(0, filled - slots); position < filled; position++) {
      places[row * width + (position % slots)] = position
    }
    for (let turn = 0; turn < turns; turn++) places[row * width + slots + turn] = filled + turn
  }
  return floats(places, [rows, 1, 1, width])
}
