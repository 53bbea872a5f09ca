/** llama.cpp through node-llama-cpp: one context, one sequence for each row, every step of all rows in one batch. */
import { getLlama } from 'node-llama-cpp'
import { NEW_TOKENS, PROMPT_TOKENS, measureDecode, randomPrompts, readFlags } from './measure.mjs'

const flags = readFlags()
/** With int4, layers in 4 bits and the head in 8, as ours; --gguf names another file. */
const files = { f32: 'f32', int8: 'q8_0', int4: 'q4_0-head8' }
const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error', maxThreads: flags.threads })
const model = await llama.loadModel({ modelPath: `${flags.model}/gguf/${flags.gguf ?? files[flags.precision]}.gguf` })
const context = await model.createContext({
  sequences: flags.batch,
  contextSize: PROMPT_TOKENS + NEW_TOKENS + 1,
  batchSize: Math.max(512, flags.batch * PROMPT_TOKENS),
  threads: flags.threads,
})
const prompts = randomPrompts(flags.batch, flags.vocabSize)
const sequences = Array.from({ length: flags.batch }, () => context.getSequence())

// Left out (null) top-k, top-p and min-p cost nothing; topK: 0 would sort the whole vocabulary.
const sampled = (seed) => ({ temperature: 1, topK: null, topP: null, minP: null, seed, yieldEogToken: true })
const greedy = () => ({ temperature: 0, yieldEogToken: true })

/** All rows in step: what is asked for in the same tick is decoded in one batch. */
async function generate(newTokens, onStep, options) {
  await Promise.all(sequences.map((sequence) => sequence.clearHistory()))
  const iterators = sequences.map((sequence, i) => sequence.evaluate(prompts[i], options(i)))
  const rows = prompts.map(() => [])
  for (let step = 0; step < newTokens; step++) {
    const tokens = await Promise.all(iterators.map((iterator) => iterator.next()))
    tokens.forEach(({ value }, i) => rows[i].push(value))
    onStep()
  }
  await Promise.all(iterators.map((iterator) => iterator.return()))
  return rows
}

if (flags.check) {
  console.log(JSON.stringify({ ids: await generate(NEW_TOKENS, () => {}, greedy) }))
} else {
  const options = flags.sampling === 'greedy' ? greedy : sampled
  const result = await measureDecode(flags, (newTokens, onStep) => generate(newTokens, onStep, options))
  console.log(JSON.stringify({ peer: 'llama.cpp', ...result }))
}
await llama.dispose()
