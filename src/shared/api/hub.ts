/** Finding models: the ones that come recommended, and those of a hub; what each would need and do on this machine. */
import { z } from 'zod'
import { deviceKinds } from '../device.ts'
import { blockPrecisions } from '../precision.ts'
import { count, instant } from './common.ts'
import { query } from './contract.ts'
import { license } from './models.ts'

/** Tokens per second, scaled from what a smaller model reached here. */
const speed = z.object({
  /** With sixteen completions at once. */
  generating: z.number(),
  learning: z.number(),
  device: z.enum(deviceKinds),
  /** When it was measured, and with how many parameters. */
  measuredAt: instant,
  parameters: count,
})

/** What follows from a model's shape. */
const outlook = z.object({
  family: z.string(),
  parameters: count,
  contextLength: count,
  /** The most exact form of its matrices that this machine's memory holds for training; null: not even in 4 bits. */
  fits: z.enum(['f32', ...blockPrecisions]).nullable(),
  /** Of training an adapter in that form; in 4 bits where none fits. */
  trainingBytes: count,
  /** null where nothing was measured on this machine, or nothing fits. */
  speed: speed.nullable(),
})

const id = z.string()

const known = outlook.extend({
  id,
  license: z.string(),
  /** The hub asks for an account that has accepted its terms. */
  isGated: z.boolean(),
  /** Of the weights. */
  sizeBytes: count,
  goodFor: z.string(),
  /** Name in the list of models, where it is on this machine. */
  localName: z.string().nullable(),
})

const found = z.object({
  id,
  downloads: count,
  isGated: z.boolean(),
  license: z.string().nullable(),
  /** null: the hub does not say. */
  parameters: count.nullable(),
  /** What can be downloaded of it. */
  forms: z.array(z.enum(['safetensors', 'gguf'])),
  /** Whether it can be opened here, as far as the hub's summary tells. */
  verdict: z.union([z.object({ family: z.string() }), z.object({ problem: z.string() })]),
})

export const hubApi = {
  /** Asks nobody. */
  known: query(z.void(), z.array(known)),
  /** Every supported `model_type`. */
  families: query(z.void(), z.array(z.string())),
  /** Asks the hub; most downloads first, at most a hundred. */
  search: query(
    z.object({
      words: z.string().max(200),
      /** A `model_type` of those supported. */
      family: z.string().max(50).optional(),
      /** An identifier such as `apache-2.0`. */
      license: z.string().max(100).optional(),
      maxParameters: z.number().positive().optional(),
      /** Leaves out what Turnwise cannot open. */
      onlyUsable: z.boolean().default(false),
    }),
    z.object({
      models: z.array(found),
      /** The hub has more than were looked at. */
      hasMore: z.boolean(),
    }),
  ),
  /** Asks the hub for a model's card, files and config, or the header of a GGUF file; nothing is kept. */
  look: query(
    z.object({ address: z.string().min(1).max(500), file: z.string().max(200).nullish() }),
    z.object({
      id,
      commit: z.string(),
      /** Address of its page. */
      page: z.string(),
      license: license.extend({ text: z.string().nullable() }).nullable(),
      /** `file` null: safetensors weights with config and tokenizer; else a GGUF file. */
      choices: z.array(z.object({ file: z.string().nullable(), sizeBytes: count })),
      /** The one that was looked at. */
      file: z.string().nullable(),
      verdict: z.union([outlook, z.object({ problem: z.string() })]),
    }),
  ),
}
