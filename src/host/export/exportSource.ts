/** Which base a checkpoint was trained on, as its run says. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { AppError } from '#shared/errors.ts'
import { type ModelFolder, openModelFolder } from '#host/models/modelFolder.ts'
import { runPaths } from '#host/runs/runFolder.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import type { ExportRequest } from './exports.ts'

const trainedOn = z.object({ model: z.string(), contextLength: z.int().nullable().default(null) })

/** The base model of a checkpoint: the given one, the copy in the checkpoint, or that of its run's config; null: nothing says. */
export function baseOfCheckpoint(
  checkpoint: string,
  given: string | null,
): Pick<ExportRequest, 'model' | 'contextLength'> {
  const { model, contextLength } = configOfRun(checkpoint)
  const copy = path.join(checkpoint, 'model')
  const own = existsSync(path.join(copy, 'config.json')) ? copy : null
  return { model: given ?? own ?? model, contextLength }
}

/** What the config says of the run that the checkpoint lies in. */
function configOfRun(checkpoint: string): Pick<ExportRequest, 'model' | 'contextLength'> {
  const { config } = runPaths(path.dirname(path.dirname(path.resolve(checkpoint))))
  if (!existsSync(config)) return { model: null, contextLength: null }
  const parsed = trainedOn.safeParse(readJsonObject(config, 'config/invalid'))
  return parsed.data ?? { model: null, contextLength: null }
}

/** Errors: AppError 'model/…' or 'file/unreadable' where there is no such base. */
export function openBase({
  model,
  contextLength,
}: Pick<ExportRequest, 'model' | 'contextLength'>): ModelFolder {
  if (model !== null) return openModelFolder(model, { contextLength })
  throw new AppError(
    'model/invalid',
    'Nothing says which model the checkpoint was trained on.',
    'Give the folder of the base model.',
  )
}
