/**
 * Adapters that stay where programs run: ten updates (twenty in the long run) leave the bytes that the host's arrays have. Here the programs of devices that
 * hold tensors (`shared`) run on the CPU, against those whose parameters are with the host (`resident`).
 */
import { beforeAll, describe, expect, test } from 'vitest'
import type { ModelSource } from '#engine/models/source.ts'
import type { GradientNorms } from '#engine/policy.ts'
import { scheduleById } from '#engine/optimizers/schedules.ts'
import { adamw } from '#engine/optimizers/adamw.ts'
import { adapterSize, sharedFloats } from '#engine/runtime/adapterParameters.ts'
import { DeviceParameters } from '#engine/runtime/deviceParameters.ts'
import { HostTensors } from '#engine/runtime/deviceTensors.ts'
import { floats } from '#engine/runtime/session.ts'
import type { OrtPolicy, OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import { casesOf, eachOf } from '../../sweeps.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference } from './differences.ts'
import {
  flat,
  oneThread,
  openCritic,
  openTiny,
  randomAdapter,
  randomCoefficients,
  randomSequence,
  tinyLora,
  tinySource,
  withValues,
} from './tinyModel.ts'

const folder = temporaryFolder()
let source: ModelSource
beforeAll(async () => {
  source = await tinySource(folder, { layers: 3 })
})

const STEPS = casesOf(10, 20)
const batches = [
  [5, 12],
  [9, 3],
].map((lengths, batch) =>
  lengths.map((length, index) => randomSequence(258, length, 10 * batch + index, 0.9)),
)

interface Variant {
  readonly critic?: true
  readonly options?: Partial<OrtPolicyOptions>
  /** Layers of a program; all of them if absent. */
  readonly segmentLayers?: number
  readonly maxGradNorm?: number
  readonly schedule?: string
  /** After an update; a policy that it returns goes on. */
  readonly after?: (policy: OrtPolicy, step: number, open: () => Promise<OrtPolicy>) => Promise<OrtPolicy>
}

const optimizer = { ...adamw.settings, weightDecay: 0.3, beta1: 0.8, beta2: 0.95, epsilon: 1e-6 }

async function resumed(policy: OrtPolicy, step: number, open: () => Promise<OrtPolicy>): Promise<OrtPolicy> {
  if (step !== 7) return policy
  using before = policy
  const next = await open()
  next.restoreAdapter('actor', await before.adapterTensors('actor'))
  next.restoreAdapter('critic', await before.adapterTensors('critic'))
  next.restoreValueHead(before.valueHead())
  next.restoreOptimizer(await before.optimizerState())
  return next
}

const variants: Readonly<Record<string, Variant>> = {
  'as a run is by default': {},
  'without a limit of the norm, without decay': {
    maxGradNorm: Infinity,
    options: { optimizer: { ...adamw.settings, weightDecay: 0 } },
  },
  'with other settings of the optimizer': { options: { optimizer }, maxGradNorm: 0.01 },
  'with a linear schedule': { schedule: 'linear' },
  'with a cosine schedule': { schedule: 'cosine' },
  'with dropout': { options: { lora: { ...tinyLora, dropout: 0.2 } } },
  'in three segments': { segmentLayers: 1 },
  'with a critic': { critic: true },
  'with a critic, in two segments': { critic: true, segmentLayers: 2, options: { optimizer } },
  'resumed from a checkpoint': { critic: true, segmentLayers: 2, after: resumed },
  'with updates that are skipped, since a gradient is not finite': {
    after: async (policy, step) => {
      if (step % 5 !== 0) return policy
      await accumulate(policy, step, false, 1e38)
      expect((await policy.gradientNorms()).actor).not.toSatisfy(Number.isFinite)
      policy.discardGradients()
      return policy
    },
  },
  'with a reference that follows, and adapters that are looked at': {
    after: async (policy, step) => {
      if (step % 4 === 0) await policy.refreshReference(0.5)
      if (step % 6 === 0) await policy.adapterTensors('actor')
      return policy
    },
  },
}

/** The variants of every run; checkpoints have a critic and segments. */
const always = ['as a run is by default', 'with dropout', 'resumed from a checkpoint']

async function accumulate(policy: OrtPolicy, step: number, critic: boolean, factor = 1): Promise<void> {
  for (const [batch, sequences] of batches.entries()) {
    const given = randomCoefficients(sequences, 100 * step + batch, true)
    const valued = critic ? withValues(given, sequences, step) : given
    const coefficients = valued.map((row) => ({
      ...row,
      logprobs: row.logprobs.map((slope) => factor * slope),
    }))
    await policy.accumulate(sequences, { temperature: 0.9, entropyGradient: true }, () => coefficients)
  }
}

/** What the updates leave. */
async function trained(form: 'shared' | 'resident', variant: Variant) {
  const {
    critic = false,
    options,
    segmentLayers = 3,
    maxGradNorm = 1,
    schedule = 'constant',
    after,
  } = variant
  const open = () =>
    (critic ? openCritic : openTiny)(source, { ...options, programs: { form, segmentLayers } })
  let policy = await open()
  const norms: GradientNorms[] = []
  const rate = (step: number, base: number) =>
    scheduleById(schedule).at(step, base, { totalSteps: STEPS, warmupProportion: 0.2 })
  for (let step = 0; step < STEPS; step++) {
    await accumulate(policy, step, critic)
    const learningRates = { actor: rate(step, 1e-3), critic: rate(step, 3e-3) }
    norms.push(await policy.gradientNorms())
    expect((await policy.update({ learningRates, maxGradNorm })).gradNorms).toEqual(norms.at(-1))
    policy = (await after?.(policy, step, open)) ?? policy
  }
  using last = policy
  const sequence = batches[0]!
  return {
    norms,
    actor: await last.adapterTensors('actor'),
    reference: await last.adapterTensors('reference'),
    critic: critic ? [await last.adapterTensors('critic'), last.valueHead()] : null,
    optimizer: await last.optimizerState(),
    gradients: await last.gradientTensors(),
    scores: await Promise.all(
      (['actor', 'reference'] as const).map((role) => last.score(sequence, { role, temperature: 1 })),
    ),
  }
}

describe('a gradient whose parts', () => {
  const lora = { ...tinyLora, rank: 1 }
  const opened = () => {
    const options = { config: source.config, lora, device: oneThread, home: new HostTensors(source) }
    const gradients = sharedFloats(adapterSize(source.config, lora))
    return { parameters: new DeviceParameters(options), gradients }
  }
  const half = () => adapterSize(source.config, lora) / 2
  const part = (value: number, length: number) => floats(new Float32Array(length).fill(value), [length])

  test('are cut in another way from now on is the same sum', async () => {
    const { parameters, gradients } = opened()
    using _ = parameters
    await parameters.add(gradients, part(1, 2 * half()), 0)
    await parameters.add(gradients, part(2, half()), half())
    await parameters.add(gradients, part(4, half()), 0)
    await parameters.fetch(gradients)
    expect([gradients[0], gradients.at(-1)]).toEqual([5, 3])
    const numbers = parameters.numbers({
      values: gradients.slice(),
      gradients,
      first: gradients,
      second: gradients,
    })
    expect(await numbers.squares()).toBe(half() * (25 + 9))
  })

  test('were put back goes on from there, and a cleared one from zero', async () => {
    const { parameters, gradients } = opened()
    using _ = parameters
    await parameters.add(gradients, part(1, 2 * half()), 0)
    gradients.fill(7)
    parameters.changed(gradients)
    await parameters.add(gradients, part(2, 2 * half()), 0)
    await parameters.fetch(gradients)
    expect(gradients.every((value) => value === 9)).toBe(true)
    parameters.clear(gradients)
    await parameters.add(gradients, part(3, half()), half())
    await parameters.fetch(gradients)
    expect([gradients[0], gradients.at(-1)]).toEqual([0, 3])
  })
})

describe('updates leave the bytes that they leave with the host', () => {
  const isAlways = ([name]: [string, Variant]) => always.includes(name)
  eachOf(test, { rows: Object.entries(variants), isAlways }, '%s', async (_, variant) => {
    const [inPrograms, withHost] = [await trained('shared', variant), await trained('resident', variant)]
    expect(inPrograms).toEqual(withHost)
    expect(inPrograms.optimizer.step).toBe(STEPS)
    expect(largestDifference(flat(inPrograms.actor), flat(randomAdapter(source.config)))).toBeGreaterThan(
      1e-3,
    )
  })
})
