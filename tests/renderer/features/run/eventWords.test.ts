import { expect, test } from 'vitest'
import { eventWords, matchesEvent } from '#renderer/features/run/LogTab.tsx'

const words = (event: Readonly<Record<string, unknown>> & { readonly type: string }) =>
  eventWords({ id: 1, seq: 1, event: { at: 5, ...event } })

test('phases as people call them', () => {
  expect(words({ type: 'status', phase: 'evaluating', step: 0, steps: 9 }).title).toBe(
    'Evaluating before training',
  )
  expect(words({ type: 'status', phase: 'training', step: 4, steps: 9 }).title).toBe(
    'Training from step 5 on',
  )
  expect(words({ type: 'status', phase: 'finished', step: 9, steps: 9 })).toMatchObject({
    tone: 'good',
    step: 9,
  })
})

test('checkpoints with size and score', () => {
  const saved = words({
    type: 'checkpoint-saved',
    step: 20,
    directory: '/x',
    reward: 0.84,
    sizeBytes: 3_490_000,
  })
  expect(saved).toMatchObject({ title: 'Checkpoint 20 saved', detail: '3.49 MB, eval reward 0.840' })
  const removed = words({
    type: 'checkpoints-removed',
    step: 20,
    directories: ['/r/step-000010', '/r/step-000005'],
  })
  expect(removed).toMatchObject({
    title: '2 older checkpoints removed to save space',
    detail: 'Of step 10, 5.',
  })
})

test('what went wrong is said as it is', () => {
  expect(words({ type: 'error', code: null, message: 'It broke.', hint: 'Try again.' })).toEqual({
    title: 'It broke.',
    detail: 'Try again.',
    tone: 'bad',
    step: null,
  })
  expect(words({ type: 'warning', step: 3, message: 'Slow.' })).toEqual({
    title: 'Slow.',
    tone: 'caution',
    step: 3,
  })
  // A run that was paused loses nothing.
  expect(words({ type: 'resumed', keep: 12 })).toMatchObject({
    title: 'Resumed from a checkpoint',
    detail: 'Steps after it, if there were any, are trained again.',
    tone: 'plain',
  })
  expect(words({ type: 'something-new' }).title).toBe('something-new')
})

test('settings that changed, or were changed before and stay so', () => {
  const changes = [{ step: 20, key: 'rollout.temperature', from: 1, to: 0.8 }]
  expect(words({ type: 'settings-changed', step: 20, changes })).toMatchObject({
    title: 'Settings changed after step 20',
    detail: 'Temperature 1 → 0.8',
    tone: 'caution',
  })
  expect(words({ type: 'settings-changed', step: 30, changes }).title).toBe(
    'Settings changed before stay changed',
  )
})

test('the filter looks at words, details and steps', () => {
  const saved = words({ type: 'checkpoint-saved', step: 20, directory: '/x', reward: 0.84, sizeBytes: 1 })
  expect(matchesEvent(saved, ' EVAL ')).toBe(true)
  expect(matchesEvent(saved, 'step 20')).toBe(true)
  expect(matchesEvent(saved, 'paused')).toBe(false)
})
