import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { batch } from '#renderer/client/api.tsx'

let drawingMs = 0

beforeEach(() => {
  vi.useFakeTimers()
  // Shows what it draws when it has drawn it.
  vi.stubGlobal('requestAnimationFrame', (draw: () => void) => setTimeout(draw, drawingMs))
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

/** Adds an item each 10 ms; returns how many each call got. */
function callsIn12Seconds(): number[] {
  const calls: number[] = []
  const items = batch<number>((some) => calls.push(some.length))
  for (let i = 0; i < 1_200; i++) {
    items.add(i)
    vi.advanceTimersByTime(10)
  }
  return calls
}

test.each([
  [1, 48],
  [100, 12],
  [3_000, 3],
])('a page that takes %d ms to be drawn is drawn %d times in 12 seconds', (ms, times) => {
  drawingMs = ms
  const calls = callsIn12Seconds()
  expect(Math.abs(calls.length - times)).toBeLessThanOrEqual(1)
})
