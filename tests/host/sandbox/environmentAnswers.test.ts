/** Odd answers of environments: each is a turn as it was meant, or a sentence; nothing is silently taken for something else. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { EnvironmentAnswer } from '#host/sandbox/answers.ts'
import type { Sandbox } from '#host/sandbox/sandbox.ts'
import { only, openJs } from './opened.ts'

/** Values as code, and whether they may stand as each part of an answer. */
const values = {
  NaN: [],
  '1 / 0': [],
  '-1 / 0': [],
  '0.5': ['state', 'reward'],
  '1e308': ['state', 'reward'],
  true: ['state', 'terminated', 'truncated', 'done'],
  false: ['state', 'terminated', 'truncated', 'done'],
  null: ['state', 'observation', 'reward', 'info'],
  '"7"': ['state', 'observation'],
  '""': ['state', 'observation'],
  '[]': ['state', 'observation'],
  '[{ role: "user", content: "x" }]': ['state', 'observation'],
  '[{ role: "user" }]': ['state'],
  '[7]': ['state'],
  '{}': ['state', 'info'],
  '{ toJSON() { return 7 } }': ['state', 'info'],
  '{ toJSON() { return true } }': ['state', 'info'],
  '{ toJSON() { return "text" } }': ['state', 'info'],
  '{ valueOf() { return 1 } }': ['state', 'info'],
  'new Number(7)': ['state', 'info'],
  'new Boolean(false)': ['state', 'info'],
  '{ deep: [1, { sum: NaN }] }': ['info'],
  '10n': [],
  'Symbol("s")': [],
  '() => 1': [],
  'Promise.resolve(1)': ['state', 'info'],
} as const satisfies Record<string, readonly Part[]>

const parts = ['state', 'observation', 'reward', 'terminated', 'truncated', 'done', 'info'] as const
type Part = (typeof parts)[number]
const going = { state: '{ n: 1 }', observation: '"next"', reward: '0.25' }
const sound = { ...going, terminated: 'true' }

let sandbox: Sandbox

beforeAll(async () => {
  // The action is code itself, which the virtual machine may run as any other.
  sandbox = await openJs(
    'export default { reset: ({ row }) => eval(row.answer), step: ({ action }) => eval(action) }',
  )
})
afterAll(() => sandbox[Symbol.asyncDispose]())

const spelled = (parts: Readonly<Record<string, string>>): string =>
  `({ ${Object.entries(parts)
    .map(([name, code]) => `${name}: ${code}`)
    .join(', ')} })`

async function stepped(action: string): Promise<EnvironmentAnswer> {
  return only(await sandbox.step([{ row: {}, seed: 1, state: null, action }]))
}

const sentenceOf = (answer: EnvironmentAnswer): string | null =>
  'failure' in answer ? answer.failure.message : null

