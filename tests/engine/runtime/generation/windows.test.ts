/** What generate.test.ts asks, of layers that see through a window. */
import { describe, expect, test } from 'vitest'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { Completion } from '#engine/policy.ts'
import type { GenerationStats } from '#engine/runtime/generation/generate.ts'
import { allAlone, generated, optionsOf, requestsOf } from './alone.ts'
import { casesOf } from '../../../sweeps.ts'
import { TinyModel } from './tinyModel.ts'

describe.each([false, true])('layers that see through a window, prompts shared: %s', (sharesPrompts) => {
  /** Slots in another order add up with other roundings. */
  const closely = (completions: readonly Completion[]) =>
    completions.map(({ logprobs, ...rest }) => ({
      ...rest,
      logprobs: [...logprobs].map((p) => p.toFixed(9)),
    }))

  test.each([[[null, 5]], [[3, 12]], [[1, null]], [[6, 6]]])('%j: as computed alone', async (windows) => {
    const model = new TinyModel(2, 23, 4, { layerWindows: windows, sharesPrompts })
    const requests = requestsOf([37, 3, 70, 12, 1], 3, model.vocabSize)
    const sampling = { maxNewTokens: 40, stopIds: [1, 2] }
    const options = { ...optionsOf(sampling), maxRows: 4, prefillTokens: 10 }
    const completions = await generated(model, requests, options)
    expect(closely(completions)).toEqual(closely(await allAlone(model, requests, options, completions)))
    const sees = new TinyModel(2)
    expect(completions).not.toEqual(await generated(sees, requests, options))
  })

  test('random cases', async () => {
    const random = new SequentialRandom(randomStream(98))
    for (let round = 0; round < casesOf(4, 8); round++) {
      const layerWindows = [random.uniform() < 0.5 ? null : 1 + random.integer(20), 1 + random.integer(30)]
      const model = new TinyModel(round + 10, 11 + random.integer(20), 3, { layerWindows, sharesPrompts })
      const lengths = Array.from({ length: 1 + random.integer(6) }, () => 1 + random.integer(60))
      const requests = requestsOf(lengths, 1 + random.integer(4), model.vocabSize)
      const sampling = { stopIds: [random.integer(11)], maxNewTokens: 1 + random.integer(70) }
      const options = {
        ...optionsOf(sampling),
        maxRows: 1 + random.integer(5),
        prefillTokens: 1 + random.integer(40),
        contextLength: 70 + random.integer(60),
      }
      const completions = await generated(model, requests, options)
      expect(closely(completions)).toEqual(closely(await allAlone(model, requests, options, completions)))
    }
  })

  test('are seen by drafts, of which only some are kept', async () => {
    for (const windows of [
      [null, 6],
      [4, 9],
      [2, null],
    ]) {
      const model = Object.assign(new TinyModel(2, 23, 12, { layerWindows: windows, sharesPrompts }), {
        passCost: (positions: number) => 1 / positions,
      })
      const requests = requestsOf([37, 9, 21], sharesPrompts ? 2 : 1, model.vocabSize).map((request) => ({
        ...request,
        promptIds: request.promptIds.map((_, index, ids) => ids[index % 4]!),
      }))
      let drafted = 0
      const options = {
        ...optionsOf({ maxNewTokens: 40 }),
        onEnd: ({ draftedTokens }: GenerationStats) => void (drafted = draftedTokens),
      }
      const completions = await generated(model, requests, options)
      expect(closely(completions)).toEqual(closely(await allAlone(model, requests, options, completions)))
      expect(drafted).toBeGreaterThan(0)
    }
  })

  test('keep one position less than they see, however long rows become', async () => {
    const peakOf = async (windows: (number | null)[], length: number) => {
      const model = new TinyModel(6, 23, 4, { layerWindows: windows, sharesPrompts })
      let stats: GenerationStats | undefined
      await generated(model, requestsOf([length], 1, model.vocabSize), {
        ...optionsOf({ maxNewTokens: 90 }),
        contextLength: 500,
        onEnd: (ended) => (stats = ended),
      })
      return stats!.peakCacheBytes
    }
    const slotBytes = 2 * 2 * 3 * 4 // keys and values of two heads, three channels
    const latest = 2 * 6 * 4 // two positions of the convolution, of a row and of a prompt that is as large
    expect(await peakOf([9, 17], 20)).toBe((8 + 16) * slotBytes + 2 * latest)
    expect(await peakOf([9, 17], 400)).toBe((8 + 16) * slotBytes + 2 * latest)
    expect(await peakOf([null, 17], 400)).toBe((512 + 16) * slotBytes + latest)
    expect(await peakOf([null, null], 400)).toBe((512 + 512) * slotBytes + latest)
  })
})
