/**
 * Calls of functions in a model's answer. Each family writes them in a form of its own, which is recognised from the text of its
 * chat template, never from the model's name. What is not written exactly in that form is no call: the answer is text then.
 *
 * Checked against transformers' `parse_response` with the response templates of TRL and, where it has none, with templates that
 * do what vLLM's parser of the family does (tests/fixtures/tools/make.py).
 */
import { invalidData } from '#shared/errors.ts'
import { exactText, parsedWithMarks } from '#shared/exactNumbers.ts'
import { isRecord } from './pipelineLimits.ts'
import { pythonCalls } from './pythonCalls.ts'

export interface ToolCall {
  readonly name: string
  /** Arguments as the JSON text of an object, with every number as the model wrote it. */
  readonly arguments: string
}

export interface CalledAnswer {
  /** Text beside the calls. */
  readonly content: string
  readonly calls: readonly ToolCall[]
}

export interface ToolForm {
  readonly id: string
  /** True for a chat template whose models write this form. */
  readonly writes: (template: string) => boolean
  /** Index from which an unfinished text may be part of a call, so that nobody should be told of it yet; its length: nothing may. */
  readonly held: (text: string) => number
  /** `text` with its special tokens, but for the one that ended it. `tools`: as the template was given them. null: it calls none. */
  readonly parse: (text: string, tools: readonly unknown[]) => CalledAnswer | null
}

/** Functions that a prompt offers, for the reading of its answer. */
export interface OfferedTools {
  readonly form: ToolForm
  /** Their descriptions, as the template was given them. */
  readonly tools: readonly unknown[]
  /** Beginning of the answer that stands in the prompt, where it matters: an opening `<think>`. */
  readonly begun: string
}

/** Errors: AppError 'data/invalid' where the template offers none, or in an unknown form. */
export function requireToolForm(template: { readonly toolForm?: ToolForm | null } | null): ToolForm {
  if (template?.toolForm) return template.toolForm
  throw invalidData(
    'The model’s chat template has no tools, or its models call them in a form that is not known here, so none can be offered.',
    'Leave `tools` out, or choose a model whose template writes calls in one of the forms that docs/guide/tools.md names.',
  )
}

/** `promptEnd`: text of the prompt's last tokens. Errors: as `requireToolForm`. */
export const offeredTools = (
  template: Parameters<typeof requireToolForm>[0],
  tools: readonly unknown[],
  promptEnd: string,
): OfferedTools => ({
  form: requireToolForm(template),
  tools,
  begun: promptEnd.trimEnd().endsWith(thoughts[0]) ? thoughts[0] : '',
})

/** Reads the text and the calls of an answer; null: it calls nothing. `text`: with its special tokens, but for the one that ended it. */
export function readCalls(text: string, { form, tools, begun }: OfferedTools): CalledAnswer | null {
  const answer = form.parse(begun + text, tools)
  return answer && { ...answer, content: answer.content.slice(begun.length).trimStart() }
}

/** Index of an unfinished answer's text from which it may be part of a call. */
export const heldFrom = (text: string, { form, begun }: OfferedTools): number =>
  Math.max(0, form.held(begun + text) - begun.length)

/** Reads the calls that lie between marks; null: this is none. */
type Between = (inner: string, tools: readonly unknown[]) => readonly ToolCall[] | null

/** A name and its arguments; null where the name is no text or the arguments are no object. */
function called(name: unknown, given: unknown): ToolCall | null {
  if (typeof name !== 'string' || name === '' || !isRecord(given) || Array.isArray(given)) return null
  return { name, arguments: exactText(given) ?? JSON.stringify(given) }
}

const allOrNone = (calls: readonly (ToolCall | null)[]): readonly ToolCall[] | null =>
  calls.length > 0 && calls.every((call) => call !== null) ? calls : null

const jsonCall = (value: unknown, argumentsName = 'arguments'): ToolCall | null =>
  isRecord(value) ? called(value['name'], value[argumentsName]) : null

const jsonList: Between = (inner) => {
  const value = parsedWithMarks(inner)
  return Array.isArray(value) ? allOrNone(value.map((each) => jsonCall(each))) : null
}

