/** Measures prefill, decoding and training of a model on this machine, and its matrix-product peak for comparison. */
import { plural } from '#shared/plural.ts'
import { SequentialRandom, randomStream } from '#shared/random.ts'
import { baseProblem, holdsTensors } from '#shared/device.ts'
import { conventionalFlops, learningFlops } from '#engine/models/work.ts'
import type { GenerationRequest, TokenSequence, Completion } from '#engine/policy.ts'
import { matmulPeakGflops } from '#engine/runtime/matmulPeak.ts'
import { watchMemory } from '#engine/runtime/memory.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { forMicroBatches, microBatches } from '#rl/training/packing.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { chooseDevice } from '#host/models/openModel.ts'
import {
  SEED,
  adapterOf,
  median,
  openPolicy,
  randomIds,
  randomRequests,
  sampling,
  subjectFolder,
  type Bench,
} from './benchModel.ts'
import type { BenchPart, BenchReport, BenchRequest, ParityFigures } from './benchReport.ts'
import { stepPart } from './benchStep.ts'

const PEAK_ROUNDS = 5
/** Measures the yardstick: in one round where one step is to be measured, which says no more. */
const peakOf = ({ device, request }: Bench): Promise<number> =>
  matmulPeakGflops(device, request.steps === 1 ? 1 : PEAK_ROUNDS)
const PREFILL = { prompts: 2, tokens: 512 }
/** Completions of one prompt. */
const GROUP = 8
const DECODE = { promptTokens: 64, newTokens: 64 }

export interface BenchOptions {
  /** Called with a description of what is being measured. */
  readonly onProgress?: (text: string) => void
}

export async function runBench(
  request: BenchRequest,
  { onProgress }: BenchOptions = {},
): Promise<BenchReport> {
  const say = onProgress ?? (() => undefined)
  const device = await chooseDevice({ kind: request.device, threads: request.threads })
  const bench: Bench = {
    request,
    device,
    say,
    lora: adapterOf(request),
    directory: await subjectFolder(request, say),
  }
  say('matrix-product peak')
  const before = await peakOf(bench)
  const part = <Figures>(name: BenchPart, measure: (bench: Bench) => Promise<Figures>) =>
    request.parts.includes(name) ? measure(bench) : Promise.resolve(null)
  const train = await part('train', trainPart)
  const prefill = await part('prefill', prefillPart)
  const decode = await part('decode', decodePart)
  const step = await part('step', stepPart)
  const parity = await part('parity', parityPart)
  const after = await peakOf(bench)
  return {
    shape: 'shape' in request.subject ? request.subject.shape : request.subject.model,
    device: device.kind,
    threads: device.threads,
    matmulPeakGflops: (before + after) / 2,
    ...(prefill && { prefill }),
    ...(decode && { decode }),
    ...(step && { step }),
    ...(parity && { parity }),
    ...(train && {
      train: {
        tokensPerSecond: train.tokens / median(train.steps.map(({ seconds }) => seconds)),
        peakFraction: peakFraction(train, train.conventionalFlops),
        computedPeakFraction: peakFraction(train, train.flops),
        anonymousBytes: train.anonymousBytes,
        mappedBytes: train.mappedBytes,
      },
    }),
  }
}

const peakFraction = ({ steps }: TrainFigures, flops: number): number =>
  median(steps.map(({ seconds, peak }) => flops / seconds / (peak * 1e9)))

interface TrainStep {
  readonly seconds: number
  /** Mean of the peaks just before and after it, in GFLOP/s: other guests of a machine slow both down. */
  readonly peak: number
}

interface TrainFigures {
  /** Tokens and operations of a step. */
  readonly tokens: number
  readonly flops: number
  readonly conventionalFlops: number
  readonly steps: readonly TrainStep[]
  readonly anonymousBytes: number
  readonly mappedBytes: number | null
}

