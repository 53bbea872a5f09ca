/** What the pages of two studies of 64 members × 10,000 steps cost: a population in ten generations, and a sweep. */
import type { Locator, Page } from '@playwright/test'
import type { MadeStudy } from './madeStudy.ts'
import { busySecondsOf, median, report, since } from './report.ts'

interface Made {
  readonly population: MadeStudy
  readonly sweep: MadeStudy
}

export async function measureStudies(page: Page, { population, sweep }: Made): Promise<void> {
  // Runs are taken in meanwhile.
  await page.evaluate("location.hash = '#/runs'")
  await page.getByRole('row').nth(2).waitFor()
  await page.getByText('being read from the disk').waitFor({ state: 'detached', timeout: 900_000 })
  const tell = await tellerOf(page)
  const routes = {
    'Compare, runs of the sweep': `#/compare?runs=${sweep.runIds.join()}`,
    'Study, sweep': `#/studies/${sweep.id}`,
    'Study, population': `#/studies/${population.id}`,
  }
  for (const [name, route] of Object.entries(routes)) {
    const open = async () => {
      await page.evaluate(`location.hash = ${JSON.stringify(route)}`)
      await page.locator('[data-chart] path.recharts-curve').nth(60).waitFor({ state: 'attached' })
    }
    await tell(`${name}: opened`, [open])
    await page.evaluate("location.hash = '#/studies'")
    await page.locator('[data-chart]').first().waitFor({ state: 'detached' })
    await tell(`${name}: opened again`, [open])
    const chart = page.locator('[data-chart]').last()
    await tell(`${name}: one move of the cursor`, await moves(page, chart))
  }
  await page.getByRole('treeitem').first().focus()
  const keys = ['ArrowRight', 'ArrowDown', 'ArrowDown', 'ArrowLeft', 'ArrowUp', 'ArrowRight', 'ArrowDown']
  await tell(
    'Study, population: one key in the lineage',
    keys.map((key) => () => page.keyboard.press(key)),
  )
  await page.evaluate(`location.hash = '#/studies/${population.id}?tab=trials'`)
  const table = page.getByRole('table', { name: 'Trials' })
  await table.waitFor()
  await tell(
    'Study, population: pointing at a row of the trials',
    Array.from(
      { length: 7 },
      (_, i) => () =>
        table
          .getByRole('row')
          .nth(i + 1)
          .hover(),
    ),
  )
}

type Action = () => Promise<unknown>

/** Does some actions; tells the median time until each is on the screen, and of the work of the page's main thread. */
async function tellerOf(page: Page) {
  const busySeconds = await busySecondsOf(page)
  return async (what: string, actions: readonly Action[]): Promise<void> => {
    const [times, work]: [number[], number[]] = [[], []]
    for (const action of actions) {
      const busy = await busySeconds()
      times.push(await since(page, action))
      work.push(1000 * ((await busySeconds()) - busy))
    }
    report(what, `${median(times).toFixed(0)} ms (main thread ${median(work).toFixed(0)} ms)`)
  }
}

async function moves(page: Page, chart: Locator): Promise<readonly Action[]> {
  const box = await chart.boundingBox()
  if (box === null) throw new Error('Expected a chart.')
  return Array.from(
    { length: 40 },
    (_, i) => () => page.mouse.move(box.x + 60 + ((box.width - 80) * i) / 40, box.y + box.height / 2),
  )
}
