/** Updates on a device that holds tensors, repeated with the host from the gradients that the device had. */
import type { Device } from '#shared/device.ts'
import { adamw } from '#engine/optimizers/adamw.ts'
import { HostNumbers } from '#engine/runtime/hostNumbers.ts'
import type { TokenSequence } from '#engine/policy.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { casesOf } from '../sweeps.ts'
import {
  flat,
  flatGradient,
  openCritic,
  randomCoefficients,
  randomSequence,
  tinySource,
  withValues,
} from '../engine/runtime/tinyModel.ts'

export interface UpdatesAnswer {
  /** Numbers of adapters, moments and value head that are not those of the same updates with the host, bit for bit. */
  readonly different: number
  /** Numbers of a gradient that are not the sum of those of its micro-batches. */
  readonly unsummed: number
  /** Numbers that the updates moved. */
  readonly moved: number
}

const STEPS = casesOf(6, 20)
const settings = { maxGradNorm: 0.5 }
const micro = [5, 14].map((length, index) => [randomSequence(258, length, index)])

async function accumulate(policy: OrtPolicy, rows: readonly TokenSequence[], step: number): Promise<void> {
  const coefficients = withValues(randomCoefficients(rows, step, true), rows, step + 1)
  await policy.accumulate(rows, { temperature: 0.8, entropyGradient: true }, () => coefficients)
}

/** Of the actor and of the critic. */
const gradientsOf = async (policy: OrtPolicy): Promise<Float32Array[]> => [
  await flatGradient(policy),
  await flatGradient(policy, 'critic'),
]

async function valuesOf(policy: OrtPolicy): Promise<Float32Array[]> {
  const { weight, bias } = policy.valueHead()
  const critic = flat(await policy.adapterTensors('critic'))
  return [flat(await policy.adapterTensors('actor')), Float32Array.of(...critic, ...weight, bias)]
}

async function unsummedOf(policy: OrtPolicy): Promise<number> {
  const alone: Float32Array[][] = []
  for (const rows of micro) {
    await accumulate(policy, rows, 1)
    alone.push(await gradientsOf(policy))
    policy.discardGradients()
  }
  for (const rows of micro) await accumulate(policy, rows, 1)
  const sums = alone[0]!.map((part, of) => part.map((value, at) => value + alone[1]![of]![at]!))
  const unsummed = differing(await gradientsOf(policy), sums)
  policy.discardGradients()
  return unsummed
}

/** Actor and critic, in two segments. */
export async function updatesCheck(folder: string, device: Device): Promise<UpdatesAnswer> {
  const source = await tinySource(folder, { layers: 2 })
  using policy = await openCritic(source, { device, programs: { segmentLayers: 1 } })
  const unsummed = await unsummedOf(policy)
  const start = await valuesOf(policy)
  const host = start.map((array) => ({
    values: array.slice(),
    gradients: new Float32Array(array.length),
    first: new Float32Array(array.length),
    second: new Float32Array(array.length),
  }))
  const adapter = start[0]!.length
  const numbers = host.map((arrays) =>
    [0, adapter].flatMap((from) => {
      const end = from === 0 ? adapter : arrays.values.length
      const own = Object.entries(arrays).map(([name, array]) => [name, array.subarray(from, end)] as const)
      return from < end ? [new HostNumbers(Object.fromEntries(own) as typeof arrays)] : []
    }),
  )
  for (let step = 1; step <= STEPS; step++) {
    for (const rows of micro) await accumulate(policy, rows, 3 * step)
    const given = await gradientsOf(policy)
    host.forEach(({ gradients }, of) => gradients.set(given[of]!))
    const learningRates = { actor: 1e-3 / step, critic: 3e-3 }
    const rates = [learningRates.actor, learningRates.critic]
    const groups = rates.map((learningRate, of) => ({ numbers: numbers[of]!, learningRate }))
    await adamw.step({ groups, step, ...settings }, adamw.settings)
    await policy.update({ learningRates, ...settings })
  }
  const { buffers } = await policy.optimizerState()
  const moments = (name: 'first' | 'second') =>
    Float32Array.of(...host.flatMap((arrays) => [...arrays[name]]))
  const after = await valuesOf(policy)
  return {
    different: differing(
      [...after, buffers['firstMoments']!, buffers['secondMoments']!],
      [...host.map(({ values }) => values), moments('first'), moments('second')],
    ),
    unsummed,
    moved: differing(after, start),
  }
}

/** Numbers that differ in a bit. */
const differing = (actual: readonly Float32Array[], expected: readonly Float32Array[]): number =>
  actual.reduce(
    (sum, array, of) => sum + array.filter((value, at) => !Object.is(value, expected[of]![at])).length,
    0,
  )
