/** Options of the commands that open a model, and how they are read. */
import { deviceWishes } from '#shared/device.ts'
import { basePrecisions } from '#shared/precision.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import type { OpenModelRequest } from '#host/models/openModel.ts'
import { choice, integer, requiredText, text, type OptionValues } from './options.ts'

export const modelOptions = {
  model: requiredText('MODEL', 'model folder, or a name of model list'),
  adapter: text('DIR', 'PEFT adapter folder, or the folder of a checkpoint'),
  base: choice(basePrecisions, 'what its matrices are held in (default: as the adapter was trained, or f32)'),
  device: choice(deviceWishes, 'where to compute; auto: where it is known to be fastest (default cpu)'),
  context: integer('N', 'longest prompt plus completion (default: as the model’s positions reach)', {
    minimum: 2,
    maximum: 1 << 24,
  }),
  threads: integer('N', 'CPU threads (default: one per physical core)', { minimum: 1, maximum: 1024 }),
} as const

type ModelValues = Omit<OptionValues<typeof modelOptions>, 'adapter' | 'context'> & {
  readonly adapter: string | undefined
  readonly context?: number | undefined
}

/** What `openModel` needs, for exact weights. */
export function openRequest(options: ModelValues, dataDirectory: string): OpenModelRequest {
  return {
    directory: findModel(options.model, dataDirectory),
    adapter: options.adapter ?? null,
    contextLength: options.context ?? null,
    device: { kind: options.device ?? null, threads: options.threads ?? null },
    precision: 'f32',
    base: options.base ?? null,
    maxRows: 1,
    cacheDirectory: dataFolders(dataDirectory).cache,
  }
}
