import { describe, expect, test } from 'vitest'
import { AppError } from '#shared/errors.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { Completion, GenerateOptions, GenerationRequest, SamplingOptions } from '#engine/policy.ts'
import type { DecodeStep } from '#engine/runtime/generation/decoder.ts'
import {
  generateCompletions,
  type BatchLimits,
  type GenerationStats,
} from '#engine/runtime/generation/generate.ts'
import { HostDecoder } from '#engine/runtime/generation/hostDecoder.ts'
import { allAlone, collected, decode, generated, optionsOf, requestsOf } from './alone.ts'
import { casesOf } from '../../../sweeps.ts'
import { TinyModel } from './tinyModel.ts'

describe.each([false, true])(
  'completions equal those computed alone, prompts shared: %s',
  (sharesPrompts) => {
    const cases: {
      name: string
      lengths: number[]
      samples: number
      sampling?: Partial<SamplingOptions>
      batch?: Partial<BatchLimits>
    }[] = [
      { name: 'one prompt', lengths: [5], samples: 1 },
      { name: 'ragged prompts in one pass', lengths: [3, 1, 4, 2], samples: 1 },
      { name: 'a group on one prompt', lengths: [6], samples: 4 },
      {
        name: 'groups larger than the free rows',
        lengths: [6, 3, 5],
        samples: 5,
        sampling: { stopIds: [1, 2, 3] },
        batch: { maxRows: 3 },
      },
      {
        name: 'one row at a time',
        lengths: [4, 7],
        samples: 3,
        sampling: { stopIds: [1, 2] },
        batch: { maxRows: 1 },
      },
      {
        name: 'prompts computed in chunks',
        lengths: [37, 5, 16, 17, 33],
        samples: 2,
        sampling: { stopIds: [4, 9] },
        batch: { prefillTokens: 8 },
      },
      { name: 'single-token chunks', lengths: [5, 3], samples: 2, batch: { prefillTokens: 1 } },
      {
        name: 'growing past the first slots',
        lengths: [60, 2, 63, 125],
        samples: 1,
        sampling: { maxNewTokens: 6 },
        batch: { maxRows: 3 },
      },
      {
        name: 'a full context',
        lengths: [30, 8, 12],
        samples: 2,
        sampling: { maxNewTokens: 50 },
        batch: { contextLength: 31 },
      },
      {
        name: 'stop strings across tokens',
        lengths: [4, 9, 3],
        samples: 4,
        sampling: { stopStrings: ['xb', 'yaz'], maxNewTokens: 40 },
        batch: { maxRows: 5 },
      },
      {
        name: 'repetition penalty',
        lengths: [9, 4],
        samples: 3,
        sampling: { repetitionPenalty: 1.4, stopIds: [3] },
      },
      { name: 'greedy', lengths: [9, 4, 6], samples: 2, sampling: { greedy: true, temperature: 0.01 } },
      {
        name: 'greedy with repetition penalty',
        lengths: [9, 4],
        samples: 1,
        sampling: { greedy: true, repetitionPenalty: 1.3 },
      },
      {
        name: 'top-k, top-p, min-p and temperature',
        lengths: [9, 4],
        samples: 4,
        sampling: { temperature: 0.7, topK: 9, topP: 0.8, minP: 0.02 },
      },
    ]

    test.each(cases)('$name', async ({ lengths, samples, sampling, batch }) => {
      const model = new TinyModel(2, 23, 4, { sharesPrompts })
      const requests = requestsOf(lengths, samples, model.vocabSize)
      const options = { ...optionsOf(sampling), ...batch, decode }
      const found = await generated(model, requests, options)
      expect(found).toEqual(await allAlone(model, requests, options, found))
    })

    /** Prompts that repeat themselves, so that there is something to go on with. */
    const repetitive = (requests: readonly GenerationRequest[]) =>
      requests.map((request) => ({
        ...request,
        promptIds: request.promptIds.map((_, i, ids) => ids[i % 4]!),
      }))

    const draftedTokens: number[] = []
    test.each(cases)('$name, with drafts', async ({ lengths, samples, sampling, batch }) => {
      // Sharp enough to repeat itself; every draft is checked, also where it hardly pays.
      const model = Object.assign(new TinyModel(2, 23, 12, { sharesPrompts }), {
        passCost: (positions: number) => 1 / positions,
      })
      const requests = repetitive(requestsOf(lengths, samples, model.vocabSize))
      let stats: GenerationStats | null = null
      const onEnd = (ended: GenerationStats) => void (stats = ended)
      const options = { ...optionsOf(sampling), ...batch, decode, onEnd }
      const found = await generated(model, requests, options)
      expect(found).toEqual(await allAlone(model, requests, options, found))
      expect(model.highestPosition).toBeLessThan(options.contextLength)
      draftedTokens.push(stats!.draftedTokens)
    })

    test('drafts were checked in nearly all of them', () => {
      expect(draftedTokens.filter((count) => count > 0).length).toBeGreaterThanOrEqual(cases.length - 3)
    })

    test('a minimum length', async () => {
      const model = new TinyModel(2, 23, 4, { sharesPrompts })
      const requests = requestsOf([5, 3, 8], 3, model.vocabSize)
      const options = { ...optionsOf({ minNewTokens: 5, stopIds: [0, 1, 2, 3, 4, 5, 6, 7, 8] }), maxRows: 2 }
      const completions = await generated(model, requests, options)
      const expected = await allAlone(model, requests, options, completions)
      expect(completions.map(({ ids }) => ids)).toEqual(expected.map(({ ids }) => ids))
      // A row past its minimum that shares a step with one which is not is sampled from logits: equal up to f32 rounding.
      for (const [index, { logprobs }] of completions.entries()) {
        for (const [t, logprob] of logprobs.entries())
          expect(logprob).toBeCloseTo(expected[index]!.logprobs[t]!, 5)
      }
      const lengths = completions.map(({ ids }) => ids.length)
      expect(Math.min(...lengths)).toBeGreaterThanOrEqual(6)
    })

    test('random cases', async () => {
      const random = new SequentialRandom(randomStream(99))
      for (let round = 0; round < casesOf(8, 15); round++) {
        const model = new TinyModel(round + 10, 11 + random.integer(20), 2 + 4 * random.uniform(), {
          sharesPrompts,
        })
        const lengths = Array.from({ length: 1 + random.integer(6) }, () => 1 + random.integer(24))
        const requests = requestsOf(lengths, 1 + random.integer(5), model.vocabSize)
        const options = {
          ...optionsOf({
            temperature: 0.5 + random.uniform(),
            topP: random.uniform() < 0.5 ? 1 : 0.9,
            repetitionPenalty: random.uniform() < 0.7 ? 1 : 1.2,
            stopIds: [random.integer(11), random.integer(11)],
            stopStrings: random.uniform() < 0.5 ? [] : ['zbyb'],
            maxNewTokens: 1 + random.integer(30),
          }),
          maxRows: 1 + random.integer(7),
          prefillTokens: 1 + random.integer(40),
          contextLength: 25 + random.integer(40),
          decode,
        }
        const found = await generated(model, requests, options)
        expect(found).toEqual(await allAlone(model, requests, options, found))
      }
    })
  },
)

