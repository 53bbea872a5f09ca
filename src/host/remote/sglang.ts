/** SGLang's own endpoints. */
import { z } from 'zod'
import type { Dialect } from './dialect.ts'

const generated = z.object({
  output_ids: z.array(z.int()).nullish(),
  meta_info: z.object({
    output_token_logprobs: z.array(z.tuple([z.number().nullable(), z.int()], z.unknown())).nullish(),
    finish_reason: z.object({ message: z.string().nullish() }).nullish(),
  }),
})

export const sglang: Dialect = {
  title: 'SGLang',

  launchCommand: ({ model, host, port, rank, adapters, contextLength }) =>
    [
      `python -m sglang.launch_server --model-path ${model} --host ${host} --port ${port}`,
      `--enable-lora --max-lora-rank ${rank} --lora-target-modules all`,
      `--max-loras-per-batch ${adapters} --max-loaded-loras ${adapters}`,
      `--context-length ${contextLength}`,
    ].join(' '),

  remedies: {
    ids: 'a version of SGLang whose /generate answers with output_token_logprobs is needed',
    logprobs: 'a version of SGLang that knows return_logprob is needed',
    tempered: 'SGLANG_RETURN_ORIGINAL_LOGPROB must not be set in its environment',
    adapters: '--enable-lora is missing',
    runtimeAdapters: '--enable-lora is missing',
  },

  generateCall: (request) => ({
    method: 'POST',
    path: '/generate',
    body: {
      input_ids: request.ids,
      sampling_params: {
        n: 1,
        max_new_tokens: request.maxNewTokens,
        min_new_tokens: request.minNewTokens,
        temperature: request.temperature,
        top_p: 1,
        top_k: -1,
        min_p: 0,
        repetition_penalty: 1,
        frequency_penalty: 0,
        presence_penalty: 0,
        sampling_seed: request.seed, // heeded with --enable-deterministic-inference
        stop: request.stopStrings,
        stop_token_ids: request.stopIds,
        ignore_eos: request.stopIds.length === 0, // it would ignore the stop ids too
        skip_special_tokens: true,
        no_stop_trim: true,
      },
      return_logprob: true,
      logprob_start_len: -1,
      top_logprobs_num: 0,
      return_text_in_logprobs: false,
      // Without it the base model would answer, silently.
      lora_path: request.adapter,
      stream: false,
    },
  }),

  readTokens(json) {
    const answer = generated.safeParse(json).data
    if (answer === undefined) return undefined
    const { output_token_logprobs: pairs, finish_reason: reason } = answer.meta_info
    if (pairs) return { ids: pairs.map(([, id]) => id), logprobs: pairs.map(([value]) => value ?? NaN) }
    if (reason?.message?.startsWith('Abort before prefill')) return { ids: [], logprobs: [] }
    return { ids: answer.output_ids ?? null, logprobs: null }
  },

  isAdapterMissing: ({ status, text }) =>
    (status === 400 || status === 404) && /lora/i.test(text) && /not loaded|never been loaded/i.test(text),

  loadCall: (name, folder) => ({
    method: 'POST',
    path: '/load_lora_adapter',
    body: { lora_name: name, lora_path: folder, pinned: false },
  }),
  unloadCall: (name) => ({ method: 'POST', path: '/unload_lora_adapter', body: { lora_name: name } }),
  isLoadingOff: ({ status }) => status === 404 || status === 405,

  tokenizeCall: (text, model) => ({
    method: 'POST',
    path: '/tokenize',
    body: { model, prompt: text, add_special_tokens: false },
  }),
}
