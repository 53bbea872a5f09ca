import { describe, expect, test } from 'vitest'
import { AppError } from '#shared/errors.ts'
import { eachSample, type RewardFunction, type SampleScore } from '#rl/rewards.ts'
import { scoreRewards } from '#rl/rollout/trajectoryRewards.ts'

const batch = (name: string, weight: number, score: RewardFunction['score']) => ({
  name,
  weight,
  function: { id: name, description: name, score },
})
const reward = (name: string, weight: number, score: SampleScore) => batch(name, weight, eachSample(score))
const input = (completion: string) => ({ prompt: 'p', completion, row: { answer: 'x' }, step: 3 })

describe('rewards', () => {
  test('are the weighted sum of the parts that apply', async () => {
    const specs = [
      reward('length', 0.5, ({ completion }) => completion.length),
      reward('match', 2, ({ completion, row }) =>
        completion === '' ? null : Number(completion === row['answer']),
      ),
      batch('later', 1, (inputs) => Promise.resolve(inputs.map(() => ({ value: 0.25 })))),
    ]
    expect(await scoreRewards(specs, [input('x'), input('')], 'fail')).toEqual([
      { parts: { length: 1, match: 1, later: 0.25 }, total: 2.75, failures: [] },
      { parts: { length: 0, match: null, later: 0.25 }, total: 0.25, failures: [] },
    ])
  })

  test('a function is asked once, about everything in order', async () => {
    const seen: string[][] = []
    const watching = batch('a', 1, (inputs) => {
      seen.push(inputs.map(({ completion, step }) => `${completion} at ${step}`))
      return inputs.map((_, i) => ({ value: i }))
    })
    const answers = await scoreRewards([watching], ['a', 'b', 'c'].map(input), 'null')
    expect(seen).toEqual([['a at 3', 'b at 3', 'c at 3']])
    expect(answers.map(({ total }) => total)).toEqual([0, 1, 2])
  })

  test('what functions log is kept; equal names are told apart', async () => {
    const logs = (name: string, value: number) =>
      batch(name, 1, () => [{ value, columns: { extracted: value }, metrics: { length: value } }])
    const [answer] = await scoreRewards([logs('a', 1), logs('b', 2)], [input('x')], 'null')
    expect(answer).toMatchObject({
      logged: { extracted: 1, 'b.extracted': 2 },
      metrics: { length: 1, 'b.length': 2 },
    })
  })

  test('there is none when no function applies', async () => {
    const [answer] = await scoreRewards([reward('a', 1, () => null)], [input('x')], 'fail')
    expect(answer!.total).toBeNull()
  })

  test.each([
    ['null', { bad: null, good: 1 }, 1],
    ['zero', { bad: 0, good: 1 }, 1],
  ] as const)('a function that fails counts as %s', async (policy, parts, total) => {
    const fails = reward('bad', 3, () => {
      throw new Error('oh')
    })
    const [answer] = await scoreRewards([fails, reward('good', 1, () => 1)], [input('x')], policy)
    expect(answer).toEqual({ parts, total, failures: [{ name: 'bad', message: 'oh' }] })
  })

  test('one failing sample leaves the others alone', async () => {
    const picky = reward('picky', 1, ({ completion }) => {
      if (completion === 'b') throw new Error('not b')
      return 1
    })
    const answers = await scoreRewards([picky], ['a', 'b', 'c'].map(input), 'null')
    expect(answers.map(({ total }) => total)).toEqual([1, null, 1])
  })

  test('a failure says where in the code it happened', async () => {
    const placed = batch('bad', 1, () => [{ failure: { message: 'oh', line: 3, column: 7 } }])
    const [answer] = await scoreRewards([placed], [input('x')], 'null')
    expect(answer!.failures).toEqual([{ name: 'bad', message: 'oh (line 3, column 7)' }])
  })

  test.each([
    ['an answer that is not a finite number', () => [{ value: Number.NaN }]],
    ['a missing answer', () => []],
    ['a batch that throws', () => Promise.reject(new Error('oh'))],
  ])('%s is a failure', async (_, score: RewardFunction['score']) => {
    const [answer] = await scoreRewards([batch('bad', 1, score)], [input('x')], 'null')
    expect(answer).toMatchObject({ total: null, failures: [{ name: 'bad' }] })
  })

  test.each([
    ['a value', 1, 1e308, '1e+308'],
    ['a value below zero', 1, -1e308, '-1e+308'],
    ['a value and its weight', 1e60, 1e60, '1e+60 with its weight of 1e+60'],
    ['a weight', 1e308, 1, '1 with its weight of 1e+308'],
  ])('%s that no mean can be taken of is a failure of its function', async (_, weight, value, said) => {
    const specs = [reward('huge', weight, () => value), reward('usual', 1, () => 1)]
    const [given] = await scoreRewards(specs, [input('x')], 'null')
    expect(given).toMatchObject({ parts: { huge: null, usual: 1 }, total: 1 })
    expect(given?.failures).toEqual([
      { name: 'huge', message: `A reward of ${said} is too large to take the mean of; 1e+100 is the limit.` },
    ])
    await expect(scoreRewards(specs, [input('x')], 'fail')).rejects.toThrow(
      /^The reward function “huge” failed: A reward of/,
    )
  })

  test('what is just not too large has a mean and a deviation', async () => {
    const specs = [reward('large', -1, ({ completion }) => (completion === 'a' ? 1e100 : -1e100))]
    const given = await scoreRewards(specs, ['a', 'b', 'b'].map(input), 'fail')
    const totals = given.map(({ total }) => total ?? 0)
    const mean = totals.reduce((sum, total) => sum + total, 0) / totals.length
    expect(Number.isFinite(mean)).toBe(true)
    expect(Number.isFinite(totals.reduce((sum, total) => sum + (total - mean) ** 2, 0))).toBe(true)
  })

  test('a failure can end the run', async () => {
    const fails = batch('bad', 1, () => [{ failure: { message: 'oh' } }])
    await expect(scoreRewards([fails], [input('x')], 'fail')).rejects.toMatchObject({ code: 'reward/failed' })
  })

  test('what keeps a function from working at all is no sample’s fault', async () => {
    const broken = batch('bad', 1, () => Promise.reject(new AppError('sandbox/failed', 'No process.')))
    await expect(scoreRewards([broken], [input('x')], 'null')).rejects.toMatchObject({
      code: 'sandbox/failed',
    })
  })
})

