/** Models on this machine, and trying them out with and without what was trained. */
import { z } from 'zod'
import { blockPrecisions, roundedPrecisions } from '../precision.ts'
import { chat, count, cursor, device, instant, path, progressOr, runId } from './common.ts'
import { command, feed, query, stream } from './contract.ts'

/** Its name in the list, or the path of its folder. */
const model = path

/** The program that keeps a model which is used in place. */
export const modelOrigins = ['huggingface', 'lmstudio', 'ollama'] as const
export type ModelOrigin = (typeof modelOrigins)[number]

export const keepers: Readonly<Record<ModelOrigin, string>> = {
  huggingface: 'Hugging Face cache',
  lmstudio: 'LM Studio',
  ollama: 'Ollama',
}

const summary = z.object({
  name: z.string(),
  /** A folder, or a GGUF file. */
  directory: z.string(),
  architecture: z.string(),
  parameters: count,
  sizeBytes: count,
  contextLength: count,
  /** The most exact form of its matrices that this machine's memory holds for training; null: not even in 4 bits. */
  fits: z.enum(['f32', ...blockPrecisions]).nullable(),
})

export const license = z.object({
  /** Such as `apache-2.0`. */
  name: z.string(),
  /** Where its text is. */
  link: z.string().nullable(),
})

/** null: it is in Turnwise's own folder. */
const origin = z.enum(modelOrigins).nullable()

/** A model in the list, or the sentence that says why it cannot be used. */
const listed = z.union([
  summary.extend({ origin, notes: z.array(z.string()).optional() }),
  z.object({ name: z.string(), directory: z.string(), problem: z.string(), origin }),
])

const details = summary.extend({
  layers: count,
  hiddenSize: count,
  vocabulary: count,
  /** Types of the stored weights, such as BF16. */
  dtypes: z.array(z.string()),
  hasChatTemplate: z.boolean(),
  /** Sentences on files that are missing or contradict each other. */
  notes: z.array(z.string()),
  /** As it was accepted, or as the model says; null: nothing says. */
  license: license.extend({ acceptedAt: instant.nullable() }).nullable(),
  /** What it is called on a hub, where that is known. */
  hubId: z.string().nullable(),
  isBuiltIn: z.boolean(),
})

/** An adapter folder, or a checkpoint of a run. */
export const adapter = z.union([z.strictObject({ path }), z.strictObject({ runId, step: count })])

/** The base model, or with an adapter. */
export const candidate = z.object({ model, adapter: adapter.optional() })

/** A folder of the machine that the host runs on, or one whose files were uploaded under one id. */
const folderSource = z.union([z.object({ path }), z.object({ uploadId: z.string() })])
const importName = z.object({ name: z.string().max(100).optional() })

/** The trial of a study that an adapter was promoted from. */
export const adapterOrigin = z.object({
  studyId: z.string(),
  /** Name of the study. */
  study: z.string().nullable(),
  /** From 0. */
  trial: count,
  runId: z.string(),
  step: count,
  metric: z.string(),
  fitness: z.number(),
  /** Folder of the base model. */
  model: z.string(),
  contextLength: count.nullable(),
  promotedAt: instant,
})

export const adapterSummary = z.object({
  name: z.string(),
  directory: z.string(),
  /** Hub id of the model it was trained on, where it says so. */
  baseModel: z.string().nullable(),
  rank: count,
  alpha: z.number(),
  sizeBytes: count,
  /** null: it was imported. */
  origin: adapterOrigin.nullable(),
})
const listedAdapter = z.union([
  adapterSummary,
  z.object({ name: z.string(), directory: z.string(), problem: z.string() }),
])

/** As `PrecisionEffect` of shared/precision.ts. */
const precisionEffect = z.object({
  precision: z.enum(roundedPrecisions),
  tokens: count,
  loss: z.number(),
  mean: z.number(),
  largest: z.number(),
  divergence: z.number(),
  samplerGap: z.number(),
  exactBytes: count,
  roundedBytes: count,
})

export const sampling = z.object({
  /** 0: always the likeliest token. */
  temperature: z.number().min(0).default(1),
  topK: count.default(0),
  topP: z.number().gt(0).max(1).default(1),
  minP: z.number().min(0).max(1).default(0),
  repetitionPenalty: z.number().positive().default(1),
  maxNewTokens: z.int().min(1).max(32_768).default(256),
  stopStrings: z.array(z.string().min(1)).max(20).default([]),
  seed: count.default(42),
})

export const modelsApi = {
  list: query(z.void(), z.array(listed)),
  info: query(z.object({ model }), details),
  /** SHA-256 of everything of it that a run reads, as manifests of runs have it; large weights are read for it once. */
  digest: query(z.object({ model }), z.object({ sha256: z.string() })),
  /**
   * Fetches a model by `owner/name` or the address of its page from the hub of the settings `hub.endpoint` and `hub.token`;
   * what came before is kept. It is an upload then, to be inspected and imported.
   */
  fetch: stream(
    z.object({
      address: z.string().min(1).max(500),
      /** A GGUF file of it; without one its safetensors weights. */
      file: z.string().max(200).nullish(),
      /** Name of the licence that was read and accepted; null: none is stated. Refused where the card says otherwise. */
      license: z.string().nullable(),
    }),
    progressOr(z.object({ uploadId: z.string(), name: z.string() })),
  ),
  /** Looks at a folder before it is imported. */
  inspect: query(folderSource, z.union([details, z.object({ problem: z.string() })])),
  /** Copies a folder into the data directory; an upload is gone then. Without `hubId` that of the folder holds. */
  import: stream(
    z.intersection(folderSource, importName.extend({ hubId: z.string().max(200).nullish() })),
    progressOr(summary),
  ),
  /** Refused while a run that is not finished needs it. */
  delete: command(z.object({ name: z.string() }), z.void()),
  /** Imported and promoted adapters; those of runs are in their checkpoints. A name's folder is what a config calls `adapter.initial`. */
  adapters: query(z.void(), z.array(listedAdapter)),
  /** Checks every tensor and copies the folder into the data directory; an upload is gone then. */
  importAdapter: command(z.intersection(folderSource, importName), adapterSummary),
  /** Refused while a run that is not finished begins with it. */
  deleteAdapter: command(z.object({ name: z.string() }), z.void()),
  /** What rounding its matrices would do to it, one answer for each precision; measured once and then kept. */
  precision: stream(
    z.object({ model, precisions: z.array(z.enum(blockPrecisions)).min(1) }),
    precisionEffect,
  ),
  tokenize: query(
    z.object({ model, text: z.string().max(200_000) }),
    z.array(z.object({ id: count, text: z.string() })),
  ),
  renderChat: query(z.object({ model, messages: chat }), z.object({ text: z.string() })),
  /** Completions side by side from the same seed; `candidate` counts as given, text comes as it is generated. */
  generate: stream(
    z.object({
      candidates: z.array(candidate).min(1).max(4),
      prompt: z.union([
        z.strictObject({ text: z.string().max(200_000) }),
        z.strictObject({ messages: chat }),
      ]),
      samples: z.int().min(1).max(16).default(1),
      sampling: sampling.prefault({}),
      device: device.optional(),
    }),
    z.object({
      candidate: count,
      sample: count,
      /** What was added since the last item of this completion. */
      text: z.string(),
      stopReason: z.string().nullable(),
      tokens: count,
      tokensPerSecond: z.number().nullable(),
    }),
  ),
  watch: feed(z.void(), z.object({ cursor })),
}
