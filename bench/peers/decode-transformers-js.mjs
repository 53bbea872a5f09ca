/** transformers.js: generate() over an ONNX export of the same weights. */
import { AutoModelForCausalLM, BaseStreamer, Tensor, env } from '@huggingface/transformers'
import { resolve } from 'node:path'
import { NEW_TOKENS, PROMPT_TOKENS, measureDecode, randomPrompts, readFlags } from './measure.mjs'

const flags = readFlags()
env.allowRemoteModels = false
env.localModelPath = resolve(flags.model)
const model = await AutoModelForCausalLM.from_pretrained('onnx', {
  dtype: 'fp32',
  device: 'cpu',
  session_options: { intraOpNumThreads: flags.threads, interOpNumThreads: 1 },
})

class Clock extends BaseStreamer {
  constructor(onStep) {
    super()
    this.onStep = onStep
    this.isPrompt = true
  }
  put() {
    if (!this.isPrompt) this.onStep()
    this.isPrompt = false
  }
  end() {}
}

const prompts = randomPrompts(flags.batch, flags.vocabSize)

function generate(newTokens, onStep, options) {
  const dims = [prompts.length, PROMPT_TOKENS]
  return model.generate({
    input_ids: new Tensor('int64', BigInt64Array.from(prompts.flat().map(BigInt)), dims),
    attention_mask: new Tensor('int64', new BigInt64Array(dims[0] * dims[1]).fill(1n), dims),
    max_new_tokens: newTokens,
    eos_token_id: null,
    temperature: 1,
    top_k: 0, // the whole vocabulary
    streamer: new Clock(onStep),
    ...options,
  })
}

if (flags.check) {
  const rows = await generate(NEW_TOKENS, () => {}, { do_sample: false })
  console.log(JSON.stringify({ ids: rows.tolist().map((row) => row.slice(PROMPT_TOKENS).map(Number)) }))
} else {
  const options = { do_sample: flags.sampling === 'multinomial' }
  const result = await measureDecode(flags, (newTokens, onStep) => generate(newTokens, onStep, options))
  console.log(JSON.stringify({ peer: 'transformers.js', ...result }))
}