/** Forward, head, backward and update of one step, after one that is not counted. */
async function trainPart(bench: Bench): Promise<TrainFigures> {
  const { request, say } = bench
  using policy = await openPolicy(bench, 'f32', 1)
  const random = new SequentialRandom(randomStream(SEED, 2))
  const { rows, from, to } = request.lengths
  const lengths = Array.from({ length: rows }, () => from + random.integer(to - from + 1))
  const sequences: TokenSequence[] = lengths.map((length) => ({
    ids: randomIds(random, length + 1, policy.vocabSize),
    actionMask: new Uint8Array(length).fill(1),
  }))
  const tokens = lengths.reduce((total, length) => total + length, 0)
  const { learningTokens, replicas, sharesPrefixes } = policy
  const load = { tokens: learningTokens, isLimit: false, replicas, sharesPrefixes }
  const cut = microBatches({ lengths }, load, 1)
  const sequencesOf = (rows: readonly number[]) => rows.flatMap((row) => sequences[row] ?? [])
  const step = async () => {
    await forMicroBatches(cut, (rows) => learnOnce(policy, sequencesOf(rows), tokens))
    await policy.update({ learningRates: { actor: 1e-5, critic: 0 }, maxGradNorm: 1 })
  }
  say('training: warm-up')
  await step()
  say('training: memory')
  const watch = watchMemory() // a step of its own: the watching thread would take time from the others
  await step()
  const memory = watch.stop()
  const steps: TrainStep[] = []
  let before = await peakOf(bench)
  for (let index = 1; index <= request.steps; index++) {
    say(`training: step ${String(index)} of ${String(request.steps)}`)
    const startedAt = performance.now()
    await step()
    const seconds = (performance.now() - startedAt) / 1000
    const after = await peakOf(bench)
    steps.push({ seconds, peak: (before + after) / 2 })
    before = after
  }
  const { config } = openModelFolder(bench.directory)
  // Whole programs on a device always compute a segment again on its way back.
  const recompute = learningTokens > policy.savedTokens || holdsTensors(bench.device)
  const work = { config, lora: bench.lora, lengths, recompute }
  return {
    tokens,
    flops: learningFlops(work),
    conventionalFlops: conventionalFlops(work),
    steps,
    anonymousBytes: memory.anonymousBytes,
    mappedBytes: memory.mappedBytes,
  }
}

async function learnOnce(policy: OrtPolicy, batch: readonly TokenSequence[], tokens: number): Promise<void> {
  const options = { temperature: 1, entropyGradient: false }
  await policy.accumulate(batch, options, (heads) =>
    heads.map(({ logprobs }) => ({
      logprobs: new Float64Array(logprobs.length).fill(-1 / tokens),
      entropies: null,
      values: null,
    })),
  )
}

/** Seconds to generate for all requests, sampling included. */
async function generationSeconds(
  policy: OrtPolicy,
  requests: readonly GenerationRequest[],
  newTokens: number,
): Promise<number> {
  const startedAt = performance.now()
  let finished = 0
  for await (const { ids } of policy.generate(requests, { role: 'actor', sampling: sampling(newTokens) }))
    finished += ids.length
  const samples = requests.reduce((total, { streams }) => total + streams.length, 0)
  if (finished !== samples * newTokens)
    throw new Error('The bench expected every completion to reach the length limit.')
  return (performance.now() - startedAt) / 1000
}

async function prefillPart(bench: Bench): Promise<NonNullable<BenchReport['prefill']>> {
  using policy = await openPolicy(bench, 'f32', GROUP)
  const tokens = Math.min(PREFILL.tokens, policy.contextLength - 1)
  const requests = randomRequests(policy, PREFILL.prompts, tokens)
  const single = requests.slice(0, 1)
  const streams = Array.from({ length: GROUP }, (_, sample) => randomStream(SEED, 5, sample))
  const group = single.map((request) => ({ ...request, streams }))
  bench.say('prefill')
  await generationSeconds(policy, requests, 1)
  const times: { all: number; one: number; group: number }[] = []
  for (let round = 0; round < bench.request.steps; round++) {
    const all = await generationSeconds(policy, requests, 1)
    const one = await generationSeconds(policy, single, 1)
    times.push({ all, one, group: await generationSeconds(policy, group, 1) })
  }
  return {
    tokensPerSecond: (PREFILL.prompts * tokens) / median(times.map(({ all }) => all)),
    groupOfEight: median(times.map((time) => time.group / time.one)),
  }
}

async function decodePart(bench: Bench): Promise<NonNullable<BenchReport['decode']>> {
  const results: NonNullable<BenchReport['decode']>[number][] = []
  const { base, precisions, batches } = bench.request
  // If weights are on the device once, rollouts read the same ones as learning.
  const own = base === 'f32' && !holdsTensors(bench.device)
  for (const rollout of own ? precisions : (['f32'] as const)) {
    const precision = base === 'f32' ? rollout : base
    using policy = await openPolicy(bench, rollout, Math.max(...batches))
    for (const batch of batches) {
      bench.say(`decoding: ${precision}, ${plural(batch, 'row')}`)
      results.push({
        batch,
        precision,
        tokensPerSecond: await decodeSpeed(policy, batch, bench.request.steps),
      })
    }
  }
  return results
}

