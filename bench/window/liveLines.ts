/** What it costs the page to draw living runs: one panel of Compare with twenty lines that grow once a second. */
import path from 'node:path'
import type { Page } from '@playwright/test'
import { lockRun } from '#host/workFolder/runFolder.ts'
import { beginRun } from './longHistory.ts'
import { busySecondsOf, median } from './report.ts'

const lines = 20
const stepsBefore = 1000
const seconds = 10
const stretches = 3

/** Runs that this process seems to train, each with its first thousand steps. */
export function beginLiving(dataDirectory: string) {
  return Array.from({ length: lines }, (_, i) => {
    const begun = beginRun(path.resolve(dataDirectory), `living ${String(i + 1)}`, 2 * stepsBefore)
    begun.grow(stepsBefore)
    return { ...begun, lock: lockRun(begun.run.directory) }
  })
}

/** Share of one core that the page's main thread is at work, of a stretch; median. */
export async function measureLiveLines(page: Page, runs: ReturnType<typeof beginLiving>): Promise<number> {
  const busySeconds = await busySecondsOf(page)
  const ids = runs.map(({ run }) => run.id).join(',')
  await page.evaluate(`location.hash = '#/compare?runs=${ids}&panels=reward'`)
  await page.locator('[data-chart] :is(path.recharts-curve, canvas)').first().waitFor({ state: 'attached' })
  await page.waitForTimeout(2000)
  const shares: number[] = []
  for (let i = 0; i < stretches; i++) {
    const [begun, busy] = [performance.now(), await busySeconds()]
    for (let second = 0; second < seconds; second++) {
      for (const { grow } of runs) grow(1)
      await page.waitForTimeout(1000)
    }
    shares.push(((await busySeconds()) - busy) / ((performance.now() - begun) / 1000))
  }
  for (const { lock } of runs) lock[Symbol.dispose]()
  return median(shares)
}
