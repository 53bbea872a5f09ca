/** How the window is timed, and how its measurements are told. */
import type { Page } from '@playwright/test'

export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? NaN

export const report = (what: string, figure: string): void =>
  console.log(`${what.padEnd(64)} ${figure.padStart(12)}`)

/** Waits for two pictures: what was asked for is on the screen then. */
const drawn = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')

/** ms until what was done is on the screen. */
export async function since(page: Page, action: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await action()
  await drawn(page)
  return performance.now() - start
}

/** Reads the seconds that the main thread of a page has been at work, whatever else the machine does. */
export async function busySecondsOf(page: Page): Promise<() => Promise<number>> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  return async () => {
    const { metrics } = await devtools.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? NaN
  }
}
