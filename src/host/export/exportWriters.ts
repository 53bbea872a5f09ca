/** Writes each format: its files, read back by its own reader, and the comparison. */
import { rmSync } from 'node:fs'
import path from 'node:path'
import { unsupportedModel } from '#shared/errors.ts'
import { loraScale, type ModelConfig } from '#engine/models/config.ts'
import type { ModelSource, TensorDtype, TensorLocation } from '#engine/models/source.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { defaultDevice } from '#engine/runtime/device.ts'
import { floats } from '#engine/runtime/session.ts'
import { writeFileAtomic, AtomicFile } from '#host/files/atomic.ts'
import { ggufTensorBytes, streamGguf } from '#host/gguf/gguf.ts'
import { modelApart } from '#host/gguf/ggufExperts.ts'
import { ggufFileOf } from '#host/gguf/ggufModel.ts'
import { type GgufDtype, readGgufLora, writeGgufLora, encode } from '#host/adapters/ggufLora.ts'
import { type ModelFolder, openModelFolder } from '#host/models/modelFolder.ts'
import { type Adapter, adapterForModel, readAdapter, writeAdapterFiles } from '#host/adapters/peft.ts'
import {
  openSafetensors,
  readTensor,
  dtypeBytes,
  elementCount,
  readFloatPieces,
  readPieces,
} from '#host/files/safetensors.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { copyCompanions, copyLicences, placeOf, type RawTensor, rawTensors } from './baseFiles.ts'
import { requireRoom } from './exportFolder.ts'
import {
  type ExportDtype,
  type ExportFormat,
  type ExportRequest,
  ggufMix,
  type OnExportProgress,
  type ParityLine,
} from './exports.ts'
import { mergedGguf, mergedGgufName } from './ggufMerged.ts'
import { noiseLimits, tokenLine, weightErrors } from './ggufParity.ts'
import { modelfile, modelfileName } from './ollama.ts'
import { exampleName, onnxExample, adapterName, planOnnx, writeOnnxModel } from './onnxModel.ts'
import {
  adaptedMatrices,
  type AnswerLimits,
  compareAnswers,
  type FloatType,
  type LiveAnswers,
  logprobLimit,
  type ParityPrompts,
} from './parity.ts'
import { type Provenance, provenanceTexts } from './provenance.ts'
import { adapterLine, mergedLines, productLine } from './weightParity.ts'
import { graphReader, policyReader } from './parityReaders.ts'
import { compareForWriting, encodeSafetensorsHeader } from '#host/files/safetensorsHeader.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import { addRows, storedDeltas, type WeightDelta } from './loraDelta.ts'

export interface ExportWork {
  readonly request: ExportRequest
  /** Folder for its files; `scratch` below it may be used for what is not kept. */
  readonly folder: string
  readonly scratch: string
  readonly base: ModelFolder
  /** The base in f32. */
  readonly source: ModelSource
  readonly adapter: Adapter
  readonly origin: Provenance
  /** License of the base; null: not stated. */
  readonly license: string | null
  readonly prompts: ParityPrompts
  readonly live: LiveAnswers
  /** The policy that gave those answers; its adapter may be replaced. */
  readonly policy: OrtPolicy
  readonly onProgress: OnExportProgress
}

/** Writes a format's files into the folder, reads them back and compares. */
type FormatWriter = (work: ExportWork) => Promise<readonly ParityLine[]>

/** Types of an adapter's tensors. */
const adapterTypes: Readonly<Partial<Record<ExportDtype, GgufDtype>>> = { f16: 'F16', bf16: 'BF16' }

async function writePeft(work: ExportWork): Promise<readonly ParityLine[]> {
  const { folder, adapter, origin, base } = work
  await writeAdapterFiles(folder, { ...adapter, metadata: provenanceTexts(origin) })
  const readBack = adapterForModel(readAdapter(folder), base.config, folder)
  return [adapterLine(adapter, readBack), ...(await compareAdapter(work, readBack, 'F32'))]
}

