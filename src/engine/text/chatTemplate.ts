import { AppError } from '#shared/errors.ts'
import { markedNumber, parsedWithMarks } from '#shared/exactNumbers.ts'
import type { ChatMessage } from '#shared/messages.ts'
import { shorten } from '#shared/plural.ts'
import { isRecord } from './pipelineLimits.ts'
import { Interpreter } from './template/interpreter.ts'
import { chargeSearch, metered } from './template/limits.ts'
import { strip } from './template/methods.ts'
import { globalScope } from './template/scope.ts'
import { type Node, parseTemplate } from './template/expressions.ts'
import { Float, LargeInteger, toValue, type Value } from './template/values.ts'
import { toolFormOf, type ToolForm } from './toolCalls.ts'

/** Switches that a template reads by name, such as `enable_thinking`. */
export type TemplateVariables = Readonly<Record<string, unknown>>

/** Names that every rendering sets itself, so that no switch can have them. */
export const reservedVariables = ['messages', 'tools', 'documents', 'add_generation_prompt'] as const

export interface RenderOptions {
  /** Ends with the opening of the assistant's turn. */
  readonly addGenerationPrompt: boolean
  /** Leaves the last message open, so that the model goes on with it. */
  readonly continueFinalMessage?: boolean
  /** Descriptions of functions the model may call. */
  readonly tools?: readonly unknown[]
  /** Messages, tools and the generation prompt keep their names. */
  readonly variables?: TemplateVariables
  /** The time that the template takes for now; always the same if absent, so that runs can be repeated. */
  readonly now?: Date
}

export interface ChatTemplate {
  /** Prompt text; encode it without adding special tokens, the template writes them itself. */
  render(messages: readonly ChatMessage[], options: RenderOptions): string
  /** Form of the calls that its models write; null or absent: it has no tools, or they are called in an unknown form. */
  readonly toolForm?: ToolForm | null
}

export interface ChatTemplateFiles {
  /** Parsed tokenizer_config.json; null where there is none. */
  readonly tokenizerConfig: unknown
  /** Text of chat_template.jinja, which wins over the config; null where there is none. */
  readonly templateFile: string | null
  /** Texts of additional_chat_templates/NAME.jinja by their names; they win over the config too. */
  readonly additionalTemplates?: ReadonlyMap<string, string>
  /** Named in every error. */
  readonly where: string
}

const maxTemplateLength = 400_000
/** The library's parser takes a time that grows with the square of the longest run of white space. */
const maxSpace = 500

/** The model's chat template, `null` when it has none. Errors: `tokenizer/invalid`. */
export function createChatTemplate(files: ChatTemplateFiles): ChatTemplate | null {
  const { where } = files
  const config = isRecord(files.tokenizerConfig) ? files.tokenizerConfig : {}
  const sources = namedTemplates(files)
  if (sources.size === 0) return null
  const programs = new Map([...sources].map(([name, source]) => [name, parse(source, where)]))
  const tokens = specialTokens(config)
  const renderText = (messages: readonly unknown[], options: RenderOptions): string => {
    const { tools, variables = {} } = options
    const program = (tools !== undefined && programs.get('tool_use')) || programs.get('default')
    if (program === undefined) throw withoutDefault(where, [...sources.keys()])
    try {
      const given = {
        // A variable that is not given is none rather than missing, as in transformers.
        documents: null,
        ...tokens,
        ...variables,
        messages: messages.map((message) => withArguments(withReasoning(message))),
        tools: tools ?? null,
        add_generation_prompt: options.addGenerationPrompt,
      }
      return run(program, given, options.now)
    } catch (error) {
      throw templateInvalid(where, `it refused these messages: ${sentenceOf(error)}`, error)
    }
  }
  return {
    toolForm: toolFormOf(sources.get('tool_use') ?? sources.get('default') ?? ''),
    render(messages, options) {
      if (options.continueFinalMessage !== true) return renderText(messages, options)
      return upToFinalContent(messages, where, (marked) =>
        renderText(marked, { ...options, addGenerationPrompt: false }),
      )
    },
  }
}

function run(program: readonly Node[], variables: Readonly<Record<string, unknown>>, now?: Date): string {
  const values = Object.entries(variables).map(([name, value]): [string, Value] => [name, toValue(value)])
  return metered(() => new Interpreter().render(program, globalScope(new Map(values), now)))
}

/** Error for several templates without a default one; transformers refuses them too. */
const withoutDefault = (where: string, names: readonly string[]): AppError =>
  templateInvalid(where, `its templates are called ${shorten(names.join(', '))}, and none of them “default”`)

/** Jinja reads every kind of line end as a line feed, before anything else. */
const lineEnds = /\r\n?/g

function parse(given: string, where: string): readonly Node[] {
  const source = given.replace(lineEnds, '\n')
  if (source.length > maxTemplateLength) throw templateInvalid(where, `it has ${source.length} characters`)
  if (new RegExp(`\\s{${maxSpace}}`).test(source)) {
    throw templateInvalid(where, `it has more than ${maxSpace} blanks in a row`)
  }
  try {
    return parseTemplate(source)
  } catch (error) {
    const problem = error instanceof RangeError ? 'its parts are nested too deep' : sentenceOf(error)
    throw templateInvalid(where, `it could not be parsed: ${problem}`, error)
  }
}

