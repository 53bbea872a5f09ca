import { describe, expect, test } from 'vitest'
import { Overrun, withinLimit, Work } from '#host/processes/workLimit.ts'

const waiting = (usedMs: number) => ({ usedMs, isReady: false })

const limit = { workMs: 10_000, idleMs: 60_000 }

/** Looks whenever it makes sense, at a process that works for this share of the time; what is over, and when. */
function watched(share: (atMs: number) => number, { untilMs = 3_600_000, isReady = false } = {}) {
  const work = new Work(limit)
  let usedMs = 5_000
  for (let atMs = 0; atMs < untilMs;) {
    const { pauseMs } = work
    atMs += pauseMs
    usedMs += pauseMs * share(atMs)
    const overrun = work.look({ usedMs, isReady }, atMs, pauseMs)
    if (overrun !== null) return { kind: overrun.kind, atMs, message: overrun.message }
  }
  return null
}

describe('a process', () => {
  test('that works is over its limit after so much work, however little of the machine it gets', () => {
    for (const share of [1, 0.5, 0.1, 0.02]) {
      const { kind, atMs, message } = watched(() => share)!
      expect(kind).toBe('work')
      expect(message).toBe('it used up 10 s of processor time')
      expect(atMs * share).toBeGreaterThanOrEqual(10_000)
      expect(atMs * share).toBeLessThan(11_000)
    }
  })

  test('on several cores at once is not over sooner', () => {
    expect(watched(() => 16)!.atMs).toBeGreaterThanOrEqual(10_000)
  })

  test('that only waits, or only looks again and again, is over the other limit', () => {
    for (const share of [0, 0.001]) {
      const { kind, atMs, message } = watched(() => share)!
      expect({ kind, message }).toEqual({ kind: 'idle', message: 'it did nothing for 60 s' })
      expect(atMs).toBeLessThan(100_000)
    }
  })

  test('that works now and then may go on', () => {
    expect(watched((atMs) => (atMs % 50_000 < 20_000 ? 0.05 : 0), { untilMs: 500_000 })).toBeNull()
  })

  test('that gets next to nothing of the machine is waited for as long as that is all it lacks', () => {
    expect(watched(() => 0.005, { untilMs: 500_000, isReady: true })).toBeNull()
    expect(watched(() => 0.005, { isReady: true })).toMatchObject({ kind: 'work' })
  })
})

test('a machine that sleeps was not waited for', () => {
  const work = new Work(limit)
  expect(work.look(waiting(0), 0, 100)).toBeNull()
  expect(work.look(waiting(0), 10_000_000, 15_000)).toBeNull()
  expect(work.look(waiting(0), 10_015_000, 15_000)).toBeNull()
})

test('what several looks do not see twice is not over: a message may have come meanwhile', () => {
  const work = new Work(limit)
  work.look(waiting(0), 0, 100)
  expect(work.look(waiting(20_000), 20_000, 10_000)).toBeNull()
  expect(work.look(waiting(20_100), 20_100, 100)).toMatchObject({ kind: 'work', workedMs: 20_100 })
})

test('the answer comes through, as do errors, and nobody is asked where it comes at once', async () => {
  let looks = 0
  const meter = () => Promise.resolve(waiting(1000 * looks++))
  expect(await withinLimit(Promise.resolve('said'), meter, limit)).toBe('said')
  await expect(withinLimit(Promise.reject(new Error('gone')), meter, limit)).rejects.toThrow('gone')
  expect(looks).toBe(0)
  const never = new Promise<never>(() => undefined)
  expect(await withinLimit(never, meter, { ...limit, workMs: 150 })).toBeInstanceOf(Overrun)
  expect(looks).toBeGreaterThan(2)
})
