import { plural } from '#shared/plural.ts'
import { AppError } from '#shared/errors.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import { checkpointChoices, resolveCheckpoint } from '#host/runs/runTarget.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import {
  defaultShardBytes,
  exportDtypes,
  exportFormats,
  type ExportProgress,
  type ExportReport,
  baseOfCheckpoint,
} from '#host/export/exports.ts'
import { defineCommand } from '../command.ts'
import { choice, flag, number, requiredText, text, usageError } from '../options.ts'
import type { Output } from '../output.ts'
import { createProgress } from '../progress.ts'

export const exportRun = defineCommand({
  name: 'export',
  summary: 'Export the result of a run, read it back and compare',
  positionals: [
    { name: 'RUN_OR_CHECKPOINT', description: 'Run id, folder of a run, or folder of a checkpoint' },
  ],
  options: {
    format: requiredText(exportFormats.join('|'), 'what to write'),
    out: requiredText('DIR', 'where to write it; new or empty'),
    checkpoint: choice(checkpointChoices, 'which checkpoint of a run', 'last'),
    model: text('MODEL', 'base model, where it is not the one that the run names'),
    dtype: choice(exportDtypes, "type of the numbers (default f32; merged: the base's own)"),
    shardGb: number('GB', 'largest weight file of a merged model', { minimum: 0.001, default: 5 }),
    adapterInputs: flag('onnx: the adapter stays apart, as inputs of the graph'),
  },
  notes: () => [
    'peft: an adapter for transformers, vLLM and SGLang. merged: a model folder of its own. gguf: an adapter for',
    'llama.cpp. onnx: a graph with a cache of keys and values. Each has a report, parity.json.',
  ],
  async run({ options, positionals: [target = ''] }, { dataDirectory, output, json }) {
    const format = exportFormats.find((known) => known === options.format)
    if (format === undefined) {
      throw usageError(
        `The format “${options.format}” cannot be written.`,
        `There are ${exportFormats.join(', ')}.`,
      )
    }
    const { directory: checkpoint, fallBack } = resolveCheckpoint(dataDirectory, target, options.checkpoint)
    if (fallBack !== null) output.note(fallBack)
    const given = options.model === undefined ? null : findModel(options.model, dataDirectory)
    const { out, dtype = null, shardGb, adapterInputs } = options
    const shardBytes = Math.round((shardGb * defaultShardBytes) / 5)
    const { exportCheckpoint } = await import('#host/export/exporting.ts')
    const progress = createProgress(output, json)
    const report = await exportCheckpoint(
      {
        ...{ format, out, dtype, shardBytes, adapterInputs, checkpoint },
        ...baseOfCheckpoint(checkpoint, given),
        cacheDirectory: dataFolders(dataDirectory).cache,
      },
      (news) => progress.update(progressState(news)),
    )
    progress.end()
    tell(report, checkpoint, output)
  },
})

const megabyte = 1e6

const progressState = ({ phase, done, total, unit }: ExportProgress) => {
  const isBytes = unit === 'bytes'
  const amount = (value: number) => (isBytes ? Math.round(value / megabyte) : value)
  return { done: amount(done), total: amount(total ?? done), unit: isBytes ? 'MB' : unit, facts: [phase] }
}

/** Errors: AppError 'checkpoint/invalid' where the export is not what was trained. */
function tell(report: ExportReport, checkpoint: string, output: Output): void {
  const { directory, files, parity, sizeBytes } = report
  const passed = parity.every((line) => line.passed)
  output.json({ checkpoint, passed, ...report })
  output.line(
    `Wrote ${plural(files.length, 'file')}, ${(sizeBytes / megabyte).toFixed(1)} MB, to ${directory}.`,
  )
  for (const line of parity) {
    const difference = `${Number(line.measured.toPrecision(3))}, allowed ${Number(line.limit.toPrecision(3))}`
    output.line(`${line.passed ? 'ok    ' : 'FAILED'}  ${line.sentence} Difference ${difference}.`)
  }
  if (passed) return
  throw new AppError(
    'checkpoint/invalid',
    'What was read back is not what was trained.',
    `Do not use ${directory}; the checkpoint itself is whole.`,
  )
}
