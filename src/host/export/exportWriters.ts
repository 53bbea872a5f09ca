/** Each format: its files written, read back by its own reader, and what came of comparing them. */
import { rmSync } from 'node:fs'
import path from 'node:path'
import { loraScale } from '#engine/models/config.ts'
import type { ModelSource } from '#engine/models/source.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { defaultDevice } from '#engine/runtime/device.ts'
import { floats } from '#engine/runtime/session.ts'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { type GgufDtype, readGgufLora, writeGgufLora } from '#host/adapters/ggufLora.ts'
import { type ModelFolder, openModelFolder } from '#host/models/modelFolder.ts'
import { type Adapter, adapterForModel, readAdapter, writeAdapterFiles } from '#host/adapters/peft.ts'
import { openSafetensors, readTensor } from '#host/files/safetensors.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { copyCompanions } from './baseFiles.ts'
import { requireRoom } from './exportFolder.ts'
import type { ExportDtype, ExportFormat, ExportRequest, OnExportProgress, ParityLine } from './exports.ts'
import { nameDtype, planMerge, writeMergedWeights } from './mergedModel.ts'
import { exampleName, onnxExample, adapterName, planOnnx, writeOnnxModel } from './onnxModel.ts'
import { adaptedMatrices, compareAnswers, type FloatType, type LiveAnswers, logprobLimit } from './parity.ts'
import { type Provenance, provenanceTexts } from './provenance.ts'
import { adapterLine, mergedLines, productLine } from './weightParity.ts'
import { graphReader, policyReader } from './parityReaders.ts'

/** What a format's writer works with. */
export interface ExportWork {
  readonly request: ExportRequest
  /** Where its files go; it may use `scratch` below it for what is not kept. */
  readonly folder: string
  readonly scratch: string
  readonly base: ModelFolder
  /** The base in f32. */
  readonly source: ModelSource
  /** As it was trained. */
  readonly adapter: Adapter
  readonly origin: Provenance
  readonly live: LiveAnswers
  /** The policy that gave those answers; its adapter may be replaced. */
  readonly policy: OrtPolicy
  readonly onProgress: OnExportProgress
}

/** Writes a format's files into the folder, reads them back and compares. */
type FormatWriter = (work: ExportWork) => Promise<readonly ParityLine[]>

const tensorTypes: Readonly<Record<ExportDtype, GgufDtype>> = { f32: 'F32', f16: 'F16', bf16: 'BF16' }

async function writePeft(work: ExportWork): Promise<readonly ParityLine[]> {
  const { folder, adapter, origin, base } = work
  await writeAdapterFiles(folder, { ...adapter, metadata: provenanceTexts(origin) })
  const readBack = adapterForModel(readAdapter(folder), base.config, folder)
  return [adapterLine(adapter, readBack), ...(await compareAdapter(work, readBack, 'F32'))]
}

async function writeGguf(work: ExportWork): Promise<readonly ParityLine[]> {
  const { folder, adapter, origin, base, request } = work
  const file = path.join(folder, 'adapter.gguf')
  const type = tensorTypes[request.dtype ?? 'f32']
  const name = path.basename(request.out)
  writeGgufLora(file, { adapter, model: base.config, dtype: type, name, provenance: provenanceTexts(origin) })
  const readBack = readGgufLora(file, base.config)
  return compareAdapter(work, readBack, type)
}

/** The products in f64, and the policy with the adapter that was read back in the place of its own. */
async function compareAdapter(
  { base, adapter, live, policy, onProgress }: ExportWork,
  readBack: Adapter,
  type: FloatType,
): Promise<readonly ParityLine[]> {
  onProgress({ phase: 'Computing with what was read back', done: 0, total: null, unit: 'samples' })
  const products = productLine(base.config, { trained: adapter, readBack, type })
  // The policy's own scale is in its graphs: what another file says of it goes into B.
  const factor = loraScale(readBack.config) / loraScale(adapter.config)
  const scaled = readBack.tensors.map((tensor) =>
    tensor.name.endsWith('.lora_B')
      ? { ...tensor, data: tensor.data.map((value) => factor * value) }
      : tensor,
  )
  policy.restoreAdapter('actor', scaled)
  const limit = logprobLimit(type, live, 2 * adaptedMatrices(base.config, adapter.config))
  return [products, ...(await compareAnswers(live, policyReader(policy, 'actor'), limit))]
}

