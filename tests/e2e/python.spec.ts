/** Python code from the window: nothing runs before the person says yes, and then it is tried and trained with. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { demoFile, expect, seriousProblems, test } from './support.ts'

const hasPython = spawnSync('python3', ['-c', 'import sys; assert sys.version_info >= (3, 9)']).status === 0

const rewards = (mark: string) => `
open(${JSON.stringify(mark)}, "a").close()

def brief(completions, **kwargs):
    return [1.0 if len(completion) < 40 else 0.0 for completion in completions]
`

const world = `
class Guess:
    def reset(self, *, seed=None, options=None):
        return "Guess my number, from 1 to 9.", {}

    def step(self, action):
        right = action.strip() == "7"
        return ("Right." if right else "Another one."), float(right), right, False, {}
`

test('Python asks before it runs, is tried, played and withdrawn', async ({ app }, info) => {
  test.skip(!hasPython, 'There is no Python 3.9 or newer on this machine.')
  const { page, client } = app
  const folder = info.outputPath('project')
  mkdirSync(folder, { recursive: true })
  const mark = path.join(folder, 'it-ran')
  const file = path.join(folder, 'rewards.py')
  writeFileSync(file, rewards(mark))
  writeFileSync(path.join(folder, 'beside.py'), 'points = 1\n')
  const source = { path: demoFile('train.jsonl') }
  for await (const _ of client.stream('datasets.import', { source, name: 'exercises' })) continue

  await test.step('chosen for a run, it is shown with what would run, and did not run', async () => {
    await app.open('/new-run')
    await page.getByRole('button', { name: 'Fill in the sample run' }).click()
    await page
      .getByRole('heading', { level: 2, name: /reward/i })
      .getByRole('button')
      .click()
    await page.getByRole('button', { name: /^More ways.*workflow/ }).click()
    await page.getByRole('textbox', { name: 'Python reward' }).fill(`${file}#brief`)
    await page.getByRole('button', { name: 'Use Python' }).click()
    await expect(page.getByText('is Python, which is not sandboxed').first()).toBeVisible()
    await page.getByRole('button', { name: 'Allow Python…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Allow this Python code on this machine?' })
    await expect(dialog.getByText(file, { exact: true })).toBeVisible()
    await expect(dialog.getByText(path.join(folder, 'beside.py'), { exact: true })).toBeVisible()
    await expect(dialog.getByText(/python3$/).first()).toBeVisible()
    await page.screenshot({ path: info.outputPath('consent.png') })
    expect(await seriousProblems(page)).toEqual([])
    expect(existsSync(mark)).toBe(false)
    await dialog.getByRole('button', { name: 'Allow Python' }).click()
    await expect(page.getByText('Allowed on this machine', { exact: true })).toBeVisible()
    await expect(page.getByText('is Python, which is not sandboxed')).toHaveCount(0)
    await expect.poll(() => existsSync(mark)).toBe(true)
  })

  await test.step('it is dry-run', async () => {
    await page.getByRole('link', { name: 'Try it' }).click()
    await expect(page.getByRole('heading', { name: 'brief' })).toBeVisible()
    await page.getByRole('button', { name: 'Dry-run' }).click()
    await expect(page.getByText(/^mean 1$/)).toBeVisible()
    await page.screenshot({ path: info.outputPath('dry-run.png') })
    expect(await seriousProblems(page)).toEqual([])
  })

  await test.step('changed by somebody else, it asks again', async () => {
    writeFileSync(path.join(folder, 'beside.py'), 'points = 2\n')
    await page.reload()
    await expect(page.getByRole('button', { name: 'Allow Python…' })).toBeVisible()
    await expect(page.getByRole('button', { name: 'Dry-run' })).toBeDisabled()
  })

  await test.step('an environment is played by hand', async () => {
    const own = path.join(folder, 'worlds')
    mkdirSync(own)
    writeFileSync(path.join(own, 'guess.py'), world)
    await app.open(`/rewards?python=${encodeURIComponent(path.join(own, 'guess.py'))}`)
    await page.getByRole('button', { name: 'Allow Python…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Allow Python' }).click()
    await page.getByRole('button', { name: 'Begin an episode' }).click()
    await expect(page.getByText('Guess my number')).toBeVisible()
    await page.getByLabel('What the policy writes').fill('7')
    await page.getByRole('button', { name: 'Act', exact: true }).click()
    await expect(page.getByText('The episode is over.')).toBeVisible()
    await page.screenshot({ path: info.outputPath('play.png') })
  })

  await test.step('Settings show what is allowed and take it back', async () => {
    await app.open('/settings/python')
    await expect(page.getByText(file, { exact: true })).toBeVisible()
    await page.screenshot({ path: info.outputPath('settings.png') })
    expect(await seriousProblems(page)).toEqual([])
    await page.getByRole('button', { name: 'Withdraw all' }).click()
    await expect(page.getByText('Nothing: no Python code can run.')).toBeVisible()
  })
})