describe('rewards per token or turn', () => {
  const placing = (name: string, weight: number, places: { perToken?: number[]; perTurn?: number[] }) =>
    batch(name, weight, (inputs) => {
      const value = [...(places.perToken ?? []), ...(places.perTurn ?? [])].reduce(
        (sum, each) => sum + each,
        0,
      )
      return inputs.map(() => ({ value, ...places }))
    })
  const generated = { ...input('x'), turnLengths: [2, 1] }

  test('are weighed and added where they stand; one number counts for the end', async () => {
    const specs = [
      placing('tokens', 2, { perToken: [1, 0, 4] }),
      placing('turns', -1, { perTurn: [1, 3] }),
      placing('more', 1, { perToken: [0, 5, 0] }),
      reward('whole', 10, () => 0.5),
      reward('none', 1, () => null),
    ]
    const [answer] = await scoreRewards(specs, [generated], 'fail')
    expect(answer).toMatchObject({
      parts: { tokens: 5, turns: 4, more: 5, whole: 0.5, none: null },
      total: 10 - 4 + 5 + 5,
      placed: { last: 5, perTurn: [-1, -3], perToken: [2, 5, 8] },
    })
  })

  test('as many as there are tokens or turns, and all finite', async () => {
    const sentences = async (places: { perToken?: number[]; perTurn?: number[] }) => {
      const [answer] = await scoreRewards([placing('a', 1, places)], [generated], 'null')
      return answer!.failures.map(({ message }) => message)
    }
    expect(await sentences({ perToken: [1, 2, 3] })).toEqual([])
    expect(await sentences({ perToken: [1, 2] })).toEqual(['Expected 3 rewards, one per token, got 2.'])
    expect(await sentences({ perTurn: [1, 2, 3] })).toEqual(['Expected 2 rewards, one per turn, got 3.'])
    expect((await sentences({ perTurn: [1e101, -1e101] }))[0]).toMatch(/too large/)
    const [unknown] = await scoreRewards([placing('a', 1, { perToken: [1, 2] })], [input('x')], 'null')
    expect(unknown).toMatchObject({ total: 3, failures: [] })
  })

  test('that failed count as nothing or as 0 at the end', async () => {
    const specs = [placing('tokens', 1, { perToken: [1, 1, 1] }), placing('bad', 1, { perToken: [] })]
    const [zero] = await scoreRewards(specs, [generated], 'zero')
    expect(zero).toMatchObject({ total: 3, placed: { last: 0, perTurn: null, perToken: [1, 1, 1] } })
    const [left] = await scoreRewards(specs, [generated], 'null')
    expect(left).toMatchObject({ total: 3, placed: { last: null, perToken: [1, 1, 1] } })
  })
})
