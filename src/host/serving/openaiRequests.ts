/**
 * Parses requests of clients of OpenAI's API. A parameter that would change the answer and is not supported is refused
 * by name; those that cannot change it are ignored.
 */
import { z } from 'zod'
import { schemaProblems } from '#shared/config/problems.ts'
import { AppError } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import { templateSwitches } from '#shared/config/sections.ts'
import { maxLikeliest } from '#shared/config/settings.ts'
import { reservedVariables, type TemplateVariables } from '#engine/text/chatTemplate.ts'
import type { ChatMessage } from '#shared/messages.ts'
import { isJsonObject, JsonSyntaxError, parseStrictJson, type JsonObject } from '#host/files/strictJson.ts'
import type { Opening } from '#rl/rollout/conversationText.ts'
import type { ServedPrompt, ServedRequest } from './servedProcess.ts'

export const endpoints = ['chat', 'completions'] as const
export type Endpoint = (typeof endpoints)[number]

export interface OpenAiRequest {
  readonly endpoint: Endpoint
  /** Name of the model whose completions are wanted. */
  readonly model: string
  readonly prompts: readonly ServedPrompt[]
  /** Completions of each prompt. */
  readonly samples: number
  readonly seed: number | null
  readonly sampling: ServedRequest['sampling']
  readonly isStreamed: boolean
  /** True if a stream ends with the number of tokens. */
  readonly includesUsage: boolean
  /** True if the log-probabilities of its tokens are wanted. */
  readonly withLogprobs: boolean
  readonly withTokenIds: boolean
  /** Number of top log-probabilities to report at each prompt token; null: no log-probabilities of the prompt. */
  readonly promptLogprobs: number | null
  /** True if completions begin with their prompt's text. */
  readonly echo: boolean
  /** Most calls of tools that an answer may have. */
  readonly mostCalls: number
}

/** A body that is not understood; `param`: which part of it, null where it is the whole. */
export class InvalidRequest extends AppError {
  readonly param: string | null

  constructor(message: string, param: string | null) {
    super('api/invalid', message)
    this.param = param
  }
}

/** Most completions of one request. */
const maxCompletions = 128
const maxTopLogprobs = 20
const maxStops = 16
const maxTools = 128
/** Default limit of OpenAI's API for completions of a text; a chat may go on to the end of the context. */
const textTokens = 16

const common = {
  model: z.string().min(1),
  n: z.int().min(1).max(maxCompletions).nullish(),
  max_tokens: z.int().min(1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  seed: z.int().nullish(),
  stop: z.union([z.string().min(1), z.array(z.string().min(1)).max(maxStops)]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z
    .strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .nullish(),
  // Parameters of vLLM's API.
  top_k: z.int().min(-1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  repetition_penalty: z.number().min(1e-3).max(1e3).nullish(),
  min_tokens: z.int().min(0).nullish(),
  return_token_ids: z.boolean().nullish(),
}

/**
 * Schema of parts of an answer's message that clients send back as they got them, or as their own types fill them in.
 */
const nothing = z.union([z.null(), z.tuple([])]).optional()
const part = z.strictObject({ type: z.literal('text'), text: z.string() })
const call = z.strictObject({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string().min(1), arguments: z.string() }),
  index: z.int().nullish(),
})
const message = z.strictObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(part).min(1)]).nullish(),
  name: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  refusal: nothing,
  annotations: nothing,
  audio: nothing,
  function_call: nothing,
  tool_calls: z.array(call).max(maxTools).nullish(),
  tool_call_id: z.string().nullish(),
  parsed: nothing,
})

const tool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: z.string().min(1).max(64),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
    // No answer is made to fit a schema.
    strict: z.boolean().nullish(),
  }),
})

type Message = z.output<typeof message>

