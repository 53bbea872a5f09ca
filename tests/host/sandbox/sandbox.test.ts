import { describe, expect, test } from 'vitest'
import { openSandbox } from '#host/sandbox/sandbox.ts'
import { answerOf, kindOf, only, openJs, sample } from './opened.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

const openTs = (code: string) => openSandbox({ code, language: 'ts' })

describe('reward code', () => {
  test('sees prompt, completion, every column, step and settings', async () => {
    await using sandbox = await openTs(`
      export const settings = { pay: 2, kind: 'x' }
      export default function score({ prompt, completion, row, step, settings }: Record<string, any>): number {
        return JSON.stringify({ prompt, completion, row, step, settings }) ===
          '{"prompt":"p \\\\u0000 \\\\ud800 é😀","completion":"c","row":{"a":[1,{"b":null}]},"step":9,"settings":{"pay":5,"kind":"x"}}' ? 1 : 0
      }`)
    expect(sandbox).toMatchObject({ kind: 'reward', functions: ['default'], settings: { pay: 2, kind: 'x' } })
    const input = { prompt: 'p \u0000 \ud800 é😀', completion: 'c', row: { a: [1, { b: null }] }, step: 9 }
    expect(kindOf(only(await sandbox.score([{ ...input, settings: { pay: 5 } }], 'default')))).toBe('value 1')
  })

  test('may hold several functions, by name or as a group', async () => {
    await using sandbox = await openJs(`
      export const a = () => 1
      export async function b() { return null }
      export const rewards = { c() { return this.d() + 1 }, d: () => 3 }
      export const notOne = 5`)
    expect([...sandbox.functions].sort()).toEqual(['a', 'b', 'c', 'd'])
    const kinds = await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (name) => kindOf(only(await sandbox.score([sample], name)))),
    )
    expect(kinds).toEqual(['value 1', 'value null', 'value 4', 'value 3'])
    await expect(sandbox.score([sample], 'notOne')).rejects.toMatchObject({ code: 'sandbox/failed' })
  })

  test('errors name line and column of the code as it was written, types and all', async () => {
    await using sandbox = await openTs(`interface Sample {
  completion: string
}
const inner = (text: string): number => text.missing.length
export default (s: Sample): number => inner(s.completion)`)
    expect(only(await sandbox.score([sample], 'default'))).toMatchObject({
      failure: { kind: 'exception', message: expect.stringContaining('TypeError') as string, line: 4 },
    })
  })

  test.each([
    [
      'export default function reward(prompt, completion, answer) { return completion === answer ? 1 : 0 }',
      3,
    ],
    ['export const rewards = { brief: (prompt, completion) => completion.length }', 2],
    ['export function reward(prompts, completions) { return completions.map(() => 1) }', 2],
  ])('with several parameters is refused with the form to write: %s', async (code, count) => {
    await expect(openJs(code)).rejects.toThrow(
      new RegExp(
        `has ${count} parameters, .* export default function reward\\(\\{ prompt, completion, row \\}\\)`,
      ),
    )
  })

  test('may export what rewards are made of, with parameters of its own', async () => {
    await using sandbox = await openJs(`
      export const share = (part, whole) => part / whole
      export default ({ completion }) => share(completion.length, 2)`)
    expect(sandbox.functions).toEqual(['default'])
  })

  test.each(['module.exports = () => 1', 'exports.reward = () => 1'])(
    'of CommonJS names the form: %s',
    async (code) => {
      await expect(openJs(code)).rejects.toMatchObject({
        hint: expect.stringContaining(
          'export default function reward({ prompt, completion, row })',
        ) as string,
      })
    },
  )

  test.each([
    ['js', 'export default () => {\n  return 1 +\n}', 3],
    ['ts', 'const a: number = 1\nconst b: = 2\nexport default () => a', 2],
    ['ts', 'const a: number = 1\nenum Kind { A }\nexport default () => a', 2],
    ['js', 'const a = 1\nnull.x\nexport default () => a', 2],
  ] as const)('that does not load says where: %s %j', async (language, code, line) => {
    await expect(openSandbox({ code, language })).rejects.toMatchObject({
      code: 'sandbox/failed',
      cause: { line },
    })
  })

  test('chance depends on the sample alone', async () => {
    await using one = await openJs('export default ({ random }) => Math.random() + random()')
    await using other = await openJs('export default ({ random }) => Math.random() + random()')
    const inputs = Array.from({ length: 100 }, (_, i) => ({ ...sample, completion: String(i) }))
    const values = (await one.score(inputs, 'default')).map(kindOf)
    expect((await other.score([...inputs].reverse(), 'default')).map(kindOf).reverse()).toEqual(values)
    expect(new Set(values).size).toBe(100)
  })

  test('many batches at once keep their order', async () => {
    await using sandbox = await openJs('export default ({ completion }) => Number(completion)')
    const many = (offset: number) =>
      sandbox.score(
        Array.from({ length: 300 }, (_, i) => ({ ...sample, completion: String(offset + i) })),
        'default',
      )
    const [first, second] = await Promise.all([many(0), many(1000)])
    expect(first.map(kindOf)).toEqual(Array.from({ length: 300 }, (_, i) => `value ${i}`))
    expect(second.map(kindOf)).toEqual(Array.from({ length: 300 }, (_, i) => `value ${1000 + i}`))
  })

  test.runIf(isWhole)(wholeTitle('gets on after its process was killed'), async () => {
    const code = `export default ({ completion }) => completion === 'kill'
      ? 'a'.repeat(6e6).indexOf('a'.repeat(3e6) + 'b') : 1`
    await using sandbox = await openJs(code, { callMs: 200 })
    const inputs = ['a', 'kill'].map((completion) => ({ ...sample, completion }))
    expect((await sandbox.score(inputs, 'default')).map(kindOf)).toEqual(['value 1', 'timeout'])
    expect((await sandbox.score([sample], 'default')).map(kindOf)).toEqual(['value 1'])
  })

  test('a sample larger than the memory is that sample’s failure', async () => {
    await using sandbox = await openJs('export default ({ completion }) => completion.length')
    const inputs = ['x'.repeat(30e6), 'x'].map((completion) => ({ ...sample, completion }))
    expect((await sandbox.score(inputs, 'default')).map(kindOf)).toEqual(['memory', 'value 1'])
  })

  test('more memory where it is allowed', async () => {
    const body = 'export default () => new Uint8Array(40e6).length'
    await using small = await openJs(body, { memoryMb: 32 })
    await using large = await openJs(body, { memoryMb: 64 })
    expect(kindOf(only(await small.score([sample], 'default')))).toBe('memory')
    expect(kindOf(only(await large.score([sample], 'default')))).toBe('value 40000000')
  })

  test('an async function is awaited', async () => {
    expect(kindOf(await answerOf('return (async () => { await null; await null; return 0.5 })()'))).toBe(
      'value 0.5',
    )
  })
})

