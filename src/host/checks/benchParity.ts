/** A device beside the CPU: the tokens it chooses and the gradients it computes for the same model, adapter and rows. */
import { SequentialRandom, randomStream } from '#shared/random.ts'
import type { Completion, TokenSequence } from '#engine/policy.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { SEED, openPolicy, randomIds, randomRequests, sampling, type Bench } from './benchModel.ts'
import type { ParityFigures } from './benchReport.ts'
import { chooseDevice } from '#host/models/openModel.ts'

const [PROMPTS, PROMPT_TOKENS, NEW_TOKENS] = [4, 16, 32]
const ROWS = [64, 40]
/** Of the adapter: with B = 0, as it begins, half of the gradient would be 0. */
const DEVIATION = 0.02

interface Answer {
  readonly completions: readonly Completion[]
  readonly gradient: Float64Array
}

export async function parityPart(bench: Bench): Promise<ParityFigures> {
  bench.say('parity with the CPU')
  const actual = await answerOf(bench)
  const cpu = await chooseDevice({ kind: 'cpu', threads: bench.request.threads })
  const expected = await answerOf({ ...bench, device: cpu })
  const pairs = expected.completions.map((completion, index) => same(actual.completions[index], completion))
  const difference = expected.gradient.map((value, index) => (actual.gradient[index] ?? NaN) - value)
  return {
    tokens: PROMPTS * NEW_TOKENS,
    sameTokens: pairs.reduce((sum, { length }) => sum + length, 0),
    logprobs: Math.max(...pairs.map(({ logprobs }) => logprobs)),
    gradient: norm(difference) / norm(expected.gradient),
  }
}

async function answerOf(bench: Bench): Promise<Answer> {
  using policy = await openPolicy(bench, 'f32', PROMPTS)
  const random = new SequentialRandom(randomStream(SEED, 6))
  const tensors = policy.adapterTensors('actor')
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

/** Of a loss with random coefficients for log-probabilities and entropies. */
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
  return Float64Array.from(policy.gradientTensors().flatMap(({ data }) => [...data]))
}

/** How long two completions are alike, and how far apart their log-probabilities are as long as they are. */
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
