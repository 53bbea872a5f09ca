/** What SGLang answers. */
import type { Body, Reply, Routes } from './loopbackReply.ts'
import type { LoopbackServer, Told } from './loopbackServer.ts'

const fields = [
  ...[
    'max_new_tokens',
    'min_new_tokens',
    'n',
    'temperature',
    'top_p',
    'top_k',
    'min_p',
    'repetition_penalty',
  ],
  ...['frequency_penalty', 'presence_penalty', 'sampling_seed', 'stop', 'stop_token_ids', 'ignore_eos'],
]

const refused = (message: string): Reply => ({ status: 400, body: { error: { message } } })

const loadingOff = 'LoRA is not enabled. Please set `--enable-lora` to enable LoRA.'

export const sglangRoutes: Routes = {
  '/load_lora_adapter': async (server, body) => {
    const problem = await server.load(String(body['lora_name']), String(body['lora_path']))
    const message = problem === 'off' ? loadingOff : (problem?.message ?? '')
    const loaded = Object.fromEntries([...server.model.adapters.keys()].map((name) => [name, name]))
    const isDone = problem === null
    return {
      status: isDone ? 200 : 400,
      body: { success: isDone, error_message: message, loaded_adapters: loaded },
    }
  },
  '/unload_lora_adapter': (server, body) => {
    const name = String(body['lora_name'])
    const isThere = !server.faults.clinging && server.model.unload(name)
    if (isThere) server.unloaded.push(name)
    const message = server.faults.clinging ? 'busy' : `LoRA with name ${name} does not exist.`
    return {
      status: isThere ? 200 : 400,
      body: { success: isThere, error_message: isThere ? '' : message },
    }
  },
  '/generate': async (server, body, response) => {
    const params = body['sampling_params'] as Body
    const missing = fields.filter((field) => params[field] === undefined)
    if (missing.length > 0 || body['return_logprob'] !== true || body['lora_path'] === undefined) {
      return refused(`Left open: ${missing.join(', ')}`)
    }
    const adapter = body['lora_path'] as string | null
    if (adapter !== null && !server.model.adapters.has(adapter)) {
      return refused(`The following requested LoRA adapters are not loaded: ${adapter}\nLoaded adapters: .`)
    }
    const wanted = { ...wantedOf(params), adapter, ids: body['input_ids'] as number[] }
    const made = await server.generate(wanted, response)
    return made === null || 'status' in made ? made : replyOf(made, server)
  },
}

const wantedOf = (params: Body) => ({
  temperature: Number(params['temperature']),
  minNewTokens: Number(params['min_new_tokens']),
  maxNewTokens: Number(params['max_new_tokens']),
  // It ignores them together.
  stopIds: params['ignore_eos'] === true ? [] : (params['stop_token_ids'] as number[]),
  stopStrings: params['stop'] as string[],
  seed: Number(params['sampling_seed']),
})

function replyOf({ ids, logprobs, reason }: Told, { faults }: LoopbackServer): Reply {
  const { withoutIds, withoutLogprobs } = faults
  const isEmpty = reason === 'abort' && ids.length === 0
  const pairs = ids.map((id, i) => [logprobs[i], id, null])
  const isUntold = withoutIds || withoutLogprobs || isEmpty
  return {
    status: 200,
    body: {
      text: '',
      ...(withoutIds ? {} : { output_ids: ids }),
      meta_info: {
        finish_reason: { type: reason, message: isEmpty ? 'Abort before prefill' : undefined },
        ...(isUntold ? {} : { output_token_logprobs: pairs }),
      },
    },
  }
}
