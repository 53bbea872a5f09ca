/** A base alone, which nobody trains: it scores and generates in every form of the programs, and is planned on every device. */
import { beforeAll, describe, expect, test } from 'vitest'
import { planDevice } from '#engine/models/deviceMemory.ts'
import { linearNames } from '#engine/models/config.ts'
import type { ModelSource } from '#engine/models/source.ts'
import type { TokenSequence } from '#engine/policy.ts'
import type { OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import { planFor } from '#engine/runtime/learningMemory.ts'
import { asRoundedBase } from '#host/models/baseCache.ts'
import { noAdapter } from '#host/models/openModel.ts'
import { deviceKinds } from '#shared/device.ts'
import { basePrecisions } from '#shared/precision.ts'
import { randomStream } from '#shared/random.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference } from './differences.ts'
import { completionsOf, openFresh, randomSequence, tinySource, unfiltered } from './tinyModel.ts'
import { eachOf } from '../../sweeps.ts'

const folder = temporaryFolder()
let source: ModelSource
beforeAll(async () => {
  source = await tinySource(folder, { layers: 3 })
})

const sequences = [5, 23, 2].map((length, index) => randomSequence(258, length, index))
const promptIds = sequences[1]!.ids.slice(0, 9)
const streams = [randomStream(3), randomStream(4)]

/** Log-probabilities as they are scored, and of completions as they are sampled and as they are scored. */
async function answersOf(of: ModelSource, options: Partial<OrtPolicyOptions>) {
  using policy = await openFresh(of, { lora: noAdapter, ...options })
  const score = async (rows: readonly TokenSequence[]) => {
    const heads = await policy.score(rows, { role: 'base', temperature: 1 })
    return heads.map(({ logprobs }) => [...logprobs])
  }
  const sampling = { ...unfiltered, maxNewTokens: 12 }
  const completions = await completionsOf(policy, [{ promptIds, streams }], { role: 'base', sampling })
  const whole = completions.map(({ ids }) => Int32Array.from([...promptIds, ...ids]))
  const again = await score(whole.map((ids) => ({ ids, actionMask: new Uint8Array(ids.length - 1).fill(1) })))
  return {
    scored: (await score(sequences)).flat(),
    sampled: completions.flatMap(({ logprobs }) => [...logprobs]),
    again: again.flatMap((row) => row.slice(promptIds.length - 1)),
  }
}

describe.each(['f32', 'int8', 'int4'] as const)('a base in %s', (base) => {
  const forms = [
    { form: 'shared' },
    { form: 'shared', segmentLayers: 1 },
    { form: 'resident' },
    { form: 'resident', segmentLayers: 1 },
    { form: 'unrolled' },
  ] as const
  const isAlways = (programs: (typeof forms)[number]) => base === 'int4' && !('segmentLayers' in programs)
  eachOf(test, { rows: forms, isAlways }, 'answers in the programs of devices: %o', async (programs) => {
    const held = base === 'f32' ? source : await asRoundedBase(source, base, folder)
    const { scored, sampled, again } = await answersOf(held, { programs })
    const expected = await answersOf(held, { products: 'f32' })
    expect(largestDifference(scored, expected.scored)).toBeLessThan(1e-4)
    expect(sampled).toHaveLength(24)
    expect(largestDifference(sampled, again)).toBeLessThan(1e-4)
  })
})

describe.each(deviceKinds.filter((kind) => kind !== 'cpu' && kind !== 'coreml'))('planned on %s', (kind) => {
  test.each(basePrecisions)('in %s, takes the weights and what scoring takes', (base) => {
    const request = { config: source.config, base, kind, memoryBytes: 2 ** 33, length: 64 }
    const alone = planDevice({ ...request, lora: noAdapter })
    const trained = planDevice({ ...request, lora: { ...noAdapter, targets: linearNames } })
    expect(alone).toMatchObject({ fits: true, adapterBytes: 0, optimizerBytes: 0 })
    expect(alone.weightBytes).toBe(trained.weightBytes)
    expect(alone.learningBytes).toBeGreaterThan(0)
    expect(alone.learningBytes).toBeLessThan(trained.learningBytes)
  })

  test('as it is opened', () => {
    const device = { kind, threads: 1, deviceId: 0 }
    const plan = planFor({ source, lora: noAdapter, device, activations: 'recompute' })
    expect(plan).toMatchObject({ fits: true, adapterBytes: 0 })
  })
})