describe('an answer of an environment', () => {
  const cases = Object.entries(values).flatMap(([code, fitting]) =>
    parts.map((part) => ({ part, code, fits: (fitting as readonly Part[]).includes(part) })),
  )

  test.each(cases)('with $code as $part is as it should be ($fits)', async ({ part, code, fits }) => {
    const given = { ...(part === 'done' ? going : sound), [part]: code }
    const answer = await stepped(spelled(given))
    if (fits) {
      expect(sentenceOf(answer)).toBeNull()
      if (part === 'reward') expect(answer).toMatchObject({ reward: code === 'null' ? null : Number(code) })
      if (part === 'truncated') expect(answer).toMatchObject({ truncated: code === 'true' })
    } else expect(sentenceOf(answer)).toContain(part)
  })

  test('ends as Gymnasium has it; done is an older word for both ends', async () => {
    const endOf = async (code: Readonly<Record<string, string>>) => {
      const answer = await stepped(spelled({ ...going, ...code }))
      return 'failure' in answer ? answer.failure.message : [answer.terminated, answer.truncated]
    }
    expect(await endOf({ terminated: 'false' })).toEqual([false, false])
    expect(await endOf({ terminated: 'true', truncated: 'false' })).toEqual([true, false])
    expect(await endOf({ terminated: 'false', truncated: 'true' })).toEqual([false, true])
    expect(await endOf({ terminated: 'true', truncated: 'true' })).toEqual([true, true])
    expect(await endOf({ truncated: 'true' })).toEqual([false, true])
    expect(await endOf({ done: 'true' })).toEqual([true, false])
    expect(await endOf({ done: 'false' })).toEqual([false, false])
    expect(await endOf({ done: 'true', truncated: 'true' })).toEqual([false, true])
    expect(await endOf({ done: 'false', truncated: 'true' })).toMatch(/an episode that is broken off is over/)
    expect(await endOf({ done: 'true', terminated: 'true' })).toMatch(/write "terminated" alone/)
    expect(await endOf({})).toMatch(/^"terminated" must be true or false, got nothing/)
    expect(await endOf({ truncated: 'false' })).toMatch(/^"terminated" must be true or false, got nothing/)
  })

  test('as a list, or nothing, is told the form to write', async () => {
    const form = 'Write: return { state, observation, reward, terminated, truncated, info }'
    const tuple = (length: number) =>
      `Expected an object, got a list of ${length}, as Gymnasium has it. ${form}`
    expect(sentenceOf(await stepped('["next", 1, true, false, {}]'))).toBe(tuple(5))
    expect(sentenceOf(await stepped('["next", 1, true, {}]'))).toBe(tuple(4))
    expect(sentenceOf(await stepped('undefined'))).toBe(`Expected an object, got nothing. ${form}`)
    const [begun] = await sandbox.reset([{ row: { answer: '["hello", {}]' }, seed: 1 }])
    expect(sentenceOf(begun!)).toMatch(/got a list of 2, .* Write: return \{ state, observation \}$/)
  })

  test('without a state keeps the one it was given, as it is now', async () => {
    const step = (state: unknown, action: string) => sandbox.step([{ row: {}, seed: 1, state, action }])
    expect(await step({ n: 1 }, '({ terminated: false })')).toMatchObject([{ state: { n: 1 } }])
    expect(await step([7], '({ state: null, terminated: false })')).toMatchObject([{ state: null }])
    const changing = await openJs(
      'export default { reset: () => ({}), step: ({ state }) => { state.n += 1; return { terminated: false } } }',
    )
    expect(await changing.reset([{ row: {}, seed: 1 }])).toMatchObject([{ state: null }])
    expect(await changing.step([{ row: {}, seed: 1, state: { n: 1 }, action: '' }])).toMatchObject([
      { state: { n: 2 }, terminated: false },
    ])
    await changing[Symbol.asyncDispose]()
  })

  test('with parts of another library says which there are; info is shown and charted', async () => {
    expect(sentenceOf(await stepped(spelled({ ...sound, obs: '"next"' })))).toMatch(
      /^The answer has "obs", which is not a field of one\. The fields are state, observation, reward, terminated/,
    )
    const info = '{ correct: true, tries: 3, word: "cat", nothing: undefined, never: NaN }'
    expect(await stepped(spelled({ ...sound, info }))).toMatchObject({
      columns: { correct: true, tries: 3, word: 'cat', nothing: '(undefined)', never: null },
      metrics: { correct: 1, tries: 3 },
    })
    expect(sentenceOf(await stepped(spelled({ ...sound, info: '[1]' })))).toMatch(/"info" must be an object/)
  })

  test('at the beginning of an episode need not say that it is not over', async () => {
    const begin = (answer: string) => sandbox.reset([{ row: { answer }, seed: 1 }])
    expect(only(await begin('({ state: 1 })'))).toMatchObject({ state: 1, terminated: false, reward: null })
    expect(sentenceOf(only(await begin('({ state: 1, done: 0 })')))).toMatch(/"done" must be true or false/)
  })

  test('put together by chance is never taken for another one', async () => {
    const random = new SequentialRandom(randomStream(5))
    const pool = Object.entries(values)
    for (let k = 0; k < 400; k++) {
      const chosen = parts
        .filter(() => random.integer(3) > 0)
        .map((part) => [part, pool[random.integer(pool.length)] ?? ['0.5', []]] as const)
      const answer = await stepped(spelled(Object.fromEntries(chosen.map(([part, [code]]) => [part, code]))))
      const codeOf = (part: string) => chosen.find(([name]) => name === part)?.[1][0]
      const areFit = chosen.every(([part, [, fitting]]) => (fitting as readonly string[]).includes(part))
      const [isCut, done, terminated] = [codeOf('truncated') === 'true', codeOf('done'), codeOf('terminated')]
      const isOneEnd =
        (done === undefined) !== (terminated === undefined) || (done ?? terminated ?? '') === ''
      const saysHow = isCut ? done !== 'false' : done !== undefined || terminated !== undefined
      const isSound = areFit && isOneEnd && saysHow
      expect([chosen, sentenceOf(answer) === null]).toEqual([chosen, isSound])
    }
  })
})
