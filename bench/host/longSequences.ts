/**
 * Seconds, processor time and memory of one update over one sequence, with attention in blocks and in parts of all of it. Run with
 * `node bench/host/longSequences.ts [SHAPE|MODEL FOLDER] [TOKENS] [THREADS] [blocks|parts|both] [ROUNDS]`. With `both`, in
 * turns so that other load hits both; the memory is right for one form alone, since a session keeps what it once needed.
 */
import { existsSync } from 'node:fs'
import { linearNames } from '#engine/models/config.ts'
import { defaultBlocks } from '#engine/ops/blockwiseAttention.ts'
import { memoryUse, watchMemory } from '#engine/runtime/memory.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { median, randomIds, SEED, subjectFolder } from '#host/checks/benchModel.ts'
import { dataFolders, resolveDataDirectory } from '#host/dataDirectory.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { chooseDevice } from '#host/models/openModel.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'

const [, , subject = 'smol-30m', tokens = '4096', threads = '2', form = 'blocks', rounds = '1'] = process.argv
const length = Number(tokens)
const say = (text: string) => console.log(text)
const cacheDirectory = dataFolders(resolveDataDirectory(undefined)).cache
const request = {
  subject: existsSync(subject) ? { model: subject } : { shape: subject },
  cacheDirectory,
} as Parameters<typeof subjectFolder>[0]
const source = await asFloat32Source(openModelFolder(await subjectFolder(request, say)), cacheDirectory)
const device = await chooseDevice({ kind: 'cpu', threads: Number(threads) })

const open = (blocks: { longerThan: number; rows: number }): Promise<OrtPolicy> =>
  createOrtPolicy({
    source,
    device,
    lora: { rank: 16, alpha: 32, rsLora: false, targets: linearNames },
    loraSeed: SEED,
    rolloutPrecision: 'f32',
    activations: 'recompute',
    maxRows: 1,
    blocks,
  })

const ids = randomIds(new SequentialRandom(randomStream(SEED)), length, source.config.vocabSize)
const sequence = { ids, actionMask: new Uint8Array(length - 1).fill(1) }

async function update(policy: OrtPolicy, isWatched: boolean) {
  const watch = isWatched ? watchMemory() : null
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  await policy.accumulate([sequence], { temperature: 1, entropyGradient: false }, (heads) =>
    heads.map(({ logprobs }) => ({ logprobs: logprobs.map(() => 0.01), entropies: null, values: null })),
  )
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpu)
  if (watch) {
    const { anonymousBytes, mappedBytes } = watch.stop()
    const [own, mapped] = [anonymousBytes, mappedBytes ?? 0].map((bytes) => Math.round(bytes / 1e6))
    say(`${String(own)} MB of own memory, ${String(mapped)} MB mapped`)
  }
  policy.discardGradients()
  return { seconds, processor: (user + system) / 1e6 }
}

type Times = Awaited<ReturnType<typeof update>>

/** Medians, and the fastest. */
function shown(times: readonly Times[]): string {
  const of = (numbers: readonly number[]) =>
    `${median(numbers).toFixed(1)} s (${Math.min(...numbers).toFixed(1)})`
  return `${of(times.map(({ seconds }) => seconds))}, of processor time ${of(times.map(({ processor }) => processor))}`
}

say(
  `${String(length)} tokens; before: ${String(Math.round(memoryUse().anonymousBytes / 1e6))} MB of own memory`,
)
const { rows } = defaultBlocks
const limits = { blocks: { longerThan: 0, rows }, parts: { longerThan: Infinity, rows } }
const forms = form === 'both' ? (['blocks', 'parts'] as const) : [form as keyof typeof limits]
const opened: { readonly name: string; readonly policy: OrtPolicy; readonly times: Times[] }[] = []
for (const name of forms) {
  const policy = await open(limits[name])
  say(`${name}: first update ${shown([await update(policy, forms.length === 1)])}`)
  opened.push({ name, policy, times: [] })
}
for (let round = 1; round < Number(rounds); round++) {
  for (const { policy, times } of opened) times.push(await update(policy, false))
}
for (const { name, policy, times } of opened) {
  if (times.length > 0) say(`${name}: ${shown(times)}`)
  policy[Symbol.dispose]()
}
