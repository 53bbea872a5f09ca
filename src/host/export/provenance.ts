/** Describes what an export was made from, as digests and numbers. */
import { createHash } from 'node:crypto'
import path from 'node:path'
import type { HeldPrecision } from '#shared/precision.ts'
import { loraScale, type LoraConfig } from '#engine/models/config.ts'
import { hashFiles } from '#host/files/contentHash.ts'
import { ggufTexts } from '#host/gguf/ggufModel.ts'
import { licenseOf, type ModelLicense } from '#host/hub/license.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import type { Adapter } from '#host/adapters/peft.ts'
import { isJsonObject, readSmallFile } from '#host/files/strictJson.ts'
import { appVersion } from '#host/dataDirectory.ts'

export interface Provenance {
  readonly turnwise: string
  /** Step of the checkpoint. */
  readonly step: number
  readonly baseModel: string | null
  /** License as it was accepted, or as the model says; null: nothing says. */
  readonly baseLicense: ModelLicense | null
  readonly architecture: string
  /** Precision of the base while the adapter learned. */
  readonly learnedOn: HeldPrecision
  /** Weight files of the base by name. */
  readonly baseSha256: Readonly<Record<string, string>>
  readonly tokenizerSha256: string | null
  readonly chatTemplateSha256: string | null
  readonly lora: LoraConfig & { readonly scale: number }
}

export interface ProvenanceSource {
  readonly base: ModelFolder
  readonly adapter: Adapter
  readonly step: number
  readonly cacheDirectory: string
  readonly onProgress: (readBytes: number, totalBytes: number) => void
}

/** Errors: AppError 'file/unreadable'. */
export async function describeOrigin(source: ProvenanceSource): Promise<Provenance> {
  const { base, adapter, step, cacheDirectory, onProgress } = source
  const hashes = await hashFiles(base.weightFiles, cacheDirectory, { onProgress })
  return {
    turnwise: appVersion(),
    step,
    baseModel: adapter.baseModel,
    baseLicense: licenseOf(base.directory),
    architecture: base.config.architecture,
    learnedOn: adapter.base ?? 'f32',
    baseSha256: Object.fromEntries(
      base.weightFiles.map((file, index) => [path.basename(file), hashes[index] ?? '']),
    ),
    ...textDigests(base),
    lora: { ...adapter.config, scale: loraScale(adapter.config) },
  }
}

const maxBytes = 128 * 1024 * 1024

const sha256 = (content: Uint8Array | string): string => createHash('sha256').update(content).digest('hex')

function textDigests(base: ModelFolder): Pick<Provenance, 'tokenizerSha256' | 'chatTemplateSha256'> {
  const { tokenizerFile } = base
  if (tokenizerFile === null) return { tokenizerSha256: null, chatTemplateSha256: templateDigest(base) }
  if (tokenizerFile !== base.configFile) {
    const tokenizerSha256 = sha256(readSmallFile(tokenizerFile, maxBytes))
    return { tokenizerSha256, chatTemplateSha256: templateDigest(base) }
  }
  const texts = ggufTexts(tokenizerFile)
  const template = texts.get('chat_template.jinja')
  return {
    tokenizerSha256: sha256(texts.get('tokenizer.json') ?? ''),
    chatTemplateSha256: template === undefined ? null : sha256(template),
  }
}

/** Digests the template's own file, or the text in the tokenizer's config. */
function templateDigest({ chatTemplateFile, tokenizerConfigFile }: ModelFolder): string | null {
  if (chatTemplateFile !== null) return sha256(readSmallFile(chatTemplateFile, maxBytes))
  if (tokenizerConfigFile === null) return null
  // The runtime's own parser, as where the tokenizer is loaded.
  const text = Buffer.from(readSmallFile(tokenizerConfigFile, maxBytes)).toString('utf8')
  const document: unknown = JSON.parse(text)
  const template = isJsonObject(document) ? document['chat_template'] : undefined
  if (template === undefined || template === null) return null
  return sha256(typeof template === 'string' ? template : JSON.stringify(template))
}

/** Returns the provenance as the texts that file formats keep beside their tensors. */
export function provenanceTexts({ turnwise, step, baseSha256, ...rest }: Provenance): Record<string, string> {
  return {
    turnwise_version: turnwise,
    step: String(step),
    base_sha256: Object.values(baseSha256).join(','),
    ...(rest.baseLicense === null ? {} : { base_license: rest.baseLicense.name }),
    ...(rest.tokenizerSha256 === null ? {} : { tokenizer_sha256: rest.tokenizerSha256 }),
    ...(rest.chatTemplateSha256 === null ? {} : { chat_template_sha256: rest.chatTemplateSha256 }),
  }
}
