import { describe, expect, test } from 'vitest'
import { captured, conflictsOf, keyIds, rebound } from '#renderer/features/settings/Keys.tsx'
import { keyTable } from '#shared/keyTable.ts'

const press = (
  code: string,
  held: Partial<Record<'metaKey' | 'ctrlKey' | 'altKey' | 'shiftKey', boolean>> = {},
) => ({
  code,
  key: code,
  metaKey: false,
  ctrlKey: false,
  altKey: false,
  shiftKey: false,
  ...held,
})

describe('shortcuts of one’s own', () => {
  test('none of those the program comes with collide', () => {
    expect(keyIds.flatMap((id) => conflictsOf(id, {}))).toEqual([])
  })

  test('one that does something else already is told of, on both sides', () => {
    const bindings = { runs: ['KeyC'] }
    expect(conflictsOf('runs', bindings)).toEqual([keyTable.compareSelected.label])
    expect(conflictsOf('compareSelected', bindings)).toEqual([keyTable.runs.label])
    expect(conflictsOf('data', bindings)).toEqual([])
  })

  test('none at all is one as well, and collides with nothing', () => {
    expect(rebound({}, 'runs', [])).toEqual({ runs: [] })
    expect(conflictsOf('runs', { runs: [] })).toEqual([])
  })

  test('as it was before is not kept', () => {
    expect(rebound({ runs: ['KeyR'] }, 'runs', null)).toEqual({})
    expect(rebound({ runs: ['KeyR'] }, 'runs', [...keyTable.runs.keys])).toEqual({})
    expect(rebound({ data: ['KeyD'] }, 'runs', ['KeyR'])).toEqual({ data: ['KeyD'], runs: ['KeyR'] })
  })
})

describe('a press while a shortcut is set', () => {
  test('is the key with what is held', () => {
    expect(captured(press('KeyR'))).toEqual({ kind: 'key', key: 'KeyR' })
    expect(captured(press('Digit3', { altKey: true, shiftKey: true }))).toEqual({
      kind: 'key',
      key: 'Alt+Shift+Digit3',
    })
  })

  test('a modifier alone waits for more, Escape keeps, Delete takes away', () => {
    expect(captured(press('ShiftLeft', { shiftKey: true })).kind).toBe('wait')
    expect(captured(press('ControlRight', { ctrlKey: true })).kind).toBe('wait')
    expect(captured(press('Escape')).kind).toBe('cancel')
    expect(captured(press('Delete')).kind).toBe('remove')
  })
})
