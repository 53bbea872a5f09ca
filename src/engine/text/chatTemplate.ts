import { Template as UntypedTemplate } from '@huggingface/jinja'
import { AppError } from '#shared/errors.ts'
import { isRecord } from './pipelineLimits.ts'
import { limitLoops, type SyntaxNode } from './templateLimits.ts'

/** One turn of a conversation, as chat templates expect it; templates may read further fields. */
export interface ChatMessage {
  readonly role: string
  readonly content: string
  readonly [field: string]: unknown
}

export interface RenderOptions {
  /** Ends with the opening of the assistant's turn. */
  readonly addGenerationPrompt: boolean
  /** Leaves the last message open, so that the model goes on with it. */
  readonly continueFinalMessage?: boolean
  /** Descriptions of functions the model may call. */
  readonly tools?: readonly unknown[]
}

export interface ChatTemplate {
  /** Prompt text; encode it without adding special tokens, the template writes them itself. */
  render(messages: readonly ChatMessage[], options: RenderOptions): string
}

export interface ChatTemplateFiles {
  /** Parsed tokenizer_config.json; null where there is none. */
  readonly tokenizerConfig: unknown
  /** Text of chat_template.jinja, which wins over the config; null where there is none. */
  readonly templateFile: string | null
  /** Named in every error. */
  readonly where: string
}

/** What is used of the library, whose own types do not resolve under Node's module rules. */
const Template = UntypedTemplate as unknown as new (source: string) => {
  readonly parsed: SyntaxNode
  render(variables: Readonly<Record<string, unknown>>): string
}

const maxTemplateLength = 400_000

/** The model's chat template, `null` when it has none. Errors: `tokenizer/invalid`. */
export function createChatTemplate({
  tokenizerConfig,
  templateFile,
  where,
}: ChatTemplateFiles): ChatTemplate | null {
  const config = isRecord(tokenizerConfig) ? tokenizerConfig : {}
  const source = templateFile ?? namedTemplate(config['chat_template'], where)
  if (source === null) return null
  if (source.length > maxTemplateLength) throw templateInvalid(where, `it has ${source.length} characters`)
  const program = parseTemplate(source, where)
  const tokens = specialTokens(config)
  const renderText = (
    messages: readonly ChatMessage[],
    options: RenderOptions,
    addGenerationPrompt: boolean,
  ) => {
    try {
      return program({
        ...tokens,
        messages,
        add_generation_prompt: addGenerationPrompt,
        ...(options.tools === undefined ? {} : { tools: options.tools }),
      })
    } catch (error) {
      throw templateInvalid(where, `it refused these messages: ${sentenceOf(error)}`, error)
    }
  }
  return {
    render(messages, options) {
      if (options.continueFinalMessage !== true)
        return renderText(messages, options, options.addGenerationPrompt)
      return upToFinalContent(messages, renderText(messages, options, false), where)
    },
  }
}

type Program = (variables: Readonly<Record<string, unknown>>) => string

function parseTemplate(source: string, where: string): Program {
  try {
    const template = new Template(source)
    const limits = limitLoops(template.parsed)
    return (variables) => template.render({ ...variables, ...limits() })
  } catch (error) {
    throw templateInvalid(where, `it could not be parsed: ${sentenceOf(error)}`, error)
  }
}

/** A string, or a list of named templates, of which the one called "default" counts. */
function namedTemplate(value: unknown, where: string): string | null {
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return value
  const entries: unknown[] = Array.isArray(value) ? value : []
  const named = entries.filter(isRecord)
  const chosen = named.find(({ name }) => name === 'default') ?? named[0]
  if (typeof chosen?.['template'] === 'string') return chosen['template']
  throw templateInvalid(where, 'chat_template is neither a text nor a list of named templates')
}

/** bos_token and its like, which templates write out; a missing one is the empty text. */
function specialTokens(config: Readonly<Record<string, unknown>>): Record<string, string> {
  const names = ['bos_token', 'eos_token', 'pad_token', 'unk_token']
  return Object.fromEntries(
    names.map((name) => {
      const value = config[name]
      const text = isRecord(value) ? value['content'] : value
      return [name, typeof text === 'string' ? text : '']
    }),
  )
}

/** Cuts what the template wrote after the last message, as Hugging Face's `continue_final_message` does. */
function upToFinalContent(messages: readonly ChatMessage[], text: string, where: string): string {
  const content = messages.at(-1)?.content.trim() ?? ''
  const found = text.lastIndexOf(content)
  if (messages.length === 0 || found < 0) {
    throw templateInvalid(where, 'it does not write the last message, which therefore cannot be continued')
  }
  return text.slice(0, found + content.length)
}

const sentenceOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, 200)

function templateInvalid(where: string, fault: string, cause?: unknown): AppError {
  return new AppError(
    'tokenizer/invalid',
    `The chat template of ${where} cannot be used: ${fault}.`,
    'Nothing was changed. Use plain prompts instead of messages, or put a working chat_template.jinja beside the model.',
    cause,
  )
}