describe('rewards per token and turn', () => {
  const tokens = [
    { id: 7, text: 'a', logprob: -0.5, turn: 0 },
    { id: 8, text: ' b', logprob: null, turn: 1 },
  ]

  test('code that needs tokens sees them, and null where there are none', async () => {
    await using sandbox = await openTs(`
      export const needs = ['tokens']
      export const perToken = ({ tokens }: any) => ({ perToken: (tokens ?? []).map(({ id, text, logprob, turn }: any) =>
        id + text.length / 10 + (logprob ?? 0) / 100 + turn) })
      export const isNull = ({ tokens }: any) => Number(tokens === null)`)
    expect(sandbox.needsTokens).toBe(true)
    expect(only(await sandbox.score([{ ...sample, tokens }], 'perToken'))).toMatchObject({
      perToken: [7.095, 9.2],
      value: 7.095 + 9.2,
    })
    expect(kindOf(only(await sandbox.score([sample], 'isNull')))).toBe('value 1')
    expect(only(await sandbox.score([sample], 'perToken'))).toMatchObject({ perToken: [], value: 0 })
  })

  test('other code is not sent them, and draws the same random numbers', async () => {
    await using sandbox = await openJs(
      'export default ({ tokens, random }) => tokens === null ? random() : -1',
    )
    expect(sandbox.needsTokens).toBe(false)
    const [with_, without] = await sandbox.score([{ ...sample, tokens }, sample], 'default')
    expect(kindOf(with_)).toBe(kindOf(without))
    expect(kindOf(with_)).not.toBe('value -1')
  })

  test('an answer of another shape is told the forms to write', async () => {
    const forms = 'For a reward of each token or turn, write: return { perToken: […] } or { perTurn: […] }'
    const messageOf = async (value: string) => {
      const answer = await answerOf(`return ${value}`)
      return 'failure' in answer ? `${answer.failure.kind}: ${answer.failure.message}` : answer
    }
    expect(await messageOf('{ perTurn: [1, -0.5] }')).toMatchObject({ perTurn: [1, -0.5], value: 0.5 })
    expect(await messageOf('[1, 2]')).toBe(`wrong-type: Expected a number or null, got a list. ${forms}`)
    expect(await messageOf('{ value: 1 }')).toBe(
      `wrong-type: Expected a number or null, got an object. ${forms}`,
    )
    for (const [value, kind] of [
      ["'1'", 'a string'],
      ['true', 'a boolean'],
      ['1n', 'a bigint'],
      ['undefined', 'nothing'],
    ] as const) {
      expect(await messageOf(value)).toBe(
        `wrong-type: Expected a number or null, got ${kind}. The reward of a completion is one number; write: return isRight ? 1 : 0`,
      )
    }
    expect(await messageOf('{ perToken: [1], perTurn: [1] }')).toMatch(/^wrong-type/)
    expect(await messageOf('{ perToken: 1 }')).toBe(
      'wrong-type: "perToken" must be a list of numbers, got a number.',
    )
    expect(await messageOf('{ perToken: [1, "2"] }')).toBe(
      'wrong-type: Number 2 of "perToken" must be a number, got a string.',
    )
    expect(await messageOf('{ perTurn: [1, , 2] }')).toMatch(
      /Number 2 of "perTurn" must be a number, got nothing/,
    )
    expect(await messageOf('{ perTurn: [NaN] }')).toBe(
      'not-a-number: Number 1 of "perTurn" must be finite, got NaN.',
    )
    expect(await messageOf('{ perToken: new Array(4e9) }')).toMatch(/^wrong-type|^exception/)
    expect(await messageOf('{ perToken: new Array(1e6).fill(1.23456789) }')).toMatch(
      /^too-large|^timeout|^memory/,
    )
  })

  test('code that needs what there is not does not load', async () => {
    await expect(openJs("export const needs = ['logits']; export default () => 1")).rejects.toThrow(
      "There is one thing rewards may need: export const needs = ['tokens']",
    )
  })
})

