/** Slopes of a loss by finite differences, against which gradients are held. */
import { randomStream, type SequentialRandom } from '#shared/random.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import { type TokenSequence, unfiltered } from '#engine/policy.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'

export const mapValues = (
  tensor: NamedTensor,
  change: (value: number, index: number) => number,
): NamedTensor => ({
  ...tensor,
  data: tensor.data.map(change),
})

export interface LossTask {
  loss(): Promise<number>
  gradients(): Promise<NamedTensor[]>
}

/**
 * Loss = Σ coefficient · log-probability + coefficient · entropy over random sequences of unlike lengths. A policy that replays
 * routes keeps to the experts that it chose at first, so that the loss has no jumps where a small move changes a choice.
 */
export async function lossTask(policy: OrtPolicy, random: SequentialRandom): Promise<LossTask> {
  const prompts = [4, 11, 8].map((length) =>
    Int32Array.from({ length }, () => random.integer(policy.vocabSize)),
  )
  const requests = prompts.map((promptIds, index) => ({ promptIds, streams: [randomStream(1, index)] }))
  const sampling = { ...unfiltered, maxNewTokens: 1 }
  const sequences: TokenSequence[] = []
  for await (const { request, ids, routes } of policy.generate(requests, { role: 'actor', sampling })) {
    const all = Int32Array.from([...(prompts[request] ?? []), ...ids])
    const actionMask = Uint8Array.from({ length: all.length - 1 }, (_, at) => Number(at >= 2))
    sequences[request] = { ids: all, actionMask, ...(routes && { routes }) }
  }
  const masked = ({ actionMask }: TokenSequence) =>
    Float64Array.from(actionMask, (mask) => mask * random.normal())
  const coefficients = sequences.map((row) => ({
    logprobs: masked(row),
    entropies: masked(row),
    values: null,
  }))
  return {
    async loss() {
      const heads = await policy.score(sequences, { role: 'actor', temperature: 1 })
      return heads.reduce((sum, { logprobs, entropies }, row) => {
        const { logprobs: c, entropies: e } = coefficients[row] ?? { logprobs: [], entropies: [] }
        return sum + dot(logprobs, c) + dot(entropies, e)
      }, 0)
    },
    async gradients() {
      policy.discardGradients()
      await policy.accumulate(sequences, { temperature: 1, entropyGradient: true }, () => coefficients)
      return await policy.gradientTensors()
    },
  }
}

const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  let sum = 0
  for (let index = 0; index < a.length; index++) sum += (a[index] ?? 0) * (b[index] ?? 0)
  return sum
}

interface Probe {
  readonly gradients: readonly NamedTensor[]
  /** Selects the tensors of the adapter that are moved. */
  readonly isMoved: (tensor: NamedTensor) => boolean
  readonly random: SequentialRandom
  readonly h: number
  /** Largest error of a right gradient. */
  readonly limit: number
}

/** Directions that are tried until the loss is smooth along one, so that differences tell its slope. */
const directionsTried = 8

/** |slope by differences − slope by gradient| relative to the larger of slope and gradient, where the loss is smooth. */
export async function slopeError(policy: OrtPolicy, task: LossTask, probe: Probe): Promise<number> {
  let found = await slopeAlong(policy, task, probe)
  for (
    let tried = 1;
    tried < directionsTried && found.error > probe.limit && found.jump > probe.limit;
    tried++
  ) {
    found = await slopeAlong(policy, task, probe)
  }
  return found.error
}

/** The error along one direction, and by how much two slopes over unlike distances differ, relative to the same. */
async function slopeAlong(
  policy: OrtPolicy,
  task: LossTask,
  { gradients, isMoved, random, h }: Probe,
): Promise<{ readonly error: number; readonly jump: number }> {
  const start = await policy.adapterTensors('actor')
  const direction = start.map((tensor) =>
    mapValues(tensor, () => (isMoved(tensor) ? (random.uniform() < 0.5 ? -1 : 1) : 0)),
  )
  const lossAt = async (distance: number) => {
    policy.restoreAdapter(
      'actor',
      start.map((tensor, at) =>
        mapValues(tensor, (value, index) => value + distance * (direction[at]?.data[index] ?? 0)),
      ),
    )
    return task.loss()
  }
  const central = async (h: number) => ((await lossAt(h)) - (await lossAt(-h))) / (2 * h)
  const slopes = [await central(h / 2), await central(h), await central(2 * h)] as const
  // Two distances, so that the error of the difference itself is of fourth order (Richardson 1911).
  const slope = (4 * slopes[1] - slopes[2]) / 3
  const nearer = (4 * slopes[0] - slopes[1]) / 3
  policy.restoreAdapter('actor', start)
  const moved = gradients.filter(isMoved)
  const byGradient = gradients.reduce((sum, { data }, at) => sum + dot(data, direction[at]?.data ?? []), 0)
  const size = Math.sqrt(moved.reduce((sum, { data }) => sum + dot(data, data), 0))
  const scale = Math.max(size, Math.abs(slope), 1e-6)
  return { error: Math.abs(slope - byGradient) / scale, jump: Math.abs(slope - nearer) / scale }
}
