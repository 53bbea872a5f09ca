/**
 * Exports a checkpoint's adapter, in the process that has ONNX Runtime: asks the policy as it was trained, writes the
 * format, reads it back by its own reader and asks that, compares. exports.ts is the guide to the formats.
 */
import path from 'node:path'
import { AppError, refusal } from '#shared/errors.ts'
import { defaultDevice } from '#engine/runtime/device.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import type { ModelSource } from '#engine/models/source.ts'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { loadCheckpoint } from '#host/models/checkpoints.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { adapterForModel, type Adapter } from '#host/adapters/peft.ts'
import { share } from '#host/files/permissions.ts'
import { firstNonFinite } from '#host/files/safetensors.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { licenseOf } from '#host/hub/license.ts'
import { hubIdOf } from '#host/models/modelLibrary.ts'
import { exportPeft } from '#host/models/exportAdapter.ts'
import {
  formatProblem,
  optionProblem,
  type ExportReport,
  type ExportRequest,
  type OnExportProgress,
  type ParityLine,
  openBase,
} from './exports.ts'
import { beginFolder, filesBelow, finishFolder, removeUnchecked, requireNewFolder } from './exportFolder.ts'
import { requireOwnTexts } from './baseFiles.ts'
import { parityLine, parityPrompts } from './parity.ts'
import { describeOrigin } from './provenance.ts'
import { askLive, policyReader } from './parityReaders.ts'
import { type ExportWork, formatWriters } from './exportWriters.ts'
import { modelCard } from './modelCard.ts'
import { cardName, exportedNames, reportName } from './outgoing.ts'
import { openIn } from './openIn.ts'

/**
 * Exports completely or not at all. If the files read back differ from what was trained, the folder is called
 * `NAME-failed`, and the report has lines that did not pass. Errors: AppError 'checkpoint/invalid', 'model/…',
 * 'adapter/invalid', 'api/refused' for a format or option that cannot be had, 'file/…'.
 */
export async function exportCheckpoint(
  request: ExportRequest,
  onProgress: OnExportProgress,
): Promise<ExportReport> {
  const checkpoint = loadCheckpoint(request.checkpoint)
  const base = findBase(request)
  if (base === null) return exportAlone(request)
  const problem = optionProblem(request) ?? formatProblem(request.format, base)
  if (problem !== null) throw refusal(problem)
  const { lora: config, actor: tensors } = checkpoint
  const baseModel = checkpoint.baseModel ?? request.hubId ?? hubIdOf(base.directory)
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

/**
 * Finds the base; null: there is none, and the format can do without. Errors: AppError 'model/…', 'file/unreadable'.
 */
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
  const sentence = `The values of ${tensors} tensors. The base model is missing, so no log-probabilities could be compared.`
  const report = { format: 'peft', directory, baseModel: null } as const
  const parity = [parityLine(sentence, maxDifference, 0)]
  writeReport(directory, { format: 'peft', parity })
  share(directory)
  return finishedReport(report, parity)
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
  if (format !== 'peft') requireOwnTexts(base.directory)
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
  const license = licenseOf(base.directory)?.name ?? null
  const texts = { origin, license, prompts }
  const work = { ...texts, request, folder, scratch, base, source, adapter, live, policy, onProgress }
  const parity = await formatWriters[format](work)
  writeReports(work, parity)
  const directory = finishFolder(
    request.out,
    parity.every(({ passed }) => passed),
  )
  return finishedReport({ format, directory, baseModel: adapter.baseModel }, parity)
}

function finishedReport(exported: Parameters<typeof openIn>[0], parity: readonly ParityLine[]): ExportReport {
  const { format, directory } = exported
  const files = filesBelow(directory)
  const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0)
  return { format, directory, sizeBytes, files, parity: [...parity], openIn: openIn(exported) }
}

/**
 * Opens the exact base with the adapter beside it, which is what every other tool will have, also where the run learned
 * on a rounded one.
 */
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
  { request, folder, base, origin, license, live, prompts }: ExportWork,
  parity: readonly ParityLine[],
): void {
  const { format, adapterInputs } = request
  const told = {
    format,
    madeFrom: origin,
    license,
    prompts: prompts.texts ?? prompts.ids.map((ids) => [...ids]),
    adapterEffect: live.adapterEffect,
    parity: [...parity],
  }
  writeReport(folder, told)
  const card = modelCard({ format, model: base.config, origin, adapterInputs, parity })
  writeFileAtomic(path.join(folder, cardName), card)
}

/** Writes the report. It lists the files of the export, so that what is put beside them later does not count as part of it. */
function writeReport(folder: string, told: Pick<ExportReport, 'format' | 'parity'>): void {
  const passed = told.parity.every((line) => line.passed)
  const report = { ...told, passed, files: exportedNames(folder) }
  writeFileAtomic(path.join(folder, reportName), `${JSON.stringify(report, null, 2)}\n`)
}
