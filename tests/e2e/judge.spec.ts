/** A judge: tried on a sample by hand, then in a run, whose samples show what it said. */
import { demoConfig, expect, seriousProblems, starter, test, trainDemo } from './support.ts'

const question = 'Largest of {completion}'
const settings = { model: starter, question, scoreAfter: '', min: 0, max: 9, maxNewTokens: 8 }
/** A folder for pictures to look at; without it none are taken. */
const pictures = process.env['TURNWISE_PICTURES']

test('a judge is tried, judges a run, and its answers stand beside the samples', async ({ app }) => {
  const { page } = app
  const picture = async (name: string) => {
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/${name}.png` })
  }
  await app.open('/rewards/builtin.judge')
  const form = page.getByRole('region', { name: 'Judge' })

  await test.step('choose who judges, by what, and try it', async () => {
    await form.getByRole('button', { name: /Judge/ }).first().click()
    await page.getByRole('option', { name: /starter/ }).click()
    await form.getByRole('combobox', { name: 'Rubric to begin with' }).selectOption('own')
    await form.getByLabel('Rubric', { exact: true }).fill('Large numbers are good.')
    await form.getByRole('textbox', { name: 'Lowest score' }).fill('0')
    await form.getByRole('textbox', { name: 'Highest score' }).fill('9')
    await form.getByText('More settings of the judge').click()
    await form.getByLabel('Question', { exact: true }).fill(question)
    await form.getByRole('textbox', { name: 'Score stands after' }).fill('')
    await form.getByRole('textbox', { name: 'Max new tokens' }).fill('8')
    await page.getByRole('textbox', { name: 'Completion', exact: true }).fill('3 8 5')
    await picture('judge-form')
    await page.getByRole('button', { name: 'Dry-run' }).click()
    const results = page.getByRole('table', { name: 'Results' })
    await expect(results.getByRole('columnheader', { name: 'judge.answer' })).toBeVisible()
    await expect(results.getByRole('row')).toHaveCount(2)
    expect(await seriousProblems(page)).toEqual([])
    await picture('judge-tried')
  })

  await test.step('behind an address, what is sent there is said', async () => {
    await form.getByRole('radio', { name: 'Behind an address' }).click()
    await expect(form.getByText(/are sent to this address/)).toBeVisible()
    await page.setViewportSize({ width: 390, height: 844 })
    await picture('judge-narrow')
    expect(await seriousProblems(page)).toEqual([])
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  await test.step('a run learns from it, and its samples show what it said', async () => {
    const runId = await trainDemo(app.client, {
      rewards: [{ function: 'judge', name: 'grader', settings }],
      steps: 1,
      evaluation: { every: 0, rows: 2 },
    })
    await app.go(`/runs/${runId}/samples`)
    const said = page.getByRole('region', { name: 'What the judge said' })
    await expect(said.getByText('grader', { exact: true })).toBeVisible()
    await expect(said.getByText(/^score \d|^gave no score/)).toBeVisible()
    const [sample] = await app.client.call('samples.list', { runId, step: 1, source: 'rollout' })
    expect(Object.keys(sample?.logged ?? {})).toEqual(['grader.score', 'grader.answer'])
    await expect(page.getByRole('region', { name: 'Logged by the reward' })).toHaveCount(0)
    expect(await seriousProblems(page)).toEqual([])
    await picture('judge-sample')
  })

  await test.step('the check of a config says what a judge lacks', async () => {
    const answer = await app.client.call('runs.check', {
      config: demoConfig({ rewards: [{ function: 'judge' }] }),
    })
    expect(answer).toMatchObject({ problems: [{ path: 'rewards[0].settings.model' }] })
  })
})
