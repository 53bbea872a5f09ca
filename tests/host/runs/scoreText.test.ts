import { expect, test } from 'vitest'
import { runConfigSchema } from '#shared/runConfig.ts'
import { scoredWithin } from '#host/runs/samplesService.ts'
import { createAsk, questionStarter } from '#host/processes/question.ts'
import { starterConfig } from './runFixture.ts'

const ask = createAsk(questionStarter)
const limitMs = 20_000

const scoring = (pattern: string, completion: string) => {
  const rewards = [{ function: 'format', settings: { pattern } }]
  return {
    ...{
      config: runConfigSchema.parse({ ...starterConfig, rewards }),
      runDirectory: '.',
      cacheDirectory: '.',
    },
    ...{ input: { prompt: '', completion, row: {}, step: 0 }, signal: new AbortController().signal },
  }
}

test('a pattern of a run that never comes to an end holds up nobody else', async () => {
  expect(await scoredWithin(limitMs, ask, scoring('a+b', 'aaab'))).toMatchObject({ total: 1, failures: [] })
  let ticks = 0
  const timer = setInterval(() => ticks++, 100)
  await expect(scoredWithin(5_000, ask, scoring('(a+)+b', `${'a'.repeat(60)}c`))).rejects.toMatchObject({
    code: 'reward/failed',
    message: expect.stringContaining('within 5 s') as string,
  })
  clearInterval(timer)
  expect(ticks).toBeGreaterThan(20)
})
