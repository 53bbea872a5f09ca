import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { importDataSet } from '#host/data/importDataSet.ts'
import { findOverlap, splitRows } from '#host/data/split.ts'
import { LengthCounter, previewPrompts, promptLengths } from '#host/data/preview.ts'
import { readDataSet, readRunData } from '#host/data/readDataSet.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const home = temporaryFolder()
const rows = Array.from({ length: 2_000 }, (_, index) => ({
  prompt: `Question ${index}`,
  answer: `${index}`,
}))

describe('splitRows', () => {
  test('a share is held out, in the order of the rows', () => {
    const { train, heldOut } = splitRows(rows, { share: 0.1, seed: 42 })
    expect(train.length + heldOut.length).toBe(2_000)
    // Three standard deviations of a binomial: √(2000·0.1·0.9) ≈ 13.4.
    expect(Math.abs(heldOut.length - 200)).toBeLessThan(41)
    expect(heldOut).toEqual(rows.filter((row) => heldOut.includes(row)))
    expect(splitRows(rows, { share: 0.1, seed: 42 }).heldOut).toEqual(heldOut)
    expect(splitRows(rows, { share: 0.1, seed: 43 }).heldOut).not.toEqual(heldOut)
  })

  test('rows added, moved or with columns in another order change no row’s side', () => {
    const { heldOut } = splitRows(rows.slice(0, 1_000), { share: 0.2, seed: 1 })
    const shuffled = rows.toReversed().map(({ prompt, answer }) => ({ answer, prompt }))
    const later = new Set(splitRows(shuffled, { share: 0.2, seed: 1 }).heldOut.map((row) => row['prompt']))
    expect(rows.slice(0, 1_000).filter(({ prompt }) => later.has(prompt))).toEqual(heldOut)
  })

  test('copies stay on one side', async () => {
    const twice = [
      ...rows,
      ...rows.map(({ prompt, answer }) => ({ prompt: ` ${prompt.toUpperCase()} `, answer })),
    ]
    const { train, heldOut } = splitRows(twice, { share: 0.3, seed: 5 })
    expect((await findOverlap(train, heldOut, (row) => row['prompt'] as string)).leaks.count).toBe(0)
  })

  test('a number of rows', () => {
    expect(splitRows(rows, { rows: 37, seed: 3 }).heldOut).toHaveLength(37)
    expect(() => splitRows(rows, { rows: 2_000, seed: 3 })).toThrow(/leaves no training row/)
    expect(() => splitRows(rows.slice(0, 2), { share: 0.0001, seed: 3 })).toThrow(/leaves no validation row/)
  })
})

test('findOverlap reports pairs with the first row of each', async () => {
  async function* heldOut() {
    yield* [{ q: 'new' }, { q: ' a\tB ' }, { q: 'NEW' }, { q: 'ﬁne' }]
  }
  const train = [{ q: 'A b' }, { q: 'c' }, { q: 'a  b' }, { q: 'fine' }]
  expect(await findOverlap(train, heldOut(), (row) => row['q'] as string)).toEqual({
    trainDuplicates: { count: 1, pairs: [{ first: 0, second: 2, text: 'a  b' }] },
    heldOutDuplicates: { count: 1, pairs: [{ first: 0, second: 2, text: 'NEW' }] },
    leaks: {
      count: 2,
      pairs: [
        { first: 0, second: 1, text: ' a\tB ' },
        { first: 3, second: 3, text: 'ﬁne' },
      ],
    },
  })
  expect((await findOverlap([{ a: 1, b: 2 }], [{ b: 2, a: 1 }])).leaks.count).toBe(1)
})

