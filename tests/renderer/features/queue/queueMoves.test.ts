import { expect, test } from 'vitest'
import { keyMove } from '#renderer/features/queue/QueueList.tsx'

test('Alt and a key move an entry of the queue, within it', () => {
  const to = (key: string, place: number) => keyMove({ key, altKey: true }, place, 4)
  expect([to('ArrowUp', 2), to('ArrowDown', 2), to('Home', 2), to('End', 1)]).toEqual([1, 3, 0, 3])
  expect([to('ArrowUp', 0), to('ArrowDown', 3), to('Home', 0), to('x', 1)]).toEqual([null, null, null, null])
  expect(keyMove({ key: 'ArrowUp', altKey: false }, 2, 4)).toBeNull()
})
