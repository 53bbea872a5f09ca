import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createChatTemplate, type ChatTemplate, type ChatTemplateFiles } from '#engine/text/chatTemplate.ts'
import { createTokenizer, type Tokenizer, type TokenizerFiles } from '#engine/text/tokenizer.ts'
import { AppError, invalidData } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import { requirePart } from '#host/files/ownFiles.ts'
import { readJsonObject, readSmallFile } from '#host/files/strictJson.ts'
import { ggufFileOf } from '#host/gguf/ggufModel.ts'
import { openGguf } from '#host/gguf/ggufReader.ts'
import { ggufTokenizer } from '#host/gguf/ggufTokenizer.ts'
import type { ModelFolder } from './modelFolder.ts'

export interface LoadedTokenizer {
  readonly tokenizer: Tokenizer
  /** `null` where the model came without one: it then takes plain prompts only. */
  readonly chatTemplate: ChatTemplate | null
  /** Sentences on a mismatch of tokenizer and model; absent if there is none. */
  readonly notes?: readonly string[]
}

const mebibyte = 1024 * 1024
/** The largest published tokenizer.json files are about 35 MB. */
const maxBytes = { tokenizer: 128 * mebibyte, config: 16 * mebibyte, template: mebibyte }

/**
 * The tokenizer and chat template of a Hugging Face model folder or a GGUF file. Errors: 'file/unreadable',
 * 'tokenizer/invalid', 'model/…' for a GGUF file that is damaged or whose tokenizer is not known.
 */
export function loadTokenizer(directory: string): LoadedTokenizer {
  const gguf = ggufFileOf(directory)
  if (gguf !== null) return tokenizerOfGguf(gguf)
  const files = textFiles(directory)
  const tokenizer = createTokenizer({ ...files, where: join(directory, tokenizerName) })
  const rows = existsSync(join(directory, configName))
    ? readJsonObject(join(directory, configName), 'model/invalid')['vocab_size']
    : null
  return {
    ...(typeof rows === 'number' ? withRows(tokenizer, rows, directory) : { tokenizer }),
    chatTemplate: createChatTemplate(files),
  }
}

const configName = 'config.json'

/**
 * The tokenizer of a model whose embedding has `rows` rows: a token that was added without one is known by its text, but the
 * model cannot read it. Encoding such a text is refused. Errors then: AppError 'data/invalid', naming the token.
 */
function withRows(tokenizer: Tokenizer, rows: number, where: string): Omit<LoadedTokenizer, 'chatTemplate'> {
  const ids = Array.from({ length: Math.max(0, tokenizer.vocabSize - rows) }, (_, index) => rows + index)
  const missing = ids.map((id) => tokenizer.idToToken(id)).filter((token) => token !== null)
  if (missing.length === 0) return { tokenizer }
  const encode: Tokenizer['encode'] = (text, options) => {
    const found = tokenizer.encode(text, options)
    const beyond = found.find((id) => id >= rows)
    if (beyond === undefined) return found
    throw invalidData(
      `A text has the token “${tokenizer.idToToken(beyond) ?? beyond}” (id ${beyond}), but the embedding of ${where} ends at id ${rows - 1}.`,
      'Leave the token out of the rows, messages and chat template, or give the model a row for it (resize_token_embeddings in transformers).',
    )
  }
  const named = missing.slice(0, maxNamed).map((token) => `“${shorten(token)}”`)
  const more = missing.length > maxNamed ? ` and ${missing.length - maxNamed} more` : ''
  const subject = missing.length === 1 ? 'token has' : 'tokens have'
  const note = `${missing.length} ${subject} no row in the embedding, so that no text may have them: ${named.join(', ')}${more}.`
  return { tokenizer: { ...tokenizer, encode }, notes: [note] }
}

const maxNamed = 5

/** Returns sentences on the tokenizer of an imported model. Errors: as `loadTokenizer`. */
export const modelNotes = ({ notes, directory, tokenizerFile }: ModelFolder): readonly string[] => [
  ...notes,
  ...(tokenizerFile === null ? [noTextNote(directory)] : (loadTokenizer(directory).notes ?? [])),
]