/** Hands out a list of requests at each asking, then says that no more will come. */
function arriving(lists: readonly (readonly GenerationRequest[])[]): NonNullable<GenerateOptions['later']> {
  const left = [...lists]
  return (isIdle) => {
    const next = left.shift() ?? null
    // Nothing to do: what comes only later is asked for at once.
    if (isIdle && next?.length === 0) return arriving(left.splice(0))(isIdle)
    return Promise.resolve(next)
  }
}

describe('requests of one batch', () => {
  const plain = optionsOf().sampling
  const ways: SamplingOptions[] = [
    plain,
    { ...plain, greedy: true, maxNewTokens: 5 },
    { ...plain, temperature: 0.5, stopIds: [3, 4] },
    { ...plain, temperature: 1.7, topK: 4, minNewTokens: 3, stopIds: [1, 2, 5] },
    { ...plain, repetitionPenalty: 1.4, stopStrings: ['ax', 'yb'] },
  ]
  /** Every combination has another least that a pass must say. */
  test.each([[0], [0, 1], [0, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4]])(
    'are sampled each in its own way: %j, %j, %j, %j, %j',
    async (...which) => {
      const model = new TinyModel(11)
      const requests = requestsOf([5, 9, 3, 12, 7, 4, 6], 2, model.vocabSize).map((request, i) => ({
        ...request,
        sampling: ways[which[i % which.length]!]!,
      }))
      const options = { ...optionsOf(), decode, maxRows: 5 }
      const closely = (completions: readonly Completion[]) =>
        completions.map(({ logprobs, ...rest }) => ({
          ...rest,
          logprobs: [...logprobs].map((p) => p.toFixed(5)),
        }))
      const found = await generated(model, requests, options)
      expect(closely(found)).toEqual(closely(await allAlone(model, requests, options, found)))
    },
  )

  test('may come later, and get what they would get alone', async () => {
    const model = new TinyModel(4)
    const requests = requestsOf([9, 3, 20, 6, 5, 8], 2, model.vocabSize)
    const options = { ...optionsOf({ stopIds: [2, 5] }), maxRows: 3 }
    const later = arriving([
      [],
      requests.slice(2, 3),
      [],
      [],
      requests.slice(3, 5),
      ...Array.from({ length: 60 }, () => []),
      requests.slice(5),
    ])
    const late = await generated(model, requests.slice(0, 2), { ...options, later })
    expect(late).toEqual(await allAlone(model, requests, options, late))
  })

  test('come also where there were none, and a wrong one is refused when it comes', async () => {
    const model = new TinyModel(4)
    const requests = requestsOf([9, 3], 1, model.vocabSize)
    expect(await generated(model, [], { ...optionsOf(), later: arriving([requests]) })).toEqual(
      await allAlone(model, requests, optionsOf()),
    )
    const [wrong] = requestsOf([300], 1, model.vocabSize)
    const options = { ...optionsOf(), later: arriving([[], [wrong!]]) }
    await expect(generated(model, requests, options)).rejects.toThrow(/Prompt 3 has 300 tokens/)
  })

  test('fill rows while others go on', async () => {
    const model = new TinyModel(6)
    const requests = requestsOf([5, 4, 6, 3, 7, 5], 1, model.vocabSize)
    const short = { ...plain, maxNewTokens: 4 }
    const own = requests.map((request, i) => (i === 0 ? request : { ...request, sampling: short }))
    const later = arriving([[], [], [], ...own.slice(2).map((request) => [request])])
    await generated(model, own.slice(0, 2), { ...optionsOf({ maxNewTokens: 16 }), maxRows: 2, later })
    const decodes = model.passes.filter(({ length, capacity }) => length === 1 && capacity > 0)
    // Four short ones beside the long one, which is the first to be alone.
    expect(decodes.filter(({ rows }) => rows === 2)).toHaveLength(15)
  })
})

