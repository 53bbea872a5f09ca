import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { findDataSet, listDataSets, namedDataSet } from '#host/data/dataSetLibrary.ts'
import { openDataSetVersion } from '#host/data/dataSetVersion.ts'
import { importDataSet, type ImportOptions } from '#host/data/importDataSet.ts'
import { inspectDataFile } from '#host/data/dataFiles.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const home = temporaryFolder()
const folder = path.join(home, 'datasets')
const python = fileURLToPath(new URL('../../fixtures/data/python/', import.meta.url))

function written(name: string, content: string): string {
  const file = path.join(home, name)
  writeFileSync(file, content)
  return file
}

const lines = (rows: readonly unknown[]): string => rows.map((row) => JSON.stringify(row)).join('\n')
const imported = (file: string, options: Partial<ImportOptions> = {}) =>
  importDataSet(file, { folder, ...options })

const many = Array.from({ length: 1_000 }, (_, index) => ({
  prompt: `Frage ${index} – 世界`,
  answer: index % 10,
  hint: index % 4 === 0 ? null : ['x'],
  ...(index < 250 ? { rare: true } : {}),
}))

describe('importDataSet', () => {
  test('rows are read back in pages, whatever the page', async () => {
    const { version, isNew } = await imported(written('many.jsonl', lines(many)))
    expect([isNew, version.info.rows, version.info.name]).toEqual([true, 1_000, 'many'])
    for (const [from, count] of [
      [0, 1],
      [255, 2],
      [256, 256],
      [511, 400],
      [990, 50],
      [999, 1],
    ] as const) {
      expect(version.rows(from, count)).toEqual(many.slice(from, from + count))
    }
    expect([version.rows(1_000, 5), version.rows(-1, 5), version.rows(3, 0)]).toEqual([[], [], []])
    const batches: unknown[] = []
    for await (const rows of version.batches()) batches.push(...rows)
    expect(batches).toEqual(many)
  })

  test('columns are counted', async () => {
    const { version } = await imported(written('many.jsonl', lines(many)))
    expect(version.info.columns).toEqual([
      {
        name: 'prompt',
        kinds: { text: 1_000 },
        missing: 0,
        unique: 1_000,
        length: { min: 12, mean: 13.89, max: 14 },
        value: null,
      },
      {
        name: 'answer',
        kinds: { number: 1_000 },
        missing: 0,
        unique: 10,
        length: null,
        value: { min: 0, mean: 4.5, max: 9 },
      },
      {
        name: 'hint',
        kinds: { null: 250, list: 750 },
        missing: 0,
        unique: 2,
        length: { min: 1, mean: 1, max: 1 },
        value: null,
      },
      { name: 'rare', kinds: { boolean: 250 }, missing: 750, unique: 1, length: null, value: null },
    ])
  })

  test('the id is that of the rows, not of the file that held them', async () => {
    const ids = []
    for (const name of ['compact.json', 'indented.json', 'wrapped.json']) {
      ids.push((await imported(path.join(python, name))).version.info.id)
    }
    expect(new Set(ids).size).toBe(1)
    const other = await imported(written('other.jsonl', lines(many.slice(1))))
    expect(other.version.info.id).not.toBe(ids[0])
    const zstd = await imported(path.join(python, 'zstd.parquet'))
    const gzip = await imported(path.join(python, 'gzip.parquet'), { name: 'second' })
    expect([zstd.isNew, gzip.isNew, gzip.name]).toEqual([true, false, 'second'])
    const { name, otherNames } = gzip.version.info
    expect([name, Object.keys(otherNames ?? {})]).toEqual([zstd.version.info.name, ['second']])
    expect(gzip.version.directory).toBe(zstd.version.directory)
  })

  test('problems are listed with row and line; all are counted', async () => {
    const content = Array.from({ length: 3_000 }, (_, index) => (index % 2 === 0 ? '{"q":1}' : '{')).join(
      '\n',
    )
    const { version } = await imported(written('half.jsonl', content))
    const { rows, problems } = version.info
    expect([rows, problems.count, problems.listed.length]).toEqual([1_500, 1_500, 1_000])
    expect(problems.listed[1]).toEqual({
      number: 4,
      line: 4,
      sentence: 'it is not valid JSON: it ends prematurely',
    })
  })

  test('a mapping is done to every row; a row it does not fit is a problem', async () => {
    const rows = [{ question: 'q', meta: { truth: 4 } }, { question: 'r' }]
    const { version } = await imported(written('mapped.jsonl', lines(rows)), {
      mapping: [
        { kind: 'column', from: 'question', to: 'prompt' },
        { kind: 'column', from: 'meta.truth', to: 'answer' },
        { kind: 'drop', column: 'meta' },
      ],
    })
    expect(version.rows(0, 9)).toEqual([{ answer: 4, prompt: 'q' }])
    expect(version.info.problems.listed).toEqual([
      { number: 2, line: 2, sentence: 'it has no column “meta.truth”' },
    ])
  })

  test.each([
    ['none.jsonl', '\n\n', /none\.jsonl holds no rows/],
    [
      'bad.jsonl',
      '1\n2\n',
      /bad\.jsonl has no usable row: row 1 \(line 1\): it is not a JSON object\. All 2 rows/,
    ],
    ['bad.csv', 'q,q\n1,2', /two columns called “q”/],
  ])('%s %j is refused and leaves nothing', async (name, content, sentence) => {
    const before = existsSync(folder) ? readdirSync(folder) : []
    await expect(imported(written(name, content))).rejects.toThrow(sentence)
    expect(readdirSync(folder)).toEqual(before)
  })

  test('progress reaches the end, and a cancelled import leaves nothing', async () => {
    const file = written(
      'large.jsonl',
      lines(Array.from({ length: 40_000 }, (_, index) => ({ ...many[0], index }))),
    )
    const seen: number[] = []
    const controller = new AbortController()
    const before = readdirSync(folder)
    const cancelled = imported(file, {
      signal: controller.signal,
      onProgress: (read, total) => {
        seen.push(read / total)
        if (seen.length === 2) controller.abort()
      },
    })
    await expect(cancelled).rejects.toMatchObject({ code: 'api/cancelled' })
    expect(readdirSync(folder)).toEqual(before)
    await imported(file, { onProgress: (read, total) => seen.push(read / total) })
    expect(seen.at(-1)).toBe(1)
  })

  test('what a killed import left is cleared by the next', async () => {
    const left = path.join(folder, '.import.999999999.1')
    mkdirSync(left, { recursive: true })
    writeFileSync(path.join(left, 'rows.jsonl'), 'half')
    await imported(written('many.jsonl', lines(many)))
    expect(existsSync(left)).toBe(false)
  })
})

