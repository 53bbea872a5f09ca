import { describe, expect, test } from 'vitest'
import { linesOf } from '#renderer/editor/problemLines.ts'
import { insertInto } from '#renderer/editor/types/injectTypes.ts'

describe('text with pieces put into it', () => {
  const mapped = insertInto('abcdef', [
    { at: 4, text: 'XX' },
    { at: 1, text: '12' },
    { at: 1, text: '3' },
  ])

  test('has them in their places', () => {
    expect(mapped.text).toBe('a123bcdXXef')
  })

  test('every place is found again', () => {
    for (let at = 0; at <= 6; at++) expect(mapped.toOriginal(mapped.toMapped(at))).toBe(at)
    expect(mapped.text[mapped.toMapped(2)]).toBe('c')
  })

  test('a place inside a piece is where it was put', () => {
    expect([1, 2, 3].map((at) => mapped.toOriginal(at))).toEqual([1, 1, 1])
    expect(mapped.toOriginal(8)).toBe(4)
    expect(mapped.toOriginal(mapped.text.length)).toBe(6)
  })
})

describe('failures by line', () => {
  test('one entry per line in order, the commonest failure first', () => {
    const found = linesOf(
      [
        { line: 5, sentence: 'b' },
        { line: 2, sentence: 'a' },
        { line: 5, sentence: 'c\nstack' },
        { line: 5, sentence: 'c\nstack' },
      ],
      10,
    )
    expect(found).toEqual([
      { line: 2, sentence: 'a' },
      { line: 5, sentence: 'c (and another failure)' },
    ])
  })

  test('lines that are not there any more are the last one', () => {
    expect(linesOf([{ line: 9, sentence: 'x' }], 3)).toEqual([{ line: 3, sentence: 'x' }])
    expect(linesOf([{ line: 0, sentence: 'x' }], 3)[0]?.line).toBe(1)
  })
})
