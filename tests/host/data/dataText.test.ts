import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { inspectDataFile } from '#host/data/dataFiles.ts'
import { parseKeepingDigits } from '#host/data/jsonNumbers.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const written = (name: string, content: string | Buffer): string => {
  const file = path.join(folder, name)
  writeFileSync(file, content)
  return file
}

const rows = [
  { question: 'Zoë, 2 + 2?', answer: '4' },
  { question: '“3” + 3?', answer: '6' },
]
const lines = `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`
const csv = 'question,answer\n"Zoë, 2 + 2?",4\n"“3” + 3?",6\n'
const utf16 = (text: string, isBig: boolean, mark: string) => {
  const bytes = Buffer.from(mark + text, 'utf16le')
  return isBig ? bytes.swap16() : bytes
}

const encodings: Readonly<Record<string, (text: string) => Buffer>> = {
  'UTF-8': (text) => Buffer.from(text),
  'UTF-8 with a mark': (text) => Buffer.from(`\uFEFF${text}`),
  'UTF-16 LE': (text) => utf16(text, false, '\uFEFF'),
  'UTF-16 BE': (text) => utf16(text, true, '\uFEFF'),
  'UTF-16 LE without a mark': (text) => utf16(text, false, ''),
  'UTF-16 BE without a mark': (text) => utf16(text, true, ''),
  gzip: (text) => gzipSync(text),
  'gzip of UTF-16': (text) => gzipSync(utf16(text, false, '\uFEFF')),
}
const lineEnds: Readonly<Record<string, string>> = { LF: '\n', CRLF: '\r\n', CR: '\r' }

describe('a table of text gives the same rows in every encoding, with every line end', () => {
  for (const [encoding, encode] of Object.entries(encodings))
    for (const [ends, end] of Object.entries(lineEnds))
      for (const [name, text] of [
        ['a.csv', csv],
        ['a.jsonl', lines],
        ['a.json', `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`],
      ] as const)
        test(`${name}, ${encoding}, ${ends}`, async () => {
          const file = written(encoding === 'gzip' ? `${name}.gz` : name, encode(text.replaceAll('\n', end)))
          const found = await inspectDataFile(file)
          expect(found.rows).toEqual(rows)
          expect(found.notes).toEqual([
            ...(encoding.startsWith('gzip') ? ['Unpacked with gzip.'] : []),
            ...(encoding.includes('UTF-16')
              ? [`Read as UTF-16${encoding.includes('BE') ? 'BE' : 'LE'} text.`]
              : []),
          ])
        })
})

test('a first line that names the delimiter is no header', async () => {
  const found = await inspectDataFile(written('sep.csv', 'sep=;\r\nquestion;answer\r\na, b?;1\r\n'))
  expect(found.rows).toEqual([{ question: 'a, b?', answer: '1' }])
})

test.each([
  ['lfs.parquet', 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n', /pointer of Git LFS/],
  ['page.jsonl', '<!DOCTYPE html>\n<html></html>', /is a web page/],
  ['sheet.csv', 'PK\u0003\u0004rest', /zip archive or a spreadsheet/],
  ['cut.jsonl.gz', gzipSync(lines).subarray(0, 30), /cannot be unpacked as gzip/],
  [
    'columns.json',
    '{"question": {"0": "a"}, "answer": {"0": "b"}}',
    /written column by column \(“question”, “answer”\)/,
  ],
  [
    'cyrillic.csv',
    Buffer.from('\xe8\xec\xff,\xee\xf2\xe2\xe5\xf2\na,b\n', 'latin1'),
    /first line of .* is not UTF-8/,
  ],
  ['several.json', '{"a": [{"q": 1}], "b": [{"q": 2}, {"q": 3}]}', /several lists: “a” \(1\), “b” \(2\)/],
])('%s is named as what it is', async (name, content, sentence) => {
  await expect(inspectDataFile(written(name, content))).rejects.toThrow(sentence)
})

describe('JSON with several lists', () => {
  const document = JSON.stringify({
    info: { year: 2024, tags: ['x'] },
    licenses: [{ id: 1 }],
    'it’s "data"': [[1], [2]],
    train: rows,
    test: [{ question: 'held?', answer: 'out' }],
  })

  test('takes the one with the usual name, and says so', async () => {
    const found = await inspectDataFile(written('splits.json', document))
    expect(found.rows).toEqual(rows)
    expect(found.notes).toEqual(['Read the list “train”; left aside: “licenses” (1), “test” (1).'])
  })

  test('takes the one that is asked for', async () => {
    const found = await inspectDataFile(written('splits.json', document), { split: 'test' })
    expect(found.rows).toEqual([{ question: 'held?', answer: 'out' }])
    await expect(inspectDataFile(written('splits.json', document), { split: 'dev' })).rejects.toThrow(
      'holds no list called “dev”',
    )
  })

  test('takes rows out of the wrapping of a hub’s service', async () => {
    const wrapped = { rows: rows.map((row, at) => ({ row_idx: at, row, truncated_cells: [] })) }
    expect((await inspectDataFile(written('rows.json', JSON.stringify(wrapped)))).rows).toEqual(rows)
  })

  test('leaves out the rows that such a service has cut short', async () => {
    const wrapped = rows.map((row, at) => ({ row_idx: at, row, truncated_cells: at === 0 ? ['answer'] : [] }))
    const found = await inspectDataFile(written('cut.json', JSON.stringify({ rows: wrapped })))
    expect(found.rows).toEqual(rows.slice(1))
    expect(found.problems.map(({ sentence }) => sentence)).toEqual([
      '“answer” is cut short by the service that wrote the file (“truncated_cells”): download the data set’s own files instead',
    ])
  })

  test('a list under the name of lines is read as a list', async () => {
    const found = await inspectDataFile(written('list.jsonl', JSON.stringify(rows, null, 2)))
    expect(found.rows).toEqual(rows)
    expect(found.notes).toEqual(['Read as one JSON list, not as JSON Lines.'])
  })
})

test.each(['.jsonl', '.json'])('%s: what numbers lose is said once', async (extension) => {
  const row =
    '{"tool_calls": [{"function": {"name": "f", "arguments": {"id": 12345678901234567890, "x": 1.0}}}]}'
  const text = extension === '.json' ? `[${row},${row}]` : `${row}\n${row}\n`
  const found = await inspectDataFile(written(`numbers${extension}`, text))
  expect(found.notes).toEqual([
    'Integers beyond 2^53 and numbers beyond 1.8e308 are read as texts of their digits, with quotation marks where a tool call is written.',
    'Numbers such as 1.0 in the arguments of tool calls are read as 1. Arguments that are JSON text keep them as they are written.',
  ])
})

test('whole numbers keep their digits', async () => {
  const text =
    '{"a": 9007199254740993, "b": -12345678901234567891, "c": "9007199254740993 \\" 1e999", "d": [9007199254740991, 1e999, 0.1, 3.0]}'
  expect(parseKeepingDigits(text)).toEqual({
    value: {
      a: '9007199254740993',
      b: '-12345678901234567891',
      c: '9007199254740993 " 1e999',
      d: [9007199254740991, '1e999', 0.1, 3],
    },
    isChanged: true,
  })
  expect(parseKeepingDigits('{"a": 9007199254740991}').isChanged).toBe(false)
  const found = await inspectDataFile(written('big.jsonl', `${text}\n`))
  expect(found.rows[0]).toMatchObject({ a: '9007199254740993' })
})