describe('generateCompletions', () => {
  test('gives a prompt the same completions whatever else is asked for, and in any order', async () => {
    const model = new TinyModel(4)
    const requests = requestsOf([9, 3, 20, 6], 3, model.vocabSize)
    const options = optionsOf({ stopIds: [2, 5] })
    const forward = await generated(model, requests, options)
    const backward = await generated(model, requests.toReversed(), { ...options, maxRows: 7 })
    const single = await generated(model, requests.slice(2, 3), { ...options, maxRows: 2, prefillTokens: 6 })
    const idsOf = (completions: Completion[], request: number) =>
      completions
        .filter((completion) => completion.request === request)
        .map(({ ids, logprobs }) => ({ ids, logprobs }))
    for (const request of requests.keys()) {
      expect(idsOf(backward, 3 - request)).toEqual(idsOf(forward, request))
    }
    expect(idsOf(single, 0)).toEqual(idsOf(forward, 2))
  })

  test('computes every prompt once, never exceeds its limits and counts what it did', async () => {
    const model = new TinyModel(6)
    const lengths = [40, 5, 6, 7, 30, 4]
    const requests = requestsOf(lengths, 5, model.vocabSize)
    let stats: GenerationStats | undefined
    const completions = await generated(model, requests, {
      ...optionsOf({ stopIds: [1, 2] }),
      maxRows: 3,
      onEnd: (ended) => (stats = ended),
    })
    const decodes = model.passes.filter(({ length, capacity }) => length === 1 && capacity > 0)
    expect(model.passes.every(({ rows, length }) => rows * length <= 16)).toBe(true)
    expect(Math.max(...decodes.map(({ rows }) => rows))).toBe(3)
    expect(stats).toMatchObject({
      prefillTokens: 92,
      decodeSteps: decodes.length,
      prefillPasses: model.passes.length - decodes.length,
      generatedTokens: completions.reduce((sum, { ids }) => sum + ids.length, 0),
      peakRows: 3,
    })
    // Three rows of 64 slots, and at least the prompt of 40 waiting beside them: 2 kinds, 2 layers, 2 heads, 3 channels.
    expect(stats!.peakCacheBytes).toBeGreaterThanOrEqual((3 * 64 + 40) * 2 * 2 * 2 * 3 * 4)
    expect(stats!.peakCacheBytes).toBeLessThan((3 * 64 + 60) * 2 * 2 * 2 * 3 * 4)
  })

  test('computes no prompt before there is a row for it', async () => {
    const model = new TinyModel(6)
    await generated(model, requestsOf([2, 2, 2, 2, 2], 1, model.vocabSize), { ...optionsOf(), maxRows: 2 })
    const prefills = model.passes.filter(({ capacity }) => capacity === 0)
    expect(prefills.map(({ rows }) => rows)).toEqual([2, 2, 1])
  })

  test('keeps the rows full while samples wait', async () => {
    const model = new TinyModel(6)
    await generated(model, requestsOf([5, 6, 4], 4, model.vocabSize), { ...optionsOf(), maxRows: 4 })
    const decodes = model.passes.filter(({ capacity }) => capacity > 0)
    expect(new Set(decodes.map(({ rows }) => rows))).toEqual(new Set([4]))
  })

  test('shares one pass between short prompts, and wants scores only from a prompt’s last chunk', async () => {
    const model = new TinyModel(6)
    await generated(model, requestsOf([5, 4, 6], 1, model.vocabSize), { ...optionsOf(), prefillTokens: 18 })
    expect(model.passes[0]).toMatchObject({ rows: 3, length: 6 })
    const chunked = new TinyModel(6)
    await generated(chunked, requestsOf([20], 2, chunked.vocabSize), { ...optionsOf(), prefillTokens: 8 })
    expect(chunked.passes.slice(0, 4)).toEqual([
      { rows: 1, length: 8, capacity: 0, prompts: 0, want: 'none' },
      { rows: 1, length: 8, capacity: 8, prompts: 0, want: 'none' },
      { rows: 1, length: 4, capacity: 16, prompts: 0, want: 'probabilities' },
      { rows: 2, length: 1, capacity: 64, prompts: 0, want: 'probabilities' },
    ])
  })

  test('gives slots back when a long row has left', async () => {
    const lastCapacity = async (sampling: Partial<SamplingOptions>, batch: Partial<BatchLimits>) => {
      const model = new TinyModel(6)
      const requests = requestsOf([330, 3], 1, model.vocabSize)
      await generated(model, requests, { ...optionsOf(sampling), prefillTokens: 400, ...batch })
      expect(model.passes.some(({ capacity }) => capacity === 384)).toBe(true)
      return model.passes.at(-1)?.capacity
    }
    // Beside each other, the long one ended by the context; and one after the other.
    expect(await lastCapacity({ maxNewTokens: 40 }, { contextLength: 335, maxRows: 2 })).toBe(64)
    expect(await lastCapacity({ maxNewTokens: 3 }, { contextLength: 400, maxRows: 1 })).toBe(64)
  })

  test('yields a completion as soon as it is finished', async () => {
    const model = new TinyModel(6)
    const requests = requestsOf([5, 5, 5, 5], 1, model.vocabSize)
    const generation = generateCompletions(new HostDecoder(model), requests, {
      ...optionsOf({ stopIds: [1, 2, 3, 4, 5] }),
      maxRows: 2,
    })
    expect((await generation.next()).done).toBe(false)
    const passes = model.passes.length
    await collected(generation)
    expect(model.passes.length).toBeGreaterThan(passes)
  })

  test('stops between passes when aborted, and still reports', async () => {
    const model = new TinyModel(6)
    const controller = new AbortController()
    let stats: GenerationStats | undefined
    const stopping: DecodeStep = {
      states: model.states,
      choiceWidth: model.choiceWidth,
      vocabSize: model.vocabSize,
      run: (pass) => {
        if (model.passes.length === 4) controller.abort(new Error('stopped by the user'))
        return model.run(pass)
      },
    }
    const options = {
      ...optionsOf(),
      signal: controller.signal,
      onEnd: (ended: GenerationStats) => (stats = ended),
    }
    await expect(generated(stopping, requestsOf([5], 2, model.vocabSize), options)).rejects.toThrow(
      'stopped by the user',
    )
    expect(model.passes.length).toBe(5)
    expect(stats?.decodeSteps).toBe(4)
  })

  test('skips requests without streams', async () => {
    const model = new TinyModel(6)
    const [first, second] = requestsOf([5, 4], 1, model.vocabSize)
    const completions = await generated(model, [{ ...first!, streams: [] }, second!], optionsOf())
    expect(completions.map(({ request, sample }) => [request, sample])).toEqual([[1, 0]])
    expect(await generated(model, [], optionsOf())).toEqual([])
  })

  test('refuses what it cannot serve before computing anything', async () => {
    const model = new TinyModel(6)
    const requests = requestsOf([5, 31], 1, model.vocabSize)
    const refused = async (asked: GenerationRequest[], options: GenerateOptions & BatchLimits) => {
      const error: unknown = await generated(model, asked, options).catch((reason: unknown) => reason)
      return error instanceof AppError ? `${error.code}: ${error.message}` : error
    }
    const tooLong = await refused(requests, { ...optionsOf(), contextLength: 31 })
    expect(tooLong).toMatch(/^data\/invalid: Prompt 2 has 31 tokens.*context of 31/)
    const empty = await refused([{ promptIds: new Int32Array(0), streams: [randomStream(1)] }], optionsOf())
    expect(empty).toBe('data/invalid: Prompt 1 is empty.')
    expect(await refused(requests, optionsOf({ temperature: 0 }))).toMatch(/^config\/invalid: .*temperature/)
    expect(model.passes).toEqual([])
  })
})
