/** Differences between the rollout servers: the form of requests and responses. rolloutServer.ts lists the dialects. */
import { commandWord } from '#shared/shownText.ts'
import type { SamplingOptions } from '#engine/policy.ts'
import { type Answer, type Call, messageIn } from './connection.ts'
import { z } from 'zod'

/** Temperature 0 takes the likeliest token. */
export interface TokenRequest extends Pick<
  SamplingOptions,
  'temperature' | 'minNewTokens' | 'maxNewTokens' | 'stopIds' | 'stopStrings'
> {
  /** Name of a loaded adapter; null = the base model. */
  readonly adapter: string | null
  readonly ids: readonly number[]
  /** Integer from 0 to 2³¹ − 1. */
  readonly seed: number
}

/** Fields are null if the server returns none at all, although they were requested. */
export interface GeneratedTokens {
  readonly ids: readonly number[] | null
  /** One per id; NaN where a single one is missing. */
  readonly logprobs: readonly number[] | null
}

export interface ScoredToken {
  /** Nats, at temperature 1. */
  readonly logprob: number
  /** Text as the server's tokenizer has it; null where it does not say. */
  readonly text: string | null
  /** The likeliest tokens in its place, in any order; perhaps the token itself besides. */
  readonly likeliest: readonly { readonly id: number; readonly logprob: number }[]
}

/** Facts that the command to start a server depends on. */
export interface LaunchFacts {
  readonly model: string
  readonly host: string
  readonly port: string
  readonly rank: number
  /** Adapters that are loaded at once. */
  readonly adapters: number
  readonly contextLength: number
}

export interface Dialect {
  readonly title: string
  /** Returns the complete command line. */
  launchCommand(facts: LaunchFacts): string
  /**
   * Instructions for making the server return token ids, log-probabilities and those of the tempered distribution, and
   * accept adapters.
   */
  readonly remedies: Readonly<
    Record<'ids' | 'logprobs' | 'tempered' | 'adapters' | 'runtimeAdapters', string>
  >

  /** `model`: the name of the base model. */
  generateCall(request: TokenRequest, model: string): Call
  /** Returns undefined for a response of another form. */
  readTokens(json: unknown): GeneratedTokens | undefined
  /**
   * Asks how likely each token of a text is after those before it, and which `likeliest` tokens are the likeliest there; one
   * more token is generated, since servers insist.
   */
  scoreCall(ids: readonly number[], asked: { readonly model: string; readonly likeliest: number }): Call
  /** Returns the scores of the ids from the second on; undefined for a response without them, or of other ids. */
  readScores(json: unknown, ids: readonly number[]): readonly ScoredToken[] | undefined
  /** Tells whether the response to a generation request says that the adapter is not loaded. */
  isAdapterMissing(answer: Answer): boolean

  loadCall(name: string, folder: string): Call
  unloadCall(name: string): Call
  /** Tells whether the response says that the server, as it was started, has no such endpoint. */
  isLoadingOff(answer: Answer): boolean

  tokenizeCall(text: string, model: string): Call
}

/** Nothing filters or penalizes tokens: they are drawn from the policy itself. Both servers use these names. */
const tokenizeCall: Dialect['tokenizeCall'] = (text, model) => ({
  method: 'POST',
  path: '/tokenize',
  body: { model, prompt: text, add_special_tokens: false },
})

const plainSampling = {
  top_p: 1,
  top_k: -1,
  min_p: 0,
  repetition_penalty: 1,
  frequency_penalty: 0,
  presence_penalty: 0,
} as const

// SGLang's own endpoints.

const generated = z.object({
  output_ids: z.array(z.int()).nullish(),
  meta_info: z.object({
    output_token_logprobs: z.array(z.tuple([z.number().nullable(), z.int()], z.unknown())).nullish(),
    finish_reason: z.object({ message: z.string().nullish() }).nullish(),
  }),
})

const scoredByGenerate = z.object({
  meta_info: z.object({
    input_token_logprobs: z.array(z.tuple([z.number().nullable(), z.int(), z.string().nullish()])),
    input_top_logprobs: z.array(z.array(z.tuple([z.number(), z.int()], z.unknown())).nullable()).nullish(),
  }),
})

