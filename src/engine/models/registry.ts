import { invalidModel, unsupportedModel } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import { type Architecture, refuseUnsupported } from './common.ts'
import type { ModelConfig, ModelNames } from './config.ts'
import { Fields } from './fields.ts'
import { arcee } from './arcee.ts'
import { ernie45 } from './ernie45.ts'
import { exaone4 } from './exaone4.ts'
import { gemma2 } from './gemma2.ts'
import { gemma3 } from './gemma3.ts'
import { gemma4, gemma4Unified } from './gemma4.ts'
import { glm4 } from './glm4.ts'
import { gpt2 } from './gpt2.ts'
import { gptOss } from './gptOss.ts'
import { granite } from './granite.ts'
import { graniteHybrid } from './graniteHybrid.ts'
import { graniteMoe } from './graniteMoe.ts'
import { lfm2 } from './lfm2.ts'
import { hunyuanDense } from './hunyuanDense.ts'
import { llama } from './llama.ts'
import { ministral3 } from './ministral3.ts'
import { mistral } from './mistral.ts'
import { olmo2 } from './olmo2.ts'
import { olmo3 } from './olmo3.ts'
import { olmoe } from './olmoe.ts'
import { phi3 } from './phi3.ts'
import { qwen2 } from './qwen2.ts'
import { qwen3 } from './qwen3.ts'
import { qwen35, qwen35Moe } from './qwen35.ts'
import { qwen3Moe } from './qwen3Moe.ts'
import { seedOss } from './seedOss.ts'
import { smollm3 } from './smollm3.ts'
import { stablelm } from './stablelm.ts'

/** Families of decoders; a new one takes a file in this folder and a line here. */
const families = [
  llama,
  mistral,
  ministral3,
  qwen2,
  qwen3,
  qwen35,
  qwen35Moe,
  qwen3Moe,
  smollm3,
  gemma2,
  gemma3,
  gemma4,
  gemma4Unified,
  phi3,
  olmo2,
  olmo3,
  olmoe,
  exaone4,
  seedOss,
  glm4,
  ernie45,
  granite,
  graniteMoe,
  graniteHybrid,
  hunyuanDense,
  arcee,
  lfm2,
  stablelm,
  gpt2,
  gptOss,
] as const

export type ModelType = (typeof families)[number]['modelType']

export const architectures: readonly (Architecture & { readonly modelType: ModelType })[] = families

const supported = `Supported are ${architectures.map(({ modelType }) => modelType).join(', ')}.`

/** Fields by which kinds of models that are not supported are known, whatever their type. */
const foreignKinds: readonly (readonly [kind: string, keys: readonly string[]])[] = [
  ['a mixture of experts', ['num_experts', 'num_local_experts', 'n_routed_experts']],
  ['reads images', ['vision_config', 'vision_tower']],
  ['processes audio', ['audio_config', 'audio_encoder_config']],
  ['an encoder with a decoder', ['is_encoder_decoder', 'decoder_start_token_id']],
  ['recurrent or state-space layers', ['mamba_d_state', 'state_size', 'ssm_cfg', 'linear_num_value_heads']],
]

/** ` (reads images)`, if that is known. */
function kindOf(fields: Fields): string {
  const isThere = (key: string) => fields.has(key) && fields.value(key) !== false
  const kind = foreignKinds.find(([, keys]) => keys.some(isThere))?.[0]
  return kind === undefined ? '' : ` (${kind})`
}

/**
 * Reads a Hugging Face config.json for sequences of up to `contextLength` tokens (null: as the model's own positions
 * reach). `where` names the file in errors: AppError 'model/invalid' for nonsense, 'model/unsupported' for a model that
 * would not be computed as its makers meant it, 'config/invalid' for too long a context.
 */
export function readModelConfig(
  json: unknown,
  where: string,
  contextLength: number | null = null,
): ModelConfig {
  const fields = new Fields(json, where)
  const architecture = architectureOf(fields)
  if (architecture.seeing === undefined || !fields.has('text_config')) {
    return architecture.read(fields, contextLength)
  }
  const config = architecture.read(fields.object('text_config'), contextLength)
  return {
    ...config,
    tiedHead: fields.boolean('tie_word_embeddings', config.tiedHead),
    names: namesInside(config.names),
  }
}

/** The names of the text half's tensors beside those for images, which are left aside. */
function namesInside(names: ModelNames): ModelNames {
  const inside = (name: string) => name.replace(/^model\./, 'model.language_model.')
  const { embedding, layers, finalNorm, layerInputs } = names
  return {
    ...names,
    ...(layerInputs && {
      layerInputs: {
        table: inside(layerInputs.table),
        projection: inside(layerInputs.projection),
        norm: inside(layerInputs.norm),
      },
    }),
    embedding: inside(embedding),
    layers: inside(layers),
    finalNorm: inside(finalNorm),
  }
}

/**
 * The family that a config.json, or a summary of one without sizes, is of. Errors: AppError 'model/invalid' where it does
 * not say, 'model/unsupported' as far as the type alone tells.
 */
export function readModelType(json: unknown, where: string): ModelType {
  const fields = new Fields(json, where)
  const { modelType, mixes, packing } = architectureOf(fields)
  refuseUnsupported(fields, mixes, packing)
  return modelType
}

const classesOf = ({ className, seeing }: Architecture): string[] =>
  seeing === undefined ? [className] : [className, seeing.className]

function architectureOf(fields: Fields): Architecture & { readonly modelType: ModelType } {
  const modelType = fields.text('model_type', '')
  const classNames = fields.texts('architectures')
  const architecture = architectures.find((candidate) =>
    modelType === ''
      ? classesOf(candidate).some((name) => classNames.includes(name))
      : [candidate.modelType, candidate.seeing?.modelType].includes(modelType),
  )
  const named = modelType === '' ? classNames[0] : modelType
  if (named === undefined) {
    throw invalidModel(`${fields.where} does not name its type (“model_type”).`)
  }
  if (!architecture) {
    throw unsupportedModel(
      `${fields.where} is for a model of type “${shorten(named)}”${kindOf(fields)}, which is not supported.`,
      supported,
    )
  }
  if (classNames.length > 0 && !classesOf(architecture).some((name) => classNames.includes(name))) {
    throw unsupportedModel(
      `${fields.where} is for a ${shorten(classNames[0] ?? '')}, not for a ${architecture.className} that generates text.`,
      supported,
    )
  }
  return architecture
}
