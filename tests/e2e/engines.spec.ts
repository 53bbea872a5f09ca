/** A run that another trainer trains, set up in the window: allowed, looked at, and told what is missing. */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { expect, seriousProblems, test } from './support.ts'

const hasPython = spawnSync('python3', ['-m', 'venv', '--help']).status === 0

test('TRL or AgileRL is chosen for a run, asks before Python runs, and tells what its environment lacks', async ({
  app,
}, info) => {
  test.skip(!hasPython, 'There is no Python with venv on this machine.')
  const { page } = app
  const bare = info.outputPath('bare')
  spawnSync('python3', ['-m', 'venv', '--without-pip', bare])
  await app.open('/new-run')
  await page.getByRole('button', { name: 'Fill in the sample run' }).click()
  await page
    .getByRole('heading', { level: 2, name: /method/i })
    .getByRole('button')
    .click()
  await page.getByRole('button', { name: /^More ways.*TRL/ }).click()
  const where = page.getByRole('region', { name: 'Where' })
  await where.getByRole('radio', { name: 'TRL, in Python' }).click()
  await where.getByRole('textbox', { name: 'Python of the trainer' }).fill(path.join(bare, 'bin', 'python'))
  await where.getByRole('textbox', { name: 'Processes' }).fill('2')
  await expect(where.getByText('Nothing of Python has run')).toBeVisible()
  await where.getByRole('button', { name: 'Allow Python…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Allow this Python code on this machine?' })
  await expect(dialog.getByText('engine:trl', { exact: true })).toBeVisible()
  await dialog.getByRole('button', { name: 'Allow Python' }).click()
  await expect(where.getByText('Allowed on this machine')).toBeVisible()
  await expect(where.getByText(/pip install torch transformers==/)).toBeVisible()
  await expect(where.getByRole('listitem').filter({ hasText: 'trl' }).getByText('missing')).toBeVisible()
  await where.scrollIntoViewIfNeeded()
  await page.screenshot({ path: info.outputPath('where.png') })
  expect(await seriousProblems(page)).toEqual([])

  await page.setViewportSize({ width: 390, height: 844 })
  await where.scrollIntoViewIfNeeded()
  await page.screenshot({ path: info.outputPath('where-narrow.png') })
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)

  // What nobody chose is not shown as the first of the choices.
  await where.getByRole('combobox', { name: 'Started by' }).selectOption('ray')
  const results = where.getByRole('combobox', { name: 'Results come back' })
  await expect(results.locator('option:checked')).toHaveText(/^in the log of a Ray job/)
  await results.selectOption('folder')
  await expect(results.locator('option:checked')).toHaveText(/^by the folder of the run, which/)
  await results.selectOption('')
  await expect(results).toHaveValue('')
  await where.getByRole('combobox', { name: 'Started by' }).selectOption('python')

  await where.getByRole('radio', { name: 'AgileRL, in Python' }).click()
  await expect(where.getByText('AgileRL trains on its own processes')).toBeVisible()
  // What was chosen for one trainer holds for the other, but what was allowed does not.
  await expect(where.getByRole('textbox', { name: 'Processes' })).toHaveValue('2')
  await expect(where.getByText('Nothing of Python has run')).toBeVisible()
  await where.getByRole('button', { name: 'Allow Python…' }).click()
  await expect(dialog.getByText('engine:agilerl', { exact: true })).toBeVisible()
  await dialog.getByRole('button', { name: 'Allow Python' }).click()
  await expect(where.getByText(/pip install torch transformers==\S+ agilerl==/)).toBeVisible()

  await where.getByRole('radio', { name: 'Turnwise, here' }).click()
  await expect(where.getByText('Python environment')).toHaveCount(0)
})
