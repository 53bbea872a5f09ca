/** Models on this machine, and trying them with and without adapters. */
import { z } from 'zod'
import { blockPrecisions, roundedPrecisions } from '../precision.ts'
import { chat, count, cursor, device, instant, path, progressOr, runId } from './common.ts'
import { command, feed, query, stream } from './contract.ts'

/** Name in the list, or path of the folder. */
const model = path

/** Programs whose models are used in place. */
export const modelOrigins = ['huggingface', 'lmstudio', 'ollama'] as const
export type ModelOrigin = (typeof modelOrigins)[number]

export const keepers: Readonly<Record<ModelOrigin, string>> = {
  huggingface: 'Hugging Face cache',
  lmstudio: 'LM Studio',
  ollama: 'Ollama',
}

const summary = z.object({
  name: z.string(),
  /** Folder, or GGUF file. */
  directory: z.string(),
  architecture: z.string(),
  parameters: count,
  /** Parameters that a token goes through; fewer where there are experts. */
  activeParameters: count,
  sizeBytes: count,
  contextLength: count,
  /** Most exact form of its matrices that this machine's memory holds for training; null: not even 4 bits. */
  fits: z.enum(['f32', ...blockPrecisions]).nullable(),
})

export const license = z.object({
  /** Identifier such as `apache-2.0`. */
  name: z.string(),
  /** Address of its text. */
  link: z.string().nullable(),
})

/** Null: it is in Turnwise's own folder. */
const origin = z.enum(modelOrigins).nullable()

/** Model in the list, or a sentence on why it cannot be used. */
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
  /** Licence as accepted, or as the model states; null: not stated. */
  license: license.extend({ acceptedAt: instant.nullable() }).nullable(),
  /** Name on a hub, if known. */
  hubId: z.string().nullable(),
  /** Name that its file gives it; null: it gives none. */
  ownName: z.string().nullable(),
  isBuiltIn: z.boolean(),
})

/** Folder of an adapter, or a checkpoint of a run. */
export const adapter = z.union([z.strictObject({ path }), z.strictObject({ runId, step: count })])

/** Base model, alone or with an adapter. */
export const candidate = z.object({ model, adapter: adapter.optional() })

/** Folder on the host's machine, or one whose files were uploaded under one id. */
const folderSource = z.union([z.object({ path }), z.object({ uploadId: z.string() })])
const importName = z.object({ name: z.string().max(100).optional() })

/** Trial of a study that an adapter was promoted from. */
export const adapterOrigin = z.object({
  studyId: z.string(),
  study: z.string().nullable(),
  /** Counted from 0. */
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
  /** Hub id of the model it was trained on, if stated. */
  baseModel: z.string().nullable(),
  rank: count,
  alpha: z.number(),
  sizeBytes: count,
  /** Null: it was imported. */
  origin: adapterOrigin.nullable(),
})
const listedAdapter = z.union([
  adapterSummary,
  z.object({ name: z.string(), directory: z.string(), problem: z.string() }),
])

/** Same as `PrecisionEffect` of shared/precision.ts. */
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
  temperature: z.number().min(0).default(1).meta({
    description: '0 always takes the likeliest token; 1 samples from the model’s own distribution.',
  }),
  topK: count.default(0),
  topP: z.number().gt(0).max(1).default(1).meta({
    label: 'Top-p',
    description: 'Samples from the likeliest tokens whose probabilities add up to this; 1 is all of them.',
  }),
  minP: z.number().min(0).max(1).default(0),
  repetitionPenalty: z.number().positive().default(1),
  maxNewTokens: z.int().min(1).max(32_768).default(256).meta({
    description: 'Answers are truncated at this length, or where the context ends.',
  }),
  stopStrings: z.array(z.string().min(1)).max(20).default([]),
  seed: count.default(42).meta({ description: 'The same seed, prompt and model give the same answer.' }),
})

export const modelsApi = {
  list: query(z.void(), z.array(listed)),
  info: query(z.object({ model }), details),
  /** SHA-256 of everything that a run reads of it, as in manifests of runs; large weights are read once. */
  digest: query(z.object({ model }), z.object({ sha256: z.string() })),
  /**
   * Downloads a model by `owner/name` or the address of its page from the hub of the settings `hub.endpoint` and
   * `hub.token`, keeping partial downloads. The result is an upload, to be inspected and imported.
   */
  fetch: stream(
    z.object({
      address: z.string().min(1).max(500),
      /** GGUF file; without one, the safetensors weights. */
      file: z.string().max(200).nullish(),
      /** Name of the accepted licence; null: none is stated. Refused if the card says otherwise. */
      license: z.string().nullable(),
    }),
    progressOr(z.object({ uploadId: z.string(), name: z.string() })),
  ),
  /** Inspects a folder before it is imported. */
  inspect: query(folderSource, z.union([details, z.object({ problem: z.string() })])),
  /**
   * Copies a folder into the data directory and removes an upload. Without `hubId`, the one stated in the folder applies.
   */
  import: stream(
    z.intersection(folderSource, importName.extend({ hubId: z.string().max(200).nullish() })),
    progressOr(summary),
  ),
  /** Refused while an unfinished run needs it. */
  delete: command(z.object({ name: z.string() }), z.void()),
  /** Imported and promoted adapters; those of runs are in checkpoints. Configs refer to the folder as `adapter.initial`. */
  adapters: query(z.void(), z.array(listedAdapter)),
  /** Checks every tensor, copies the folder into the data directory and removes an upload. */
  importAdapter: command(z.intersection(folderSource, importName), adapterSummary),
  /** Refused while an unfinished run starts from it. */
  deleteAdapter: command(z.object({ name: z.string() }), z.void()),
  /** Effect of rounding its matrices, one answer per precision; measured once and then stored. */
  precision: stream(
    z.object({ model, precisions: z.array(z.enum(blockPrecisions)).min(1) }),
    precisionEffect,
  ),
  tokenize: query(
    z.object({ model, text: z.string().max(200_000) }),
    z.array(z.object({ id: count, text: z.string() })),
  ),
  renderChat: query(z.object({ model, messages: chat }), z.object({ text: z.string() })),
  /**
   * Completions side by side from the same seed; `candidate` is an index into the candidates given, text arrives as it
   * is generated.
   */
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
      /** Text added since the last item of this completion. */
      text: z.string(),
      stopReason: z.string().nullable(),
      tokens: count,
      tokensPerSecond: z.number().nullable(),
    }),
  ),
  watch: feed(z.void(), z.object({ cursor })),
}