/** Length of the longest end of a text that may go on to one of the marks. */
function openEnd(text: string, marks: readonly string[]): number {
  const longest = Math.min(text.length, Math.max(...marks.map(({ length }) => length)) - 1)
  for (let length = longest; length > 0; length--)
    if (marks.some((mark) => mark.startsWith(text.slice(-length)))) return length
  return 0
}

type Marks = readonly [open: string, close: string]

const thoughts: Marks = ['<think>', '</think>']

/** Calls that lie between an opening and a closing mark, outside of thoughts; the last may lack its closing mark. */
function marked([open, close]: Marks, read: Between, thought = thoughts): Pick<ToolForm, 'held' | 'parse'> {
  return {
    held(text) {
      const from = nextCall(text, 0, open, thought)
      return from < 0 ? text.length - openEnd(text, [open]) : from
    },
    parse(text, tools) {
      const calls: ToolCall[] = []
      const said: string[] = []
      let at = 0
      for (
        let from = nextCall(text, at, open, thought);
        from >= 0;
        from = nextCall(text, at, open, thought)
      ) {
        said.push(text.slice(at, from))
        const end = text.indexOf(close, from + open.length)
        const found = read(text.slice(from + open.length, end < 0 ? undefined : end), tools)
        if (found === null) return null
        calls.push(...found)
        at = end < 0 ? text.length : end + close.length
      }
      said.push(text.slice(at))
      const content = said.map((each) => each.trim()).filter((each) => each !== '')
      return calls.length === 0 ? null : { content: content.join('\n'), calls }
    },
  }
}

/** Index of the next opening mark that is no part of a thought, from `from` on; −1 if there is none. */
function nextCall(text: string, from: number, open: string, [begin, end]: Marks): number {
  const call = text.indexOf(open, from)
  const thought = call < 0 ? -1 : text.indexOf(begin, from)
  if (thought < 0 || thought > call) return call
  const over = text.indexOf(end, thought)
  return over < 0 ? -1 : nextCall(text, over + end.length, open, [begin, end])
}

/** An answer that is nothing but calls. `begins`: how such an answer starts, blanks left out. */
function whole(begins: readonly string[], read: (text: string) => readonly ToolCall[] | null) {
  return {
    held(text: string): number {
      const start = text.trimStart()
      const mayCall = begins.some((begin) => start.startsWith(begin) || begin.startsWith(start))
      return mayCall ? 0 : text.length
    },
    parse(text: string): CalledAnswer | null {
      const calls = read(text.trim())
      return calls === null || calls.length === 0 ? null : { content: '', calls }
    },
  }
}

const hermes = marked(['<tool_call>', '</tool_call>'], (inner) => {
  const call = jsonCall(parsedWithMarks(inner))
  return call && [call]
})

/* Qwen 3.5 and Qwen3-Coder: parameters as they are, whose types the descriptions of the functions tell. */

const parameter = /\s*<parameter=([^>\n]+)>([\s\S]*?)<\/parameter>/y

const xml = marked(['<tool_call>', '</tool_call>'], (inner, tools) => {
  const [open, name] = /^\s*<function=([^\n>]+)>/.exec(inner) ?? []
  if (open === undefined || name === undefined) return null
  const types = parameterTypes(name, tools)
  const pairs: [string, string][] = []
  parameter.lastIndex = open.length
  let at = open.length
  for (let found = parameter.exec(inner); found !== null; found = parameter.exec(inner)) {
    at = parameter.lastIndex
    pairs.push([found[1]!, typed(found[2]!.trim(), types(found[1]!))])
  }
  if (inner.slice(at).trim() !== '</function>') return null
  const written = [...new Map(pairs)].map(([key, value]) => `${JSON.stringify(key)}:${value}`)
  return [{ name, arguments: `{${written.join(',')}}` }]
})

/** The JSON types of a function's parameters by name, in the order in which they are tried. */
function parameterTypes(name: string, tools: readonly unknown[]): (key: string) => readonly string[] {
  const described = tools.map((tool) =>
    isRecord(tool) && isRecord(tool['function']) ? tool['function'] : tool,
  )
  const tool = described.findLast((each) => isRecord(each) && each['name'] === name)
  const parameters = isRecord(tool) && isRecord(tool['parameters']) ? tool['parameters'] : {}
  const properties = isRecord(parameters['properties']) ? parameters['properties'] : {}
  return (key) => (Object.hasOwn(properties, key) ? typesOf(properties[key]) : [])
}

