import { expect, test } from 'vitest'
import { phaseEta } from '#renderer/features/models/PhaseProgress.tsx'

const start = { phase: 'Writing', done: 100, at: 1000 }

test('the rest of a phase takes as long as its pace so far says', () => {
  // 100 of 1000 in ten seconds: 80 seconds left, a fifth less to a quarter more.
  expect(phaseEta({ phase: 'Writing', done: 200, total: 1000 }, start, 11_000)).toBe('64–100 s')
})

test('nothing is said without a total, before anything was done, of another phase, or at the end', () => {
  expect(phaseEta({ phase: 'Writing', done: 200, total: null }, start, 11_000)).toBeNull()
  expect(phaseEta({ phase: 'Writing', done: 100, total: 1000 }, start, 11_000)).toBeNull()
  expect(phaseEta({ phase: 'Reading', done: 200, total: 1000 }, start, 11_000)).toBeNull()
  expect(phaseEta({ phase: 'Writing', done: 990, total: 1000 }, start, 11_000)).toBeNull()
})
