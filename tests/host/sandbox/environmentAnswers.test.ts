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
  true: ['state', 'done', 'truncated'],
  false: ['state', 'done', 'truncated'],
  null: ['state', 'observation', 'reward'],
  '"7"': ['state', 'observation'],
  '""': ['state', 'observation'],
  '[]': ['state', 'observation'],
  '[{ role: "user", content: "x" }]': ['state', 'observation'],
  '[{ role: "user" }]': ['state'],
  '[7]': ['state'],
  '{}': ['state'],
  '{ toJSON() { return 7 } }': ['state'],
  '{ toJSON() { return true } }': ['state'],
  '{ toJSON() { return "text" } }': ['state'],
  '{ valueOf() { return 1 } }': ['state'],
  'new Number(7)': ['state'],
  'new Boolean(false)': ['state'],
  '{ deep: [1, { sum: NaN }] }': [],
  '10n': [],
  'Symbol("s")': [],
  '() => 1': [],
  'Promise.resolve(1)': ['state'],
} as const satisfies Record<string, readonly Part[]>

type Part = 'state' | 'observation' | 'reward' | 'done' | 'truncated'
const sound = { state: '{ n: 1 }', observation: '"next"', reward: '0.25', done: 'true' }

let sandbox: Sandbox

beforeAll(async () => {
  // The action is code itself, which the virtual machine may run as any other.
  sandbox = await openJs(
    'export default { reset: ({ row }) => eval(row.answer), step: ({ action }) => eval(action) }',
  )
}, 60_000)
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
    (['state', 'observation', 'reward', 'done', 'truncated'] as const).map((part) => ({
      ...{ part, code, fits: (fitting as readonly Part[]).includes(part) },
    })),
  )

  test.each(cases)('with $code as $part is as it should be ($fits)', async ({ part, code, fits }) => {
    const given = { ...sound, [part]: code }
    const answer = await stepped(spelled(given))
    if (fits) {
      expect(sentenceOf(answer)).toBeNull()
      if (part === 'reward') expect(answer).toMatchObject({ reward: code === 'null' ? null : Number(code) })
      if (part === 'truncated') expect(answer).toMatchObject({ truncated: code === 'true' })
    } else expect(sentenceOf(answer)).toContain(part)
  })

  test('without done, with parts of another library, or cut off and not over, says so', async () => {
    const { done: _, ...open } = sound
    expect(sentenceOf(await stepped(spelled(open)))).toBe('"done" must be true or false, got nothing.')
    expect(sentenceOf(await stepped(spelled({ ...sound, terminated: 'true' })))).toMatch(
      /^The answer has "terminated", which is not a field of one\./,
    )
    expect(sentenceOf(await stepped(spelled({ ...sound, metrics: '{ a: 1 }' })))).toMatch(/log\.metric/)
    expect(sentenceOf(await stepped(spelled({ ...sound, done: 'false', truncated: 'true' })))).toMatch(
      /"truncated" says how an episode ended/,
    )
    expect(sentenceOf(await stepped('[1, 2]'))).toMatch(/^Expected an object/)
  })

  test('at the beginning of an episode need not say that it is not over', async () => {
    const begin = (answer: string) => sandbox.reset([{ row: { answer }, seed: 1 }])
    expect(only(await begin('({ state: 1 })'))).toMatchObject({ state: 1, done: false, reward: null })
    expect(sentenceOf(only(await begin('({ state: 1, done: 0 })')))).toMatch(/"done" must be true or false/)
  })

  test('put together by chance is never taken for another one', async () => {
    const random = new SequentialRandom(randomStream(5))
    const pool = Object.entries(values)
    const parts = ['state', 'observation', 'reward', 'done', 'truncated', 'info'] as const
    for (let k = 0; k < 400; k++) {
      const chosen = parts
        .filter(() => random.integer(3) > 0)
        .map((part) => [part, pool[random.integer(pool.length)] ?? ['0.5', []]] as const)
      const answer = await stepped(spelled(Object.fromEntries(chosen.map(([part, [code]]) => [part, code]))))
      const codeOf = (part: string) => chosen.find(([name]) => name === part)?.[1][0]
      const areFit = chosen.every(([part, [, fitting]]) => (fitting as readonly string[]).includes(part))
      const isCutButOpen = codeOf('truncated') === 'true' && codeOf('done') !== 'true'
      const isSound = areFit && codeOf('done') !== undefined && !isCutButOpen
      expect([chosen, sentenceOf(answer) === null]).toEqual([chosen, isSound])
    }
  })
})
