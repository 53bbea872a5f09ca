import { rmSync } from 'node:fs'
import path from 'node:path'
import type { Page } from '@playwright/test'
import type { Api } from '#shared/api/api.ts'
import type { Client } from '#shared/api/client.ts'
import { demoConfig, expect, openView, seriousProblems, test, type App } from './support.ts'

const rate = 'optimization.learningRate'
const small = {
  ...demoConfig({
    steps: 4,
    rollout: { promptsPerStep: 4, groupSize: 4, maxNewTokens: 16 },
    evaluation: { every: 2, rows: 6 },
    checkpoints: { every: 2 },
  }),
}
const population = {
  ...small,
  name: 'rates',
  population: {
    size: 3,
    every: 2,
    tournament: 2,
    mutation: { probability: 1, elite: false, parameters: { [rate]: { min: 1e-4, max: 1e-2 } } },
  },
}

async function untilOver(client: Client<Api>, id: string) {
  for await (const _ of client.follow('studies.watch')) {
    const entry = await client.call('studies.get', { id })
    if (entry.status !== 'running' && entry.status !== 'waiting') return entry
  }
  throw new Error('The feed ended.')
}

/** Presses Tab until something of a role has the focus. */
async function tabTo(page: Page, role: string): Promise<void> {
  const roleNow = () => page.evaluate(() => document.activeElement?.getAttribute('role') ?? null)
  for (let i = 0; i < 80; i++) {
    await page.keyboard.press('Tab')
    if ((await roleNow()) === role) return
  }
  throw new Error(`Nothing with the role ${role} can be reached by Tab.`)
}

test('a population is followed from its list to a member and back, by mouse and by keyboard @whole', async ({
  app,
}) => {
  const { page, client } = app
  await app.open('/runs/studies')
  await expect(page.getByText('Several runs that answer one question')).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
  const { id } = await client.call('studies.start', { file: population })
  const row = page.getByRole('table', { name: 'Studies' }).getByRole('row', { name: /rates/ })
  await expect(row).toContainText('Running')
  await row.click()
  await expect(page.getByRole('heading', { name: 'rates' })).toBeVisible()
  await page.getByRole('button', { name: 'More actions' }).click()
  await expect(page.getByRole('menuitem', { name: 'Delete (stop it first)' })).toBeDisabled()
  await page.keyboard.press('Escape')
  // Results appear as they come.
  const tree = page.getByRole('tree', { name: 'Lineage' })
  await expect(tree.getByRole('treeitem', { name: /at step 4: Eval reward 0/ })).toHaveCount(3)
  const study = await untilOver(client, id)
  const { trials } = study
  await expect(page.getByText('Finished', { exact: true }).first()).toBeVisible()
  await expect(page.getByText('12 of 12 steps')).toBeVisible()

  const clone = trials.find(({ parent }) => parent !== null)
  const parent = trials[clone?.parent?.index ?? -1]
  if (clone?.mutation == null || parent === undefined) throw new Error('Expected a mutated clone.')
  const named = (trial: typeof clone) => `Member ${String(trial.member + 1)}`
  const node = tree.getByRole('treeitem', { name: new RegExp(`^${named(clone)} at step 4`) })
  await expect(node).toHaveAccessibleName(new RegExp(`cloned from ${named(parent)}, mutated Learning rate`))
  await node.hover()
  await expect(page.locator(`[data-front="${clone.runId ?? ''}"]`)).toHaveCount(2) // in both charts
  await node.click()
  await page.mouse.move(5, 5)
  const pane = page.getByRole('region', { name: 'Chosen trial' })
  await expect(pane.getByRole('heading', { name: named(clone) })).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
  await pane.getByRole('link', { name: 'Open run' }).click()
  await expect(page).toHaveURL(new RegExp(`/runs/${clone.runId ?? ''}`))
  await page.getByRole('link', { name: `Trial ${String(clone.index + 1)} of rates` }).click()
  await expect(page).toHaveURL(new RegExp(`trial=${String(clone.index + 1)}`))

  await page.getByRole('tab', { name: 'Members' }).click()
  const table = page.getByRole('table', { name: 'Trials' })
  await table
    .getByRole('row', { name: new RegExp(named(parent)) })
    .first()
    .hover()
  await expect(page.locator(`[data-front="${parent.runId ?? ''}"]`)).toHaveCount(2)
  await page.getByRole('button', { name: 'Select all' }).click()
  await page.getByRole('button', { name: `Compare ${String(trials.length)} runs` }).click()
  await expect(openView(page)).toHaveText('Compare')
  await expect(page.locator('[data-chart]').first()).toBeVisible()

  await app.go(`/runs?study=${id}`)
  await expect(page.getByLabel('Study', { exact: true })).toHaveValue(id)
  await expect(page.getByRole('table', { name: 'Runs' }).getByRole('row')).toHaveCount(trials.length + 1)
  await test.step('by keyboard', () => walkByKeyboard(app, study))
})

