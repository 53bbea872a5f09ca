/** Readers that answer when an export is compared: a policy, and the session of an exported graph. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { randomStream } from '#shared/random.ts'
import type { OnnxModel } from '#engine/graph/onnx.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import { type PolicyRole, unfiltered } from '#engine/policy.ts'
import { defaultDevice } from '#engine/runtime/device.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { type Feed, floats, int64s, Session } from '#engine/runtime/session.ts'
import { cacheNames } from './onnxGraph.ts'
import { graphName } from './onnxModel.ts'
import { largestDifference, type LiveAnswers, type ParityReader, type ParityPrompts } from './parity.ts'

export const policyReader = (policy: OrtPolicy, role: PolicyRole): ParityReader => ({
  async score(sequences) {
    const rows = sequences.map((ids) => ({ ids, actionMask: new Uint8Array(ids.length - 1).fill(1) }))
    return (await policy.score(rows, { role, temperature: 1 })).map(({ logprobs }) => logprobs)
  },
  async proceed(prompts, count) {
    const continued: Int32Array[] = prompts.map(() => new Int32Array())
    const requests = prompts.map((promptIds) => ({ promptIds, streams: [randomStream(0)] }))
    const sampling = { ...unfiltered, greedy: true, maxNewTokens: count }
    for await (const { request, ids } of policy.generate(requests, { role, sampling }))
      continued[request] = ids
    return continued
  },
})

/** Asks the policy about the prompts and its own continuations. */
export async function askLive(
  actor: ParityReader,
  base: ParityReader,
  { ids: prompts, continuation }: ParityPrompts,
): Promise<LiveAnswers> {
  const continued = await actor.proceed(prompts, continuation)
  const sequences = prompts.map((ids, index) => Int32Array.from([...ids, ...(continued[index] ?? [])]))
  const logprobs = await actor.score(sequences)
  const adapterEffect = largestDifference(logprobs, await base.score(sequences))
  return { prompts, sequences, logprobs, greedy: continued, adapterEffect }
}

export interface GraphReader extends ParityReader, Disposable {}

/** Opens the graph of an exported folder; `adapter` feeds its inputs, if it has such. Errors: AppError 'runtime/failed'. */
export async function graphReader(
  folder: string,
  { inputs, outputs }: Pick<OnnxModel, 'inputs' | 'outputs'>,
  { config, adapter }: { readonly config: ModelConfig; readonly adapter: Readonly<Record<string, Feed>> },
): Promise<GraphReader> {
  const bytes = readFileSync(path.join(folder, graphName))
  const model = { bytes, inputs, outputs, fedWeights: [], externalFolder: folder }
  const session = await Session.open(model, { name: graphName, device: defaultDevice(), purpose: 'generate' })
  const graph = new Graph(session, config, adapter)
  return {
    score: (sequences) => inTurn(sequences, (ids) => graph.score(ids)),
    proceed: (prompts, count) => inTurn(prompts, (ids) => graph.proceed(ids, count)),
    [Symbol.dispose]: () => session[Symbol.dispose](),
  }
}

async function inTurn<From, To>(items: readonly From[], work: (item: From) => Promise<To>): Promise<To[]> {
  const results: To[] = []
  for (const item of items) results.push(await work(item))
  return results
}

type Past = Readonly<Record<string, Feed>>

/** Session of an exported graph, run for one row at a time. */
class Graph {
  readonly #session: Session
  readonly #config: ModelConfig
  readonly #adapter: Readonly<Record<string, Feed>>

  constructor(session: Session, config: ModelConfig, adapter: Readonly<Record<string, Feed>>) {
    this.#session = session
    this.#config = config
    this.#adapter = adapter
  }

  async score(ids: Int32Array): Promise<Float64Array> {
    const { logits } = await this.#step(ids, this.#past({}, 0), 0)
    const { vocabSize } = this.#config
    return Float64Array.from({ length: ids.length - 1 }, (_, at) =>
      logprobOf(logits.subarray(at * vocabSize, (at + 1) * vocabSize), ids[at + 1] ?? 0),
    )
  }

  /** Token by token through the cache. */
  async proceed(prompt: Int32Array, count: number): Promise<Int32Array> {
    const generated: number[] = []
    let [next, past, seen] = [prompt, this.#past({}, 0), 0]
    while (generated.length < count) {
      const { logits, results } = await this.#step(next, past, seen)
      seen += next.length
      past = this.#past(results, seen)
      const last = logits.subarray((next.length - 1) * this.#config.vocabSize)
      const best = last.reduce((top, value, id) => (value > (last[top] ?? NaN) ? id : top), 0)
      generated.push(best)
      next = Int32Array.of(best)
    }
    return Int32Array.from(generated)
  }

  async #step(ids: Int32Array, past: Past, seen: number) {
    const results = await this.#session.run({
      input_ids: int64s(ids, [1, ids.length]),
      attention_mask: int64s(new Int32Array(seen + ids.length).fill(1), [1, seen + ids.length]),
      position_ids: int64s(
        ids.map((_, index) => seen + index),
        [1, ids.length],
      ),
      ...past,
      ...this.#adapter,
    })
    return { results, logits: results['logits'] ?? new Float32Array() }
  }

  /** Feeds the `present` outputs of the last step as the past of the next; empty before the first. */
  #past(results: Readonly<Record<string, Float32Array>>, length: number): Past {
    const { layers, kvHeads, headDim } = this.#config
    const feed = (name: string) => floats(results[name] ?? new Float32Array(), [1, kvHeads, length, headDim])
    return Object.fromEntries(
      Array.from({ length: layers }, (_, layer) => {
        const names = cacheNames(layer)
        return [
          [names.pastKey, feed(names.presentKey)],
          [names.pastValue, feed(names.presentValue)],
        ] as const
      }).flat(),
    )
  }
}

/** log softmax(logits)[id], in f64. */
function logprobOf(logits: Float32Array, id: number): number {
  const largest = logits.reduce((most, value) => Math.max(most, value), -Infinity)
  let sum = 0
  for (const value of logits) sum += Math.exp(value - largest)
  return (logits[id] ?? NaN) - largest - Math.log(sum)
}
