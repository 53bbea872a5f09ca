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

  test('puts the slots of shared prompts first, as far as the window reaches behind the own ones', () => {
    const behind = (window: number | null) =>
      draw(
        passMask(
          { lengths: [1, 0, 2], length: 1, slots: 2, prompts: { lengths: [3, 2, 0], slots: 3 } },
          window,
        ),
      )
    expect(behind(null)).toBe('....x.' + '..xxx.' + 'xxx...')
    expect(behind(3)).toBe('xx..x.' + '..xxx.' + 'xxx...')
    expect(behind(2)).toBe('xxx.x.' + 'x.xxx.' + 'xxxx..')
    // Of a prompt of five the last three are kept: 3, 4, 2.
    const long = { lengths: [1], length: 1, slots: 1, prompts: { lengths: [5], slots: 3 } }
    expect(draw(passMask(long, 4))).toBe('..x..')
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

  test('shows the positions of a row’s prompt before its own', () => {
    const mask = new DecodeMask(2, 2, 3)
    mask.show(0, 1, 2)
    mask.show(1, 2)
    expect(draw(mask.view(2))).toBe('..x.x.' + 'xxx...')
    mask.reveal(0, 1)
    expect(draw(mask.view(1))).toBe('..x...')
  })
})
