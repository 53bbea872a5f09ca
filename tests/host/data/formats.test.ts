import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parquetWriteFile } from 'hyparquet-writer'
import Papa from 'papaparse'
import { describe, expect, test } from 'vitest'
import { isProblem, openDataFile, type ReadItem } from '#host/data/dataFile.ts'
import { inspectDataFile } from '#host/data/dataFiles.ts'
import { AppError } from '#shared/errors.ts'
import { SequentialRandom, randomStream } from '#shared/random.ts'
import { dataFormats, formatOf } from '#host/data/table.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const folder = temporaryFolder()
const fixtures = fileURLToPath(new URL('../../fixtures/data/', import.meta.url))
const fixture = (...parts: string[]) => path.join(fixtures, ...parts)
const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'))

async function itemsOf(file: string): Promise<ReadItem[]> {
  await using source = await openDataFile(file)
  const items: ReadItem[] = []
  for await (const batch of formatOf(file).read(source)) for (const item of batch) items.push(item)
  return items
}

async function rowsOf(file: string): Promise<unknown[]> {
  const items = await itemsOf(file)
  expect(items.filter(isProblem)).toEqual([])
  return items.flatMap((item) => (isProblem(item) ? [] : [{ ...item.row }]))
}

function written(name: string, content: string | Uint8Array): string {
  const file = path.join(folder, name)
  writeFileSync(file, content)
  return file
}

const summary = (items: readonly ReadItem[]) =>
  items.map((item) =>
    isProblem(item) ? [item.number, item.line, item.sentence] : [item.number, item.line, { ...item.row }],
  )

describe('published files', () => {
  // The JSON of one of them is of another table.
  const spectrum = readdirSync(fixture('csv-spectrum')).filter(
    (name) => name.endsWith('.csv') && name !== 'location_coordinates.csv',
  )
  test.each(spectrum)('csv-spectrum %s', async (name) => {
    const expected = readJson(fixture('csv-spectrum', name.replace('.csv', '.json')))
    expect(await rowsOf(fixture('csv-spectrum', name))).toEqual(expected)
  })

  test('papaparse’s own samples', async () => {
    expect(await rowsOf(fixture('papaparse', 'utf-8-bom-sample.csv'))).toEqual([{ A: 'X', B: 'Y', C: 'Z' }])
    const long = await rowsOf(fixture('papaparse', 'long-sample.csv'))
    expect(long).toHaveLength(7)
    expect(long[0]).toMatchObject({ Grant: 'Cherokee', Dyer: 'Shields' })
  })

  test('vega-datasets', async () => {
    const rates = (await rowsOf(fixture('vega-datasets', 'unemployment.tsv'))) as {
      id: string
      rate: string
    }[]
    expect([rates.length, rates[0], rates.at(-1)]).toEqual([
      3218,
      { id: '1001', rate: '.097' },
      { id: '72153', rate: '.16' },
    ])
    expect(await rowsOf(fixture('vega-datasets', 'wheat.json'))).toEqual(
      readJson(fixture('vega-datasets', 'wheat.json')),
    )
  })

  const samples = readdirSync(fixture('parquet-samples')).filter((name) => name.endsWith('.parquet'))
  test.each(samples)('parquet %s', async (name) => {
    const expected = readJson(fixture('parquet-samples', name.replace(/parquet$/, 'json')))
    const rows = await rowsOf(fixture('parquet-samples', name))
    const read = rows.map((row) => Object.values(row as Record<string, unknown>))
    const sameDigits = name.startsWith('byte_stream_split') ? inSingles : (value: unknown) => value
    expect(sameDigits(withoutNulls(read))).toEqual(sameDigits(withoutNulls(expected)))
  })
})

/** The first of two columns holds single floats, which the sample's JSON writes with the digits of doubles. */
const inSingles = (rows: unknown): unknown =>
  (rows as readonly [number, number][]).map(([single, double]) => [Math.fround(single), double])

