import { expect, test } from 'vitest'
import { phaseWords } from '#renderer/client/words.ts'

test('a run that is resumed starts, whatever it did before it stopped', () => {
  const worker = { stepPhase: null, phaseProgress: null } as const
  expect(phaseWords('stopped', { ...worker, activity: 'starting' })).toBe('Starting')
  expect(phaseWords('stopped', { ...worker, activity: 'running' })).toBe('Saving')
  expect(phaseWords('paused', { ...worker, activity: 'paused' })).toBe('Paused')
  expect(phaseWords('paused', { ...worker, activity: 'running' })).toBe('Preparing')
})
