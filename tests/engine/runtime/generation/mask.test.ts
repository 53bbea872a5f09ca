import { describe, expect, test } from 'vitest'
import { HIDDEN } from '#engine/ops/attention.ts'
import { causalMask, DecodeMask } from '#engine/runtime/generation/mask.ts'

const draw = (mask: Float32Array) =>
  [...mask].map((value) => (value === 0 ? '.' : value === HIDDEN ? 'x' : '?')).join('')

describe('causalMask', () => {
  test('shows all slots, earlier new positions and the position itself', () => {
    expect(draw(causalMask(1, 3, 2))).toBe('...xx' + '....x' + '.....')
  })

  test('repeats for every row', () => {
    expect(draw(causalMask(2, 2, 0))).toBe('.x..' + '.x..')
  })
})

describe('DecodeMask', () => {
  test('shows filled slots and the new position, and follows one slot at a time', () => {
    const mask = new DecodeMask(2, 4)
    mask.show(0, 1)
    mask.show(1, 3)
    expect(draw(mask.behind(2, 1))).toBe('.xxx.' + '...x.')
    mask.reveal(0, 1)
    expect(draw(mask.behind(2, 1))).toBe('..xx.' + '...x.')
    mask.show(1, 0)
    expect(draw(mask.behind(2, 1))).toBe('..xx.' + 'xxxx.')
    expect(draw(mask.behind(1, 1))).toBe('..xx.')
  })
})
