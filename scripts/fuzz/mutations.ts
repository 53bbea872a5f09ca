/** Broken and hostile variants of a file, the same for the same seed and number. */
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { restructure } from './structures.ts'
import type { FuzzReader } from './targets.ts'

/** What parsers stumble over: structure of JSON, ends of numbers, sizes that lie. */
const interestingBytes = Buffer.from('{}[]",:0-9eE.\\u\0\x01\x7f\x80\xff', 'latin1')
const interestingTexts = [
  '1e308',
  '-1',
  '9007199254740993',
  '4294967296',
  'null',
  'true',
  '[]',
  '{}',
  '""',
  '"__proto__"',
  '"\\ud800"',
  '['.repeat(200),
  '{"a":'.repeat(200),
].map((text) => Buffer.from(text))
const interestingLengths = [
  0n,
  1n,
  255n,
  65_535n,
  2n ** 31n - 1n,
  2n ** 32n,
  2n ** 53n,
  2n ** 63n,
  2n ** 64n - 1n,
]

type Change = (content: Buffer, at: number, random: SequentialRandom) => Buffer

const replaced = (content: Buffer, at: number, by: Uint8Array, removed = by.length): Buffer =>
  Buffer.concat([content.subarray(0, at), by, content.subarray(Math.min(content.length, at + removed))])

const flipBit: Change = (content, at, random) => {
  const changed = Buffer.from(content)
  changed[at] = (changed[at] ?? 0) ^ (1 << random.integer(8))
  return changed
}

const overwriteByte: Change = (content, at, random) => {
  const changed = Buffer.from(content)
  changed[at] = interestingBytes[random.integer(interestingBytes.length)] ?? 0
  return changed
}

const removeBytes: Change = (content, at, random) =>
  replaced(content, at, new Uint8Array(0), 1 + random.integer(16))

const doubleBytes: Change = (content, at, random) =>
  replaced(content, at, content.subarray(at, at + 1 + random.integer(64)), 0)

const insertText: Change = (content, at, random) =>
  replaced(
    content,
    at,
    interestingTexts[random.integer(interestingTexts.length)] ?? Buffer.of(0),
    random.integer(2) * 8,
  )

/** A 32- or 64-bit length, as binary formats have them. */
const writeLength: Change = (content, at, random) => {
  const value = interestingLengths[random.integer(interestingLengths.length)] ?? 0n
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt.asUintN(64, value))
  return replaced(content, at, bytes.subarray(0, random.integer(2) === 0 ? 4 : 8))
}

const cutOff: Change = (content, at) => Buffer.from(content.subarray(0, at))

const swapParts: Change = (content, at, random) => {
  const other = random.integer(content.length)
  const [first, second] = at < other ? [at, other] : [other, at]
  const length = Math.min(1 + random.integer(32), second - first)
  const part = (start: number) => content.subarray(start, start + length)
  return replaced(replaced(content, first, part(second)), second, part(first))
}

const changes: readonly Change[] = [
  flipBit,
  flipBit,
  overwriteByte,
  overwriteByte,
  removeBytes,
  doubleBytes,
  insertText,
  writeLength,
  writeLength,
  swapParts,
  cutOff,
]

/** Largest variant: what grows is the reader's business, not the disk's. */
const longest = 1 << 20

export interface Variant {
  readonly seed: number
  readonly number: number
}

/** Variant `number` of `original`: up to five changes, most of them where the file says what is in it. */
export function mutate(original: Buffer, { header, json }: FuzzReader, { seed, number }: Variant): Buffer {
  const random = new SequentialRandom(randomStream(seed, number))
  if (json && random.integer(2) === 0) return restructure(original, json, random).subarray(0, longest)
  let content = original
  for (let change = 0; change <= random.integer(5); change++) {
    if (content.length === 0) break
    const [start, end] = random.integer(4) === 0 ? [0, content.length] : header(content)
    const at = Math.min(content.length - 1, start + random.integer(Math.max(1, end - start)))
    const apply = changes[random.integer(changes.length)] ?? flipBit
    content = apply(content, at, random)
  }
  return content.subarray(0, longest)
}
