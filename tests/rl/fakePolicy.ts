/** A bigram softmax policy and critic with exact gradients: the smallest thing that can learn. One character is one token. */
import { setTimeout as wait } from 'node:timers/promises'
import type {
  Completion,
  GenerationRequest,
  Heads,
  Policy,
  PolicyRole,
  PolicySnapshot,
  ScoreOptions,
  TokenSequence,
  UpdateOptions,
} from '#engine/policy.ts'

const alphabet = '.abcdefgh' // '.' ends a completion
const vocabulary = alphabet.length
export const stopId = 0

export const fakeTokenizer = {
  encode: (text: string) => Int32Array.from(text, (letter) => Math.max(1, alphabet.indexOf(letter))),
  decode: (ids: Iterable<number>) => Array.from(ids, (id) => (id === stopId ? '' : alphabet[id])).join(''),
}

export interface FakePolicy extends Policy {
  /** [V·V] logit of the next token after each token. */
  readonly table: Float64Array
  /** [V] the critic's value of the state after each token. */
  readonly critic: Float64Array
  /** [V·V] logits of the reference. */
  readonly reference: Float64Array
  /** Calls so far, by name. */
  readonly calls: Record<string, number>
  /** Every temperature it was asked for, greedy decoding aside. */
  readonly temperatures: number[]
  readonly updates: UpdateOptions[]
}

export interface FakeOptions {
  /** Added to every recorded log-probability: a sampler that disagrees with the learner. */
  readonly samplerGap?: number
  /** Factor on the gradients of the n-th micro-batch, from 1: a device that computes wrongly. */
  readonly fault?: (microBatch: number) => number
  readonly table?: Float64Array
  readonly critic?: Float64Array
  /** The table if absent. */
  readonly reference?: Float64Array
  /** It can generate while it learns: so many milliseconds after each call, which the number of the snapshot tells. */
  readonly snapshotDelay?: (snapshot: number) => number
}