function typesOf(schema: unknown): string[] {
  if (!isRecord(schema)) return []
  const { type, anyOf, oneOf, nullable } = schema
  const own = [type].flat().filter((each) => typeof each === 'string')
  const choices = [anyOf, oneOf].flatMap((each) => (Array.isArray(each) ? each.flatMap(typesOf) : []))
  return [...own, ...choices, ...(nullable === true && !own.includes('null') ? ['null'] : [])]
}

/** A parameter's text as JSON of the first type that it can be, else as text. */
function typed(text: string, types: readonly string[]): string {
  for (const type of types) {
    const read = readers[type]?.(text) ?? null
    if (read !== null) return read
  }
  return JSON.stringify(text)
}

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const wholeNumber = (text: string): string => String(BigInt(text.replace(/^\+/, '')))

const readers: Readonly<Record<string, (text: string) => string | null>> = {
  integer(text) {
    if (/^[+-]?\d+$/.test(text)) return wholeNumber(text)
    const value = decimal.test(text) ? Number(text) : NaN
    return Number.isInteger(value) ? String(BigInt(value)) : null
  },
  number(text) {
    if (/^[+-]?\d+$/.test(text)) return wholeNumber(text)
    return decimal.test(text) && Number.isFinite(Number(text)) ? String(Number(text)) : null
  },
  boolean: (text) => ({ true: 'true', 1: 'true', false: 'false', 0: 'false' })[text.toLowerCase()] ?? null,
  null: (text) => (text === 'null' || text === 'None' ? 'null' : null),
  object: (text) => jsonOf(text, (value) => isRecord(value) && !Array.isArray(value)),
  array: (text) => jsonOf(text, Array.isArray),
}

function jsonOf(text: string, isOfType: (value: unknown) => boolean): string | null {
  const value = parsedWithMarks(text)
  return isOfType(value) ? (exactText(value) ?? JSON.stringify(value)) : null
}

/* Gemma: JSON whose keys have no quotes and whose texts have marks of their own. */

function gemma(open: string, close: string, quote: string) {
  const thought: Marks = ['<|channel>thought\n', '<channel|>']
  const quoted = new RegExp(`${quote.replaceAll('|', '\\|')}([\\s\\S]*?)${quote.replaceAll('|', '\\|')}`, 'g')
  const read: Between = (inner) => {
    const [, name, body] = /^([\p{L}\p{N}_]+)([\s\S]*)$/u.exec(inner) ?? []
    if (name === undefined || body === undefined || /[\u0001\u0002]/.test(body)) return null
    const texts: string[] = []
    const json = body
      .replaceAll(quoted, (_, text: string) => `\u0001${texts.push(text) - 1}\u0002`)
      .replaceAll(/"(?:\\.|[^"\\])*"|(?<=[{,])(\s*)([\p{L}\p{N}_]+)(\s*):/gu, (each, ...key: string[]) =>
        key[1] === undefined ? each : `${key[0]!}"${key[1]}"${key[2]!}:`,
      )
      .replaceAll(/\u0001(\d+)\u0002/g, (_, index: string) => JSON.stringify(texts[Number(index)]))
    const call = called(name, parsedWithMarks(json))
    return call && [call]
  }
  return marked([`${open}call:`, close], read, thought)
}

/* Mistral: a list after one mark or, in newer models, a mark before each name. */