/** From the list through the lineage to a run. */
async function walkByKeyboard(
  { page, open }: App,
  { trials, best }: Awaited<ReturnType<typeof untilOver>>,
): Promise<void> {
  await open()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('studies')
  await page.keyboard.press('Enter')
  await expect(openView(page)).toHaveText('Studies')
  await expect(page.getByRole('row', { name: /rates/ })).toBeVisible()
  const focused = page.locator(':focus')
  await tabTo(page, 'row')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { name: 'rates' })).toBeVisible()

  // In the chart, up and down go from line to line.
  await expect(page.getByRole('slider').first()).toBeVisible()
  await tabTo(page, 'slider')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await expect(page.locator('[data-front]')).not.toHaveCount(0)
  await expect(focused).toHaveAttribute('aria-valuetext', /step 4: /)

  await tabTo(page, 'treeitem')
  await expect(focused).toHaveAccessibleName(/ at step 2: /)
  await page.keyboard.press('ArrowRight')
  await expect(focused).toHaveAccessibleName(/ at step 4: /)
  await page.keyboard.press('ArrowLeft')
  await expect(focused).toHaveAccessibleName(/ at step 2: /)
  await page.keyboard.press('End')
  await expect(focused).toHaveAccessibleName(/ at step 4: /)
  const [index = ''] = ((await focused.getAttribute('data-place')) ?? '').split('@')
  const at = trials[Number(index)]
  expect(at?.results.at(-1)?.fitness).toBe(best?.fitness)
  await expect(page.locator(`[data-front="${at?.runId ?? ''}"]`)).toHaveCount(2)
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(new RegExp(`trial=${String(Number(index) + 1)}`))
  await page.getByRole('link', { name: 'Open run' }).focus()
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(new RegExp(`/runs/${at?.runId ?? ''}`))
}

test('seeds and a sweep: stopped, resumed, deleted; one that is damaged is listed with the reason', async ({
  app,
}) => {
  const { page, client } = app
  const sweep = { method: 'random', trials: 3, parameters: { [rate]: { min: 1e-4, max: 1e-2 } } }
  const { id: swept } = await client.call('studies.start', { file: { ...small, name: 'tried', sweep } })
  await app.open(`/runs/studies/${swept}`)
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await expect(page.getByText('Stopped', { exact: true })).toBeVisible()
  await page.getByRole('button', { name: 'Resume' }).click()
  await untilOver(client, swept)
  await expect(
    page.getByRole('group', { name: 'Eval reward of each trial' }).getByRole('listitem'),
  ).toHaveCount(3)
  expect(await seriousProblems(page)).toEqual([])

  const { id: seeded } = await client.call('studies.start', {
    file: { ...small, steps: 2, name: 'by chance', seeds: { values: 2 } },
  })
  await untilOver(client, seeded)
  await app.go(`/runs/studies/${seeded}`)
  await expect(page.getByText(/(95 % interval of|over) 2 seeds/)).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete', exact: true }).click()
  await page.getByRole('button', { name: 'Delete study' }).click()
  await expect(page).toHaveURL(/#\/runs\/studies$/)
  expect((await client.call('runs.list', {})).filter(({ studyId }) => studyId === seeded)).toHaveLength(2)

  rmSync(path.join(app.dataDirectory, 'studies', swept, 'study.json'))
  const note = page.getByRole('alert')
  await expect(note).toContainText('study.json')
  expect(await seriousProblems(page)).toEqual([])
  await note.getByRole('button', { name: 'Delete the study' }).click()
  await expect(page.getByText('Several runs that answer one question')).toBeVisible()
})