const chatBody = z.strictObject({
  ...common,
  tools: z.array(tool).max(maxTools).nullish(),
  tool_choice: z.union([z.enum(['none', 'auto', 'required']), z.looseObject({})]).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  messages: z.array(message).min(1).max(10_000),
  max_completion_tokens: z.int().min(1).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(maxTopLogprobs).nullish(),
  // Parameters of vLLM's and SGLang's API.
  chat_template_kwargs: templateSwitches.nullish(),
  add_generation_prompt: z.boolean().nullish(),
  continue_final_message: z.boolean().nullish(),
})

const ids = z.array(z.int().min(0)).min(1)
const completionsBody = z.strictObject({
  ...common,
  prompt: z.union([
    z.string(),
    ids,
    z.array(z.string()).min(1).max(maxCompletions),
    z.array(ids).min(1).max(maxCompletions),
  ]),
  logprobs: z.int().min(0).max(maxTopLogprobs).nullish(),
  // A parameter of vLLM's API; 0: of the prompt's own tokens, without the likeliest in their place.
  prompt_logprobs: z.int().min(0).max(maxLikeliest).nullish(),
  echo: z.boolean().nullish(),
})

/** Parameters that no answer depends on. */
const ignored: readonly string[] = [
  'user',
  'metadata',
  'store',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
]

/** Parameters that are not supported, with the values that ask for nothing. */
const neutral: ReadonlyMap<string, readonly unknown[]> = new Map<string, readonly unknown[]>([
  ['presence_penalty', [0]],
  ['frequency_penalty', [0]],
  ['logit_bias', [{}]],
  ['tools', [[]]],
  ['tool_choice', ['none', 'auto']],
  ['parallel_tool_calls', [true, false]],
  ['functions', [[]]],
  ['function_call', ['none', 'auto']],
  ['response_format', [{ type: 'text' }]],
  ['reasoning_effort', ['none']],
  ['verbosity', ['medium']],
  ['modalities', [['text']]],
  ['audio', []],
  ['prediction', []],
  ['web_search_options', []],
  ['suffix', ['']],
  ['best_of', [1]],
])

/** `mostTokens`: of a completion of a text whose request does not say. Errors: `InvalidRequest`. */
export function parseRequest(
  endpoint: Endpoint,
  body: Uint8Array,
  { mostTokens = textTokens } = {},
): OpenAiRequest {
  const given = supported(parseObject(body), endpoint)
  return endpoint === 'chat' ? parseChat(given) : parseCompletions(given, mostTokens)
}

/** Returns the JSON object of a body. Errors: `InvalidRequest`. */
export function parseObject(body: Uint8Array): JsonObject {
  try {
    const document = parseStrictJson(body)
    if (isJsonObject(document)) return document
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    throw new InvalidRequest(`The body is not valid JSON: ${error.message}.`, null)
  }
  throw new InvalidRequest('The body must be a JSON object.', null)
}

/** Returns the body without ignored parameters. */
function supported(body: JsonObject, endpoint: Endpoint): JsonObject {
  const kept = Object.entries(body).filter(([name, value]) => {
    if (ignored.includes(name)) return false
    if (endpoint === 'chat' && Object.hasOwn(chatBody.shape, name)) return true
    const values = neutral.get(name)
    if (values === undefined) return true
    const isNeutral = value === null || values.some((each) => JSON.stringify(each) === JSON.stringify(value))
    if (isNeutral) return false
    throw new InvalidRequest(`\`${name}\` is not supported: leave it out.`, name)
  })
  return Object.fromEntries(kept)
}

/** Returns a body as its schema has it. Errors: `InvalidRequest` that names the parameter. */
export function check<Schema extends z.ZodType>(schema: Schema, body: JsonObject): z.output<Schema> {
  const { success, data, error } = schema.safeParse(body, { reportInput: true })
  if (success) return data
  const [first] = schemaProblems(error.issues)
  if (first === undefined) throw new Error('Expected a reason.')
  const name = shorten(first.path)
  const isUnknown = first.code === 'unknown'
  throw new InvalidRequest(
    isUnknown ? `There is no parameter \`${name}\`.` : `\`${name}\`: ${first.message}`,
    name,
  )
}

