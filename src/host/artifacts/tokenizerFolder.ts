import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createChatTemplate, type ChatTemplate } from '#engine/text/chatTemplate.ts'
import { createTokenizer, type Tokenizer } from '#engine/text/tokenizer.ts'
import { AppError } from '#shared/errors.ts'
import { readSmallFile } from './strictJson.ts'

export interface LoadedTokenizer {
  readonly tokenizer: Tokenizer
  /** `null` where the model came without one: it then takes plain prompts only. */
  readonly chatTemplate: ChatTemplate | null
}

const mebibyte = 1024 * 1024
/** The largest published tokenizer.json files are about 35 MB. */
const maxBytes = { tokenizer: 128 * mebibyte, config: 16 * mebibyte, template: mebibyte }

/** The tokenizer and chat template of a Hugging Face model folder. Errors: 'file/unreadable', 'tokenizer/invalid'. */
export function loadTokenizer(directory: string): LoadedTokenizer {
  const paths = {
    tokenizer: join(directory, 'tokenizer.json'),
    config: join(directory, 'tokenizer_config.json'),
    template: join(directory, 'chat_template.jinja'),
  }
  const tokenizerJson = readJson(paths.tokenizer, maxBytes.tokenizer)
  const tokenizerConfig = existsSync(paths.config) ? readJson(paths.config, maxBytes.config) : null
  const templateFile = existsSync(paths.template) ? readText(paths.template, maxBytes.template) : null
  return {
    tokenizer: createTokenizer({ tokenizerJson, tokenizerConfig, where: paths.tokenizer }),
    chatTemplate: createChatTemplate({ tokenizerConfig, templateFile, where: directory }),
  }
}

/** The runtime's own parser: these files are tens of megabytes, and what is in them is checked where it is used. */
function readJson(path: string, limit: number): unknown {
  const text = readText(path, limit)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalid(path, 'is not valid JSON, perhaps because its download was cut short', error)
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
    'Nothing was changed. Get the file again.',
    cause,
  )
}