export const sglang: Dialect = {
  title: 'SGLang',

  launchCommand: ({ model, host, port, rank, adapters, contextLength }) =>
    [
      `python -m sglang.launch_server --model-path ${commandWord(model)} --host ${commandWord(host)} --port ${port}`,
      `--enable-lora --max-lora-rank ${rank} --lora-target-modules all`,
      `--max-loras-per-batch ${adapters} --max-loaded-loras ${adapters}`,
      `--context-length ${contextLength}`,
    ].join(' '),

  remedies: {
    ids: 'a version of SGLang whose /generate returns output_token_logprobs is needed',
    logprobs: 'a version of SGLang that supports return_logprob is needed',
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
        ...plainSampling,
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

  scoreCall: (ids, { likeliest }) => ({
    method: 'POST',
    path: '/generate',
    body: {
      input_ids: ids,
      sampling_params: { n: 1, max_new_tokens: 1, temperature: 0 },
      return_logprob: true,
      logprob_start_len: 0,
      top_logprobs_num: likeliest,
      return_text_in_logprobs: true,
      stream: false,
    },
  }),

  readScores(json, ids) {
    const { input_token_logprobs: scored, input_top_logprobs: tops } =
      scoredByGenerate.safeParse(json).data?.meta_info ?? {}
    if (scored?.length !== ids.length) return undefined
    return allScored(
      scored.slice(1).map(([logprob, id, text], t) => {
        if (logprob === null || id !== ids[t + 1]) return null
        const likeliest = (tops?.[t + 1] ?? []).map(([value, other]) => ({ id: other, logprob: value }))
        return { logprob, text: text ?? null, likeliest }
      }),
    )
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

  tokenizeCall,
}

// vLLM's OpenAI-compatible server.

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

const scoredPrompt = z.object({
  choices: z
    .array(
      z.object({
        prompt_logprobs: z.array(
          z
            .record(z.string(), z.object({ logprob: z.number(), decoded_token: z.string().nullish() }))
            .nullable(),
        ),
      }),
    )
    .min(1),
})

export const vllm: Dialect = {
  title: 'vLLM',

  launchCommand: ({ model, host, port, rank, adapters, contextLength }) =>
    [
      'VLLM_ALLOW_RUNTIME_LORA_UPDATING=True',
      `vllm serve ${commandWord(model)} --host ${commandWord(host)} --port ${port}`,
      `--enable-lora --max-lora-rank ${ranks.find((allowed) => allowed >= rank) ?? rank} --max-loras ${adapters}`,
      '--logprobs-mode processed_logprobs --generation-config vllm',
      `--max-model-len ${contextLength}`,
    ].join(' '),

  remedies: {
    ids: 'a version of vLLM that supports return_token_ids is needed',
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
      ...plainSampling,
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

  scoreCall: (ids, { model, likeliest }) => ({
    method: 'POST',
    path: '/v1/completions',
    body: { model, prompt: ids, max_tokens: 1, temperature: 0, prompt_logprobs: likeliest, stream: false },
  }),

  readScores(json, ids) {
    const scored = scoredPrompt.safeParse(json).data?.choices[0]?.prompt_logprobs
    if (scored?.length !== ids.length) return undefined
    return allScored(
      ids.slice(1).map((id, t) => {
        const all = scored[t + 1] ?? {}
        const own = all[String(id)]
        if (own === undefined) return null
        const likeliest = Object.entries(all).map(([key, { logprob }]) => ({ id: Number(key), logprob }))
        return { logprob: own.logprob, text: own.decoded_token ?? null, likeliest }
      }),
    )
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

  tokenizeCall,
}

const allScored = (scored: readonly (ScoredToken | null)[]): readonly ScoredToken[] | undefined =>
  scored.every((each) => each !== null) ? scored : undefined

/** “token_id:123” as older versions spell tokens when asked for ids. */
function spelledIds(tokens: readonly string[] | null | undefined): number[] | null {
  if (!tokens) return null
  const ids = tokens.map((token) => /^token_id:(\d+)$/.exec(token)?.[1])
  return ids.every((id) => id !== undefined) ? ids.map(Number) : null
}