async function writeMerged(work: ExportWork): Promise<readonly ParityLine[]> {
  const { folder, scratch, base, adapter, origin, request, live, onProgress } = work
  const dtype = request.dtype === 'f32' ? 'f32' : null
  const plan = planMerge(base, adapter, { dtype, shardBytes: request.shardBytes })
  // Reading back needs the model once more in f32.
  const elements = [...base.tensors.values()].reduce(
    (sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1),
    0,
  )
  requireRoom(folder, plan.totalBytes + 4 * elements)
  const names = await copyCompanions(base.directory, folder)
  if (dtype === 'f32' && names.includes('config.json')) nameDtype(folder, 'float32')
  await writeMergedWeights(folder, plan, {
    provenance: provenanceTexts(origin),
    onProgress: (done) => onProgress({ phase: 'Writing', done, total: plan.totalBytes, unit: 'bytes' }),
  })
  onProgress({ phase: 'Comparing weights', done: 0, total: null, unit: 'tensors' })
  const merged = openModelFolder(folder, { contextLength: request.contextLength })
  const lines = mergedLines(base, merged, adapter)
  const types = new Set([...merged.tensors.values()].map((tensor) => tensor.dtype as FloatType))
  const [type] = (['BF16', 'F16', 'F32'] as const).filter((candidate) => types.has(candidate))
  const limit = logprobLimit(type ?? 'F32', live, adaptedMatrices(base.config, adapter.config))
  try {
    onProgress({ phase: 'Computing with what was read back', done: 0, total: null, unit: 'samples' })
    const source = await asFloat32Source(merged, scratch)
    using policy = await createOrtPolicy({
      source,
      device: defaultDevice(),
      lora: { rank: 1, alpha: 1, rsLora: false, targets: [] },
      loraSeed: 0,
      rolloutPrecision: 'f32',
      activations: 'recompute',
      maxRows: 8,
    })
    return [...lines, ...(await compareAnswers(live, policyReader(policy, 'base'), limit))]
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

async function writeOnnx(work: ExportWork): Promise<readonly ParityLine[]> {
  const { folder, base, source, adapter, request, live, onProgress } = work
  const { adapterInputs } = request
  const plan = planOnnx({ base: source, adapter, adapterInputs })
  requireRoom(folder, plan.totalBytes)
  await copyCompanions(base.directory, folder)
  const model = await writeOnnxModel(folder, plan, (done) =>
    onProgress({ phase: 'Writing', done, total: plan.totalBytes, unit: 'bytes' }),
  )
  writeFileAtomic(path.join(folder, exampleName), onnxExample({ model: base.config, adapterInputs }))
  onProgress({ phase: 'Computing with what was read back', done: 0, total: null, unit: 'samples' })
  const feeds = adapterInputs ? readFeeds(path.join(folder, adapterName)) : {}
  using reader = await graphReader(folder, model, { config: base.config, adapter: feeds })
  return await compareAnswers(live, reader, logprobLimit('F32', live, 0))
}

const readFeeds = (file: string) =>
  Object.fromEntries(
    [...openSafetensors(file, 'adapter/invalid').tensors].map(([name, location]) => [
      name,
      floats(readTensor(location), location.shape),
    ]),
  )

export const formatWriters: Readonly<Record<ExportFormat, FormatWriter>> = {
  peft: writePeft,
  merged: writeMerged,
  gguf: writeGguf,
  onnx: writeOnnx,
}