describe('an environment', () => {
  const counting = `export default {
    reset: ({ row, random, log }) => ({ state: { left: row.turns, luck: random() }, observation: 'go' }),
    step({ state, action, log }) {
      log.metric('left', state.left)
      if (action === 'throw') throw Error('oh')
      if (action === 'cycle') { state.self = state; return { state } }
      if (action === 'huge') return { state: 'x'.repeat(1e6) }
      if (action === 'bad') return { state, reward: 'much' }
      if (action === 'none') return
      const left = state.left - 1
      return { state: { ...state, left }, observation: [{ role: 'user', content: action }], reward: 1 / 2, done: left === 0 }
    },
  }`

  test('goes on from the state it gave', async () => {
    await using sandbox = await openJs(counting)
    expect(sandbox.kind).toBe('environment')
    const begun = only(await sandbox.reset([{ row: { turns: 2 }, seed: 1 }]))
    expect(begun).toMatchObject({ state: { left: 2 }, observation: 'go', reward: null, terminated: false })
    if ('failure' in begun) throw new Error(begun.failure.message)
    const turn = (state: unknown, action: string) => ({ row: { turns: 2 }, seed: 1, state, action })
    const first = only(await sandbox.step([turn(begun.state, 'a')]))
    expect(first).toMatchObject({ reward: 0.5, terminated: false, metrics: { left: 2 } })
    if ('failure' in first) throw new Error(first.failure.message)
    const last = only(await sandbox.step([turn(first.state, 'b')]))
    expect(last).toMatchObject({ observation: [{ role: 'user', content: 'b' }], terminated: true })
    // The same seed, the same beginning; another, another.
    const again = await sandbox.reset([
      { row: { turns: 2 }, seed: 1 },
      { row: { turns: 2 }, seed: 2 },
    ])
    expect(again[0]).toMatchObject({ state: begun.state })
    expect(again[1]).not.toMatchObject({ state: begun.state })
  })

  test.each([
    ['throw', 'exception'],
    ['cycle', 'exception'],
    ['huge', 'too-large'],
    ['bad', 'wrong-type'],
    ['none', 'wrong-type'],
  ])('%s fails that turn only', async (action, kind) => {
    await using sandbox = await openJs(counting)
    const turn = { row: {}, seed: 1, state: { left: 3 } }
    const [bad, good] = await sandbox.step([
      { ...turn, action },
      { ...turn, action: 'a' },
    ])
    expect(bad).toMatchObject({ failure: { kind } })
    expect(good).toMatchObject({ state: { left: 2 } })
  })

  test('is not a reward, and half of one is nothing', async () => {
    await using sandbox = await openJs(counting)
    await expect(sandbox.score([sample], 'default')).rejects.toMatchObject({ code: 'sandbox/failed' })
    await expect(openJs('export default { reset() {} }')).rejects.toThrow(/reset and step/)
  })
})
