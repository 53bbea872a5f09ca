import { expect, test } from 'vitest'
import { shownStep } from '#renderer/features/home/FirstRunGuide.tsx'

test('the guide speaks of the tab that is open', () => {
  expect(shownStep(0, 'overview')).toBe(0)
  expect(shownStep(0, 'samples')).toBe(1)
  expect(shownStep(2, 'samples')).toBe(2)
  expect(shownStep(1, 'config')).toBe(1) // of which it has nothing to say
  expect(shownStep(4, 'samples')).toBe(4) // what to do next
})
