/** Distillation: a teacher that another host serves behind an address, whose key is allowed, and the run's log for Weights & Biases. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { writeStudent } from '../host/training/student.ts'
import { connectTo, type SharedHosts } from './host.ts'
import { expect, expectNoProblems, seriousProblems, test, untilEnded } from './support.ts'

const variable = 'TEACHER_KEY'

/** The starter model as another program serves it; `stop` ends the host. */
async function serveTeacher(hosts: SharedHosts) {
  const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-teacher-'))
  const host = await hosts.start(directory)
  const client = await connectTo(host.url)
  await client.call('serving.start', { model: 'starter' })
  const status = await client.call('serving.status')
  if (status.state !== 'on') throw new Error(`Expected a server that is on, got ${status.state}.`)
  return {
    address: new URL(status.address).origin,
    key: status.key,
    async stop() {
      client.close()
      await host.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

test('a run learns from a teacher behind an address, and writes its log for Weights & Biases', async ({
  app,
  hosts,
}) => {
  const { page, dataDirectory } = app
  const teacher = await serveTeacher(hosts)
  Object.assign(process.env, { [variable]: teacher.key })
  try {
    await app.restart()
  } finally {
    Reflect.deleteProperty(process.env, variable)
  }
  const student = path.join(dataDirectory, 'student')
  await writeStudent(student)
  for await (const item of app.client.stream('models.import', { path: student, name: 'student' }))
    expect(item).toBeDefined()

  await app.open('/new-run')
  await page.getByRole('button', { name: 'Fill in the sample run' }).click()
  await expect(page.getByText('The settings fit together')).toBeVisible()
  const step = (name: string) => page.getByRole('heading', { level: 2, name }).getByRole('button')
  await page.getByRole('button', { name: 'Model: starter' }).click()
  await page.getByRole('option', { name: /student/ }).click()
  await step('Method').click()
  await page.getByRole('radio', { name: 'Distillation' }).click()
  await page.getByRole('button', { name: /^All settings/ }).click()
  const search = page.getByRole('searchbox', { name: 'Search settings' })
  await search.fill('teacher')
  await page.getByRole('radiogroup', { name: 'Teacher behind an address' }).getByText('vLLM').click()
  await page.getByRole('textbox', { name: 'Address of the teacher' }).fill(teacher.address)
  await page.getByRole('textbox', { name: 'Variable with the teacher’s key' }).fill(variable)
  await search.fill('wandb')
  await page.getByRole('switch', { name: 'Weights & Biases' }).click()
  await page.getByRole('textbox', { name: 'Steps', exact: true }).first().fill('3')
  const aside = page.getByRole('complementary', { name: 'The run' })
  await expect(aside.getByText(new RegExp(`^Sending the value of ${variable}`))).toBeVisible()
  await aside.getByRole('button', { name: 'Allow…' }).click()
  const question = page.getByRole('dialog', { name: 'Send this key?' })
  await expect(question.getByText(teacher.address, { exact: true })).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
  await question.getByRole('button', { name: 'Allow' }).click()
  await expect(page.getByText('The settings fit together')).toBeVisible()
  await expectNoProblems(page)

  const main = page.locator('main header')
  await main.getByRole('button', { name: /^Check/ }).click()
  await main.getByRole('button', { name: /^Start run/ }).click()
  await page.waitForURL(/#\/runs\/run_/)
  const runId = /run_[0-9a-f-]+/.exec(page.url())?.[0] ?? ''
  expect(await untilEnded(app.client, runId)).toBe('finished')
  await teacher.stop()

  const divergence = await app.client.call('metrics.series', { runIds: [runId], metric: 'kl' })
  const values = (divergence.runs[0]?.points ?? []).map(({ mean }) => mean)
  expect(values).toHaveLength(3)
  for (const value of values) expect(value).toBeGreaterThan(0.1) // of the model itself it would be 0
  await expect(page.getByText(/^Distillation · student ·/).first()).toBeVisible()
  const chart = page.getByRole('region', { name: 'KL', exact: true })
  await expect(chart.locator('.recharts-line-curve').first()).toBeAttached()
  await expectNoProblems(page)
  const { directory } = await app.client.call('runs.get', { runId })
  const [offline = ''] = readdirSync(path.join(directory, 'wandb'))
  expect(offline).toMatch(/^offline-run-/)
  expect(readdirSync(path.join(directory, 'wandb', offline))).toContainEqual(
    expect.stringMatching(/^run-.*\.wandb$/),
  )
})