describe('preview', () => {
  const model = loadTokenizer(path.join(resourcesDirectory, 'starter'))
  const form = { messages: [{ role: 'user', content: '{prompt} = {{?}}' }] }

  test('text and tokens are what a run would read', () => {
    const [first, second] = previewPrompts([{ prompt: 'Add 1 and 2' }, {}], form, model, 10)
    expect(second).toEqual({
      row: 11,
      problem: expect.stringMatching(/^Row 12 .*no column “prompt”/) as unknown,
    })
    if (first === undefined || 'problem' in first) throw new Error('Expected a prompt.')
    expect(first.text).toContain('Add 1 and 2 = {?}')
    expect(first.text).not.toBe('user: Add 1 and 2 = {?}')
    expect(first.tokens?.map(({ text }) => text).join('')).toBe(first.text)
  })

  test('lengths of all prompts', async () => {
    async function* batches() {
      yield [{ prompt: 'a' }, { prompt: 'bb' }]
      yield [{}, { prompt: 'cccc' }]
    }
    const histogram = await promptLengths(batches(), { column: 'prompt' }, null)
    expect(histogram).toMatchObject({ rows: 3, problems: 1, min: 1, max: 4, median: 2, p95: 4 })
    expect(histogram?.mean).toBeCloseTo(7 / 3)
    expect(histogram?.lengths).toEqual([
      [1, 1],
      [2, 1],
      [4, 1],
    ])
    const tokens = await promptLengths(batches(), { column: 'prompt' }, model)
    expect(tokens?.rows).toBe(3)
  })

  test('bins hold every length once', () => {
    const counter = new LengthCounter()
    for (let length = 5; length < 105; length++) counter.add(length)
    const histogram = counter.histogram(7)
    expect(histogram?.bins).toHaveLength(7)
    expect(histogram?.bins.reduce((sum, { count }) => sum + count, 0)).toBe(100)
    expect(histogram?.bins.slice(0, 2)).toEqual([
      { from: 5, to: 20, count: 15 },
      { from: 20, to: 35, count: 15 },
    ])
    expect(new LengthCounter().histogram()).toBeNull()
  })
})

describe('readDataSet', () => {
  const written = (name: string, content: string): string => {
    writeFileSync(path.join(home, name), content)
    return path.join(home, name)
  }

  test('a file and the version made of it give the same rows', async () => {
    const file = written('a.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'))
    const { version } = await importDataSet(file, { folder: path.join(home, 'datasets') })
    expect(await readDataSet(file)).toEqual(rows)
    expect(await readDataSet(version.directory)).toEqual(rows)
    const { train, heldOut } = await readRunData({
      train: version.directory,
      heldOut: { rows: 100, seed: 7 },
    })
    expect([train.length, heldOut.length]).toEqual([1_900, 100])
    expect((await readRunData({ train: file, heldOut: file })).heldOut).toEqual(rows)
    expect((await readRunData({ train: file, heldOut: null })).heldOut).toEqual([])
  })

  test('names of columns mean nothing else', async () => {
    const file = written('p.jsonl', '{"__proto__":{"x":1}}')
    const [row] = await readDataSet(file)
    expect([Object.keys(row ?? {}), row?.['x'], row?.['constructor']]).toEqual([
      ['__proto__'],
      undefined,
      undefined,
    ])
  })

  test.each([
    ['b.jsonl', '{"q":1}\n{"q":', /b\.jsonl, row 2 \(line 2\): it is not valid JSON/],
    ['b.csv', 'q,a\n"x\ny",1\n2\n', /b\.csv, row 2 \(line 4\): it has 1 value for 2 columns/],
    ['b.csv', 'q\n', /b\.csv holds no rows/],
  ])('%s %j is an error that names the row', async (name, content, sentence) => {
    await expect(readDataSet(written(name, content))).rejects.toThrow(sentence)
  })

  test('a folder that is no data set', async () => {
    mkdirSync(path.join(home, 'empty'))
    await expect(readDataSet(path.join(home, 'empty'))).rejects.toThrow(/not an imported data set/)
    await expect(readDataSet(path.join(home, 'none.csv'))).rejects.toThrow(/it does not exist/)
  })
})
