import { describe, expect, test } from 'vitest'
import { type RewardFunction, scoreRewards } from '#rl/rewards.ts'

const reward = (name: string, weight: number, score: RewardFunction['score']) => ({
  name,
  weight,
  function: { id: name, description: name, score },
})
const input = (completion: string) => ({ prompt: 'p', completion, row: { answer: 'x' } })

describe('rewards', () => {
  test('are the weighted sum of the parts that apply', async () => {
    const specs = [
      reward('length', 0.5, ({ completion }) => completion.length),
      reward('match', 2, ({ completion, row }) =>
        completion === '' ? null : Number(completion === row.answer),
      ),
      reward('later', 1, () => Promise.resolve(0.25)),
    ]
    expect(await scoreRewards(specs, [input('x'), input('')], 'fail')).toEqual([
      { parts: { length: 1, match: 1, later: 0.25 }, total: 2.75, failures: [] },
      { parts: { length: 0, match: null, later: 0.25 }, total: 0.25, failures: [] },
    ])
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

  test('an answer that is not a finite number is a failure', async () => {
    const [answer] = await scoreRewards([reward('bad', 1, () => Number.NaN)], [input('x')], 'null')
    expect(answer).toMatchObject({ total: null, failures: [{ name: 'bad' }] })
  })

  test('a failure can end the run', async () => {
    const fails = reward('bad', 1, () => Promise.reject(new Error('oh')))
    await expect(scoreRewards([fails], [input('x')], 'fail')).rejects.toMatchObject({ code: 'reward/failed' })
  })
})
