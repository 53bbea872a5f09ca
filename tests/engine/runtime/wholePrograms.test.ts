/** The programs of devices, on the CPU: the same numbers as layer by layer. Families are compared in reference.test.ts. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { ModelSource } from '#engine/models/source.ts'
import { segmentsOf } from '#engine/models/segmentPrograms.ts'
import type { AccumulateOptions, GenerationRequest, SamplingOptions } from '#engine/policy.ts'
import type { OrtPolicy, OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import type { ProgramForm } from '#engine/runtime/policyPrograms.ts'
import { asRoundedBase } from '#host/models/baseCache.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { randomStream } from '#shared/random.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference } from './differences.ts'
import {
  completionsOf,
  flatGradient,
  openCritic,
  openTiny,
  randomCoefficients,
  randomSequence,
  tinyLora,
  tinySource,
  unfiltered,
  withValues,
} from './tinyModel.ts'

const folder = temporaryFolder()
const sequences = [5, 23, 2, 14, 9].map((length, index) => randomSequence(258, length, index))
let source: ModelSource
beforeAll(async () => {
  source = await tinySource(folder, { layers: 4 })
})

test('segments are equal and as few as may be', () => {
  expect(segmentsOf(4, Infinity)).toEqual([{ first: 0, end: 4 }])
  expect(segmentsOf(5, 2).map(({ first, end }) => end - first)).toEqual([2, 1, 2])
  expect(segmentsOf(3, 1).map(({ first }) => first)).toEqual([0, 1, 2])
})

const forms = {
  'all layers a program': { form: 'shared' },
  'two layers a program': { form: 'shared', segmentLayers: 2 },
  'a layer a program': { form: 'shared', segmentLayers: 1 },
  'one session': { form: 'resident' },
} as const satisfies Record<string, OrtPolicyOptions['programs']>

describe.each(Object.entries(forms))('learning with %s', (_, programs) => {
  const cut = { programs }
  const learned = async (of: OrtPolicy, entropyGradient: boolean, values: boolean) => {
    const options: AccumulateOptions = { temperature: 0.8, entropyGradient }
    const policyPart = randomCoefficients(sequences, 3, entropyGradient)
    const coefficients = values ? withValues(policyPart, sequences, 4) : policyPart
    const heads = await of.accumulate(sequences, options, () => coefficients)
    return { heads, actor: flatGradient(of), critic: values ? flatGradient(of, 'critic') : null }
  }

  const compare = async (
    open: (overrides: Partial<OrtPolicyOptions>) => Promise<OrtPolicy>,
    entropyGradient: boolean,
    values = false,
  ) => {
    using layers = await open({})
    using whole = await open(cut)
    const [expected, actual] = [
      await learned(layers, entropyGradient, values),
      await learned(whole, entropyGradient, values),
    ]
    expectClose(actual.actor, expected.actor)
    if (values) expectClose(actual.critic!, expected.critic!)
    for (const [row, heads] of actual.heads.entries()) {
      expect(largestDifference(heads.logprobs, expected.heads[row]!.logprobs)).toBeLessThan(1e-5)
      expect(largestDifference(heads.entropies, expected.heads[row]!.entropies)).toBeLessThan(1e-5)
      if (values) expect(largestDifference(heads.values!, expected.heads[row]!.values!)).toBeLessThan(1e-5)
    }
  }

  test('log-probabilities', () => compare((overrides) => openTiny(source, overrides), false))
  test('and entropies', () => compare((overrides) => openTiny(source, overrides), true))
  test('and values', () => compare((overrides) => openCritic(source, overrides), false, true))
  test('and masks of dropout', () => {
    const lora = { ...tinyLora, dropout: 0.3 }
    return compare((overrides) => openTiny(source, { lora, ...overrides }), false)
  })
})

/** Within 10⁻⁵ of the largest. */
function expectClose(actual: Float32Array, expected: Float32Array): void {
  const largest = largestDifference(expected, new Float32Array(expected.length))
  expect(largest).toBeGreaterThan(0)
  expect(largestDifference(actual, expected) / largest).toBeLessThan(1e-5)
}

