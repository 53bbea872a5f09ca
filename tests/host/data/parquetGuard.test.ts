/** Parquet files that lie about themselves: none may take memory or time out of proportion. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDataFile } from '#host/data/dataFile.ts'
import { readParquet } from '#host/data/parquet.ts'
import {
  chunkOf,
  codec,
  dataPage,
  encoding,
  parquetFile,
  physical,
  secondPage,
  thrift,
  varint,
  withFooter,
  zigZag,
} from './handmadeParquet.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'turnwise-parquet-'))
})
afterAll(() => {
  rmSync(folder, { recursive: true })
})

/** Values of column x; sentences of rows that have a problem. */
async function read(content: Uint8Array): Promise<unknown[]> {
  const file = path.join(folder, 'a.parquet')
  writeFileSync(file, content)
  await using data = await openDataFile(file)
  const found: unknown[] = []
  for await (const items of readParquet(data)) {
    found.push(...items.map((item) => ('sentence' in item ? item.sentence : item.row['x'])))
  }
  return found
}

const int32 = (...values: number[]) => Buffer.from(Int32Array.from(values).buffer)
const dictionary = {
  header: { field_1: 2, field_2: 8, field_3: 8, field_7: { field_1: 2, field_2: 0 } },
  content: int32(7, 9),
}
const run = (length: number, value: number) => [...varint(2 * length), value]
const integers = (rows: number, ...pages: Parameters<typeof parquetFile>[0]['pages']) =>
  parquetFile({ type: physical.int32, rows, pages })
const texts = (rows: number, content: number[]) =>
  parquetFile({
    type: physical.byteArray,
    rows,
    pages: [dataPage(Buffer.from(content), rows, encoding.deltaTexts)],
  })
/** Differences in one block of 128, in four parts of 8 bits each. */
const differences = (first: number, rest: number[], block = 128, parts = 4) => [
  ...varint(block),
  ...varint(parts),
  ...varint(1 + rest.length),
  ...zigZag(first),
  ...(rest.length === 0
    ? []
    : [...zigZag(0), 8, 0, 0, 0, ...rest, ...new Array<number>(32 - rest.length).fill(0)]),
]

describe('honest files made by hand are read', () => {
  test('plain', async () => {
    expect(await read(integers(3, dataPage(int32(1, -2, 3), 3, encoding.plain)))).toEqual([1, -2, 3])
  })

  test('a dictionary, in pages of both kinds', async () => {
    const content = Buffer.from([1, ...run(3, 1)])
    expect(await read(integers(3, dictionary, dataPage(content, 3, encoding.dictionary)))).toEqual([9, 9, 9])
    expect(await read(integers(3, dictionary, secondPage(content, 3, encoding.dictionary)))).toEqual([
      9, 9, 9,
    ])
  })

  test('differences', async () => {
    const content = Buffer.from(differences(5, [1, 2]))
    expect(await read(integers(3, dataPage(content, 3, encoding.delta)))).toEqual([5, 6, 8])
  })

  test('texts that share their beginnings', async () => {
    const shared = [...differences(0, [1]), ...differences(1, [0]), ...Buffer.from('ab')]
    expect(await read(texts(2, shared))).toEqual(['a', 'ab'])
  })

  test('gzip and zstd', async () => {
    for (const [kind, compressed] of [
      [codec.gzip, gzipSync(int32(1, 2))],
      [codec.zstd, zstdCompressSync(int32(1, 2))],
    ] as const) {
      const pages = [dataPage(compressed, 2, encoding.plain, 8)]
      expect(await read(parquetFile({ type: physical.int32, codec: kind, rows: 2, pages }))).toEqual([1, 2])
    }
  })
})

