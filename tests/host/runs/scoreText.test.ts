import { expect, test } from 'vitest'
import { runConfigSchema } from '#shared/runConfig.ts'
import { scoredWithin } from '#host/jobs/textScoring.ts'
import { createAsk, jobStarter } from '#host/processes/job.ts'
import { starterConfig } from './runFixture.ts'

const ask = createAsk(jobStarter())
const { signal } = new AbortController()
const limit = { workMs: 20_000, idleMs: 60_000 }

const scoring = (pattern: string, completion: string, rewardLimits = {}) => {
  const rewards = [{ function: 'format', settings: { pattern } }]
  return {
    config: runConfigSchema.parse({ ...starterConfig, rewards, rewardLimits }),
    runDirectory: '.',
    cacheDirectory: '.',
    input: { prompt: '', completion, row: {}, step: 0 },
  }
}

test('a pattern of a run that never comes to an end holds up nobody else', async () => {
  expect(await scoredWithin(limit, ask, scoring('a+b', 'aaab'), signal)).toMatchObject({
    total: 1,
    failures: [],
  })
  const long = { callMs: 60_000, batchMs: 60_000 }
  let ticks = 0
  const timer = setInterval(() => ticks++, 100)
  await expect(
    scoredWithin({ ...limit, idleMs: 2_000 }, ask, scoring('(a+)+b', `${'a'.repeat(60)}c`, long), signal),
  ).rejects.toMatchObject({
    code: 'reward/failed',
    message: expect.stringContaining('it did nothing for 2 s') as string,
  })
  clearInterval(timer)
  expect(ticks).toBeGreaterThan(0)
})
