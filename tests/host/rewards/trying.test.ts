import { describe, expect, test } from 'vitest'
import { tryCheating } from '#host/jobs/rewardTrials.ts'
import { dryRun, type DrySample } from '#host/code/dryRun.ts'
import { rescore } from '#host/api/samplesService.ts'
import { runTestCases } from '#host/code/testCases.ts'
import type { CodeSource } from '#host/sandbox/sandbox.ts'

const contains = {
  language: 'ts',
  code: `export default ({ completion, row }: { completion: string; row: { answer: string } }) =>
    Number(completion.includes(row.answer))`,
} as const
const exact = {
  language: 'js',
  code: 'export default ({ completion, row }) => Number(completion.trim() === row.answer)',
} as const
const row = { answer: '17' }
const testCase = { prompt: '', row, settings: {} }

describe('a dry run', () => {
  test('shows score, parts, log, time and error of every row', async () => {
    const source = {
      language: 'ts',
      code: `export function right({ completion, log }: any): number {
  log.column('length', completion.length)
  console.log('seen', completion)
  if (completion === 'bad') throw new Error('no')
  return 1
}
export const wrong = (): number => NaN
export const other = () => null`,
    } as const
    const samples = ['ok', 'bad'].map((completion) => ({ prompt: 'p', completion, row }))
    const { functions, rows } = await dryRun(source, samples)
    expect(functions).toEqual(expect.arrayContaining(['right', 'wrong', 'other']))
    expect(rows[0]).toMatchObject({
      total: 1,
      parts: { right: 1, wrong: null, other: null },
      columns: { length: 2 },
      lines: ['seen ok'],
      failures: { wrong: { kind: 'not-a-number' } },
    })
    expect(rows[1]).toMatchObject({
      total: null,
      lines: ['seen bad'],
      failures: { right: { kind: 'exception', message: 'Error: no', line: 4, column: 44 } },
    })
    expect(rows[0]?.durationMs).toBeGreaterThan(0)
  })

  test('adds up as a run does: what is too large fails, a column logged twice bears the name of its function', async () => {
    const code = `export const a = ({ log }) => { log.column('seen', 1); return 2 }
export const b = ({ log }) => { log.column('seen', 2); return 1e200 }`
    const { rows } = await dryRun({ code, language: 'js' }, [{ prompt: '', completion: '', row }])
    expect(rows[0]).toMatchObject({
      total: 2,
      parts: { a: 2, b: null },
      columns: { seen: 1 },
      failures: { b: { kind: 'too-large' } },
    })
    const both = code.replace('1e200', '3')
    const [first] = (await dryRun({ code: both, language: 'js' }, [{ prompt: '', completion: '', row }])).rows
    expect(first).toMatchObject({ total: 5, columns: { seen: 1, 'b.seen': 2 } })
  })

  test('one function may be picked, and settings be changed', async () => {
    const code = `export const settings = { pay: 1 }; export const a = ({ settings }) => settings.pay; export const b = () => 5`
    const samples = [{ prompt: '', completion: '', row }]
    const options = { function: 'a', settings: { pay: 3 } }
    expect((await dryRun({ code, language: 'js' }, samples, options)).rows[0]?.parts).toEqual({ a: 3 })
    await expect(dryRun({ code, language: 'js' }, samples, { function: 'c' })).rejects.toMatchObject({
      code: 'config/invalid',
    })
  })
})

describe('test cases', () => {
  test('say what was earned and what was expected', async () => {
    const results = await runTestCases(contains, [
      { ...testCase, name: 'right', completion: 'It is 17.', expect: { equals: 1 } },
      { ...testCase, name: 'wrong', completion: 'It is 18.', expect: { min: 0.5 } },
      { ...testCase, name: 'not for this row', completion: '', expect: { equals: null } },
      { ...testCase, name: 'breaks', completion: '', row: {}, expect: { equals: 0 } },
    ])
    expect(results.map(({ isPassed }) => isPassed)).toEqual([true, false, false, true])
    expect(results[1]?.message).toBe('It earned 0; expected at least 0.5.')
  })
})

describe('the cheating battery', () => {
  const rows = [{ prompt: 'What is 8 + 9?', row, honest: '17' }]
  const scoring = (source: CodeSource) => async (samples: readonly DrySample[]) =>
    (await dryRun(source, samples)).rows
  const paid = async (source: CodeSource) => {
    const { cheats } = await tryCheating(scoring(source), rows)
    return cheats.filter(({ isPaid }) => isPaid)
  }

  test('finds that naming every answer is paid for', async () => {
    const found = await paid(contains)
    expect(found.map(({ cheat }) => cheat)).toEqual(['leak'])
    expect(found[0]?.message).toMatch(/including the right one earns 1 of the 1 .* instead\.$/)
  })

  test('finds rewards for form, length and echo', async () => {
    const always = (body: string) =>
      paid({ language: 'js', code: `export default ({ completion, prompt }) => Number(${body})` })
    expect((await tryCheating(scoring(exact), rows)).cheats.some(({ isPaid }) => isPaid)).toBe(false)
    const form = await always(`completion === '17' || completion.includes('<answer>')`)
    expect(form.map(({ cheat }) => cheat)).toEqual(['format', 'think-only'])
    const long = await always(`completion === '17' || completion.length > 2000`)
    expect(long.map(({ cheat }) => cheat)).toEqual(['long'])
    const echo = await always(`completion === '17' || completion === prompt`)
    expect(echo.map(({ cheat }) => cheat)).toEqual(['echo'])
    const silent = await always(`completion === '17' || completion.length < 2`)
    expect(silent.map(({ cheat }) => cheat)).toEqual(['empty'])
  })
})

test('re-scoring tells what another version would have paid', async () => {
  const stored = [
    { prompt: '', completion: '17', row, step: 1, reward: 1 },
    { prompt: '', completion: 'It is 17.', row, step: 2, reward: 1 },
    { prompt: '', completion: '18', row, step: 2, reward: 0 },
  ]
  const result = await rescore(exact, stored)
  expect(result).toMatchObject({ changed: 1, failed: 0, meanBefore: 2 / 3, meanAfter: 1 / 3 })
  expect(result.rewards.map(({ total }) => total)).toEqual([1, 0, 0])
})
