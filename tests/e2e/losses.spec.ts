/** Writing a loss: from the gallery over a sign that is wrong to a run that learns with it. */
import type { Page } from '@playwright/test'
import { expect, seriousProblems, starter, demoFile, test, untilEnded } from './support.ts'

/** Replaces all of the code. */
async function write(page: Page, code: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Loss code' }).click()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.insertText(code)
}

test('a copy of GRPO is broken, repaired, drawn and trained with', async ({ app }) => {
  const { page, client } = app
  await app.open('/rewards/losses')
  await page.getByRole('link', { name: 'GRPO', exact: true }).click()
  await expect(page.getByRole('figure', { name: 'Loss', exact: true })).toBeVisible()
  await page.getByRole('button', { name: 'Make a copy' }).click()
  await expect(page.getByRole('textbox', { name: 'Loss code' })).toBeVisible()
  const [loss] = await client.call('rewards.list', { kind: 'loss' })
  expect(loss?.name).toBe('GRPO copy')
  const [first] = await client.call('rewards.versions', { rewardId: loss!.id })
  const code = first!.code

  await test.step('a wrong sign is told with the token that shows it', async () => {
    await write(page, code.replace('-correction * min', 'correction * min'))
    await expect(page.getByText('No run would start with it (sign)', { exact: false })).toBeVisible()
    await page.getByRole('tab', { name: /^Checks/ }).click()
    const checks = page.getByRole('list', { name: 'Checks' })
    const sign = checks.getByRole('listitem').filter({ hasText: /^sign/ })
    await expect(sign.getByRole('img', { name: 'fails' })).toBeVisible()
    await expect(sign).toContainText('The sign is wrong: token')
    await expect(sign).toContainText(/Sequence \d/)
    await expect(checks.getByRole('img', { name: 'passes' })).toHaveCount(7)
  })

  await test.step('a condition on a tensor is told on its line', async () => {
    await write(
      page,
      code.replace(
        'const d = refLogp - logp',
        'if (ratio > 1) return mean(ratio)\n    const d = refLogp - logp',
      ),
    )
    await expect(page.locator('.cm-tw-failed')).toContainText('if (ratio > 1)')
    await expect(page.getByText('The loss cannot be traced.')).toBeVisible()
  })

  await test.step('repaired, all checks pass and the editor knows every name', async () => {
    await write(page, `${code}// mine\n`)
    await expect(page.getByText(/^Loads\. \d+ operations, all checks pass$/)).toBeVisible()
    await expect(page.locator('.cm-lintRange-error')).toHaveCount(0)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await expect(page.getByText('Version 2 is saved.')).toBeVisible()
  })

  await test.step('its curves follow its settings', async () => {
    await page.getByRole('tab', { name: 'Curves' }).click()
    await page.getByLabel('Compare with').selectOption('GRPO')
    const gradient = page.getByRole('figure', { name: 'Gradient' })
    const lowest = page.getByRole('figure', { name: 'Loss', exact: true }).getByText(/^Advantage \+1:/)
    await expect(lowest).toContainText('−1.20 at Importance ratio 2')
    await expect(gradient.getByText(/^GRPO, advantage −1:/)).toHaveCount(1)
    await page.getByRole('textbox', { name: 'Clip', exact: true }).fill('0.5')
    await expect(lowest).toContainText('−1.50 at Importance ratio 2')
    expect(await seriousProblems(page)).toEqual([])
  })

  await test.step('a run learns with it', async () => {
    await page.getByRole('button', { name: 'Train with it' }).click()
    const method = page.getByRole('button', { name: /Method/ }).first()
    await expect(method).toContainText(loss!.name) // taken over; until then, what is opened closes again
    await method.click()
    await expect(page.getByRole('radio', { name: loss!.name })).toBeChecked()
  })

  const [newest] = await client.call('rewards.versions', { rewardId: loss!.id })
  const { runId } = await client.call('runs.start', {
    config: {
      model: starter,
      data: { train: demoFile('train.jsonl'), prompt: { column: 'prompt' } },
      rewards: [{ function: 'starter-correct' }],
      algorithm: { id: newest!.file, settings: { clip: 0.3 } },
      rollout: { promptsPerStep: 4, groupSize: 4, maxNewTokens: 8 },
      steps: 1,
    },
  })
  expect(await untilEnded(client, runId)).toBe('finished')
  await app.go('/runs')
  await expect(page.getByRole('row').filter({ hasText: loss!.name })).toBeVisible()
  await app.go(`/rewards/losses/${loss!.id}`)
  await page.reload()
  await page.getByRole('tab', { name: /^Used by/ }).click()
  await expect(page.getByRole('table', { name: 'Runs' }).getByRole('row')).toHaveCount(2)
})
