/**
 * Learns once in a process of its own and prints how much memory that took: what the runtime's arena touched, by the runtime's
 * own log, and what was fed. Standard error must be a file, named by the first argument, the case as JSON by the second.
 */
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { linearNames, type LoraConfig } from '#engine/models/config.ts'
import { DeviceMemory, lengthsOf } from '#engine/models/deviceMemory.ts'
import { frozenTensors, learningPurpose } from '#engine/models/frozenWeights.ts'
import { segmentsOf } from '#engine/models/segmentPrograms.ts'
import { AdapterParameters } from '#engine/runtime/adapterParameters.ts'
import { HostTensors } from '#engine/runtime/deviceTensors.ts'
import { HostParameters } from '#engine/runtime/parameterHome.ts'
import { CutPrograms, ResidentPrograms, type Feeds } from '#engine/runtime/programs.ts'
import { learningDefinitions, SegmentLearner } from '#engine/runtime/segmentLearner.ts'
import { asPolicySource } from '#host/models/baseCache.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import type { ArenaCase, ArenaMemory } from './arena.ts'

const PAGE = 4096
const IS_PRESENT = 0x80
const device = { kind: 'cpu', threads: 1, deviceId: 0 } as const
const lora: LoraConfig = { rank: 16, alpha: 32, rsLora: false, targets: linearNames }
const [log = '', json = '', folder = ''] = process.argv.slice(2)

/** Bytes of pages in RAM among the regions that the arena asked for, told by the kernel's map of this process. */
function touchedBytes(): number {
  const map = openSync('/proc/self/pagemap', 'r')
  const regions = readFileSync(log, 'utf8').matchAll(/Allocated memory at 0x([\da-f]+) to 0x([\da-f]+)/g)
  let pages = 0
  for (const [, from = '', to = ''] of regions) {
    const first = Math.ceil(parseInt(from, 16) / PAGE)
    const entries = Buffer.alloc(8 * (Math.floor(parseInt(to, 16) / PAGE) - first))
    const size = readSync(map, entries, 0, entries.length, 8 * first)
    for (let at = 7; at < size; at += 8) if (((entries[at] ?? 0) & IS_PRESENT) !== 0) pages++
  }
  closeSync(map)
  return pages * PAGE
}

const bytesOf = (feeds: Feeds): number =>
  Object.values(feeds).reduce((sum, { data }) => sum + (data as Float32Array).byteLength, 0)

/** Writes a model of random weights, unless it is there. */
async function modelOf({ width, layers, vocabulary }: ArenaCase): Promise<string> {
  const heads = width / 64
  const shape = {
    ...modelShapes['smol-30m'],
    layers,
    hiddenSize: width,
    heads,
    kvHeads: Math.max(1, heads / 4),
    headDim: 64,
    intermediateSize: Math.round((width * 2.75) / 32) * 32,
    vocabSize: vocabulary,
  }
  const model = path.join(folder, [width, layers, vocabulary].join('-'))
  if (!existsSync(path.join(model, 'config.json'))) await writeRandomModel(model, shape, 11, 'F32')
  return model
}

async function measured(arena: ArenaCase): Promise<ArenaMemory> {
  const { base, tokens, perSegment } = arena
  const precisions = { base, rollout: 'f32', int8Form: 'blocks' } as const
  const model = openModelFolder(await modelOf(arena))
  const source = await asPolicySource(model, precisions, path.join(folder, 'cache'))
  const { config } = source
  const home = new HostTensors(source)
  const segments = segmentsOf(config.layers, perSegment)
  const tensors = frozenTensors(source)
  using programs = new CutPrograms(segments, (cut) => {
    const definitions = learningDefinitions(cut, { config, lora, tensors }, [])
    return new ResidentPrograms(definitions, device, learningPurpose(source))
  })
  let fedBytes = 0
  const run = programs.run.bind(programs)
  programs.run = (name, feeds, ...rest) => {
    fedBytes = Math.max(fedBytes, bytesOf(feeds))
    return run(name, feeds, ...rest)
  }
  const parameters = new HostParameters(config, lora)
  const learner = new SegmentLearner({ source, lora, seed: 0, segments, programs, parameters, home })
  const adapter = new AdapterParameters(config, lora)
  adapter.initialize(1)
  const gradients = new Float32Array(adapter.values.length)
  const ids = Int32Array.from({ length: tokens + 1 }, (_, index) => (index * 7919) % config.vocabSize)
  await learner.accumulate({
    sequences: [{ ids, actionMask: new Uint8Array(tokens).fill(1) }],
    targets: { actor: { adapter, gradients }, critic: null, flat: { values: adapter.values, gradients } },
    place: { update: 0, occurrences: [0] },
    options: { temperature: 1, entropyGradient: false },
    coefficients: (heads) =>
      heads.map(({ logprobs }) => ({
        logprobs: logprobs.map(() => 0.01),
        entropies: null,
        values: null,
      })),
  })
  const memory = new DeviceMemory({ config, lora, base, kind: 'cpu' })
  return {
    measuredBytes: touchedBytes() + fedBytes,
    plannedBytes: memory.learning(perSegment, lengthsOf(tokens, tokens)),
  }
}

const runtime = createRequire(import.meta.url)('onnxruntime-node') as { env: { logLevel: string } }
runtime.env.logLevel = 'verbose'
process.stdout.write(JSON.stringify(await measured(JSON.parse(json) as ArenaCase)))