describe('a damaged version', () => {
  const damage = async (change: (directory: string) => void) => {
    const { version } = await imported(written('many.jsonl', lines(many)))
    const copy = path.join(home, 'copy')
    rmSync(copy, { recursive: true, force: true })
    cpSync(version.directory, copy, { recursive: true })
    change(copy)
    return copy
  }
  const edit = (name: string, by: (bytes: Buffer) => Buffer) => (directory: string) =>
    writeFileSync(path.join(directory, name), by(readFileSync(path.join(directory, name))))

  test.each([
    ['rows.jsonl', (bytes: Buffer) => bytes.subarray(0, -1), /rows\.jsonl is damaged/],
    ['rows.index', (bytes: Buffer) => bytes.subarray(8), /rows\.index is damaged/],
    ['rows.index', (bytes: Buffer) => bytes.fill(7), /rows\.index is damaged/],
    ['version.json', () => Buffer.from('{}'), /does not describe a data set/],
    ['version.json', (bytes: Buffer) => bytes.subarray(0, 50), /is not a valid JSON file/],
  ])('%s', async (name, by, sentence) => {
    const copy = await damage(edit(name, by))
    expect(() => openDataSetVersion(copy)).toThrow(sentence)
  })

  test('one changed letter in the rows is found when they are read through', async () => {
    const copy = await damage(
      edit('rows.jsonl', (bytes) => Buffer.from(bytes.toString().replace('Frage 7 ', 'Frage 8 '))),
    )
    const read = async () => {
      for await (const _rows of openDataSetVersion(copy).batches()) continue
    }
    await expect(read()).rejects.toThrow(/is damaged: its rows differ from those that were imported/)
  })

  test('importing again repairs it', async () => {
    const { version } = await imported(written('many.jsonl', lines(many)))
    rmSync(path.join(version.directory, 'rows.index'))
    const again = await imported(written('many.jsonl', lines(many)))
    expect([again.isNew, again.version.rows(999, 1)]).toEqual([true, many.slice(-1)])
  })
})

describe('library', () => {
  test('found by name or beginning of the id; broken ones are listed', async () => {
    const { version } = await imported(written('many.jsonl', lines(many)), { name: 'Viele' })
    mkdirSync(path.join(folder, 'broken'))
    expect(namedDataSet('Viele', home)).toBe(version.directory)
    expect(findDataSet(version.info.id.slice(0, 8), home).info).toEqual(version.info)
    expect(() => findDataSet('nothing', home)).toThrow(/There is no data set “nothing”/)
    const broken = listDataSets(home).filter((entry) => 'problem' in entry)
    expect(broken).toEqual([expect.objectContaining({ id: 'broken' })])
    expect(listDataSets(path.join(home, 'nowhere'))).toEqual([])
  })
})

test('inspectDataFile reads the beginning only', async () => {
  const file = written(
    'large.jsonl',
    `${lines(Array.from({ length: 50_000 }, (_, index) => ({ prompt: `${index}` })))}\n`,
  )
  const { rows, isWhole, shape, problems, format } = await inspectDataFile(file, { count: 20 })
  expect([rows.length, isWhole, shape.id, problems, format.id]).toEqual([
    20,
    false,
    'prompt-only',
    [],
    'jsonl',
  ])
  const whole = await inspectDataFile(written('two.csv', 'question,answer\n1,2\n3\n'), {
    mapping: [{ kind: 'column', from: 'question', to: 'prompt' }],
  })
  expect(whole).toMatchObject({
    isWhole: true,
    shape: { id: 'question-answer' },
    rows: [{ prompt: '1', answer: '2' }],
    problems: [{ number: 2, line: 3 }],
  })
})
