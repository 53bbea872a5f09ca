/**
 * How well the episodes of a workflow fill the batch: 256 of them, of one to six turns, beside the same requests as one list,
 * as a rollout of single turns makes it. Run with `node bench/host/workflows.ts [SHAPE|MODEL FOLDER] [THREADS] [NEW TOKENS]`.
 */
import { existsSync } from 'node:fs'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { linearNames } from '#engine/models/config.ts'
import type { GenerateOptions, GenerationRequest } from '#engine/policy.ts'
import { createTurnText } from '#rl/rollout/turnText.ts'
import { playWorkflow } from '#rl/rollout/workflows.ts'
import { openPolicy, randomIds, sampling, subjectFolder, median } from '#host/checks/benchModel.ts'
import { dataFolders, resolveDataDirectory } from '#host/dataDirectory.ts'
import { chooseDevice } from '#host/models/openModel.ts'
import { openSandbox } from '#host/sandbox/sandbox.ts'

const code = `
export default defineWorkflow({
  async episode({ row, prompt, engine }) {
    let ids = prompt.ids
    const actions = []
    for (let turn = 0; turn < row.turns; turn++) {
      const answer = await engine.generate({ ids })
      actions.push([ids.length, answer.allIds.length])
      ids = [...answer.allIds, ...row.feedback]
    }
    return { ids, actions, reward: 1 }
  },
})`

const [, , subject = 'smol-30m', threads = '2', newTokens = '24'] = process.argv
const [rows, groupSize, promptTokens, rounds] = [64, 4, 12, 5]

const device = await chooseDevice({ kind: 'cpu', threads: Number(threads) })
const cacheDirectory = dataFolders(resolveDataDirectory(undefined)).cache
const request = {
  subject: existsSync(subject) ? { model: subject } : { shape: subject },
  cacheDirectory,
  base: 'f32',
  activations: 'recompute',
} as Parameters<typeof subjectFolder>[0]
const say = (text: string) => console.log(text)
const lora = { rank: 16, alpha: 32, rsLora: false, targets: linearNames }
const bench = { request, device, say, lora, directory: await subjectFolder(request, say) }
using policy = await openPolicy(bench, 'f32', 64)
await using sandbox = await openSandbox({ code, language: 'js' })

const random = new SequentialRandom(randomStream(1))
const prompts = Array.from({ length: rows }, (_, row) => ({
  row,
  text: '',
  ids: randomIds(random, promptTokens, policy.vocabSize),
  columns: { turns: 1 + (row % 6), feedback: [...randomIds(random, 4, policy.vocabSize)] },
}))
const generate: GenerateOptions = { role: 'actor', sampling: sampling(Number(newTokens)) }
const tokenizer = { encode: () => new Int32Array(0), decode: () => '' }
const text = createTurnText({ tokenizer, chatTemplate: null, applyChatTemplate: false, strictBoundary: true })
const tools = {
  environment: null,
  hasCritic: false,
  tokenizer,
  chatTemplate: null,
  text,
  rewards: { rewards: [], onFailure: 'null', step: 1 },
} as const

/** All requests of the episodes, in the order in which they joined the batch. */
const asked: GenerationRequest[] = []
let inSandbox = 0
const workflow = {
  id: 'bench',
  async run(episodes: Parameters<typeof sandbox.episode>[0]) {
    const answers = await sandbox.episode(episodes)
    inSandbox += answers.reduce((sum, { durationMs }) => sum + durationMs, 0)
    return answers
  },
}
const recording = {
  vocabSize: policy.vocabSize,
  contextLength: policy.contextLength,
  generate(first: readonly GenerationRequest[], options: GenerateOptions) {
    asked.push(...first)
    const later: GenerateOptions['later'] = async (isIdle) => {
      const more = (await options.later?.(isIdle)) ?? null
      asked.push(...(more ?? []))
      return more
    }
    return policy.generate(first, { ...options, later })
  },
}

/** Passes of the last generation: prompts, and steps of decoding. */
const passes = () =>
  `${policy.lastGeneration?.prefillPasses ?? 0} + ${policy.lastGeneration?.decodeSteps ?? 0}`
let [ownPasses, singlePasses] = ['', '']

async function episodes(): Promise<number> {
  asked.length = 0
  const startedAt = performance.now()
  const batch = { prompts, groupSize, seed: 1, step: 1, source: 'training' } as const
  const played = await playWorkflow(batch, { policy: recording, generate, decode: () => '', workflow, tools })
  const seconds = (performance.now() - startedAt) / 1000
  ownPasses = passes()
  const fault = played.find(({ workflow: how }) => how?.end !== 'returned')?.workflow?.failure
  if (fault) throw new Error(fault)
  return seconds
}

async function singleTurns(): Promise<number> {
  const startedAt = performance.now()
  for await (const _ of policy.generate(asked, generate));
  singlePasses = passes()
  return (performance.now() - startedAt) / 1000
}

await episodes()
const [own, single]: [number[], number[]] = [[], []]
for (let round = 0; round < rounds; round++) {
  inSandbox = 0
  own.push(await episodes())
  single.push(await singleTurns())
}
const completions = asked.reduce((sum, { streams }) => sum + streams.length, 0)
const tokens = completions * Number(newTokens)
const best = (seconds: readonly number[]) => Math.min(...seconds)
const speed = (seconds: number) => (tokens / seconds).toFixed(0)
const ratioOf = (measure: (seconds: readonly number[]) => number) =>
  (measure(single) / measure(own)).toFixed(3)
console.log(`${rows * groupSize} episodes, ${completions} requests, ${tokens} tokens`)
console.log(`single turns: ${speed(median(single))} tokens/s, at best ${speed(best(single))}`)
console.log(`episodes: ${speed(median(own))} tokens/s, at best ${speed(best(own))}`)
console.log(`ratio of medians ${ratioOf(median)}, of the best ${ratioOf(best)}`)
console.log(`passes over prompts + steps: single turns ${singlePasses}; episodes ${ownPasses}`)
console.log(`in the sandbox: ${inSandbox.toFixed(0)} ms of ${(1000 * (own.at(-1) ?? 0)).toFixed(0)} ms`)
