/** Exports a checkpoint's adapter, and verifies that the files match what was trained. */
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import { loadCheckpoint } from './checkpoints.ts'
import { readAdapter, writeAdapter } from '#host/adapters/peft.ts'

export interface ExportReport {
  readonly directory: string
  readonly tensors: number
  /** Largest difference between a value of the checkpoint and the same one read back. */
  readonly maxDifference: number
}

/** Writes a PEFT adapter folder and reads it back. Errors: AppError 'checkpoint/invalid', 'file/unwritable'. */
export async function exportPeft(checkpoint: string, out: string): Promise<ExportReport> {
  const { lora: config, baseModel, actor, trainer, base } = loadCheckpoint(checkpoint)
  const directory = path.resolve(out)
  const learnedOn = base === undefined ? {} : { base }
  const metadata = { step: `${trainer.step}` }
  await writeAdapter(directory, { config, baseModel, tensors: actor, metadata, ...learnedOn })
  const written = new Map(readAdapter(directory).tensors.map(({ name, data }) => [name, data]))
  let maxDifference = 0
  for (const { name, data } of actor) {
    const copy = written.get(name)
    if (copy?.length !== data.length)
      throw new AppError('file/unwritable', `${directory} lacks ${name} after writing.`)
    data.forEach((value, index) => {
      maxDifference = Math.max(maxDifference, Math.abs(value - (copy[index] ?? Infinity)))
    })
  }
  return { directory, tensors: actor.length, maxDifference }
}
