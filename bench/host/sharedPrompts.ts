/**
 * Seconds of one update over groups of eight completions with their prompt computed once, and milliseconds of one decoding step
 * with their prompt read once, beside the same lengths with nothing in common, in turns so that other load hits both. Run with
 * `node bench/host/sharedPrompts.ts [SHAPE|MODEL FOLDER] [PROMPT TOKENS] [COMPLETION TOKENS] [PROMPTS] [THREADS]`.
 */
import { existsSync } from 'node:fs'
import { linearNames } from '#engine/models/config.ts'
import type { GenerationRequest, TokenSequence } from '#engine/policy.ts'
import { prefixFamilies } from '#engine/prefixes.ts'
import { median, openPolicy, sampling, subjectFolder } from '#host/checks/benchModel.ts'
import { dataFolders, resolveDataDirectory } from '#host/dataDirectory.ts'
import { chooseDevice } from '#host/models/openModel.ts'
import { forMicroBatches, microBatches } from '#rl/training/packing.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'

const [, , subject = 'smol-30m', ...lengths] = process.argv
const [promptTokens = 96, completionTokens = 96, prompts = 2, threads = 2] = lengths.map(Number)
const [groupSize, rounds] = [8, 5]

const device = await chooseDevice({ kind: 'cpu', threads })
const cacheDirectory = dataFolders(resolveDataDirectory(undefined)).cache
const request = {
  subject: existsSync(subject) ? { model: subject } : { shape: subject },
  cacheDirectory,
  base: 'f32',
  activations: 'recompute',
} as Parameters<typeof subjectFolder>[0]
const say = (text: string) => console.log(text)
const directory = await subjectFolder(request, say)
const lora = { rank: 8, alpha: 16, rsLora: false, targets: linearNames }
const rows = prompts * groupSize
using policy = await openPolicy({ request, device, say, lora, directory }, 'f32', rows)

const random = new SequentialRandom(randomStream(1, 2))
const randomIds = (length: number) => Array.from({ length }, () => random.integer(policy.vocabSize))
const behind = (prompt: readonly number[]): TokenSequence => ({
  ids: Int32Array.from([...prompt, ...randomIds(completionTokens)]),
  actionMask: Uint8Array.from({ length: promptTokens + completionTokens - 1 }, (_, at) =>
    Number(at >= promptTokens - 1),
  ),
})
const promptIds = Array.from({ length: prompts }, () => randomIds(promptTokens))
const shared = promptIds.flatMap((prompt) => Array.from({ length: groupSize }, () => behind(prompt)))
/** As long, and no two begin alike. */
const apart = shared.map(({ ids, actionMask }, row) => ({
  ids: Int32Array.of(row, ...ids.subarray(1)),
  actionMask,
}))

async function update(sequences: readonly TokenSequence[]): Promise<number> {
  const batch = { lengths: sequences.map(({ ids }) => ids.length), families: prefixFamilies(sequences) }
  const { learningTokens, replicas, sharesPrefixes } = policy
  const cut = microBatches(batch, { tokens: learningTokens, isLimit: false, replicas, sharesPrefixes }, 1)
  const start = performance.now()
  await forMicroBatches(cut, async (places) => {
    const part = places.flatMap((row) => sequences[row] ?? [])
    await policy.accumulate(part, { temperature: 1, entropyGradient: false }, (heads) =>
      heads.map(({ logprobs }) => ({ logprobs: logprobs.map(() => 0.01), entropies: null, values: null })),
    )
  })
  policy.discardGradients()
  return (performance.now() - start) / 1000
}

const streams = Array.from({ length: rows }, (_, row) => randomStream(3, row))
const groups = promptIds.map((ids, index): GenerationRequest => ({
  promptIds: Int32Array.from(ids),
  streams: streams.slice(index * groupSize, (index + 1) * groupSize),
}))
const lone = apart.map(({ ids }, row): GenerationRequest => ({
  promptIds: ids.subarray(0, promptTokens),
  streams: streams.slice(row, row + 1),
}))

/** Of one step, once all rows decode. */
async function decodingStep(requests: readonly GenerationRequest[]): Promise<number> {
  let [tokens, start] = [0, 0]
  const onToken = () => {
    if (++tokens === 2 * rows) start = performance.now()
  }
  const options = { role: 'actor', sampling: sampling(completionTokens), onToken } as const
  for await (const _ of policy.generate(requests, options));
  return (performance.now() - start) / (completionTokens - 2)
}

const pairs = [
  { name: 'update', unit: 's', once: () => update(shared), each: () => update(apart) },
  { name: 'decoding step', unit: 'ms', once: () => decodingStep(groups), each: () => decodingStep(lone) },
]
for (const { name, unit, once, each } of pairs) {
  await once() // prepares the programs
  await each()
  const ratios: number[] = []
  for (let round = 0; round < rounds; round++) {
    const [shorter, longer] = [await once(), await each()]
    ratios.push(longer / shorter)
    say(`${name}: prompt once ${shorter.toFixed(2)} ${unit}, for each ${longer.toFixed(2)} ${unit}`)
  }
  const what = `${String(prompts)} × ${String(groupSize)}, ${String(promptTokens)} + ${String(completionTokens)} tokens`
  say(`${name}, ${what}: ${median(ratios).toFixed(2)} times as fast`)
}
