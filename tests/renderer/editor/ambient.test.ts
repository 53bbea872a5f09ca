import { describe, expect, test } from 'vitest'
import { ambientTypes, type RowColumn } from '#renderer/editor/types/ambient.ts'

/** The declaration of the one column. */
function typeOf(column: Omit<RowColumn, 'name'>): string {
  const text = ambientTypes([{ name: 'x', ...column }])
  return /readonly "x"(\??: .*)$/m.exec(text)?.[1] ?? ''
}

describe('columns as types', () => {
  test.each([
    [{ kinds: { text: 2 } }, ': string'],
    [{ kinds: { number: 1, text: 1 } }, ': number | string'],
    [{ kinds: { boolean: 1, null: 1 } }, ': boolean | null'],
    [{ kinds: { text: 1 }, missing: 3 }, '?: string'],
    [{ kinds: {} }, ': any'],
    [{ kinds: { list: 4 } }, ': readonly any[]'],
    [{ kinds: { object: 4 } }, ': any'],
  ])('%j is %s', (column, expected) => {
    expect(typeOf(column)).toBe(expected)
  })

  test('lists and objects have the types of what was seen in them', () => {
    expect(typeOf({ kinds: { list: 2 }, examples: [[1, 2], ['a']] })).toBe(': readonly (number | string)[]')
    expect(typeOf({ kinds: { object: 2 }, examples: [{ a: 1, b: { c: true } }, { a: 2 }] })).toBe(
      ': { readonly "a": number; readonly "b"?: { readonly "c": boolean } }',
    )
  })

  test('what lies too deep or is too wide is anything', () => {
    const deep = Array.from({ length: 8 }).reduce<unknown>((inner) => ({ in: inner }), 1)
    expect(typeOf({ kinds: { object: 1 }, examples: [deep] })).toContain('any')
    const wide = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`k${String(i)}`, 1]))
    expect(typeOf({ kinds: { object: 1 }, examples: [wide] })).toBe(': any')
  })

  test('a comment tells kinds and an example, and data cannot end it', () => {
    const text = ambientTypes([{ name: 'x', kinds: { text: 1 }, examples: ['*/ declare const a: 1 /*'] }])
    expect(text).toContain('text in 1 row; for example')
    expect(text.split('*/')[2]).toContain('readonly "x": string')
  })

  test('a name of any letters is a key', () => {
    expect(ambientTypes([{ name: 'a "b"\n', kinds: { text: 1 } }])).toContain(
      'readonly "a \\"b\\"\\n": string',
    )
  })

  test('nothing known: anything may be asked of a row', () => {
    expect(ambientTypes(null)).toContain('type Row = { readonly [column: string]: any }')
  })
})
