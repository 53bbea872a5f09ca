/** What stands on a page until the host has answered. */
import type { Page } from '@playwright/test'
import { places } from '#shared/places.ts'
import { addTrainedRun, expect, test } from './support.ts'

/** Words that say no more than that something is under way, in place of its shape. */
const waiting = /\b(?:Loading|Reading|Looking|Drawing|Fetching|Measuring)\b[^.]*?…/

/** Words about what there is none of, which nobody knows yet. */
const absent = /\b(?:None|Nothing): |No (?:samples|labels|runs|models|data) /

/** What is wrong with a page whose questions are not answered. */
async function problemsOf(page: Page): Promise<readonly string[]> {
  const body = page.locator('main > :not(header)')
  const words = (await body.allInnerTexts()).join(' ').replace(/\s+/g, ' ').trim()
  const shapes = await body
    .getByRole('status')
    .evaluateAll((all) => all.filter((each) => each.ariaLabel !== null && each.clientHeight >= 16).length)
  return [
    ...[waiting, absent].flatMap((pattern) => pattern.exec(words)?.[0] ?? []),
    ...(shapes === 0 && words.length < 40 ? [`blank but for “${words}”`] : []),
  ]
}

test('until the host answers, pages have their shape and claim nothing @whole', async ({ app }) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'first')
  let isHeld = false
  await page.routeWebSocket(/./, (socket) => {
    const host = socket.connectToServer()
    host.onMessage((message) => {
      if (!isHeld) socket.send(message)
    })
  })
  const views = places.flatMap((place) => place.views.map(({ route }) => route))
  const tabs = ['overview', 'samples', 'diagnosis', 'checkpoints', 'config', 'log']
  const problems: string[] = []
  for (const route of [...views, ...tabs.map((tab) => `/runs/${runId}/${tab}`), '/runs/studies/st_1']) {
    isHeld = false
    await page.goto('about:blank')
    await app.open('/nowhere')
    await expect(page.getByText('There is nothing at this address')).toBeVisible()
    isHeld = true
    await app.go(route)
    await expect(page.getByText('There is nothing at this address')).toBeHidden()
    await expect(page.locator('main h1')).toBeVisible()
    problems.push(...(await problemsOf(page)).map((problem) => `${route}: ${problem}`))
  }
  expect(problems).toEqual([])
})
