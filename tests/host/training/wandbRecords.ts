/** Reads back the log of an offline run of Weights & Biases; knows nothing of the writer. */
import { readFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { expect } from 'vitest'
import { readFields } from '../../engine/graph/onnxReader.ts'

/** Data of the records of a file, in which every checksum is right. */
export function recordsOf(log: string): Buffer[] {
  const all = readFileSync(log)
  expect(all.toString('latin1', 0, 7)).toBe(':W&B\xe1\xbe\0')
  const records: Buffer[] = []
  for (let at = 7, begun: Buffer[] = []; at < all.length;) {
    const left = 32_768 - (at % 32_768)
    if (left < 7) {
      expect(all.subarray(at, at + left)).toEqual(Buffer.alloc(left))
      at += left
      continue
    }
    const [length, kind] = [all.readUInt16LE(at + 4), all.readUInt8(at + 6)]
    expect(length).toBeLessThanOrEqual(left - 7)
    expect(all.readUInt32LE(at)).toBe(crc32(all.subarray(at + 6, at + 7 + length)))
    expect([1, 2].includes(kind)).toBe(begun.length === 0)
    begun.push(all.subarray(at + 7, (at += length + 7)))
    if (kind === 2 || kind === 3) continue
    records.push(Buffer.concat(begun))
    begun = []
  }
  return records
}

const kinds: Readonly<Record<number, string>> = {
  2: 'history',
  3: 'summary',
  6: 'files',
  17: 'run',
  18: 'exit',
}

export const kindsOf = (log: string): (string | undefined)[] =>
  recordsOf(log).map((record) => kinds[readFields(record)[1]?.number ?? 0])
