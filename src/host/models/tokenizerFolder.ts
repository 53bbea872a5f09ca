import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createChatTemplate, type ChatTemplate, type ChatTemplateFiles } from '#engine/text/chatTemplate.ts'
import { createTokenizer, type Tokenizer, type TokenizerFiles } from '#engine/text/tokenizer.ts'
import { AppError } from '#shared/errors.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import { ggufFileOf } from '#host/gguf/ggufModel.ts'
import { openGguf } from '#host/gguf/ggufReader.ts'
import { ggufTokenizer } from '#host/gguf/ggufTokenizer.ts'

export interface LoadedTokenizer {
  readonly tokenizer: Tokenizer
  /** `null` where the model came without one: it then takes plain prompts only. */
  readonly chatTemplate: ChatTemplate | null
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
  return {
    tokenizer: createTokenizer({ ...files, where: join(directory, tokenizerName) }),
    chatTemplate: createChatTemplate(files),
  }
}

const tokenizerName = 'tokenizer.json'

/** The files of a Hugging Face folder that say how texts become tokens, parsed. Errors: as `loadTokenizer`. */
export function textFiles(directory: string): TokenizerFiles & ChatTemplateFiles {
  const [config, template] = ['tokenizer_config.json', 'chat_template.jinja'].map((name) =>
    join(directory, name),
  ) as [string, string]
  return {
    tokenizerJson: readJson(join(directory, tokenizerName), maxBytes.tokenizer),
    tokenizerConfig: existsSync(config) ? readJson(config, maxBytes.config) : null,
    templateFile: existsSync(template) ? readText(template, maxBytes.template) : null,
    additionalTemplates: readAdditional(join(directory, 'additional_chat_templates')),
    where: directory,
  }
}

function tokenizerOfGguf(file: string): LoadedTokenizer {
  const found = ggufTokenizer(openGguf(file, 'model/invalid'))
  if (found === null) throw new AppError('tokenizer/invalid', `${file} has no tokenizer.`)
  const { tokenizerJson, tokenizerConfig } = found
  return {
    tokenizer: createTokenizer({ tokenizerJson, tokenizerConfig, where: file }),
    chatTemplate: createChatTemplate({ tokenizerConfig, templateFile: null, where: file }),
  }
}

const extension = '.jinja'
/** Far more than any model has. */
const maxTemplates = 32

/** Texts of the templates beside the usual one, such as tool_use.jinja, by their names. */
function readAdditional(directory: string): ReadonlyMap<string, string> {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return new Map()
  const files = readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(extension))
    .map(({ name }) => name)
    .sort()
  const texts = files
    .slice(0, maxTemplates)
    .map((name): [string, string] => [
      name.slice(0, -extension.length),
      readText(join(directory, name), maxBytes.template),
    ])
  return new Map(texts)
}

/** The runtime's own parser: these files are tens of megabytes, and what is in them is checked where it is used. */
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
