/**
 * Counts the bytes that cross the bus between the host and a device while a model learns, from the inputs and outputs
 * of the programs that run. On a device that holds tensors, the adapter, its gradient and what segments hand on stay
 * there, and what several runs of a micro-batch read is uploaded once.
 */
import { holdsTensors } from '#shared/device.ts'
import { bytesOf, inputsAndOutputs, type Lengths } from '../graph/liveness.ts'
import type { Program } from '../graph/onnx.ts'
import type { Value } from '../graph/value.ts'
import { adamwProgram, squaresProgram } from '../optimizers/adamwProgram.ts'
import { layerInputName } from './generationGraph.ts'
import { gradientName } from './learningGraphs.ts'
import { lengthsOf, plannedPrograms, type DevicePlan, type MemoryRequest } from './deviceMemory.ts'
import { loraSlots } from './lora.ts'
import {
  innerPrograms,
  lastPrograms,
  segmentNames,
  type Segment,
  type SegmentProgramOptions,
} from './segmentPrograms.ts'

/** Bytes to the device and from it. */
export interface Traffic {
  readonly up: number
  readonly down: number
}

const kinds = ['batch', 'adapter', 'heads', 'gradient', 'states'] as const
/**
 * - `batch`: ids, positions, masks and tables.
 * - `heads`: log-probabilities and entropies, and what the loss says of them.
 * - `states`: hidden states between segments, and their gradients.
 */
export type TrafficKind = (typeof kinds)[number]

export interface BusTraffic {
  /** Traffic of a micro-batch that is scored and learned from, without critic and entropy term. */
  readonly microBatch: Readonly<Record<TrafficKind, Traffic>>
  /** Traffic of an update: sums of squares of the gradient, and the factors of the optimizer. */
  readonly update: Traffic
}

/** Kinds that stay on a device that holds tensors. */
const stays: ReadonlySet<TrafficKind> = new Set(['adapter', 'gradient', 'states'])

const outside: Readonly<Record<string, TrafficKind>> = {
  hidden: 'states',
  cotangent: 'states',
  output: 'states',
  [gradientName('hidden')]: 'states',
  [segmentNames.logprobs]: 'heads',
  logprob: 'heads',
  entropy: 'heads',
  [segmentNames.gradient]: 'gradient',
}

/** Numbers of a tensor that is worth an upload of its own, where several runs read it. */
export const LEAST_HELD = 4096

export function busTraffic(request: MemoryRequest, plan: Cut): BusTraffic {
  const { config, lora, kind } = request
  const slots = loraSlots(config, lora)
  const adapter = new Set(slots.map(({ layer, input }) => layerInputName(layer, input)))
  const isHeld = holdsTensors({ kind })
  const lengths = lengthsOf(plan.tokens, plan.length)
  const held = new Set<string>()
  const bytesOver = (name: string, value: Value, what: TrafficKind, layers: number): number => {
    const bytes = bytesOf(value, lengths)
    // The programs are of one layer; adapter and gradient grow with the layers of a segment.
    if (!isHeld) return what === 'adapter' || what === 'gradient' ? layers * bytes : bytes
    if (stays.has(what) || held.has(name)) return 0
    if (what === 'batch' && value.dtype === 'float32' && bytes >= 4 * LEAST_HELD) held.add(name)
    return bytes
  }
  const found = Object.fromEntries(kinds.map((what) => [what, { up: 0, down: 0 }])) as Record<
    TrafficKind,
    { up: number; down: number }
  >
  for (const { program, layers } of runsOf(request, plan.segments)) {
    const { inputs, outputs } = inputsAndOutputs(program)
    for (const [direction, values] of [
      ['up', inputs],
      ['down', outputs],
    ] as const) {
      for (const [name, value] of values) {
        const what = adapter.has(name) ? 'adapter' : (outside[name] ?? 'batch')
        found[what][direction] += bytesOver(name, value, what, layers)
      }
    }
  }
  const size = slots.reduce((sum, slot) => sum + slot.size, 0)
  return { microBatch: found, update: isHeld ? updateTraffic(size) : { up: 0, down: 0 } }
}

type Cut = Pick<DevicePlan, 'tokens' | 'length' | 'segments'>

/** Returns the programs of one layer in place of those of a micro-batch, and the number of these layers. */
function runsOf(
  request: MemoryRequest,
  segments: Cut['segments'],
): { readonly program: Program; readonly layers: number }[] {
  const { options } = plannedPrograms(request)
  const total = request.config.layers
  return segments.flatMap(({ first, end }) => {
    const start = end < total || segments.length === 1 ? first : total - 1
    const one = { first: start, end: start + 1 }
    const programs = end < total ? innerRuns(one, options) : lastRuns(one, options)
    return programs.map((program) => ({ program, layers: end - first }))
  })
}

function innerRuns(segment: Segment, options: SegmentProgramOptions): Program[] {
  const { forward, backward } = innerPrograms(segment, options)
  return [forward, backward]
}

function lastRuns(segment: Segment, options: SegmentProgramOptions): Program[] {
  const { score, learn } = lastPrograms(segment, options)
  return [score, learn]
}

/** Bytes of an update. The norm is computed twice: before an update is admitted, and to limit it. */
function updateTraffic(size: number): Traffic {
  const lengths: Lengths = { P: size }
  const bytes = (
    values: ReadonlyMap<string, Parameters<typeof bytesOf>[0]>,
    isCrossing: (name: string) => boolean,
  ) => [...values].reduce((sum, [name, value]) => sum + (isCrossing(name) ? bytesOf(value, lengths) : 0), 0)
  const [squares, adamw] = [inputsAndOutputs(squaresProgram(size)), inputsAndOutputs(adamwProgram())]
  const isNumber = (name: string) => !['gradient', 'values', 'first', 'second'].includes(name)
  return {
    up: 2 * bytes(squares.inputs, isNumber) + bytes(adamw.inputs, isNumber),
    down: 2 * bytes(squares.outputs, () => true),
  }
}