describe.each(['shared', 'resident', 'unrolled'] as const)('decoding, %s', (form) => {
  const requestsOf = (lengths: readonly number[], samples: number): GenerationRequest[] =>
    lengths.map((length, index) => ({
      promptIds: randomSequence(258, length + 1, index).ids.slice(0, length),
      streams: Array.from({ length: samples }, (_, sample) => randomStream(7, index, sample)),
    }))

  const cases: { name: string; lengths: number[]; samples: number; sampling?: Partial<SamplingOptions> }[] = [
    { name: 'groups that wait for rows', lengths: [3, 17, 1, 8, 40], samples: 3 },
    {
      name: 'more tokens than the latest slots',
      lengths: [2, 30],
      samples: 2,
      sampling: { maxNewTokens: 70 },
    },
    { name: 'rows that end one by one', lengths: [4, 9, 6], samples: 4, sampling: { stopIds: range(40) } },
    { name: 'greedy', lengths: [5, 12], samples: 1, sampling: { greedy: true } },
    { name: 'filters', lengths: [5, 12], samples: 2, sampling: { topK: 20, topP: 0.9, temperature: 0.7 } },
    { name: 'repetition penalty', lengths: [5, 12], samples: 2, sampling: { repetitionPenalty: 1.3 } },
  ]
  // What is written out token by token takes seconds to open.
  const own = form === 'unrolled' ? cases.filter(({ name }) => /^(more tokens|greedy)/.test(name)) : cases
  test.each(own)('$name: the ids of the host’s caches', async ({ lengths, samples, sampling }) => {
    await sameCompletions(form, source, requestsOf(lengths, samples), {
      ...unfiltered,
      maxNewTokens: 24,
      ...sampling,
    })
  })

  test('a prompt in pieces', async () => {
    const long = await tinySource(folder, { maxPositions: 2048 })
    await sameCompletions(form, long, requestsOf([1200, 3], 2), { ...unfiltered, maxNewTokens: 6 })
  })

  test.each(['tiny-mistral', 'tiny-gemma3'] as const)('through windows, as %s has them', async (name) => {
    const windowed = await tinySource(folder, { ...modelShapes[name], config: { sliding_window: 7 } })
    expect(windowed.config.windows).toContain(7)
    await sameCompletions(form, windowed, requestsOf([3, 25, 9], 2), { ...unfiltered, maxNewTokens: 45 })
  })
})

describe.each(['int8', 'int4'] as const)('a base in blocks of %s', (base) => {
  test('learns in one session what it does layer by layer, and generates what it scores', async () => {
    const rounded = await asRoundedBase(source, base, folder)
    using layers = await openTiny(rounded)
    using whole = await openTiny(rounded, { programs: { form: 'resident' } })
    const gradientOf = async (policy: OrtPolicy) => {
      const coefficients = randomCoefficients(sequences, 3, false)
      await policy.accumulate(sequences, { temperature: 1, entropyGradient: false }, () => coefficients)
      return flatGradient(policy)
    }
    expectClose(await gradientOf(whole), await gradientOf(layers))
    const promptIds = randomSequence(258, 9, 1).ids
    const sampling = { ...unfiltered, maxNewTokens: 12 }
    const [completion] = await completionsOf(whole, [{ promptIds, streams: [randomStream(3)] }], {
      role: 'actor',
      sampling,
    })
    const ids = Int32Array.from([...promptIds, ...completion!.ids])
    const actionMask = Uint8Array.from(ids.slice(1), (_, index) => Number(index + 1 >= promptIds.length))
    const [heads] = await whole.score([{ ids, actionMask }], { role: 'actor', temperature: 1 })
    const scored = heads!.logprobs.slice(-completion!.ids.length)
    expect(largestDifference(completion!.logprobs, scored)).toBeLessThan(1e-4)
  })
})

async function sameCompletions(
  form: ProgramForm,
  of: ModelSource,
  requests: readonly GenerationRequest[],
  sampling: SamplingOptions,
): Promise<void> {
  using host = await openTiny(of)
  using whole = await openTiny(of, { programs: { form } })
  const options = { role: 'actor', sampling } as const
  const expected = await completionsOf(host, requests, options)
  const actual = await completionsOf(whole, requests, options)
  expect(actual.map(({ ids }) => [...ids])).toEqual(expected.map(({ ids }) => [...ids]))
  expect(actual.map(({ stopReason }) => stopReason)).toEqual(expected.map(({ stopReason }) => stopReason))
  for (const [index, { logprobs }] of actual.entries()) {
    expect(largestDifference(logprobs, expected[index]!.logprobs)).toBeLessThan(1e-4)
  }
  const { lastGeneration: counted } = whole
  expect(counted!.decodeSteps).toBeGreaterThanOrEqual(host.lastGeneration!.decodeSteps)
  // Several tokens in one run may be more than the rows that are left want.
  expect(counted).toEqual({
    ...host.lastGeneration,
    ...(form !== 'shared' ? { decodeSteps: expect.any(Number) as number } : {}),
    passMs: expect.any(Number) as number,
    samplingMs: expect.any(Number) as number,
    peakCacheBytes: expect.any(Number) as number,
  })
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, id) => id)
}