export function fakePolicy({
  samplerGap = 0,
  fault = () => 1,
  table = new Float64Array(vocabulary ** 2),
  critic = new Float64Array(vocabulary),
  reference = table.slice(),
  snapshotDelay,
}: FakeOptions = {}): FakePolicy {
  const base = new Float64Array(vocabulary ** 2)
  const criticGradient = new Float64Array(vocabulary)
  const gradient = new Float64Array(vocabulary ** 2)
  const calls: Record<string, number> = {}
  const temperatures: number[] = []
  const updates: UpdateOptions[] = []
  const count = (name: string) => (calls[name] = (calls[name] ?? 0) + 1)
  const distribution = (role: PolicyRole, token: number, temperature: number): Float64Array => {
    const source = { actor: table, reference, base, critic: base }[role]
    const exps = source
      .slice(token * vocabulary, (token + 1) * vocabulary)
      .map((logit) => Math.exp(logit / temperature))
    const sum = exps.reduce((a, b) => a + b, 0)
    return exps.map((value) => value / sum)
  }
  /** The sequence's own alternatives, or the likeliest. */
  const alternativesOf = (
    { ids, alternatives }: TokenSequence,
    { role, temperature, likeliest = 0 }: ScoreOptions,
  ): Pick<Heads, 'alternatives'> => {
    const last = ids.length - 1
    const each = alternatives ? alternatives.length / last : Math.min(likeliest, vocabulary)
    if (each === 0) return {}
    const found = new Int32Array(last * each)
    const logprobs = new Float64Array(found.length)
    for (let t = 0; t < last; t++) {
      const p = distribution(role, ids[t]!, temperature)
      const ranked = [...p.keys()].sort((a, b) => p[b]! - p[a]!)
      for (let k = 0; k < each; k++) {
        const id = alternatives ? alternatives[t * each + k]! : ranked[k]!
        found[t * each + k] = id
        logprobs[t * each + k] = Math.log(p[id]!)
      }
    }
    return { alternatives: { ids: found, logprobs } }
  }
  const headsOf = (sequence: TokenSequence, options: ScoreOptions): Heads => {
    const { ids, actionMask } = sequence
    const { role, temperature } = options
    const logprobs = new Float64Array(actionMask.length)
    const entropies = new Float64Array(actionMask.length)
    actionMask.forEach((isAction, t) => {
      if (isAction !== 1) return
      const p = distribution(role, ids[t]!, temperature)
      logprobs[t] = Math.log(p[ids[t + 1]!]!)
      entropies[t] = -p.reduce((sum, value) => sum + value * Math.log(value), 0)
    })
    const valued = role === 'actor' || role === 'critic'
    const values = valued
      ? Float64Array.from(actionMask, (isAction, t) => (isAction === 1 ? critic[ids[t]!]! : 0))
      : null
    return { logprobs, entropies, values, ...alternativesOf(sequence, options) }
  }
  const snapshot = async (): Promise<PolicySnapshot> => {
    const number = count('snapshot')
    const frozen = fakePolicy({ samplerGap, table: table.slice() })
    return {
      async *generate(requests, options) {
        await wait(snapshotDelay?.(number) ?? 0, undefined, { signal: options.signal })
        yield* frozen.generate(requests, options)
      },
      [Symbol.dispose]: () => void count('snapshot disposed'),
    }
  }
  return {
    ...(snapshotDelay === undefined ? {} : { snapshot }),
    table,
    critic,
    reference,
    calls,
    temperatures,
    updates,
    vocabSize: vocabulary,
    contextLength: 32,
    learningTokens: 512,
    replicas: 1,
    sharesPrefixes: true,
    async *generate(given, { sampling: shared, role, later }) {
      count(shared.greedy ? 'greedy' : 'generate')
      if (!shared.greedy) temperatures.push(shared.temperature)
      const complete = ({ promptIds, streams, sampling = shared }: GenerationRequest, request: number) =>
        streams.map((stream, sample): Completion => {
          const [ids, logprobs]: [number[], number[]] = [[], []]
          while (ids.length < sampling.maxNewTokens && !sampling.stopIds.includes(ids.at(-1) ?? -1)) {
            const p = distribution(
              role,
              ids.at(-1) ?? promptIds.at(-1)!,
              sampling.greedy ? 1 : sampling.temperature,
            )
            let [id, rest] = [0, stream.uniformAt(ids.length)]
            if (sampling.greedy) id = p.indexOf(Math.max(...p))
            else while (id < vocabulary - 1 && (rest -= p[id]!) >= 0) id++
            ids.push(id)
            logprobs.push(Math.log(p[id]!) + samplerGap)
          }
          const stopReason = sampling.stopIds.includes(ids.at(-1)!) ? 'stop-id' : 'length'
          return {
            request,
            sample,
            ids: Int32Array.from(ids),
            logprobs: Float64Array.from(logprobs),
            stopReason,
          }
        })
      yield* given.flatMap(complete).toReversed() // finished rows come in any order
      let asked = given.length
      for (let more = await later?.(true); more; more = await later?.(true)) {
        const first = asked
        asked += more.length
        yield* more.flatMap((request, i) => complete(request, first + i)).toReversed()
      }
    },
    async score(sequences, options) {
      count(`score ${options.role}`)
      temperatures.push(options.temperature)
      return sequences.map((sequence) => headsOf(sequence, options))
    },
    async accumulate(sequences, { temperature }, coefficients) {
      const factor = fault(count('accumulate'))
      temperatures.push(temperature)
      const heads = sequences.map((sequence) => headsOf(sequence, { role: 'actor', temperature }))
      const answers = coefficients(heads)
      sequences.forEach(({ ids, alternatives }, i) => {
        const learnToken = (t: number, id: number, coefficient: number) => {
          if (coefficient === 0) return
          distribution('actor', ids[t]!, temperature).forEach((value, v) => {
            gradient[ids[t]! * vocabulary + v]! +=
              (factor * coefficient * ((v === id ? 1 : 0) - value)) / temperature
          })
        }
        answers[i]!.values?.forEach((slope, t) => (criticGradient[ids[t]!]! += factor * slope))
        answers[i]!.logprobs.forEach((coefficient, t) => learnToken(t, ids[t + 1]!, coefficient))
        const each = (alternatives?.length ?? 0) / (ids.length - 1)
        answers[i]!.alternatives?.forEach((coefficient, at) =>
          learnToken(Math.floor(at / each), alternatives![at]!, coefficient),
        )
      })
      return heads
    },
    async gradientNorms() {
      const criticNorm = Math.hypot(...criticGradient)
      return { actor: Math.hypot(...gradient), ...(criticNorm > 0 ? { critic: criticNorm } : {}) }
    },
    async update({ learningRates, maxGradNorm }) {
      count('update')
      updates.push({ learningRates, maxGradNorm })
      const norm = Math.hypot(...gradient)
      const scale = Math.min(1, maxGradNorm / (norm + 1e-6))
      gradient.forEach((slope, i) => (table[i]! -= learningRates.actor * scale * slope))
      const criticNorm = Math.hypot(...criticGradient)
      criticGradient.forEach((slope, i) => (critic[i]! -= learningRates.critic * slope))
      gradient.fill(0)
      criticGradient.fill(0)
      return { gradNorms: { actor: norm, ...(criticNorm > 0 ? { critic: criticNorm } : {}) } }
    },
    discardGradients() {
      count('discardGradients')
      gradient.fill(0)
      criticGradient.fill(0)
    },
    async refreshReference(mix) {
      count('refreshReference')
      reference.forEach((value, i) => (reference[i] = mix * table[i]! + (1 - mix) * value))
    },
    [Symbol.dispose]: () => undefined,
  }
}