/** Sentence on a model without a tokenizer. */
export function noTextNote(directory: string): string {
  const other = ['tokenizer.model', 'vocab.json', 'vocab.txt'].find((name) =>
    existsSync(join(directory, name)),
  )
  const remedy =
    other === undefined
      ? 'Put the model’s tokenizer.json into its folder.'
      : `Its ${other} is not read: transformers writes a tokenizer.json from it (AutoTokenizer.from_pretrained, then save_pretrained).`
  return `No text can be given to the model, which has no tokenizer.json. ${remedy}`
}

const tokenizerName = 'tokenizer.json'

/** The files of a Hugging Face folder that say how texts become tokens, parsed. Errors: as `loadTokenizer`. */
export function textFiles(directory: string): TokenizerFiles & ChatTemplateFiles {
  const [config, template] = ['tokenizer_config.json', 'chat_template.jinja'].map((name) =>
    join(directory, name),
  ) as [string, string]
  requireOwnText(template, directory)
  return {
    tokenizerJson: readJson(join(directory, tokenizerName), maxBytes.tokenizer),
    tokenizerConfig: existsSync(config) ? readJson(config, maxBytes.config) : null,
    templateFile: existsSync(template) ? readText(template, maxBytes.template) : null,
    additionalTemplates: readAdditional(directory),
    where: directory,
  }
}

/**
 * Refuses a file in the folder of a model that is a link to elsewhere, or lies behind one: a copy, or a prompt that its template writes, would
 * hold whatever that leads to. Errors: AppError 'file/unreadable'.
 */
export function requireOwnText(file: string, directory: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) requirePart(file, directory)
}

function tokenizerOfGguf(file: string): LoadedTokenizer {
  const gguf = openGguf(file, 'model/invalid')
  const found = ggufTokenizer(gguf)
  if (found === null) throw new AppError('tokenizer/invalid', `${file} has no tokenizer.`)
  const { tokenizerJson, tokenizerConfig } = found
  const tokenizer = createTokenizer({ tokenizerJson, tokenizerConfig, where: file })
  const [rows] = gguf.tensors.get('token_embd.weight')?.shape ?? []
  return {
    ...(rows === undefined ? { tokenizer } : withRows(tokenizer, rows, file)),
    chatTemplate: createChatTemplate({ tokenizerConfig, templateFile: null, where: file }),
  }
}

/** Folder of the templates beside the usual one. */
export const additionalTemplates = 'additional_chat_templates'
const extension = '.jinja'
/** Far more than any model has. */
const maxTemplates = 32

/** Names the files of templates besides the usual one, such as tool_use.jinja, by their paths in the folder of a model. */
export function additionalTemplateFiles(directory: string): string[] {
  const folder = join(directory, additionalTemplates)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith(extension))
    .map((name) => join(additionalTemplates, name))
    .filter((file) => statSync(join(directory, file), { throwIfNoEntry: false })?.isFile() === true)
    .sort()
    .slice(0, maxTemplates)
}

/** Reads the templates besides the usual one, by name. */
function readAdditional(directory: string): ReadonlyMap<string, string> {
  const texts = additionalTemplateFiles(directory).map((name): [string, string] => {
    const file = join(directory, name)
    requireOwnText(file, directory)
    return [basename(name, extension), readText(file, maxBytes.template)]
  })
  return new Map(texts)
}

/**
 * Parses with the runtime's own parser: these files are tens of megabytes, and their content is checked where it is
 * used.
 */
function readJson(path: string, limit: number): unknown {
  const text = readText(path, limit)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalid(path, 'is not valid JSON, perhaps because of an interrupted download', error)
  }
}

function readText(path: string, limit: number): string {
  const bytes = readSmallFile(path, limit)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw invalid(path, 'is not UTF-8 text', error)
  }
}

function invalid(path: string, fault: string, cause: unknown): AppError {
  return new AppError(
    'tokenizer/invalid',
    `${path} ${fault}.`,
    'Nothing was changed. Download the file again.',
    cause,
  )
}
