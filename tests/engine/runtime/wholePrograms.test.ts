/** The programs of devices, on the CPU: the same numbers as layer by layer. Families are compared in reference.test.ts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ModelSource } from '#engine/models/source.ts'
import { segmentsOf } from '#engine/models/segmentPrograms.ts'
import type { AccumulateOptions, GenerationRequest, SamplingOptions } from '#engine/policy.ts'
import type { OrtPolicy, OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import type { ProgramForm } from '#engine/runtime/policyPrograms.ts'
import { asRoundedBase } from '#host/models/baseCache.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { randomStream } from '#shared/random.ts'
import { eachOf, isLong, isWhole, wholeTitle } from '../../sweeps.ts'
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
let deep: ModelSource
beforeAll(async () => {
  source = await tinySource(folder, { maxPositions: 2048 })
  deep = await tinySource(folder, { layers: 4 })
})

test('segments are equal and as few as may be', () => {
  expect(segmentsOf(4, Infinity)).toEqual([{ first: 0, end: 4 }])
  expect(segmentsOf(5, 2).map(({ first, end }) => end - first)).toEqual([2, 1, 2])
  expect(segmentsOf(3, 1).map(({ first }) => first)).toEqual([0, 1, 2])
})

/** In a short run without those that lie between others. */
const between = ['two layers a program', 'one session, a layer a program']
const forms = {
  'all layers a program': { form: 'shared' },
  'two layers a program': { form: 'shared', segmentLayers: 2 },
  'a layer a program': { form: 'shared', segmentLayers: 1 },
  'one session': { form: 'resident' },
  'one session, three and one layers a program': { form: 'resident', segmentLayers: 3 },
  'one session, a layer a program': { form: 'resident', segmentLayers: 1 },
} as const satisfies Record<string, OrtPolicyOptions['programs']>

describe('learning', () => {
  const lora = { ...tinyLora, dropout: 0.3 }
  const learned = async (of: OrtPolicy, entropyGradient: boolean, values = false) => {
    const options: AccumulateOptions = { temperature: 0.8, entropyGradient }
    const policyPart = randomCoefficients(sequences, 3, entropyGradient)
    const coefficients = values ? withValues(policyPart, sequences, 4) : policyPart
    const heads = await of.accumulate(sequences, options, () => coefficients)
    const gradients = {
      actor: await flatGradient(of),
      critic: values ? await flatGradient(of, 'critic') : null,
    }
    of.discardGradients()
    return { heads, ...gradients }
  }
  /** Log-probabilities, entropies and values, from one policy with a critic; masks of dropout are of another. */
  const learnedAll = async (overrides: Partial<OrtPolicyOptions>) => {
    using plain = await openCritic(deep, overrides)
    using dropping = await openTiny(deep, { lora, ...overrides })
    return {
      'log-probabilities': await learned(plain, false),
      'and entropies': await learned(plain, true),
      'and values': await learned(plain, false, true),
      'and masks of dropout': await learned(dropping, false),
    }
  }
  type All = Awaited<ReturnType<typeof learnedAll>>
  let layers: All
  beforeAll(async () => {
    layers = await learnedAll({})
  })

  const chosen = Object.entries(forms).filter(([name]) => isLong || !between.includes(name))
  const isAlways = ([name]: (typeof chosen)[number]) => name === 'one session, three and one layers a program'
  eachOf(describe, { rows: chosen, isAlways }, 'with %s', (_, programs) => {
    let whole: All
    beforeAll(async () => {
      whole = await learnedAll({ programs })
    })

    test.each(['log-probabilities', 'and entropies', 'and values', 'and masks of dropout'] as const)(
      '%s',
      (name) => {
        const [actual, expected] = [whole[name], layers[name]]
        expectClose(actual.actor, expected.actor)
        if (expected.critic) expectClose(actual.critic!, expected.critic)
        for (const [row, heads] of actual.heads.entries()) {
          const { logprobs, entropies, values } = expected.heads[row]!
          expect(largestDifference(heads.logprobs, logprobs)).toBeLessThan(1e-5)
          expect(largestDifference(heads.entropies, entropies)).toBeLessThan(1e-5)
          expect(largestDifference(heads.values ?? [], values ?? [])).toBeLessThan(1e-5)
        }
      },
    )
  })
})

