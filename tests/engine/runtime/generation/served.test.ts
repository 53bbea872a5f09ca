/** What requests of a server need of generation: to be given up, and to be told how likely other tokens were. */
import { describe, expect, test } from 'vitest'
import type { ChosenToken, GenerationRequest, SamplingOptions } from '#engine/policy.ts'
import { allAlone, generated, optionsOf, requestsOf } from './alone.ts'
import { TinyModel } from './tinyModel.ts'

describe('a request that is given up', () => {
  test('frees its rows, and changes nothing for the others', async () => {
    const model = new TinyModel(4)
    const requests = requestsOf([9, 3, 20, 6], 2, model.vocabSize)
    const options = { ...optionsOf(), maxRows: 3 }
    const expected = await allAlone(model, requests, options)
    // The first while it is decoded, the third before it has a row.
    const leaving = new Map([0, 2].map((request) => [request, new AbortController()]))
    const given = requests.map((request, i) => ({ ...request, signal: leaving.get(i)?.signal }))
    model.passes.length = 0
    const onToken = ({ request }: { request: number }) => {
      if (request === 0) for (const controller of leaving.values()) controller.abort()
    }
    const completions = await generated(model, given as GenerationRequest[], { ...options, onToken })
    expect(completions).toEqual(expected.filter(({ request }) => !leaving.has(request)))
    // The prompt of the third is never computed.
    expect(model.passes.some(({ length }) => length === 20)).toBe(false)
    const rowsPassed = model.passes.filter(({ length }) => length === 1).map(({ rows }) => rows)
    expect(rowsPassed.reduce((sum, rows) => sum + rows, 0)).toBeLessThanOrEqual(4 * 11 + 2)
  })

  test('leaves nothing to do where all are', async () => {
    const model = new TinyModel(4)
    const requests = requestsOf([9, 3], 2, model.vocabSize)
    const signal = AbortSignal.abort()
    expect(
      await generated(
        model,
        requests.map((request) => ({ ...request, signal })),
        optionsOf(),
      ),
    ).toEqual([])
    expect(model.passes).toEqual([])
  })
})

describe('the most probable ids', () => {
  const ways: Partial<SamplingOptions>[] = [
    {},
    { greedy: true },
    { temperature: 0.6, topK: 2, minNewTokens: 4, stopIds: [1, 2] },
    { repetitionPenalty: 1.3 },
  ]
  test.each(ways)('are told with each chosen one, of the unfiltered distribution: %j', async (way) => {
    const model = new TinyModel(5)
    const requests = requestsOf([9, 3, 6], 2, model.vocabSize)
    const told: ChosenToken[] = []
    const options = {
      ...optionsOf({ ...way, topLogprobs: 4 }),
      onToken: (token: ChosenToken) => told.push(token),
    }
    const completions = await generated(model, requests, options)
    const without = await generated(model, requests, optionsOf(way))
    expect(completions.map(({ ids }) => ids)).toEqual(without.map(({ ids }) => ids))
    for (const { request, sample, ids, logprobs } of completions) {
      const own = told.filter((token) => token.request === request && token.sample === sample)
      expect(own.map(({ id }) => id)).toEqual([...ids])
      expect(own.map(({ logprob }) => logprob)).toEqual([...logprobs])
      for (const { id, logprob, top } of own) {
        expect(top).toHaveLength(4)
        expect(top.map((each) => each.logprob)).toEqual(
          top.map((each) => each.logprob).toSorted((a, b) => b - a),
        )
        const place = top.findIndex((each) => each.id === id)
        if (place >= 0) expect(top[place]!.logprob).toBe(logprob)
        else expect(logprob).toBeLessThanOrEqual(top[3]!.logprob)
      }
    }
  })
})
