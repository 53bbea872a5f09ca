/**
 * Exports a checkpoint's adapter, in the process that has ONNX Runtime: asks the policy as it was trained, writes the
 * format, reads it back by its own reader and asks that, compares. exports.ts is the guide to the formats.
 */
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import { defaultDevice } from '#engine/runtime/device.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import type { ModelSource } from '#engine/models/source.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { loadCheckpoint } from '#host/runs/checkpoints.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { adapterForModel, type Adapter, peftSnippet } from '#host/adapters/peft.ts'
import { share } from '#host/files/permissions.ts'
import { firstNonFinite } from '#host/files/safetensors.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { hubIdOf } from '#host/models/modelLibrary.ts'
import { isHubId } from '#host/adapters/peftConfig.ts'
import { exportPeft } from './exportAdapter.ts'
import {
  formatProblem,
  optionProblem,
  describeLora,
  type ExportFormat,
  type ExportReport,
  type ExportRequest,
  type OnExportProgress,
  type ParityLine,
  openBase,
} from './exports.ts'
import { beginFolder, filesBelow, finishFolder, removeUnchecked, requireNewFolder } from './exportFolder.ts'
import { parityLine, parityPrompts, type ParityPrompts } from './parity.ts'
import { describeOrigin, type Provenance } from './provenance.ts'
import { askLive, policyReader } from './parityReaders.ts'
import { type ExportWork, formatWriters } from './exportWriters.ts'
import { onnxCard } from './onnxModel.ts'

/**
 * Exports whole or not at all. Where what was read back differs from what was trained the folder is called `NAME-failed`,
 * and the report has lines that did not pass. Errors: AppError 'checkpoint/invalid', 'model/…', 'adapter/invalid',
 * 'api/refused' for a format or option that cannot be had, 'file/…'.
 */
export async function exportCheckpoint(
  request: ExportRequest,
  onProgress: OnExportProgress,
): Promise<ExportReport> {
  const checkpoint = loadCheckpoint(request.checkpoint)
  const base = findBase(request)
  if (base === null) return exportAlone(request)
  const problem = optionProblem(request) ?? formatProblem(request.format, base.config)
  if (problem !== null) throw new AppError('api/refused', problem)
  const { lora: config, actor: tensors } = checkpoint
  const baseModel = checkpoint.baseModel ?? hubIdOf(base.directory)
  const learnedOn = checkpoint.base === undefined ? {} : { base: checkpoint.base }
  const adapter = adapterForModel(
    { config, baseModel, tensors, ...learnedOn },
    base.config,
    request.checkpoint,
  )
  requireNumbers(adapter, request.checkpoint)
  const folder = beginFolder(request.out)
  try {
    const { step } = checkpoint.trainer
    return await exportInto(folder, { request, base, adapter, step, onProgress })
  } finally {
    removeUnchecked(request.out)
  }
}

/** null: there is none, and the format can do without. Errors: AppError 'model/…', 'file/unreadable'. */
function findBase(request: ExportRequest): ModelFolder | null {
  try {
    return openBase(request)
  } catch (error) {
    if (error instanceof AppError && request.format === 'peft') return null
    throw error
  }
}

/** An adapter whose base is not there: its values are compared, no policy can be asked. */
async function exportAlone({ checkpoint, out }: ExportRequest): Promise<ExportReport> {
  requireNewFolder(out)
  const { directory, tensors, maxDifference } = await exportPeft(checkpoint, out)
  share(directory)
  const sentence = `The values of ${tensors} tensors. The base model is missing, so no log-probabilities could be compared.`
  return finishedReport('peft', directory, [parityLine(sentence, maxDifference, 0)])
}

function requireNumbers({ tensors }: Adapter, where: string): void {
  const broken = tensors.find(({ data }) => firstNonFinite(data) !== -1)
  if (broken === undefined) return
  throw new AppError(
    'adapter/invalid',
    `${where} holds a value in “${broken.name}” that is not a finite number.`,
  )
}

interface Exporting extends Pick<ExportWork, 'request' | 'base' | 'adapter' | 'onProgress'> {
  readonly step: number
}

async function exportInto(folder: string, exporting: Exporting): Promise<ExportReport> {
  const { request, base, adapter, step, onProgress } = exporting
  const { cacheDirectory, format } = request
  const reading = (phase: string) => (done: number, total: number) =>
    onProgress({ phase, done, total, unit: 'bytes' })
  const prepare = reading('Preparing the base model')
  const source = await asFloat32Source(base, cacheDirectory, (_, done, total) => prepare(done, total))
  const hashing = { base, adapter, step, cacheDirectory, onProgress: reading('Reading the base model') }
  const origin = await describeOrigin(hashing)
  const prompts = parityPrompts(base)
  using policy = await openLive(source, adapter)
  onProgress({ phase: 'Running the policy', done: 0, total: prompts.ids.length, unit: 'samples' })
  const live = await askLive(policyReader(policy, 'actor'), policyReader(policy, 'base'), prompts)
  const scratch = path.join(folder, '.reading')
  const work = { request, folder, scratch, base, source, adapter, origin, live, policy, onProgress }
  const parity = await formatWriters[format](work)
  writeReports(work, prompts, parity)
  const directory = finishFolder(
    request.out,
    parity.every(({ passed }) => passed),
  )
  return finishedReport(format, directory, parity)
}