const mistral: Pick<ToolForm, 'held' | 'parse'> = {
  held(text) {
    const from = text.indexOf('[TOOL_CALLS]')
    return from < 0 ? text.length - openEnd(text, ['[TOOL_CALLS]']) : from
  },
  parse(text) {
    const [content = '', ...parts] = text.split('[TOOL_CALLS]')
    const [first = ''] = parts
    if (parts.length === 1 && first.trimStart().startsWith('[')) {
      const calls = jsonList(first, [])
      return calls && { content: content.trim(), calls }
    }
    const calls = parts.map((part) => {
      const [, name, given] =
        /^\s*([^[{\s]+)\s*(?:\[CALL_ID\][^[]*)?(?:\[ARGS\])?(\s*\{[\s\S]*)$/.exec(part) ?? []
      return given === undefined ? null : called(name, parsedWithMarks(given))
    })
    const all = allOrNone(calls)
    return all && { content: content.trim(), calls: all }
  },
}

/* gpt-oss: messages in channels; a call is one to a recipient. */

const recipients = [
  /^\s*(?:<\|start\|>assistant)?\s*to=functions\.([^\s<]+)<\|channel\|>commentary\s+json$/,
  /^\s*(?:<\|start\|>assistant)?<\|channel\|>commentary\s+to=functions\.([^\s<]+)\s*(?:<\|constrain\|>)?(?:json)?$/,
]
const harmonyMessage = /([\s\S]*?)<\|message\|>([\s\S]*?)(?:<\|end\|>|<\|call\|>|<\|return\|>|$)/y

const harmony: Pick<ToolForm, 'held' | 'parse'> = {
  held: () => 0,
  parse(text) {
    const calls: (ToolCall | null)[] = []
    let content = ''
    harmonyMessage.lastIndex = 0
    while (harmonyMessage.lastIndex < text.trimEnd().length) {
      const found = harmonyMessage.exec(text)
      if (found === null) return null
      const [, head = '', body = ''] = found
      const name = recipients.map((each) => each.exec(head)?.[1]).find((each) => each !== undefined)
      if (name !== undefined) calls.push(called(name, parsedWithMarks(body)))
      else if (head.includes('to=')) return null
      else if (!head.includes('<|channel|>analysis')) content += body
      if (found[0] === '') break
    }
    const all = allOrNone(calls)
    return all && { content: content.trim(), calls: all }
  },
}

const llamaBegin = /^(?:<\|python_tag\|>)?(?=\{"name":\s*"[^"\\]+",\s*"parameters":)/

const llama = whole(['{', '<|python_tag|>'], (text) => {
  const begin = llamaBegin.exec(text)
  const call = begin && jsonCall(parsedWithMarks(text.slice(begin[0].length)), 'parameters')
  return call && [call]
})

const granite = whole(['<|tool_call|>', '<tool_call>', '['], (text) =>
  jsonList(text.replace(/^<\|tool_call\|>/, '').replace(/^<tool_call>/, ''), []),
)

const includes =
  (...parts: readonly string[]) =>
  (template: string): boolean =>
    parts.every((part) => template.includes(part))

/** The forms, the more particular ones first: a template may write a mark that another family has for something else. */
export const toolForms: readonly ToolForm[] = [
  { id: 'harmony', writes: includes('<|channel|>', 'functions.'), ...harmony },
  {
    id: 'gemma',
    writes: includes('<|tool_call>call:'),
    ...gemma('<|tool_call>', '<tool_call|>', '<|"|>'),
  },
  {
    id: 'functiongemma',
    writes: includes('<start_function_call>call:'),
    ...gemma('<start_function_call>', '<end_function_call>', '<escape>'),
  },
  { id: 'mistral', writes: includes('[TOOL_CALLS]'), ...mistral },
  {
    id: 'lfm2',
    writes: includes('<|tool_call_start|>'),
    ...marked(['<|tool_call_start|>', '<|tool_call_end|>'], pythonCalls),
  },
  { id: 'xml', writes: includes('<function=', '<parameter='), ...xml },
  { id: 'granite', writes: includes('<|tool_call|>', '<|start_of_role|>'), ...granite },
  {
    id: 'hermes',
    writes: (template) => template.includes('</tool_call>') && !template.includes('<arg_key>'),
    ...hermes,
  },
  { id: 'pythonic', writes: includes('func_name1('), ...whole(['['], pythonCalls) },
  { id: 'llama', writes: includes('{"name": "', '"parameters": '), ...llama },
]

/** The form that a chat template's models write calls in; null for a template without tools, or of an unknown form. */
export const toolFormOf = (template: string): ToolForm | null =>
  /\btools\b/.test(template) ? (toolForms.find(({ writes }) => writes(template)) ?? null) : null