async function writeGguf(work: ExportWork): Promise<readonly ParityLine[]> {
  const { folder, adapter, origin, base, request } = work
  const file = path.join(folder, 'adapter.gguf')
  const type = adapterTypes[request.dtype ?? 'f32'] ?? 'F32'
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
  onProgress({ phase: 'Running the exported files', done: 0, total: null, unit: 'samples' })
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
  const limits = { largest: limit, mean: null }
  return [products, ...(await compareAnswers(live, policyReader(policy, 'actor'), limits))]
}

async function writeMerged(work: ExportWork): Promise<readonly ParityLine[]> {
  const { folder, adapter, origin, request, live, onProgress } = work
  const base = storedBase(work)
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
  // Other programs may believe a config that denies the head.
  const denied = /("tie_word_embeddings"\s*:\s*)true/
  if (!base.config.tiedHead) changeConfig(folder, (text) => text.replace(denied, '$1false'))
  await writeMergedWeights(folder, plan, {
    provenance: provenanceTexts(origin),
    onProgress: (done) => onProgress({ phase: 'Writing', done, total: plan.totalBytes, unit: 'bytes' }),
  })
  onProgress({ phase: 'Comparing weights', done: 0, total: null, unit: 'tensors' })
  const merged = openModelFolder(folder, { contextLength: request.contextLength })
  const lines = mergedLines(base, merged, adapter)
  const limit = logprobLimit(loosestType(merged), live, adaptedMatrices(base.config, adapter.config))
  return [...lines, ...(await compareModel(work, merged, { largest: limit, mean: null }))]
}

/** Returns the type that rounds most, among those of a model's tensors that are not block types. */
function loosestType({ tensors }: ModelFolder): FloatType {
  const types = new Set([...tensors.values()].map(({ dtype }) => dtype))
  return (['BF16', 'F16'] as const).find((type) => types.has(type)) ?? 'F32'
}