function parseChat(given: JsonObject): OpenAiRequest {
  const body = check(chatBody, given)
  const top = body.top_logprobs ?? 0
  if (top > 0 && body.logprobs !== true) {
    throw new InvalidRequest('`top_logprobs` needs `logprobs` to be true.', 'top_logprobs')
  }
  const [variables, tools] = [switchesOf(body), toolsOf(body)]
  const messages = body.messages.map((each, index) => chatMessage(each, body.messages.slice(0, index)))
  return {
    ...shared(body, mostTokensOf(body), top),
    endpoint: 'chat',
    prompts: [{ messages, variables, opening: openingOf(body), ...(tools && { tools }) }],
    withLogprobs: body.logprobs === true,
    promptLogprobs: null,
    echo: false,
    mostCalls: body.parallel_tool_calls === false ? 1 : Infinity,
  }
}

/** Errors: `InvalidRequest` where the two names of the limit have two values. */
function mostTokensOf({ max_completion_tokens: most, max_tokens: older }: z.output<typeof chatBody>): number {
  if (most != null && older != null && most !== older) {
    throw new InvalidRequest(
      `\`max_tokens\` is ${older}, and \`max_completion_tokens\`, which means the same, is ${most}: send one of them.`,
      'max_tokens',
    )
  }
  return most ?? older ?? Infinity
}

/** Descriptions of functions as chat templates read them; null where none are offered. */
function toolsOf({ tools, tool_choice: choice }: z.output<typeof chatBody>): readonly object[] | null {
  if (choice === 'required' || typeof choice === 'object') {
    if (choice !== null)
      throw new InvalidRequest(
        '`tool_choice` is auto or none here: whether a model calls a tool, and which, is left to it.',
        'tool_choice',
      )
  }
  if (choice === 'none' || !tools?.length) return null
  return tools.map(({ type, function: { name, description, parameters } }) => ({
    type,
    function: {
      name,
      ...(description != null && { description }),
      ...(parameters != null && { parameters }),
    },
  }))
}

function switchesOf({ chat_template_kwargs: given }: z.output<typeof chatBody>): TemplateVariables {
  const variables = given ?? {}
  const taken = reservedVariables.find((name) => Object.hasOwn(variables, name))
  if (taken === undefined) return variables
  const param = `chat_template_kwargs.${taken}`
  throw new InvalidRequest(`\`${param}\`: the request's own ${taken} cannot be replaced.`, param)
}

/** A new turn, as OpenAI opens it whoever spoke last, unless vLLM's parameters ask for another end. */
function openingOf(body: z.output<typeof chatBody>): Opening {
  const opensTurn = body.add_generation_prompt ?? true
  if (body.continue_final_message !== true) return opensTurn ? 'turn' : 'none'
  const param = 'continue_final_message'
  if (opensTurn) throw new InvalidRequest(`\`${param}\` needs \`add_generation_prompt\` to be false.`, param)
  if (body.messages.at(-1)?.role === 'assistant') return 'begun'
  throw new InvalidRequest(`\`${param}\` needs a last message by the assistant.`, param)
}

/** OpenAI's newer name of the system's role is known to no chat template. */
function chatMessage(given: Message, before: readonly Message[]): ChatMessage {
  requireWhole(given, `messages[${before.length}]`)
  const { role, content, reasoning_content, tool_call_id: id, tool_calls: calls } = given
  // Some templates name the function whose result it is.
  const answered = before.flatMap(({ tool_calls: earlier }) => earlier ?? []).find((each) => each.id === id)
  const others = { name: given.name ?? answered?.function.name, reasoning_content, tool_call_id: id }
  return {
    ...Object.fromEntries(Object.entries(others).filter(([, value]) => typeof value === 'string')),
    ...(hasCalls(given) ? { tool_calls: calls?.map(({ index: _, ...each }) => each) } : {}),
    role: role === 'developer' ? 'system' : role,
    content: typeof content === 'string' ? content : (content ?? []).map(({ text }) => text).join(''),
  }
}

