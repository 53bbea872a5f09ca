/** vLLM's OpenAI-compatible server. */
import { z } from 'zod'
import { messageIn } from './connection.ts'
import type { Dialect, GeneratedTokens } from './dialect.ts'

/** `--max-lora-rank` takes these alone. */
const ranks = [1, 8, 16, 32, 64, 128, 256, 320, 512]

const completion = z.object({
  choices: z
    .array(
      z.object({
        token_ids: z.array(z.int()).nullish(),
        logprobs: z
          .object({
            tokens: z.array(z.string()).nullish(),
            token_logprobs: z.array(z.number().nullable()).nullish(),
          })
          .nullish(),
      }),
    )
    .min(1),
})

export const vllm: Dialect = {
  title: 'vLLM',

  launchCommand: ({ model, host, port, rank, adapters, contextLength }) =>
    [
      'VLLM_ALLOW_RUNTIME_LORA_UPDATING=True',
      `vllm serve ${model} --host ${host} --port ${port}`,
      `--enable-lora --max-lora-rank ${ranks.find((allowed) => allowed >= rank) ?? rank} --max-loras ${adapters}`,
      '--logprobs-mode processed_logprobs --generation-config vllm',
      `--max-model-len ${contextLength}`,
    ].join(' '),

  remedies: {
    ids: 'a version of vLLM that knows return_token_ids is needed',
    logprobs: '--max-logprobs must not be 0',
    tempered: '--logprobs-mode processed_logprobs is missing',
    adapters: '--enable-lora is missing',
    runtimeAdapters: 'VLLM_ALLOW_RUNTIME_LORA_UPDATING=True is missing in its environment',
  },

  // Defaults of the model's own generation_config would apply to whatever is not said.
  generateCall: (request, model) => ({
    method: 'POST',
    path: '/v1/completions',
    body: {
      model: request.adapter ?? model,
      prompt: request.ids,
      n: 1,
      max_tokens: request.maxNewTokens,
      min_tokens: request.minNewTokens,
      temperature: request.temperature,
      top_p: 1,
      top_k: -1,
      min_p: 0,
      repetition_penalty: 1,
      frequency_penalty: 0,
      presence_penalty: 0,
      seed: request.seed,
      stop: request.stopStrings,
      stop_token_ids: request.stopIds,
      ignore_eos: true, // the stop ids say it all
      skip_special_tokens: true,
      include_stop_str_in_output: true,
      logprobs: 0, // of the chosen token alone
      return_token_ids: true,
      return_tokens_as_token_ids: true, // versions that do not know the field above
      echo: false,
      stream: false,
    },
  }),

  readTokens(json) {
    const [choice] = completion.safeParse(json).data?.choices ?? []
    if (choice === undefined) return undefined
    const { token_ids: ids, logprobs } = choice
    const values = logprobs?.token_logprobs?.map((value) => value ?? NaN) ?? null
    return { ids: ids ?? spelledIds(logprobs?.tokens), logprobs: values } satisfies GeneratedTokens
  },

  isAdapterMissing: ({ status, text }) => status === 404 && /does not exist/i.test(text),

  loadCall: (name, folder) => ({
    method: 'POST',
    path: '/v1/load_lora_adapter',
    body: { lora_name: name, lora_path: folder },
  }),
  unloadCall: (name) => ({ method: 'POST', path: '/v1/unload_lora_adapter', body: { lora_name: name } }),
  // The route is there with the variable only; a folder it cannot find is a 404 with other words.
  isLoadingOff: ({ status, json }) =>
    (status === 404 || status === 405) && /^(?:not found|method not allowed)$/i.test(messageIn(json)),

  tokenizeCall: (text, model) => ({
    method: 'POST',
    path: '/tokenize',
    body: { model, prompt: text, add_special_tokens: false },
  }),
}

/** “token_id:123” as older versions spell tokens when asked for ids. */
function spelledIds(tokens: readonly string[] | null | undefined): number[] | null {
  if (!tokens) return null
  const ids = tokens.map((token) => /^token_id:(\d+)$/.exec(token)?.[1])
  return ids.every((id) => id !== undefined) ? ids.map(Number) : null
}
