/** Parquet files without compression, so that changed bytes reach the encodings of levels and values. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parquetWriteFile } from 'hyparquet-writer'

const count = 60
const indexes = Array.from({ length: count }, (_, index) => index)
const texts = indexes.map((index) => `the same beginning, then ${String(index * index)}`)
const nullable = texts.map((text, index) => (index % 3 === 0 ? null : text))
const integers = Int32Array.from(indexes, (index) => (index % 5 === 0 ? 0 : index * 7))
const longs = indexes.map((index) => BigInt(index) * 10_000_000_000n)
const numbers = Float64Array.from(indexes, (index) => Math.sin(index))

type Columns = Parameters<typeof parquetWriteFile>[0]['columnData']

const files: Readonly<Record<string, Columns>> = {
  'plain.parquet': [
    { name: 'text', data: nullable, type: 'STRING', encoding: 'PLAIN' },
    { name: 'integer', data: integers, type: 'INT32', encoding: 'PLAIN', nullable: false },
    { name: 'truth', data: indexes.map((index) => index % 2 === 0), type: 'BOOLEAN', encoding: 'RLE' },
  ],
  'delta.parquet': [
    { name: 'text', data: texts, type: 'STRING', encoding: 'DELTA_BYTE_ARRAY' },
    { name: 'other', data: nullable, type: 'STRING', encoding: 'DELTA_LENGTH_BYTE_ARRAY' },
    { name: 'integer', data: integers, type: 'INT32', encoding: 'DELTA_BINARY_PACKED' },
    { name: 'long', data: longs, type: 'INT64', encoding: 'DELTA_BINARY_PACKED' },
  ],
  'dictionary.parquet': [
    { name: 'text', data: nullable.map((_, index) => String(index % 4)), type: 'STRING' },
    { name: 'number', data: numbers, type: 'DOUBLE', encoding: 'BYTE_STREAM_SPLIT' },
    { name: 'list', data: indexes.map((index) => ({ a: [index, null], b: 'x' })), type: 'JSON' },
  ],
}

/** Writes the files into the folder. */
export const writeParquetSeeds = (
  folder: string,
): { readonly name: string; readonly file: string; readonly original: Buffer }[] =>
  Object.entries(files).map(([name, columnData]) => {
    const file = path.join(folder, name)
    parquetWriteFile({
      filename: file,
      codec: 'UNCOMPRESSED',
      statistics: false,
      rowGroupSize: 40,
      columnData,
    })
    return { name, file, original: readFileSync(file) }
  })
