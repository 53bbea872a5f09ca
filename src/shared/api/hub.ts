/** Finding models: recommended ones, and those of a hub, with their requirements and speed on this machine; and sending exports to a hub. */
import { z } from 'zod'
import { deviceKinds } from '../device.ts'
import { blockPrecisions } from '../precision.ts'
import { count, instant, path, progressOr } from './common.ts'
import { query, stream } from './contract.ts'
import { license } from './models.ts'

/** Tokens per second, scaled from what a smaller model reached here. */
const speed = z.object({
  /** Speed with sixteen completions at once. */
  generating: z.number(),
  learning: z.number(),
  device: z.enum(deviceKinds),
  /** Time of the measurement, and the model's number of parameters. */
  measuredAt: instant,
  parameters: count,
})

/** Estimates derived from a model's shape. */
const outlook = z.object({
  family: z.string(),
  parameters: count,
  /** Parameters that a token goes through; fewer where there are experts. */
  activeParameters: count,
  contextLength: count,
  /** Most exact form of its matrices that this machine's memory holds for training; null: not even 4 bits. */
  fits: z.enum(['f32', ...blockPrecisions]).nullable(),
  /** Memory for training an adapter in that form; in 4 bits if none fits. */
  trainingBytes: count,
  /** Null if nothing was measured on this machine, or nothing fits. */
  speed: speed.nullable(),
})

const id = z.string()

const known = outlook.extend({
  id,
  license: z.string(),
  /** True if the hub requires an account that has accepted its terms. */
  isGated: z.boolean(),
  /** Size of the weights. */
  sizeBytes: count,
  goodFor: z.string(),
  /** Name in the list of models, if it is on this machine. */
  localName: z.string().nullable(),
})

const found = z.object({
  id,
  downloads: count,
  isGated: z.boolean(),
  license: z.string().nullable(),
  /** Null: the hub does not say. */
  parameters: count.nullable(),
  /** Formats available for download. */
  forms: z.array(z.enum(['safetensors', 'gguf'])),
  /** Says whether it can be opened here, as far as the hub's summary tells. */
  verdict: z.union([z.object({ family: z.string() }), z.object({ problem: z.string() })]),
})

export const hubApi = {
  /** Returns recommended models without any network request. */
  known: query(z.void(), z.array(known)),
  /** Every supported `model_type`. */
  families: query(z.void(), z.array(z.string())),
  /** Queries the hub; most downloads first, at most a hundred. */
  search: query(
    z.object({
      words: z.string().max(200),
      /** Supported `model_type`. */
      family: z.string().max(50).optional(),
      /** Identifier such as `apache-2.0`. */
      license: z.string().max(100).optional(),
      maxParameters: z.number().positive().optional(),
      onlyUsable: z.boolean().default(false),
    }),
    z.object({
      models: z.array(found),
      /** True if the hub has more results than were examined. */
      hasMore: z.boolean(),
    }),
  ),
  /** Queries the hub for a model's card, files and config, or the header of a GGUF file; nothing is stored. */
  look: query(
    z.object({ address: z.string().min(1).max(500), file: z.string().max(200).nullish() }),
    z.object({
      id,
      commit: z.string(),
      page: z.string(),
      license: license.extend({ text: z.string().nullable() }).nullable(),
      /** `file` null: safetensors weights with config and tokenizer; else a GGUF file. */
      choices: z.array(z.object({ file: z.string().nullable(), sizeBytes: count })),
      /** File that was examined. */
      file: z.string().nullable(),
      verdict: z.union([outlook, z.object({ problem: z.string() })]),
    }),
  ),
  /** Lists what pushing the folder of an export would send; asks nobody. */
  outgoing: query(
    z.object({ directory: path }),
    z.object({
      directory: z.string(),
      hub: z.string(),
      files: z.array(z.object({ path: z.string(), sizeBytes: count })),
      sizeBytes: count,
      /** Names that the model card gives; null: none. */
      baseModel: z.string().nullable(),
      license: z.string().nullable(),
      /** Sentences on what is not known or not sent. */
      notes: z.array(z.string()),
    }),
  ),
  /**
   * Sends the files of an export to a new or empty repository of the hub in the settings. The token is the value of HF_TOKEN, and the person
   * must have allowed it for this hub.
   */
  push: stream(
    z.object({ directory: path, repo: z.string().max(200), isPublic: z.boolean().default(false) }),
    progressOr(z.object({ repo: z.string(), url: z.string(), commit: z.string(), isPublic: z.boolean() })),
  ),
}
