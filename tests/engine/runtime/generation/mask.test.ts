import { describe, expect, test } from 'vitest'
import { HIDDEN } from '#engine/ops/attention.ts'
import { DecodeMask, passMask } from '#engine/runtime/generation/mask.ts'

const draw = (mask: Float32Array) =>
  [...mask].map((value) => (value === 0 ? '.' : value === HIDDEN ? 'x' : '?')).join('')

describe('passMask', () => {
  const everything = (lengths: number[], length: number, slots: number) =>
    draw(passMask({ lengths, length, slots }, null))

  test('shows all filled slots, earlier new positions and the position itself', () => {
    expect(everything([2], 3, 2)).toBe('...xx' + '....x' + '.....')
    expect(everything([0, 0], 2, 0)).toBe('.x' + '..' + '.x' + '..')
    expect(everything([1, 3], 2, 4)).toBe('.xxx.x' + '.xxx..' + '...x.x' + '...x..')
  })

  test('through a window shows so many positions, wherever their slots are', () => {
    const through = (lengths: number[], length: number, slots: number) =>
      draw(passMask({ lengths, length, slots }, 4))
    // All five are kept; of three slots two are filled.
    expect(through([5], 2, 5)).toBe('xx....x' + 'xxx....')
    expect(through([2], 3, 3)).toBe('..x.xx' + '..x..x' + 'x.x...')
    // Three are kept of six (3, 4, 5), of five (3, 4, 2) and of seven (6, 4, 5).
    expect(through([6, 5], 2, 3)).toBe('....x' + 'x....' + '....x' + '..x..')
    const further = '....xxxx' + '.x...xxx' + '.xx...xx' + 'xxx....x' + 'xxxx....'
    expect(through([7], 5, 3)).toBe(further)
    expect(draw(passMask({ lengths: [4], length: 2, slots: 0 }, 1))).toBe('.x' + 'x.')
  })
})

describe('DecodeMask', () => {
  test('shows filled slots and the new position, and follows one slot at a time', () => {
    const mask = new DecodeMask(2, 4)
    mask.show(0, 1)
    mask.show(1, 3)
    expect(draw(mask.view(2))).toBe('.xxx.' + '...x.')
    mask.reveal(0, 1)
    expect(draw(mask.view(2))).toBe('..xx.' + '...x.')
    mask.show(1, 0)
    expect(draw(mask.view(2))).toBe('..xx.' + 'xxxx.')
    expect(draw(mask.view(1))).toBe('..xx.')
  })
})
