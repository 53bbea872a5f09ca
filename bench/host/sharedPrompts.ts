/**
 * Seconds of one update over groups of eight completions with their prompt computed once, beside the same lengths with
 * nothing in common, in turns so that other load hits both. Run with
 * `node bench/host/sharedPrompts.ts [SHAPE|MODEL FOLDER] [PROMPT TOKENS] [COMPLETION TOKENS] [PROMPTS] [THREADS]`.
 */
import { existsSync } from 'node:fs'
import { linearNames } from '#engine/models/config.ts'
import type { TokenSequence } from '#engine/policy.ts'
import { prefixFamilies } from '#engine/prefixes.ts'
import { median, openPolicy, subjectFolder } from '#host/checks/benchModel.ts'
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
  ...{ cacheDirectory, base: 'f32', activations: 'recompute' },
} as Parameters<typeof subjectFolder>[0]
const say = (text: string) => console.log(text)
const directory = await subjectFolder(request, say)
const lora = { rank: 8, alpha: 16, rsLora: false, targets: linearNames }
using policy = await openPolicy({ request, device, say, lora, directory }, 'f32', groupSize)

const random = new SequentialRandom(randomStream(1, 2))
const randomIds = (length: number) => Array.from({ length }, () => random.integer(policy.vocabSize))
const behind = (prompt: readonly number[]): TokenSequence => ({
  ids: Int32Array.from([...prompt, ...randomIds(completionTokens)]),
  actionMask: Uint8Array.from({ length: promptTokens + completionTokens - 1 }, (_, at) =>
    Number(at >= promptTokens - 1),
  ),
})
const shared = Array.from({ length: prompts }, () => randomIds(promptTokens)).flatMap((prompt) =>
  Array.from({ length: groupSize }, () => behind(prompt)),
)
/** As long, and no two begin alike. */
const apart = shared.map(({ ids, actionMask }, row) => ({
  ids: Int32Array.of(row, ...ids.subarray(1)),
  actionMask,
}))

async function update(sequences: readonly TokenSequence[]): Promise<number> {
  const rows = { lengths: sequences.map(({ ids }) => ids.length), families: prefixFamilies(sequences) }
  const { learningTokens, replicas, sharesPrefixes } = policy
  const cut = microBatches(rows, { tokens: learningTokens, isLimit: false, replicas, sharesPrefixes }, 1)
  const start = performance.now()
  await forMicroBatches(cut, async (batch) => {
    const part = batch.flatMap((row) => sequences[row] ?? [])
    await policy.accumulate(part, { temperature: 1, entropyGradient: false }, (heads) =>
      heads.map(({ logprobs }) => ({ logprobs: logprobs.map(() => 0.01), entropies: null, values: null })),
    )
  })
  policy.discardGradients()
  return (performance.now() - start) / 1000
}

for (const sequences of [shared, apart]) await update(sequences) // prepares the programs
const ratios: number[] = []
for (let round = 0; round < rounds; round++) {
  const [once, each] = [await update(shared), await update(apart)]
  ratios.push(each / once)
  say(`prompt once ${once.toFixed(2)} s, for each ${each.toFixed(2)} s`)
}
say(
  `${String(prompts)} × ${String(groupSize)}, ${String(promptTokens)} + ${String(completionTokens)} tokens: ${median(ratios).toFixed(2)} times as fast`,
)
