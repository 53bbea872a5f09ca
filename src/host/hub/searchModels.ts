/** Search of a hub's models. What the hub says is checked like any foreign file, and each model is judged by its summary. */
import { listModels } from '@huggingface/hub'
import { z } from 'zod'
import { AppError } from '#shared/errors.ts'
import type { Api } from '#shared/api/api.ts'
import type { InputOf, OutputOf } from '#shared/api/contract.ts'
import { architectures, readModelType } from '#engine/models/registry.ts'
import { isHubId } from '#host/adapters/peftConfig.ts'
import { ggufArchitecture } from '#host/gguf/ggufConfig.ts'
import { licenseOfCard } from './card.ts'
import { askedHub, clientOf, type HubAccess } from './hub.ts'

/** Model families that can be searched for: every one that is supported. */
export const families: readonly string[] = architectures.map(({ modelType }) => modelType)

type Answer = OutputOf<Api, 'hub.search'>
type Found = Answer['models'][number]

const total = z
  .looseObject({ total: z.int().min(0) })
  .nullish()
  .catch(null)

/** An entry of the hub's list; fields of an unexpected form count as absent. */
const entrySchema = z.object({
  name: z.string().refine(isHubId),
  downloads: z.int().min(0).catch(0),
  gated: z.union([z.boolean(), z.string()]).catch(false),
  /** A summary of config.json: its type, its classes, and how its weights are quantised. */
  config: z.record(z.string(), z.unknown()).nullish().catch(null),
  cardData: z.record(z.string(), z.unknown()).nullish().catch(null),
  safetensors: total,
  gguf: z
    .looseObject({ architecture: z.string(), total: z.int().min(0) })
    .nullish()
    .catch(null),
  filePaths: z.array(z.string()).catch([]),
})
type Entry = z.output<typeof entrySchema>

/** Most that is looked at: one request. */
const maxListed = 100

const fields = ['config', 'cardData', 'safetensors', 'filePaths'] as const

/** Errors: AppError 'api/disconnected', 'api/cancelled'. */
export async function searchModels(
  { words, family, license, maxParameters = Infinity, onlyUsable }: InputOf<Api, 'hub.search'>,
  access: HubAccess,
): Promise<Answer> {
  const tags = [family, license === undefined ? undefined : `license:${license}`]
  const request = {
    search: { query: words.trim(), tags: tags.filter((tag) => tag !== undefined) },
    sort: 'downloads' as const,
    limit: maxListed,
    // The hub knows this field of GGUF files, the package's types do not.
    additionalFields: [...fields, 'gguf' as (typeof fields)[number]],
    ...clientOf(access),
  }
  const entries = await askedHub(async () => {
    const listed: unknown[] = []
    for await (const entry of listModels(request)) listed.push(entry)
    return listed
  })
  const models = entries
    .flatMap((entry) => entrySchema.safeParse(entry).data ?? [])
    .map(foundModel)
    .filter(({ parameters }) => (parameters ?? 0) <= maxParameters)
    .filter(({ verdict }) => !onlyUsable || 'family' in verdict)
    .toSorted((a, b) => b.downloads - a.downloads)
  return { models, hasMore: entries.length >= maxListed }
}

function foundModel(entry: Entry): Found {
  const { name: id, downloads, gated, cardData, safetensors, gguf } = entry
  return {
    id,
    downloads,
    isGated: gated !== false,
    license: licenseOfCard(cardData ?? {})?.name ?? null,
    parameters: safetensors?.total ?? gguf?.total ?? null,
    forms: formsOf(entry),
    verdict: verdictOf(entry),
  }
}

function formsOf({ filePaths }: Entry): Found['forms'] {
  const has = (ending: RegExp) => filePaths.some((file) => !file.includes('/') && ending.test(file))
  const isFolder = has(/[.]safetensors$/) && filePaths.includes('config.json')
  return [...(isFolder ? (['safetensors'] as const) : []), ...(has(/[.]gguf$/i) ? (['gguf'] as const) : [])]
}

function verdictOf(entry: Entry): Found['verdict'] {
  const { config, gguf, filePaths } = entry
  const [form] = formsOf(entry)
  if (filePaths.includes('adapter_config.json')) return { problem: 'It is an adapter: get its base model.' }
  if (form === undefined) return { problem: 'It has neither safetensors weights nor a GGUF file.' }
  try {
    if (form === 'safetensors') return { family: readModelType(config ?? {}, 'It') }
    return { family: ggufArchitecture(gguf?.architecture ?? '', 'It').modelType }
  } catch (error) {
    if (error instanceof AppError) return { problem: error.message }
    throw error
  }
}