/** The samples' JSON leaves out the fields of a struct that are null. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((inner: unknown) => withoutNulls(inner))
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutNulls(inner)]))
}

describe('files written by Python', () => {
  const expected = readJson(fixture('python', 'expected.json')) as Record<string, unknown>
  const names = readdirSync(fixture('python')).filter((name) => /\.(jsonl|csv|tsv|parquet)$/.test(name))
  const documents = ['indented.json', 'compact.json', 'wrapped.json', 'lines.json']
  test.each([...names, ...documents])('%s', async (name) => {
    const content = name.endsWith('.parquet') ? expected['parquet'] : expected[name]
    expect(await rowsOf(fixture('python', name))).toEqual(content)
  })
})

test('structs of Parquet lose the nulls in arguments of tools, and keep others', async () => {
  const filename = path.join(folder, 'structs.parquet')
  const text = (name: string) =>
    ({ name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' }) as const
  const call = (city: string | null, zip: string | null) => ({ name: null, arguments: { city, zip } })
  parquetWriteFile({
    filename,
    columnData: [{ name: 'call', data: [call('Rome', null), call(null, '00100')] }],
    schema: [
      { name: 'root', num_children: 1 },
      { name: 'call', repetition_type: 'OPTIONAL', num_children: 2 },
      text('name'),
      { name: 'arguments', repetition_type: 'OPTIONAL', num_children: 2 },
      text('city'),
      text('zip'),
    ],
  })
  const { rows, notes } = await inspectDataFile(filename)
  expect(rows.map(({ call: read }) => read)).toEqual([
    { name: null, arguments: { city: 'Rome' } },
    { name: null, arguments: { zip: '00100' } },
  ])
  expect(notes).toEqual([
    '“call” holds null in arguments or parameters of tools, where Arrow gives each row the fields of all others: these fields are left out.',
  ])
})

describe('files written by other writers', () => {
  const rows = Array.from({ length: 3_000 }, (_, index) => ({
    prompt: `"${index}",\n‹${index % 7}›`,
    answer: index % 5 === 0 ? '' : `${index}`,
  }))

  test.each([
    ['a.csv', { delimiter: ',', newline: '\n' }],
    ['b.csv', { delimiter: ';', newline: '\r\n', quotes: true }],
    ['c.tsv', { delimiter: '\t', newline: '\r\n' }],
  ])('papaparse %s', async (name, how) => {
    expect(await rowsOf(written(name, Papa.unparse(rows, how)))).toEqual(rows)
  })

  test.each(['SNAPPY', 'UNCOMPRESSED'] as const)('hyparquet-writer, %s', async (codec) => {
    const filename = path.join(folder, `${codec}.parquet`)
    const lists = rows.map((_, index) => (index % 3 === 0 ? null : [`${index}`, 'x']))
    parquetWriteFile({
      filename,
      codec,
      rowGroupSize: 700,
      columnData: [
        { name: 'prompt', data: rows.map(({ prompt }) => prompt), type: 'STRING' },
        { name: 'big', data: rows.map((_, index) => 2n ** 53n + BigInt(index) - 10n), type: 'INT64' },
        { name: 'list', data: lists, type: 'JSON' },
      ],
    })
    expect(await rowsOf(filename)).toEqual(
      rows.map(({ prompt }, index) => {
        const big = 2n ** 53n + BigInt(index) - 10n
        return { prompt, big: index < 10 ? Number(big) : String(big), list: lists[index] }
      }),
    )
  })
})

test('Parquet’s single floats have the digits that tell them apart, and bytes that are no text are told', async () => {
  const filename = path.join(folder, 'bytes.parquet')
  const floats = [0.1, 1 / 3, 16777216, 1.1754943508222875e-38, 7, 0.3 - 0.1].map(Math.fround)
  parquetWriteFile({
    filename,
    columnData: [
      { name: 'score', data: floats, type: 'FLOAT' },
      { name: 'raw', data: floats.map((_, at) => Uint8Array.of(0xff, at)), type: 'BYTE_ARRAY' },
    ],
  })
  const { rows, notes } = await inspectDataFile(filename)
  const scores = rows.map(({ score }) => Number(score))
  expect(scores.map(String)).toEqual(['0.1', '0.33333334', '16777216', '1.1754944e-38', '7', '0.2'])
  expect(scores.map(Math.fround)).toEqual(floats)
  expect(rows[1]?.['raw']).toBe('/wE=')
  expect(notes).toEqual(['“raw” holds bytes that are not UTF-8 text: they are read as Base64.'])
})

describe('rows with problems', () => {
  test.each([
    [
      'a.jsonl',
      '{"q":1}\n\n[2]\n{"q":\n{"q":3}',
      [
        [1, 1, { q: 1 }],
        [2, 3, 'it is not a JSON object'],
        [3, 4, 'it is not valid JSON: it ends prematurely'],
        [4, 5, { q: 3 }],
      ],
    ],
    ['a.jsonl', '{"q":NaN}', [[1, 1, 'it is not valid JSON: NaN and Infinity are not JSON numbers']]],
    ['a.jsonl', `{"q":${'['.repeat(80)}${']'.repeat(80)}}`, [[1, 1, 'it is nested deeper than 64 levels']]],
    [
      'a.json',
      '[{"q":"[,]\\"{"}, 3,\n {"q" 1},{"q":[[]]},]',
      [
        [1, 1, { q: '[,]"{' }],
        [2, 1, 'it is not a JSON object'],
        [3, 2, 'it is not valid JSON: character 6 ("1") is not valid JSON there'],
        [4, 2, { q: [[]] }],
      ],
    ],
    [
      'a.json',
      '[{"q":1},\n{"q":2',
      [
        [1, 1, { q: 1 }],
        [2, 2, 'the file ends in the middle of the list'],
      ],
    ],
    [
      'a.json',
      '[{"q":1}] x',
      [
        [1, 1, { q: 1 }],
        [2, 1, 'there is more text after the end of the list'],
      ],
    ],
    [
      'a.csv',
      'q,a\n1,2\n"x\ny",1,3\n\n5\n"6",7\r\n8,9',
      [
        [1, 2, { q: '1', a: '2' }],
        [2, 3, 'it has 3 values for 2 columns'],
        [3, 6, 'it has 1 value for 2 columns'],
        [4, 7, { q: '6', a: '7' }],
        [5, 8, { q: '8', a: '9' }],
      ],
    ],
    [
      'a.csv',
      'q,a\n"x"y,1\n2,3\n"open,4\n5,6\n',
      [
        [1, 2, 'it has a quotation mark in the middle of a value'],
        [2, 3, { q: '2', a: '3' }],
        [3, 4, 'it has a quotation mark in the middle of a value'],
        [4, 5, { q: '5', a: '6' }],
      ],
    ],
    [
      'a.csv',
      'q\n""\n \nb"c\n',
      [
        [1, 2, { q: '' }],
        [2, 4, { q: 'b"c' }],
      ],
    ],
    ['a.csv', ',a\r1,2\r', [[1, 2, { 'column 1': '1', a: '2' }]]],
  ])('%s %j', async (name, content, expected) => {
    expect(summary(await itemsOf(written(name, content)))).toEqual(expected)
  })

  test('in a file of UTF-8, bytes that are not cost their own row only', async () => {
    const sentence = 'it is not UTF-8 text; save the file as UTF-8'
    const damaged = (...parts: string[]) =>
      Buffer.concat(parts.map((part, i) => Buffer.from(part, i % 2 === 0 ? 'utf8' : 'latin1')))
    const lines = damaged('{"q":"ü"}\n{"q":"', '\xe4', '"}\n{"q":"b"}')
    expect(summary(await itemsOf(written('l.jsonl', lines)))).toEqual([
      [1, 1, { q: 'ü' }],
      [2, 2, sentence],
      [3, 3, { q: 'b' }],
    ])
    expect(summary(await itemsOf(written('l.csv', damaged('q\nü\n', '\xe4', '\nb\n'))))).toEqual([
      [1, 2, { q: 'ü' }],
      [2, 3, sentence],
      [3, 4, { q: 'b' }],
    ])
  })

  test('a flipped byte in one row group leaves the others', async () => {
    const bytes = readFileSync(fixture('python', 'zstd.parquet'))
    const at = bytes.indexOf(Buffer.from('28b52ffd', 'hex'), 9_000)
    bytes.fill(0xff, at, at + 12)
    const items = await itemsOf(written('broken.parquet', bytes))
    const problems = items.filter(isProblem)
    expect(items).toHaveLength(300)
    expect([problems.length, problems[0]?.line]).toEqual([128, null])
    expect(problems[0]?.sentence).toMatch(/^its part of the file cannot be decoded: /)
  })
})

describe('Windows-1252', () => {
  const note =
    'Read as Windows-1252 (Latin-1) text: it is not UTF-8. If accented letters look wrong, save the file as UTF-8.'
  // “€” and the quotation marks are Windows’ own; é, ü and à are Latin-1’s.
  const answer = Buffer.from('5 \x80 \x93d\xe9j\xe0 vu\x94 \xfc', 'latin1')
  const file = (before: string, after: string) =>
    Buffer.concat([Buffer.from(before), answer, Buffer.from(after)])
  // Longer than the pieces in which files are read.
  const plain = Array.from({ length: 200_000 }, (_, i) => String(i))

  test.each([
    ['w.csv', file('q,a\nx,"', '"\ny,z\n')],
    ['w.tsv', file('q\ta\nx\t', '\ny\tz\n')],
    ['w.jsonl', file('{"q":"x","a":"', '"}\n{"q":"y","a":"z"}')],
    ['w.json', file('[{"q":"x","a":"', '"},{"q":"y","a":"z"}]')],
  ])('%s is read and said to be read so', async (name, bytes) => {
    const { rows, notes } = await inspectDataFile(written(name, bytes))
    expect(rows).toHaveLength(2)
    expect(notes.filter((each) => each === note)).toHaveLength(1)
    expect(await rowsOf(path.join(folder, name))).toEqual([
      { q: 'x', a: '5 € “déjà vu” ü' },
      { q: 'y', a: 'z' },
    ])
  })

  test.each([
    ['late', `${plain.join('\n')}\n`, ''],
    ['last of all', plain.join('\n'), ''],
  ])('the first accented letter comes %s', async (_, before, after) => {
    const rows = await rowsOf(written('late.csv', file(`q\n${before}`, after)))
    expect(rows.at(-1)).toEqual({
      q: `${before.endsWith('\n') ? '' : (plain.at(-1) ?? '')}5 € “déjà vu” ü`,
    })
  })

  test('other scripts are not guessed', async () => {
    const cyrillic = Buffer.from('q\n\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0\n', 'latin1') // Windows-1251
    expect(summary(await itemsOf(written('c.csv', cyrillic)))).toEqual([
      [1, 2, 'it is not UTF-8 text; save the file as UTF-8'],
    ])
  })
})

describe('bytes changed at random', () => {
  const files = ['zstd.parquet', 'gzip.parquet', 'wrapped.json', 'minimal.csv', 'escaped.jsonl']
  test.each(files)('%s: rows, problems or one sentence', async (name) => {
    const random = new SequentialRandom(randomStream(3))
    const whole = readFileSync(fixture('python', name))
    for (let round = 0; round < 60; round++) {
      const bytes = Buffer.from(whole)
      // The end of a Parquet file says where everything is.
      const reach = round % 2 === 0 ? bytes.length : Math.min(bytes.length, 3_000)
      bytes[bytes.length - 1 - random.integer(reach)] = random.integer(256)
      try {
        const items = await itemsOf(written(`changed-${name}`, bytes))
        expect(items.length).toBeLessThan(1_000)
      } catch (error) {
        expect(error).toBeInstanceOf(AppError)
      }
    }
  })
})

describe('pieces', () => {
  const text = 'ü'.repeat(350)
  const rows = Array.from({ length: 4_000 }, (_, index) => ({
    index: `${index}`,
    text: `${text}"\n${index}`,
  }))

  test.each([
    ['p.jsonl', rows.map((row) => JSON.stringify(row)).join('\n')],
    ['p.json', JSON.stringify(rows)],
    ['p.csv', Papa.unparse(rows)],
  ])('rows cut by a piece’s end: %s', async (name, content) => {
    expect(Buffer.byteLength(content)).toBeGreaterThan(2 << 20)
    expect(await rowsOf(written(name, content))).toEqual(rows)
  })

  test('a line of several pieces is whole', async () => {
    const long = { q: 'x'.repeat(3 << 20) }
    expect(await rowsOf(written('long.jsonl', `{"q":"a"}\n${JSON.stringify(long)}\n{"q":"b"}`))).toEqual([
      { q: 'a' },
      long,
      { q: 'b' },
    ])
  })

  test('a line too long for memory is left out alone', async () => {
    const file = written('huge.jsonl', `{"q":1}\n{"q":"${'x'.repeat(66 << 20)}"}\n{"q":2}\n`)
    expect(summary(await itemsOf(file))).toEqual([
      [1, 1, { q: 1 }],
      [2, 2, 'it is longer than 64 MiB'],
      [3, 3, { q: 2 }],
    ])
  })
})

describe('files that are wrong as a whole', () => {
  test.each([
    ['b.json', '{}', /must hold a list of objects/],
    ['b.json', '{"a":{"b":[{}]},"c":["[{"]}', /must hold a list of objects/],
    ['b.json', '3', /must hold a list of objects/],
    ['b.csv', 'q,q\n1,2', /two columns called “q”/],
    ['b.csv', '"open\n1', /line 1: it has a quotation mark/],
    ['b.parquet', 'PAR1', /b\.parquet is not a readable Parquet file/],
    ['b.parquet', `PAR1${'x'.repeat(50)}PAR1`, /b\.parquet is not a readable Parquet file/],
    ['b.xlsx', '', /is a spreadsheet/],
    ['b.foo', '', /is not a supported data file/],
  ])('%s %j', async (name, content, sentence) => {
    await expect(itemsOf(written(name, content))).rejects.toThrow(sentence)
  })

  test('a file that is not there', async () => {
    await expect(openDataFile(path.join(folder, 'none.csv'))).rejects.toThrow(/it does not exist/)
  })

  test('no extension belongs to two formats', () => {
    const all = dataFormats.flatMap(({ extensions }) => extensions)
    expect(new Set(all).size).toBe(all.length)
  })
})
