/**
 * Models to begin with: resources/models.json, kept by hand. It holds what their makers state; sizes follow from the shape by
 * the reader of config.json, and what they need and do on a machine is computed there.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import type { ModelConfig } from '#engine/models/config.ts'
import { readModelConfig } from '#engine/models/registry.ts'
import { isHubId } from '#host/adapters/peftConfig.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'

const knownModel = z.strictObject({
  id: z.string().refine(isHubId),
  /** Name of the licence, as its card gives it. */
  license: z.string().min(1),
  /** The hub asks for an account that has accepted its terms. */
  isGated: z.boolean(),
  /** Size of its weights on the hub. */
  sizeBytes: z.int().min(1),
  /** One or two sentences. */
  goodFor: z.string().min(1),
  /** The fields of its config.json that sizes and context follow from. */
  shape: z.looseObject({ model_type: z.string() }),
})

const knownModels = z.strictObject({ format: z.literal(1), models: z.array(knownModel).min(1) })

export interface KnownModel extends Omit<z.output<typeof knownModel>, 'shape'> {
  readonly config: ModelConfig
}

/** Errors: whatever is wrong with a list that comes with the program. */
export function readKnownModels(): KnownModel[] {
  const text = readFileSync(path.join(resourcesDirectory, 'models.json'), 'utf8')
  const { models } = knownModels.parse(JSON.parse(text))
  return models.map(({ shape, ...model }) => ({ ...model, config: readModelConfig(shape, model.id) }))
}