describe('a page that lies is a problem of its rows', () => {
  const long = 2 ** 30
  const bomb = gzipSync(Buffer.alloc(1 << 24))
  test.each<[string, Buffer, string]>([
    [
      'a run longer than the page',
      integers(3, dictionary, dataPage(Buffer.from([1, ...run(long, 1)]), 3, encoding.dictionary)),
      'it has more values than it says',
    ],
    [
      'packed values of no bits',
      integers(3, dictionary, secondPage(Buffer.from([0, ...varint(2 ** 28 + 1)]), 3, encoding.dictionary)),
      'it has more values than it says',
    ],
    [
      'differences that lead back',
      integers(3, dataPage(Buffer.from(differences(5, [1, 2], 2 ** 32 - 128, 1)), 3, encoding.delta)),
      'it has blocks of an invalid size',
    ],
    [
      'blocks of a billion parts',
      integers(3, dataPage(Buffer.from(differences(5, [1, 2], 2 ** 30, 2 ** 25)), 3, encoding.delta)),
      'it ends early',
    ],
    [
      'a beginning of a gigabyte',
      texts(1, [...differences(long, []), ...differences(1, []), 97]),
      'it has texts of an invalid length',
    ],
    [
      'a billion values',
      integers(3, dataPage(int32(1, 2, 3), long, encoding.plain)),
      `it has a page that claims to have ${long} values`,
    ],
    [
      'a dictionary of a billion values',
      integers(3, {
        ...dictionary,
        header: { ...dictionary.header, field_7: { field_1: long, field_2: 0 } },
      }),
      `it has a page that claims to have ${long} values`,
    ],
    [
      'a few bytes that claim to be many',
      parquetFile({
        type: physical.int32,
        codec: codec.gzip,
        rows: 3,
        pages: [dataPage(gzipSync(int32(1, 2, 3)), 3, encoding.plain, 1 << 27)],
      }),
      `it has a page that claims to be ${1 << 27} bytes`,
    ],
    [
      'compressed bytes that become more than they claim',
      parquetFile({
        type: physical.int32,
        codec: codec.gzip,
        rows: 3,
        pages: [dataPage(bomb, 3, encoding.plain, 12)],
      }),
      'a page is longer than it says',
    ],
    [
      'a header without sizes',
      integers(3, { header: { field_1: 0 }, content: int32(1, 2, 3) }),
      'it has a page without a size',
    ],
  ])('%s', async (_, content, sentence) => {
    const found = await read(content)
    expect(new Set(found)).toEqual(new Set([`its part of the file cannot be decoded: ${sentence}`]))
  })
})

describe('a footer that lies refuses the file', () => {
  const body = Buffer.concat([
    Buffer.from('PAR1'),
    thrift(dataPage(int32(1), 1, encoding.plain).header),
    int32(1),
  ])
  const bytes = BigInt(body.length - 4)
  const column = { type: physical.int32, compression: 0, rows: 1n, bytes }
  const leaf = (name: string) => ({ field_1: physical.int32, field_3: 0, field_4: name })
  const group = (rows: bigint, ...columns: ReturnType<typeof chunkOf>[]) => ({
    field_1: columns,
    field_2: bytes,
    field_3: rows,
  })
  const footer = (names: string[], ...groups: ReturnType<typeof group>[]) => ({
    field_1: 1,
    field_2: [{ field_4: 'root', field_5: names.length }, ...names.map(leaf)],
    field_3: 1n,
    field_4: groups,
  })

  test('not otherwise', async () => {
    expect(await read(withFooter(body, footer(['x'], group(1n, chunkOf(column)))))).toEqual([1])
  })

  test.each<[string, Parameters<typeof withFooter>[1], RegExp]>([
    [
      'rows out of all proportion',
      footer(['x'], group(2n ** 40n, chunkOf(column))),
      /it claims 1099511627776 rows/,
    ],
    [
      'columns that share their bytes',
      footer(['x', 'y'], group(1n, chunkOf(column), chunkOf(column, 'y'))),
      /its columns overlap/,
    ],
    [
      'groups that share their bytes',
      footer(['x'], group(1n, chunkOf(column)), group(1n, chunkOf(column))),
      /its columns overlap/,
    ],
    [
      'columns outside the file',
      footer(['x'], group(1n, chunkOf({ ...column, bytes: 10_000n }))),
      /it points outside the file/,
    ],
    ['two columns of a name', footer(['x', 'x'], group(1n, chunkOf(column))), /two columns called “x”/],
    [
      'a column that is not there',
      footer(['x', 'y'], group(1n, chunkOf(column))),
      /its contents do not match its schema/,
    ],
    [
      'a schema without an end',
      {
        field_1: 1,
        field_2: Array.from({ length: 5_000 }, () => ({ field_4: 'a', field_5: 1 })),
        field_3: 1n,
        field_4: [],
      },
      /its columns are nested too deeply/,
    ],
    [
      'a list longer than the file',
      Buffer.from([0x29, 0xfc, 0xff, 0xff, 0xff, 0x07, 0]),
      /a list longer than the file/,
    ],
    ['structures without an end', Buffer.alloc(5_000, 0x1c), /nested too deeply/],
  ])('%s', async (_, claimed, sentence) => {
    await expect(read(withFooter(body, claimed))).rejects.toThrow(sentence)
  })
})
