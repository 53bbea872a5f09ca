/** What vLLM answers, and what both servers answer alike. */
import { modelName, notFound, type Body, type Reply, type Routes } from './loopbackReply.ts'
import type { LoopbackServer, Told } from './loopbackServer.ts'

const fields = [
  ...['prompt', 'max_tokens', 'min_tokens', 'n', 'temperature', 'top_p', 'top_k', 'min_p'],
  ...['repetition_penalty', 'frequency_penalty', 'presence_penalty', 'seed', 'stop', 'stop_token_ids'],
  ...['ignore_eos', 'logprobs', 'return_token_ids', 'stream'],
]

const failure = (status: number, message: string): Reply => ({
  status,
  body: { error: { message, type: 'Error', param: null, code: status } },
})

export const sharedRoutes: Routes = {
  '/v1/models': ({ faults, model }) => {
    const base = { id: modelName, root: '/models/starter', parent: null, max_model_len: faults.contextLength }
    const adapters = [...model.adapters.keys()].map((id) => ({ id, root: id, parent: modelName }))
    return { status: 200, body: { object: 'list', data: [base, ...adapters] } }
  },
  '/tokenize': ({ faults, model }, { prompt }) => {
    const ids = Array.from(model.tokenizer.encode(String(prompt), { addSpecialTokens: false }))
    return { status: 200, body: { tokens: faults.otherTokenizer ? ids.slice(1) : ids, count: ids.length } }
  },
}

export const vllmRoutes: Routes = {
  '/v1/load_lora_adapter': async (server, body) => {
    const name = String(body['lora_name'])
    const problem = await server.load(name, String(body['lora_path']))
    if (problem === 'off') return notFound
    if (problem !== null) return failure(problem.status, problem.message)
    return { status: 200, body: `Success: LoRA adapter '${name}' added successfully.` }
  },
  '/v1/unload_lora_adapter': (server, body) => {
    const name = String(body['lora_name'])
    if (server.faults.clinging) return failure(500, 'Failed to remove the adapter.')
    if (!server.model.unload(name)) return failure(404, `The lora adapter '${name}' cannot be found.`)
    server.unloaded.push(name)
    return { status: 200, body: 'Success' }
  },
  '/v1/completions': async (server, body, response) => {
    const missing = fields.filter((field) => body[field] === undefined)
    if (missing.length > 0) return failure(400, `Left open: ${missing.join(', ')}`)
    const adapter = body['model'] === modelName ? null : String(body['model'])
    if (adapter !== null && !server.model.adapters.has(adapter)) {
      return failure(404, `The model \`${adapter}\` does not exist.`)
    }
    const made = await server.generate(wantedOf(body, adapter), response)
    return made === null || 'status' in made ? made : replyOf(made, server, body)
  },
}

const wantedOf = (body: Body, adapter: string | null) => ({
  adapter,
  ids: body['prompt'] as number[],
  temperature: Number(body['temperature']),
  minNewTokens: Number(body['min_tokens']),
  maxNewTokens: Number(body['max_tokens']),
  stopIds: body['stop_token_ids'] as number[],
  stopStrings: body['stop'] as string[],
  seed: Number(body['seed']),
})

function replyOf({ ids, logprobs, reason }: Told, { faults }: LoopbackServer, body: Body): Reply {
  const { withoutIds, withoutLogprobs, isOld } = faults
  const tokens = ids.map((id) => (isOld ? `token_id:${id}` : 'text'))
  const choice = {
    index: 0,
    text: '',
    finish_reason: reason,
    stop_reason: null,
    ...(withoutIds || isOld ? {} : { token_ids: ids, prompt_token_ids: body['prompt'] }),
    logprobs: withoutLogprobs ? null : { tokens, token_logprobs: logprobs, top_logprobs: null },
  }
  return { status: 200, body: { choices: [choice] } }
}