/** Compares the answers of the written model, opened like any base. */
async function compareModel(
  { scratch, live, onProgress }: ExportWork,
  written: ModelFolder,
  limits: AnswerLimits,
): Promise<readonly ParityLine[]> {
  try {
    onProgress({ phase: 'Running the exported files', done: 0, total: null, unit: 'samples' })
    const source = await asFloat32Source(written, scratch)
    using policy = await createOrtPolicy({
      source,
      device: defaultDevice(),
      lora: { rank: 1, alpha: 1, rsLora: false, targets: [] },
      loraSeed: 0,
      rolloutPrecision: 'f32',
      activations: 'recompute',
      maxRows: 8,
    })
    return await compareAnswers(live, policyReader(policy, 'base'), limits)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

async function writeGgufModel(work: ExportWork): Promise<readonly ParityLine[]> {
  const { folder, adapter, request, license, origin, prompts, live, onProgress } = work
  const base = modelApart(work.base)
  const mix = ggufMix(request.dtype)
  const name = path.basename(request.out)
  const content = mergedGguf({ base, adapter, mix, name, license, origin })
  const total = content.tensors.reduce((sum, tensor) => sum + ggufTensorBytes(tensor), 0)
  // Reading back needs the model once more in f32.
  requireRoom(
    folder,
    total + 4 * [...base.tensors.values()].reduce((sum, { shape }) => sum + elementCount(shape), 0),
  )
  const file = path.join(folder, mergedGgufName)
  await streamGguf(file, content, (done) =>
    onProgress({ phase: 'Writing', done: Math.min(done, total), total, unit: 'bytes' }),
  )
  await copyLicences(base.directory, folder)
  const text = base.tokenizerFile === null ? null : loadTokenizer(base.directory)
  const ollama = modelfile({ file: mergedGgufName, model: base.config, text, license })
  writeFileAtomic(path.join(folder, modelfileName), ollama)
  onProgress({ phase: 'Comparing weights', done: 0, total: null, unit: 'tensors' })
  const written = openModelFolder(file, { contextLength: request.contextLength })
  const errors = weightErrors(base, written, adapter)
  const exact = logprobLimit(loosestType(written), live, matricesOf(base.config))
  const { largest, mean } = noiseLimits(errors, live)
  const limits = { largest: exact + largest, mean: errors.noise === 0 ? null : exact + mean }
  return [...tokenLine(base, file, prompts), ...errors.lines, ...(await compareModel(work, written, limits))]
}

/** Linears, embeddings and the head. */
const matricesOf = ({ layers, linears, tiedHead }: ModelConfig): number =>
  layers * linears.length + (tiedHead ? 1 : 2)

/** Families whose checkpoints stack the experts, which GGUF files have apart. */
const stackedExperts: ReadonlySet<string> = new Set(['granitemoe', 'gpt_oss'])

/** The base as its own files have it; of a GGUF file, which has no bytes that a merged model could keep, in f32. */
function storedBase({ base, source }: ExportWork): ModelFolder {
  if (ggufFileOf(base.directory) === null) return base
  if (base.config.transposedLinears || stackedExperts.has(base.config.architecture)) {
    throw unsupportedModel(
      `The merged model of a GGUF file of ${base.config.architecture} cannot be written.`,
      'Export the adapter, or train on the original folder.',
    )
  }
  return {
    ...base,
    tensors: new Map([...base.tensors.keys()].map((name) => [name, locationOf(source, name)])),
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
  onProgress({ phase: 'Running the exported files', done: 0, total: null, unit: 'samples' })
  const feeds = adapterInputs ? readFeeds(path.join(folder, adapterName)) : {}
  using reader = await graphReader(folder, model, { config: base.config, adapter: feeds })
  return await compareAnswers(live, reader, { largest: logprobLimit('F32', live, 0), mean: null })
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
  'gguf-model': writeGgufModel,
  onnx: writeOnnx,
}

// The base model with an adapter worked into its weights: base + s·B·A, in the base's type, every other byte as it was.

/** A tensor of the merged model: its bytes, and where they come from. */
interface MergedTensor extends Pick<RawTensor, 'name' | 'dtype' | 'shape' | 'byteLength'> {
  readonly source: RawTensor
  /** null: the base's numbers as they are. */
  readonly delta: WeightDelta | null
}

interface MergedPlan {
  readonly shards: readonly (readonly MergedTensor[])[]
  readonly totalBytes: number
}

const isFloat = (dtype: string): dtype is Exclude<TensorDtype, 'U8'> => ['F32', 'F16', 'BF16'].includes(dtype)

interface MergeOptions {
  /** null: each tensor keeps its own. */
  readonly dtype: 'f32' | null
  readonly shardBytes: number
}

/** Plans the place of each tensor before anything is written. */
function planMerge(base: ModelFolder, adapter: Adapter, options: MergeOptions): MergedPlan {
  const deltas = storedDeltas(base.config, adapter.config, adapter.tensors)
  const deltaAt = new Map(
    [...deltas].map(([name, delta]) => [placeOf(locationOf(base, name)), delta] as const),
  )
  const tensors = rawTensors(base).map((source): MergedTensor => {
    const { name, shape } = source
    const widens = options.dtype === 'f32' && isFloat(source.dtype)
    const dtype = widens ? 'F32' : source.dtype
    const byteLength = widens ? elementCount(shape) * dtypeBytes.F32 : source.byteLength
    return { source, name, dtype, shape, byteLength, delta: deltaAt.get(placeOf(source)) ?? null }
  })
  return {
    shards: cutIntoShards(tensors, options.shardBytes),
    totalBytes: tensors.reduce((sum, { byteLength }) => sum + byteLength, 0),
  }
}

function locationOf({ tensors }: ModelSource, name: string): TensorLocation {
  const location = tensors.get(name)
  if (location === undefined) throw new Error(`Expected the model to have ${name}.`)
  return location
}

/** Cuts the tensors into files, in order; a file holds at most `shardBytes`, or one tensor that is larger. */
function cutIntoShards(tensors: readonly MergedTensor[], shardBytes: number): MergedTensor[][] {
  const shards: MergedTensor[][] = []
  let [shard, size]: [MergedTensor[], number] = [[], 0]
  for (const tensor of tensors) {
    if (shard.length > 0 && size + tensor.byteLength > shardBytes) {
      shards.push(shard)
      ;[shard, size] = [[], 0]
    }
    shard.push(tensor)
    size += tensor.byteLength
  }
  return [...shards, shard]
}

const shardName = (index: number, count: number): string => {
  const digits = (value: number) => String(value).padStart(5, '0')
  return count === 1 ? 'model.safetensors' : `model-${digits(index + 1)}-of-${digits(count)}.safetensors`
}

interface MergeWriting {
  /** Provenance kept in the files' metadata. */
  readonly provenance: Readonly<Record<string, string>>
  readonly onProgress: (writtenBytes: number) => void
}

/** Writes the weight files and, for several, their index. Errors: AppError 'file/unwritable', 'file/unreadable'. */
async function writeMergedWeights(
  folder: string,
  { shards, totalBytes }: MergedPlan,
  { provenance, onProgress }: MergeWriting,
): Promise<void> {
  const weightMap: Record<string, string> = {}
  let written = 0
  for (const [index, shard] of shards.entries()) {
    const name = shardName(index, shards.length)
    const tensors = shard.toSorted(compareForWriting)
    using file = new AtomicFile(path.join(folder, name))
    file.write(encodeSafetensorsHeader(tensors, { ...provenance, format: 'pt' }))
    for (const tensor of tensors) {
      for (const piece of mergedPieces(tensor)) file.write(piece)
      written += tensor.byteLength
      onProgress(written)
      await new Promise((resolve) => setImmediate(resolve)) // the progress has to get out
      weightMap[tensor.name] = name
    }
    file.commit()
  }
  if (shards.length === 1) return
  const index = { metadata: { total_size: totalBytes }, weight_map: sortedByKey(weightMap) }
  writeFileAtomic(path.join(folder, 'model.safetensors.index.json'), `${JSON.stringify(index, null, 2)}\n`)
}

const sortedByKey = (map: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)))

const pieceBytes = 1 << 22

/** Yields the bytes of a tensor, a few megabytes at a time. */
function* mergedPieces({ source, dtype, delta }: MergedTensor): Generator<Uint8Array> {
  if (delta === null && dtype === source.dtype) {
    yield* readPieces({ ...source, dtype: 'U8' }, pieceBytes)
    return
  }
  if (!isFloat(source.dtype) || !isFloat(dtype)) throw new Error(`Expected floats, got ${source.dtype}.`)
  const columns = delta?.columns ?? 1
  const rows = Math.max(1, Math.floor(pieceBytes / 4 / columns))
  let row = 0
  for (const piece of readFloatPieces({ ...source, dtype: source.dtype }, rows * columns)) {
    if (delta !== null) addRows(piece, delta, row)
    row += rows
    yield encode(piece, dtype)
  }
}

/** Writes the type of the numbers into config.json; edited as text, since other readers tell 5.0 from 5. */
function nameDtype(folder: string, torchName: string): void {
  const given = /("(?:torch_)?dtype"\s*:\s*)(?:"[^"]*"|null)/g
  changeConfig(folder, (text) =>
    given.test(text)
      ? text.replaceAll(given, `$1"${torchName}"`)
      : text.replace('{', `{\n  "dtype": "${torchName}",`),
  )
}

function changeConfig(folder: string, change: (text: string) => string): void {
  const file = path.join(folder, 'config.json')
  writeFileAtomic(file, change(Buffer.from(readSmallFile(file, maxConfigBytes)).toString('utf8')))
}
const maxConfigBytes = 4 * 1024 * 1024
