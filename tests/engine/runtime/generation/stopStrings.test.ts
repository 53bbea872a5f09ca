import { describe, expect, test } from 'vitest'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { StopStringWatch } from '#engine/runtime/generation/openCompletion.ts'

const textDecoder = new TextDecoder()
const bytes = (text: string) => Uint8Array.from(Buffer.from(text))
/** Byte-level pieces: whole words, fragments of a stop string, halves of é, an invisible one, a long one. */
const PIECES = [
  bytes(' the'),
  bytes('S'),
  bytes('T'),
  bytes('TO'),
  bytes('OP'),
  bytes('O'),
  bytes('P'),
  Uint8Array.of(0xc3),
  Uint8Array.of(0xa9),
  bytes(''),
  bytes(' '.repeat(40)),
  bytes('word'),
]

/** As tokenizers do: joins bytes, and drops one leading space of the whole text. */
function decode(ids: readonly number[]): string {
  const text = textDecoder.decode(Buffer.concat(ids.map((id) => PIECES[id]!)))
  return text.startsWith(' ') ? text.slice(1) : text
}

function firstMatch(ids: readonly number[], isComplete: (ids: readonly number[]) => boolean): number {
  for (let length = 1; length <= ids.length; length++) if (isComplete(ids.slice(0, length))) return length
  return -1
}

describe('StopStringWatch', () => {
  const stops = ['STOP', 'é the', ' the the']

  test('finds the same token as decoding everything after every token', () => {
    const random = new SequentialRandom(randomStream(11))
    const found: number[] = []
    for (let round = 0; round < 60; round++) {
      const ids = Array.from({ length: 200 }, () => {
        // Rare fragments, so that matches come at any distance.
        const isWord = random.uniform() < (round % 2 ? 0.8 : 0.1)
        return isWord ? [9, 10, 11][random.integer(3)]! : random.integer(PIECES.length)
      })
      const watch = new StopStringWatch(stops, decode)
      const expected = firstMatch(ids, (part) => stops.some((stop) => decode(part).includes(stop)))
      expect(firstMatch(ids, (part) => watch.isComplete(part))).toBe(expected)
      found.push(expected)
    }
    expect(found.filter((length) => length > 100).length).toBeGreaterThan(5)
    expect(found.filter((length) => length > 0 && length < 50).length).toBeGreaterThan(5)
  })

  test('decodes a bounded tail however long the completion is', () => {
    let longest = 0
    const watch = new StopStringWatch(['STOP'], (ids) => {
      longest = Math.max(longest, ids.length)
      return decode(ids)
    })
    const ids: number[] = []
    for (let length = 0; length < 2000; length++) {
      ids.push(11)
      expect(watch.isComplete(ids)).toBe(false)
    }
    expect(longest).toBeLessThan(60)
  })
})
