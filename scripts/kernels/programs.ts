/** The programs that devices run, of every family of models, and which kernels they ask of a provider. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { computesIn, type DeviceKind } from '#shared/device.ts'
import { roundedPrecisions } from '#shared/precision.ts'
import { isLoop, valuesOf, type LoopProgram } from '#engine/ops/branches.ts'
import type { Program } from '#engine/graph/onnx.ts'
import { resolve } from '#engine/graph/substitute.ts'
import { topologicalOrder, type OpNode, type Value } from '#engine/graph/value.ts'
import { linearNames, type LoraConfig } from '#engine/models/config.ts'
import { onlyOnCpu } from '#engine/models/programSupport.ts'
import { segmentsOf } from '#engine/models/segmentPrograms.ts'
import type { ModelSource } from '#engine/models/source.ts'
import { frozenTensors, generationWeights } from '#engine/models/frozenWeights.ts'
import { residentDefinitions, type Repetition } from '#engine/runtime/residentStep.ts'
import { type FurtherTokens, learningDefinitions } from '#engine/runtime/segmentLearner.ts'
import { asPolicySource, type WeightPrecisions } from '#host/models/baseCache.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes, type ModelShape } from '#host/models/modelShapes.ts'
import { configOfShape, writeRandomModel } from '#host/models/randomModel.ts'

export type DevicePrograms = Readonly<Record<string, Program | LoopProgram>>

const shapes = new Map<string, ModelShape>(Object.entries(modelShapes))

/** The small shape of every family that devices compute. */
export const familyShapes = [...shapes].flatMap(([name, shape]) =>
  name.startsWith('tiny-') && onlyOnCpu(configOfShape(shape)) === null ? [name] : [],
)

type Precisions = Omit<WeightPrecisions, 'int8Form'>

const exact: Precisions = { base: 'f32', rollout: 'f32' }

/** Every family with exact weights, and one with each of the others that such a device computes with. */
const variantsOn = (kind: DeviceKind) => [
  ...familyShapes.map((shape) => ({ shape, precisions: exact })),
  ...roundedPrecisions
    .filter((base) => computesIn(kind, base))
    .map((base) => ({ shape: 'tiny-llama', precisions: { ...exact, base } })),
  { shape: 'tiny-llama', precisions: { ...exact, rollout: 'int8' as const } },
]

/** How the programs of the kinds of devices that are looked up here repeat. */
const repetitions = { cuda: 'loop', dml: 'unrolled' } as const

/** A family's programs over random weights, as `use` needs them: the files are removed behind it. */
export async function withPrograms<Result>(
  {
    shape,
    precisions = exact,
    further = [],
  }: {
    readonly shape: string
    readonly precisions?: Precisions
    readonly further?: readonly FurtherTokens[]
  },
  repetition: Repetition,
  use: (programs: DevicePrograms, source: ModelSource) => Result | Promise<Result>,
): Promise<Result> {
  const small = shapes.get(shape)
  if (!small) throw new Error(`There is no shape ${shape}.`)
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-kernels-'))
  try {
    const directory = path.join(folder, shape)
    await writeRandomModel(directory, small, 11, 'F32')
    const source = await asPolicySource(
      openModelFolder(directory),
      { ...precisions, int8Form: 'blocks' },
      folder,
    )
    return await use(
      programsOf(source, { rounded: precisions.rollout === 'int8', further }, repetition),
      source,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function programsOf(
  source: ModelSource,
  { rounded, further }: { readonly rounded: boolean; readonly further: readonly FurtherTokens[] },
  repetition: Repetition,
): DevicePrograms {
  const { config } = source
  const lora: LoraConfig = { rank: 4, alpha: 8, rsLora: false, targets: linearNames, dropout: 0.1 }
  const tensors = frozenTensors(source)
  const definitions = {
    ...learningDefinitions(segmentsOf(config.layers, config.layers), { config, lora, tensors }, further),
    ...residentDefinitions(source, lora, generationWeights(source, { rounded, isOneRow: true }), repetition),
  }
  return Object.fromEntries(Object.entries(definitions).map(([name, { program }]) => [name, program()]))
}

/** What a kernel is chosen by: the operator and the types it reads and gives, such as `Gather(float32, int64) → float32`. */
export function signatureOf({ op, inputs, outputs }: OpNode): string {
  const read = inputs.map((value) => value?.dtype ?? 'none')
  const given = outputs.map(({ dtype }) => dtype)
  // However many there are, the kernel is the same.
  const some = ([first = '', ...more]: readonly string[]) =>
    more.length > 0 && more.every((type) => type === first) ? `${first}…` : [first, ...more].join(', ')
  const from = op.type === 'Concat' ? some(read) : read.join(', ')
  const to = op.type === 'Split' ? some(given) : given.join(', ')
  return `${op.domain === '' ? '' : `${op.domain}.`}${op.type}(${from}) → ${to}`
}

/** One node of each signature. */
export function kernelsOf(programs: DevicePrograms): Map<string, OpNode> {
  const kernels = new Map<string, OpNode>()
  for (const program of Object.values(programs)) {
    const values: Value[] = isLoop(program) ? valuesOf(program) : Object.values(program)
    for (const node of topologicalOrder(values.map(resolve), true)) {
      if (node.kind === 'op' && !kernels.has(signatureOf(node))) kernels.set(signatureOf(node), node)
    }
  }
  return kernels
}

/** The kernels of every family, by signature in order. */
export async function allKernels(kind: keyof typeof repetitions): Promise<Map<string, OpNode>> {
  const all = new Map<string, OpNode>()
  for (const variant of variantsOn(kind)) {
    const further = ['likeliest', 'alternatives'] as const
    await withPrograms({ ...variant, further }, repetitions[kind], (programs) => {
      for (const [signature, node] of kernelsOf(programs)) all.set(signature, node)
    })
  }
  return new Map([...all].sort(([a], [b]) => (a < b ? -1 : 1)))
}
