import { describe, expect, test } from 'vitest'
import { axisIndex, broadcast, product, quotient, sameShape, sum } from '#engine/graph/shape.ts'

describe('dimensions', () => {
  test.each([
    [[2, 3], 6],
    [[], 1],
    [['T', 'B'], 'B*T'],
    [['T', 2, 'B', 3], '6*B*T'],
    [['T', 0], 0],
    [['T', 'T'], 'T*T'],
    [['2*T', '3*B'], '6*B*T'],
    [['B', 'P+T'], 'B*P+B*T'],
    [[2, 'P+T'], '2*P+2*T'],
  ] as const)('product of %j is %s', (dims, expected) => {
    expect(product(dims)).toBe(expected)
  })

  test('equal products have the same text, whatever order they were made in', () => {
    expect(product(['N', product([2, 'B'])])).toBe(product([product(['B', 'N']), 2]))
  })

  test.each([
    ['6*B*T', '2*T', '3*B'],
    ['B*T', 'B*T', 1],
    [12, 4, 3],
    ['2*T', 4, null],
    ['B', 'T', null],
    ['B', 0, null],
    [0, 'B', 0],
    ['B*P+B*T', 'B', 'P+T'],
    ['B*P+B*T', 'P+T', 'B'],
    ['6*P+6*T', '2*P+2*T', 3],
    ['P+T', 'P', null],
    ['P+T', 'P+2*T', null],
  ] as const)('%s over %s is %s', (dividend, divisor, expected) => {
    expect(quotient(dividend, divisor)).toBe(expected)
  })

  test.each([
    [2, 3, 5],
    ['P', 'T', 'P+T'],
    ['T', 'P', 'P+T'],
    ['P', 'P', '2*P'],
    ['2*P', 'P', '3*P'],
    ['P', 0, 'P'],
    [0, 0, 0],
  ] as const)('%s and %s one after the other are %s', (a, b, expected) => {
    expect(sum(a, b)).toBe(expected)
  })

  test('equal sums have the same text, whatever order they were made in', () => {
    expect(sum(sum('P', 'T'), 1)).toBe(sum('P', sum(1, 'T')))
  })
})

describe('shapes', () => {
  test.each([
    [
      ['B', 1, 4],
      ['T', 1],
      ['B', 'T', 4],
    ],
    [[4], ['N', 4], ['N', 4]],
    [[], ['N'], ['N']],
    [
      ['B', 'T'],
      ['B', 'T'],
      ['B', 'T'],
    ],
  ] as const)('%j and %j broadcast to %j', (a, b, expected) => {
    expect(broadcast(a, b)).toEqual(expected)
  })

  test('different symbols do not broadcast: whether they are equal is not known', () => {
    expect(() => broadcast(['B', 4], ['T', 4])).toThrow('Shapes [B, 4] and [T, 4] do not broadcast.')
    expect(() => broadcast([3], [4])).toThrow('do not broadcast')
  })

  test('shapes are the same only in rank and every dimension', () => {
    expect(sameShape(['B', 2], ['B', 2])).toBe(true)
    expect(sameShape(['B', 2], ['B', 3])).toBe(false)
    expect(sameShape(['B'], ['B', 1])).toBe(false)
  })

  test('a negative axis counts from the end; one that is not there is an error', () => {
    expect([axisIndex(-1, 3), axisIndex(0, 3)]).toEqual([2, 0])
    expect(() => axisIndex(3, 3)).toThrow('Expected an axis below rank 3, got 3.')
    expect(() => axisIndex(-4, 3)).toThrow()
  })
})