/** Within 10⁻⁵ of the largest. */
function expectClose(actual: Float32Array, expected: Float32Array): void {
  const largest = largestDifference(expected, new Float32Array(expected.length))
  expect(largest).toBeGreaterThan(0)
  expect(largestDifference(actual, expected) / largest).toBeLessThan(1e-5)
}

describe.each(['shared', 'resident', 'unrolled'] as const)('decoding, %s', (form) => {
  let opened: Opened
  beforeAll(async () => {
    opened = await openBoth(form, source)
  })
  afterAll(() => opened[Symbol.dispose]())

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
    { name: 'greedy', lengths: [5, 12], samples: 1, sampling: { greedy: true, maxNewTokens: 14 } },
    { name: 'filters', lengths: [5, 12], samples: 2, sampling: { topK: 20, topP: 0.9, temperature: 0.7 } },
    { name: 'repetition penalty', lengths: [5, 12], samples: 2, sampling: { repetitionPenalty: 1.3 } },
  ]
  test.each(cases)('$name: the ids of the host’s caches', async ({ lengths, samples, sampling }) => {
    await sameCompletions(opened, requestsOf(lengths, samples), {
      ...unfiltered,
      maxNewTokens: 24,
      ...sampling,
    })
  })

  test('a prompt in pieces', async () => {
    await sameCompletions(opened, requestsOf([1200, 3], 2), { ...unfiltered, maxNewTokens: 6 })
  })

  // How windows and convolutions are computed is the same in every form; loops of the runtime take the most to prepare.
  const isShared = form === 'shared'
  const windows = ['tiny-mistral', ...(isLong || isShared ? ['tiny-gemma3' as const] : [])] as const
  eachOf(
    test,
    { rows: windows, isAlways: (name) => isShared && name === 'tiny-mistral' },
    'through windows, as %s has them',
    async (name) => {
      const windowed = await tinySource(folder, { ...modelShapes[name], config: { sliding_window: 7 } })
      expect(windowed.config.windows).toContain(7)
      using ofWindowed = await openBoth(form, windowed)
      await sameCompletions(ofWindowed, requestsOf([3, 25, 9], 2), { ...unfiltered, maxNewTokens: 45 })
    },
  )

  const convolutions = 'with the latest positions of short convolutions, of prompts in pieces too'
  const hasConvolutions = isLong || isShared || (isWhole && form !== 'unrolled')
  test.runIf(hasConvolutions)(isShared ? convolutions : wholeTitle(convolutions), async () => {
    const convolving = await tinySource(folder, { ...modelShapes['tiny-lfm2'], maxPositions: 1_300 })
    using ofConvolving = await openBoth(form, convolving)
    const sampling = { ...unfiltered, maxNewTokens: 45, stopIds: range(10) }
    await sameCompletions(ofConvolving, requestsOf([1, 3, 25, 9, 2], 3), sampling)
    await sameCompletions(ofConvolving, requestsOf([1200, 3], 2), { ...unfiltered, maxNewTokens: 6 })
  })
})

const isSmallest = (base: 'int8' | 'int4') => base === 'int4'
eachOf(
  describe,
  { rows: ['int8', 'int4'] as const, isAlways: isSmallest },
  'a base in blocks of %s',
  (base) => {
    test('learns in one session what it does layer by layer, and generates what it scores', async () => {
      const rounded = await asRoundedBase(source, base, folder)
      using layers = await openTiny(rounded)
      using whole = await openTiny(rounded, { programs: { form: 'resident' } })
      const gradientOf = async (policy: OrtPolicy) => {
        const coefficients = randomCoefficients(sequences, 3, false)
        await policy.accumulate(sequences, { temperature: 1, entropyGradient: false }, () => coefficients)
        return await flatGradient(policy)
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
  },
)

interface Opened extends Disposable {
  readonly form: ProgramForm
  readonly host: OrtPolicy
  readonly whole: OrtPolicy
}

/** The model layer by layer and in whole programs. */
async function openBoth(form: ProgramForm, of: ModelSource): Promise<Opened> {
  const [host, whole] = [await openTiny(of), await openTiny(of, { programs: { form } })]
  return {
    form,
    host,
    whole,
    [Symbol.dispose]() {
      host[Symbol.dispose]()
      whole[Symbol.dispose]()
    },
  }
}

async function sameCompletions(
  { form, host, whole }: Opened,
  requests: readonly GenerationRequest[],
  sampling: SamplingOptions,
): Promise<void> {
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