const hasCalls = ({ tool_calls: calls }: Message): boolean => (calls ?? []).length > 0

/** Errors: `InvalidRequest` for a message that lacks what its role needs. */
function requireWhole(given: Message, param: string): void {
  const { role, content = null, tool_call_id: id } = given
  if (hasCalls(given) && role !== 'assistant')
    throw new InvalidRequest('Only the assistant calls tools.', `${param}.tool_calls`)
  if (content === null && !hasCalls(given))
    throw new InvalidRequest(`\`${param}.content\`: the message has none.`, `${param}.content`)
  if (role === 'tool' && typeof id !== 'string')
    throw new InvalidRequest('A message of a tool names the call that it answers.', `${param}.tool_call_id`)
}

function parseCompletions(given: JsonObject, mostTokens: number): OpenAiRequest {
  const body = check(completionsBody, given)
  const prompts = promptsOf(body.prompt)
  const request = shared(body, body.max_tokens ?? mostTokens, body.logprobs ?? 0)
  const withLogprobs = typeof body.logprobs === 'number'
  const echo = body.echo === true
  if (prompts.length * request.samples > maxCompletions) {
    throw new InvalidRequest(`At most ${maxCompletions} completions can be asked for at once.`, 'n')
  }
  if (echo && withLogprobs) {
    throw new InvalidRequest('`echo` is not supported together with `logprobs`.', 'echo')
  }
  if (echo && prompts.some((prompt) => 'ids' in prompt)) {
    throw new InvalidRequest('`echo` is not supported for prompts of token ids.', 'echo')
  }
  const promptLogprobs = scoredPrompts(body.prompt_logprobs ?? null, request.isStreamed)
  return { ...request, endpoint: 'completions', prompts, withLogprobs, promptLogprobs, echo, mostCalls: 0 }
}

function scoredPrompts(asked: number | null, isStreamed: boolean): number | null {
  if (asked === null || !isStreamed) return asked
  throw new InvalidRequest('`prompt_logprobs` is not supported in a stream.', 'prompt_logprobs')
}

function promptsOf(given: z.output<typeof completionsBody>['prompt']): ServedPrompt[] {
  if (typeof given === 'string') return [{ text: given }]
  return typeof given[0] === 'number'
    ? [{ ids: given as number[] }]
    : (given as (string | number[])[]).map((one) => (typeof one === 'string' ? { text: one } : { ids: one }))
}

function shared(body: z.output<z.ZodObject<typeof common>>, maxNewTokens: number, topLogprobs: number) {
  const least = body.min_tokens ?? 0
  if (least > maxNewTokens) {
    throw new InvalidRequest(
      `\`min_tokens\` is ${least}, but a completion of this request has at most ${maxNewTokens} tokens: lower it, or raise the maximum.`,
      'min_tokens',
    )
  }
  return {
    model: body.model,
    samples: body.n ?? 1,
    seed: body.seed ?? null,
    isStreamed: body.stream === true,
    includesUsage: body.stream_options?.include_usage === true,
    withTokenIds: body.return_token_ids === true,
    sampling: { ...filtersOf(body), stopStrings: [body.stop ?? []].flat(), maxNewTokens, topLogprobs },
  }
}

function filtersOf(body: z.output<z.ZodObject<typeof common>>) {
  const temperature = body.temperature ?? 1
  return {
    greedy: temperature === 0,
    temperature: temperature === 0 ? 1 : temperature,
    topK: Math.max(0, body.top_k ?? 0),
    // A probability of nothing is the most probable token.
    topP: Math.max(1e-6, body.top_p ?? 1),
    minP: body.min_p ?? 0,
    repetitionPenalty: body.repetition_penalty ?? 1,
    minNewTokens: body.min_tokens ?? 0,
  }
}
