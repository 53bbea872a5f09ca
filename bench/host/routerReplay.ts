/**
 * How far scores lie from what the sampler recorded, with and without the sampler's experts: random models with the experts of
 * OLMoE, Qwen 3 MoE and Granite MoE, each in the precisions in which a run samples and learns. Run with
 * `node bench/host/routerReplay.ts [COMPLETIONS] [NEW TOKENS] [THREADS]`, with `bin/turnwise.mjs`' malloc settings.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { linearNames } from '#engine/models/config.ts'
import { type Completion, type TokenSequence, unfiltered } from '#engine/policy.ts'
import { createOrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { randomIds } from '#host/checks/benchModel.ts'
import { asPolicySource } from '#host/models/baseCache.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { chooseDevice } from '#host/models/openModel.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'

const [, , countText = '32', tokensText = '64', threadText = '2'] = process.argv
const [count, maxNewTokens, threads] = [Number(countText), Number(tokensText), Number(threadText)]
const device = await chooseDevice({ kind: 'cpu', threads })

const body = {
  layers: 6,
  hiddenSize: 512,
  heads: 8,
  kvHeads: 4,
  headDim: 64,
  intermediateSize: 128,
  vocabSize: 4096,
}
const shapes = [
  {
    modelType: 'olmoe',
    kvHeads: 8,
    config: { num_experts: 64, num_experts_per_tok: 8, norm_topk_prob: false },
  },
  {
    modelType: 'qwen3_moe',
    config: { num_experts: 128, num_experts_per_tok: 8, norm_topk_prob: true, moe_intermediate_size: 128 },
  },
  { modelType: 'granitemoe', config: modelShapes['granite-3.1-1b-a400m'].config },
] as const

const precisions = [
  { title: 'f32', base: 'f32', rollout: 'f32' },
  { title: 'f32, rollouts in int8', base: 'f32', rollout: 'int8' },
  { title: 'int8', base: 'int8', rollout: 'f32' },
  { title: 'int4', base: 'int4', rollout: 'f32' },
] as const

const folder = mkdtempSync(join(tmpdir(), 'router-replay-'))

/** Mean, 99th percentile and largest distance, nats. */
function told(completions: readonly Completion[], scores: readonly Float64Array[]): string {
  const gaps = completions
    .flatMap(({ logprobs }, row) => {
      const found = scores[row]?.slice(-logprobs.length)
      return Array.from(logprobs, (logprob, at) => Math.abs((found?.[at] ?? NaN) - logprob))
    })
    .sort((a, b) => a - b)
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
  const figures = [mean, gaps[Math.floor(0.99 * gaps.length)], gaps.at(-1)]
  return figures.map((gap = NaN) => gap.toExponential(2)).join(', ')
}

for (const own of shapes) {
  const { modelType } = own
  const directory = join(folder, modelType)
  await writeRandomModel(
    directory,
    { ...modelShapes['smol-30m'], ...body, tiedHead: false, deviation: 0.04, ...own },
    1,
    'F32',
  )
  const model = openModelFolder(directory)
  for (const { title, base, rollout } of precisions) {
    const source = await asPolicySource(model, { base, rollout, int8Form: 'rows' }, join(folder, 'cache'))
    const random = new SequentialRandom(randomStream(2))
    using policy = await createOrtPolicy({
      source,
      device,
      loraSeed: 1,
      rolloutPrecision: rollout,
      activations: 'recompute',
      maxRows: 16,
      lora: { rank: 8, alpha: 16, rsLora: false, targets: linearNames },
      replaysRoutes: true,
    })
    const requests = Array.from({ length: count / 8 }, (_, row) => ({
      promptIds: randomIds(random, 32, policy.vocabSize),
      streams: Array.from({ length: 8 }, (_, sample) => randomStream(3, row, sample)),
    }))
    const completions: Completion[] = []
    const options = { role: 'actor', sampling: { ...unfiltered, maxNewTokens } } as const
    for await (const completion of policy.generate(requests, options)) completions.push(completion)
    const sequences = completions.map(({ request, ids, routes }): TokenSequence => {
      const promptIds = requests[request]?.promptIds ?? new Int32Array(0)
      const all = Int32Array.from([...promptIds, ...ids])
      const actionMask = new Uint8Array(all.length - 1).fill(1, promptIds.length - 1)
      return { ids: all, actionMask, ...(routes && { routes }) }
    })
    const scored = async (given: readonly TokenSequence[]) => {
      const heads = await policy.score(given, { role: 'actor', temperature: 1 })
      return told(
        completions,
        heads.map(({ logprobs }) => logprobs),
      )
    }
    const chosen = await scored(sequences.map(({ ids, actionMask }) => ({ ids, actionMask })))
    console.log(`${modelType}, ${title}: own experts ${chosen}; the sampler's ${await scored(sequences)}`)
  }
}
rmSync(folder, { recursive: true })