/** Returns the templates by name; a single one, or the usual one, is called `default`. Errors: `tokenizer/invalid`. */
export function namedTemplates({
  templateFile,
  additionalTemplates,
  tokenizerConfig,
  where,
}: ChatTemplateFiles): ReadonlyMap<string, string> {
  const configured = isRecord(tokenizerConfig) ? tokenizerConfig['chat_template'] : null
  const hasFiles =
    templateFile !== null || (additionalTemplates !== undefined && additionalTemplates.size > 0)
  // Files replace what the config says altogether.
  const templates = new Map(hasFiles ? [] : configuredTemplates(configured, where))
  if (templateFile !== null) templates.set('default', templateFile)
  for (const [name, source] of additionalTemplates ?? []) templates.set(name, source)
  return templates
}

function configuredTemplates(value: unknown, where: string): readonly (readonly [string, string])[] {
  if (value === undefined || value === null) return []
  if (typeof value === 'string') return [['default', value]]
  const entries = (Array.isArray(value) ? value : []).flatMap(
    (entry: unknown): (readonly [string, string])[] => {
      if (!isRecord(entry) || typeof entry['template'] !== 'string') return []
      return [[typeof entry['name'] === 'string' ? entry['name'] : 'default', entry['template']]]
    },
  )
  if (entries.length > 0) return entries
  throw templateInvalid(where, 'chat_template is neither text nor a list of named templates')
}

const tokenNames = ['bos', 'eos', 'unk', 'sep', 'pad', 'cls', 'mask'].map((name) => `${name}_token`)

/** bos_token and its like, which templates write out; one that the config does not name has no value. */
function specialTokens(config: Readonly<Record<string, unknown>>): Record<string, string> {
  const found = tokenNames.flatMap((name): [string, string][] => {
    const value = config[name]
    const text = isRecord(value) ? value['content'] : value
    return typeof text === 'string' ? [[name, text]] : []
  })
  return Object.fromEntries(found)
}

const reasoningFields = ['reasoning_content', 'thinking', 'reasoning'] as const

/** A message's reasoning has had several names; templates find it under the newer ones. */
function withReasoning(message: unknown): unknown {
  if (!isRecord(message)) return message
  const reasoning = reasoningFields
    .map((name) => message[name])
    .find((value) => value !== undefined && value !== null)
  return reasoning === undefined ? message : { thinking: reasoning, ...message, reasoning_content: reasoning }
}

/** Arguments of calls that are JSON text become values, with each number as Python would read it. */
function withArguments(message: unknown): unknown {
  if (!isRecord(message) || !Array.isArray(message['tool_calls'])) return message
  const calls = message['tool_calls'].map((call: unknown) => {
    if (!isRecord(call) || !isRecord(call['function'])) return call
    const { arguments: written } = call['function']
    const read = typeof written === 'string' ? parsedWithMarks(written) : null
    return isRecord(read) ? { ...call, function: { ...call['function'], arguments: exactValue(read) } } : call
  })
  return { ...message, tool_calls: calls }
}

function exactValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(exactValue)
  if (isRecord(value))
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, exactValue(inner)]))
  const number = markedNumber(value)
  if (number === null) return value
  if (!/^-?\d+$/.test(number)) return new Float(Number(number))
  return Number.isSafeInteger(Number(number)) ? Number(number) : new LargeInteger(number)
}

/** Mark at the end of the message to continue; no template writes it by itself. */
const endMark = 'END-OF-THE-MESSAGE-TO-CONTINUE '

/** Cuts what the template wrote after the last message, as transformers' `continue_final_message` does. */
function upToFinalContent(
  messages: readonly ChatMessage[],
  where: string,
  render: (messages: readonly unknown[]) => string,
): string {
  const last = messages.at(-1)
  if (last === undefined) throw templateInvalid(where, 'there is no message to continue')
  const text = render([...messages.slice(0, -1), { ...last, content: last.content + endMark }])
  const end = text.lastIndexOf(endMark.trim())
  if (end < 0 || !holds(text, strip(last.content, null, 'both'), where)) {
    throw templateInvalid(where, 'it omits the last message, which therefore cannot be continued')
  }
  // If the template trims messages, the space at the end of the mark is gone, so the one before it must go too.
  return text.startsWith(endMark, end) ? text.slice(0, end) : strip(text.slice(0, end), null, 'right')
}

/**
 * Returns true if a text contains a part. Both may be of any length and content: the search for a long one in a long
 * one could take hours.
 */
function holds(text: string, part: string, where: string): boolean {
  try {
    return metered(() => (chargeSearch(text, part), text.includes(part)))
  } catch (error) {
    throw templateInvalid(where, `the last message is too long to continue it: ${sentenceOf(error)}`, error)
  }
}

const sentenceOf = (error: unknown): string => shorten(error instanceof Error ? error.message : String(error))

function templateInvalid(where: string, fault: string, cause?: unknown): AppError {
  return new AppError(
    'tokenizer/invalid',
    `The chat template of ${where} cannot be used: ${fault}.`,
    'Nothing was changed. Use plain prompts instead of messages, or put a working chat_template.jinja next to the model.',
    cause,
  )
}