/** Tokens per second once the prompts are in: the time of a long generation less that of one that only reads them. */
async function decodeSpeed(policy: OrtPolicy, batch: number, rounds: number): Promise<number> {
  const requests = randomRequests(policy, batch, DECODE.promptTokens)
  await generationSeconds(policy, requests, 2)
  const seconds: number[] = []
  for (let round = 0; round < rounds; round++) {
    const reading = await generationSeconds(policy, requests, 1)
    seconds.push((await generationSeconds(policy, requests, 1 + DECODE.newTokens)) - reading)
  }
  return (batch * DECODE.newTokens) / median(seconds)
}

/* A device beside the CPU: the tokens it chooses and the gradients it computes for the same model, adapter and rows. */

const [PROMPTS, PROMPT_TOKENS, NEW_TOKENS] = [4, 16, 32]
const ROWS = [64, 40]
/**
 * Standard deviation of the random values in the adapter: with B = 0, as it begins, half of the gradient would be 0.
 */
const DEVIATION = 0.02

interface Answer {
  readonly completions: readonly Completion[]
  readonly gradient: Float64Array
}

async function parityPart(bench: Bench): Promise<ParityFigures> {
  bench.say('parity with the CPU')
  const actual = await answerOf(bench)
  const cpu = await chooseDevice({ kind: 'cpu', threads: bench.request.threads })
  const { base } = bench.request
  const reference = baseProblem('cpu', base) === null ? base : 'f32'
  const expected = await answerOf({ ...bench, device: cpu, request: { ...bench.request, base: reference } })
  const pairs = expected.completions.map((completion, index) => same(actual.completions[index], completion))
  const difference = expected.gradient.map((value, index) => (actual.gradient[index] ?? NaN) - value)
  return {
    reference,
    tokens: PROMPTS * NEW_TOKENS,
    sameTokens: pairs.reduce((sum, { length }) => sum + length, 0),
    logprobs: Math.max(...pairs.map(({ logprobs }) => logprobs)),
    gradient: norm(difference) / norm(expected.gradient),
  }
}

async function answerOf(bench: Bench): Promise<Answer> {
  using policy = await openPolicy(bench, 'f32', PROMPTS)
  const random = new SequentialRandom(randomStream(SEED, 6))
  const tensors = await policy.adapterTensors('actor')
  policy.restoreAdapter(
    'actor',
    tensors.map((tensor) => ({ ...tensor, data: tensor.data.map(() => DEVIATION * random.normal()) })),
  )
  return { completions: await greedyCompletions(policy), gradient: await gradientOf(policy) }
}

async function greedyCompletions(policy: OrtPolicy): Promise<Completion[]> {
  const completions: Completion[] = []
  const requests = randomRequests(policy, PROMPTS, PROMPT_TOKENS)
  const options = { role: 'actor', sampling: { ...sampling(NEW_TOKENS), greedy: true } } as const
  for await (const completion of policy.generate(requests, options)) completions.push(completion)
  return completions.toSorted((a, b) => a.request - b.request)
}

/** Computes the gradient of a loss with random coefficients for log-probabilities and entropies. */
async function gradientOf(policy: OrtPolicy): Promise<Float64Array> {
  const random = new SequentialRandom(randomStream(SEED, 7))
  const sequences = ROWS.map((length): TokenSequence => ({
    ids: randomIds(random, length, policy.vocabSize),
    actionMask: new Uint8Array(length - 1).fill(1),
  }))
  const normals = ({ actionMask }: TokenSequence) => Float64Array.from(actionMask, () => random.normal())
  const coefficients = sequences.map((row) => ({
    logprobs: normals(row),
    entropies: normals(row),
    values: null,
  }))
  await policy.accumulate(sequences, { temperature: 1, entropyGradient: true }, () => coefficients)
  return Float64Array.from((await policy.gradientTensors()).flatMap(({ data }) => [...data]))
}

/**
 * Returns the length up to which two completions agree, and the largest difference of their log-probabilities there.
 */
function same(actual: Completion | undefined, expected: Completion): { length: number; logprobs: number } {
  const first = expected.ids.findIndex((id, at) => id !== actual?.ids[at])
  const length = first < 0 ? expected.ids.length : first
  const differences = Array.from(expected.logprobs.subarray(0, length), (logprob, at) =>
    Math.abs(logprob - (actual?.logprobs[at] ?? NaN)),
  )
  return { length, logprobs: Math.max(0, ...differences) }
}

const norm = (values: Float64Array): number =>
  Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))
