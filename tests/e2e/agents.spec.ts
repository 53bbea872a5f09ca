/** An agent of one's own: chosen in New run, let in by the run's page, and what the model learns from. */
import { expect, seriousProblems, test, untilEnded } from './support.ts'

interface Session {
  readonly id: string | null
  readonly over: boolean
  readonly base_url: string
  readonly columns: { readonly prompt: string; readonly answer: string }
}

/** Plays sessions until the run is over, so many at a time; returns the number of sessions that ended. */
async function act(address: string, key: string, beside: number): Promise<number> {
  const post = async <T>(url: string, body: object): Promise<T> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    })
    expect(response.status).toBe(200)
    return (await response.json()) as T
  }
  let ended = 0
  const loop = async () => {
    for (;;) {
      const session = await post<Session>(`${address}/sessions`, {})
      if (session.over) return
      if (session.id === null) continue
      const { prompt, answer } = session.columns
      const { choices } = await post<{ choices: readonly { message: { content: string } }[] }>(
        `${session.base_url}/chat/completions`,
        { model: 'policy', messages: [{ role: 'user', content: prompt }] },
      )
      const reward = choices[0]?.message.content.trim() === answer ? 1 : 0
      await post(`${address}/sessions/${session.id}/end`, { reward })
      ended++
    }
  }
  await Promise.all(Array.from({ length: beside }, loop))
  return ended
}

test('a run is set up for an agent, shows its address, and learns from 32 sessions at once', async ({
  app,
}) => {
  const { page, client } = app
  await app.open('/new-run')
  await page.getByRole('button', { name: 'Fill in the sample run' }).click()
  await expect(page.getByText('The settings fit together')).toBeVisible()
  const step = (name: string) =>
    page.getByRole('heading', { level: 2, name: new RegExp(`(^|[^a-z])${name}`) }).getByRole('button')
  await step('Reward').click()
  await page.getByRole('radio', { name: 'My agent' }).click()
  await expect(page.getByText('A program of yours acts')).toBeVisible()
  const remove = page.getByRole('button', { name: /^Remove/ })
  while ((await remove.count()) > 0) await remove.first().click()
  await expect(step('Reward')).toContainText('My agent')
  expect(await seriousProblems(page)).toEqual([])
  await step('Method').click()
  await page.getByRole('textbox', { name: 'Steps', exact: true }).first().fill('3')
  await page.getByRole('button', { name: /^All settings/ }).click()
  await page.getByRole('searchbox', { name: 'Search settings' }).fill('port')
  await page.getByRole('textbox', { name: 'Port' }).fill('0')
  await page
    .getByRole('button', { name: /^Check/ })
    .first()
    .click()
  await page
    .getByRole('button', { name: /^Start run/ })
    .first()
    .click()
  await page.waitForURL(/#\/runs\/run_/)
  const runId = /run_[0-9a-f-]+/.exec(page.url())?.[0] ?? ''

  const agents = page.getByRole('region', { name: 'Agents' })
  await expect(agents.locator('code')).toHaveCount(2)
  const [address = '', key = ''] = await agents.locator('code').allTextContents()
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(await seriousProblems(page)).toEqual([])
  const ended = await act(address, key, 32)
  expect(await untilEnded(client, runId)).toBe('finished')
  await expect(agents).toBeHidden()

  const { config } = await client.call('runs.get', { runId })
  const { rollout, rewards } = JSON.parse(config) as {
    rewards: unknown
    rollout: { promptsPerStep: number; groupSize: number; agent: object }
  }
  expect(rollout.agent).toMatchObject({ port: 0 })
  expect(rewards ?? []).toEqual([])
  expect(ended).toBeGreaterThanOrEqual(3 * rollout.promptsPerStep * rollout.groupSize)
})