function finishedReport(
  format: ExportFormat,
  directory: string,
  parity: readonly ParityLine[],
): ExportReport {
  const files = filesBelow(directory)
  const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0)
  return { format, directory, sizeBytes, files, parity: [...parity] }
}

/** The exact base with the adapter beside it: what every other tool will have, also where the run learned on a rounded one. */
const openLive = (source: ModelSource, { config, tensors }: Adapter): Promise<OrtPolicy> =>
  createOrtPolicy({
    source,
    device: defaultDevice(),
    lora: config,
    loraSeed: 0,
    adapter: tensors,
    rolloutPrecision: 'f32',
    activations: 'recompute',
    maxRows: 8,
  })

function writeReports(
  { request, folder, base, origin, live }: ExportWork,
  prompts: ParityPrompts,
  parity: readonly ParityLine[],
): void {
  const { format, adapterInputs } = request
  const report = {
    format,
    passed: parity.every(({ passed }) => passed),
    madeFrom: origin,
    prompts: prompts.texts ?? prompts.ids.map((ids) => [...ids]),
    adapterEffect: live.adapterEffect,
    parity,
  }
  writeFileAtomic(path.join(folder, 'parity.json'), `${JSON.stringify(report, null, 2)}\n`)
  const card = modelCard({ format, model: base.config, origin, adapterInputs, parity })
  writeFileAtomic(path.join(folder, 'README.md'), card)
}

/* README.md of an export: what it is, how it is used, what it was made from, and what came of reading it back. */

interface CardContent {
  readonly format: ExportFormat
  readonly model: ModelConfig
  readonly origin: Provenance
  readonly adapterInputs: boolean
  readonly parity: readonly ParityLine[]
}

function modelCard(content: CardContent): string {
  const { origin } = content
  return `${frontMatter(content)}
# ${titles[content.format]}

Trained with Turnwise ${origin.turnwise} (step ${origin.step}) on ${baseWords(origin)}: LoRA of ${describeLora(origin.lora)}.${roundingWords(origin)}

${bodies[content.format](content)}
## Read back

${passed(content.parity)} The numbers are in \`parity.json\`, with the digests of what this was made from.

${parityTable(content.parity)}
`
}

/** Other tools have the exact base, and so has the comparison. */
const roundingWords = ({ learnedOn }: Provenance): string =>
  learnedOn === 'f32'
    ? ''
    : ` It was trained on a base quantised to ${learnedOn} blocks; the comparison below uses the exact base, whose outputs differ slightly.`

const titles: Readonly<Record<ExportFormat, string>> = {
  peft: 'LoRA adapter',
  merged: 'Model with the adapter merged in',
  gguf: 'LoRA adapter for llama.cpp',
  onnx: 'ONNX model',
}

const baseWords = ({ baseModel, architecture }: Provenance): string =>
  baseModel !== null && isHubId(baseModel) ? `\`${baseModel}\`` : `a ${architecture} model`

const libraries: Readonly<Record<ExportFormat, string>> = {
  peft: 'peft',
  merged: 'transformers',
  gguf: 'gguf',
  onnx: 'onnx',
}

function frontMatter({ format, origin: { baseModel } }: CardContent): string {
  const base = baseModel !== null && isHubId(baseModel) ? `base_model: ${baseModel}\n` : ''
  return `---
${base}library_name: ${libraries[format]}
pipeline_tag: text-generation
tags:
- lora
- turnwise
---
`
}

const bodies: Readonly<Record<ExportFormat, (content: CardContent) => string>> = {
  peft: ({ origin: { baseModel } }) => peftSnippet(baseModel),
  merged: () => `\`\`\`python
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("path/of/this/folder")
\`\`\`

Each adapted weight is base + s·B·A, added up in f64 and rounded once to the type of the base (nearest, ties to even). All
other tensors, the configs and the tokenizer are those of the base, byte by byte.
`,
  gguf: () => `The base must be the same model as a GGUF file, made by llama.cpp's converter:

\`\`\`sh
llama-cli -m base.gguf --lora adapter.gguf
\`\`\`

For Ollama, a Modelfile with \`FROM ./base.gguf\` and \`ADAPTER ./adapter.gguf\`. On a quantised base the adapter works too,
but what was compared below is the exact one.
`,
  onnx: onnxCard,
}

const passed = (parity: readonly ParityLine[]): string =>
  parity.every((line) => line.passed)
    ? 'The export was read back by its own reader and compared with the trained policy.'
    : '**The export differs from the trained policy. Do not use it.**'

/** A table that says the same as the report in the program. */
const parityTable = (parity: readonly ParityLine[]): string =>
  [
    '| compared | difference | allowed | |',
    '|---|---|---|---|',
    ...parity.map(
      ({ sentence, measured, limit, passed: isPassed }) =>
        `| ${sentence} | ${number(measured)} | ${number(limit)} | ${isPassed ? 'passed' : '**failed**'} |`,
    ),
  ].join('\n')

const number = (value: number): string => String(Number(value.toPrecision(3)))
