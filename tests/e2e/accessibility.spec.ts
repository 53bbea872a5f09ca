import type { Api } from '#shared/api/api.ts'
import type { Client } from '#shared/api/client.ts'
import { places } from '#shared/keyTable.ts'
import { reflowProblems } from './reflow.ts'
import { demoConfig, demoFile, expect, seriousProblems, starter, test, trainDemo } from './support.ts'

/** A little of everything, so that no screen is empty; resolves with the routes of all of them. */
async function furnish(client: Client<Api>): Promise<readonly string[]> {
  const settings = { steps: 3, rollout: { promptsPerStep: 4, groupSize: 4, maxNewTokens: 16 } }
  const run = await trainDemo(client, { ...settings, name: 'first', checkpoints: { every: 1 } })
  const other = await trainDemo(client, { ...settings, name: 'second', seed: 2 })
  let versionId = ''
  const source = { path: demoFile('heldout.jsonl') }
  for await (const item of client.stream('datasets.import', { source, name: 'tasks' })) {
    if ('result' in item) versionId = item.result.version.id
  }
  const gallery = await client.call('rewards.gallery')
  const code = (kind: 'reward' | 'environment') =>
    gallery.find((each) => each.kind === kind && each.code !== null)!
  const create = async (kind: 'reward' | 'environment') => {
    const { id } = await client.call('rewards.create', { kind, name: `my ${kind}` })
    await client.call('rewards.save', {
      rewardId: id,
      language: code(kind).language!,
      code: code(kind).code!,
    })
    return id
  }
  const mutation = { parameters: { 'optimization.learningRate': { min: 1e-4, max: 1e-2 } } }
  const { id: study } = await client.call('studies.start', {
    file: { ...demoConfig(settings), population: { size: 2, every: 2, mutation } },
  })
  const [reward, environment] = [await create('reward'), await create('environment')]
  for (const step of [null, 3]) await client.call('evaluations.start', { subject: { runId: run, step } })
  await expect
    .poll(async () => (await client.call('evaluations.list', {})).map(({ status }) => status))
    .toEqual(['finished', 'finished'])
  await expect.poll(async () => (await client.call('studies.get', { id: study })).status).toBe('finished')
  const tabs = (route: string, names: readonly string[]) => names.map((name) => route.replace('*', name))
  return [
    ...places.map(({ route }) => route),
    `/data/${versionId}`,
    ...tabs(`/data/${versionId}?tab=*`, ['prompt', 'lengths', 'split', 'difficulty', 'answers', 'problems']),
    `/rewards/${reward}`,
    `/rewards/${environment}`,
    '/new-run',
    `/new-run?data=${versionId}&model=${encodeURIComponent(starter)}`,
    ...tabs(`/runs/${run}/*`, ['overview', 'samples', 'diagnosis', 'checkpoints', 'config', 'log']),
    ...tabs(`/studies/${study}?tab=*`, ['lineage', 'trials']),
    `/compare?runs=${run},${other}`,
    '/evaluations?new=any',
    '/models/starter',
    '/models/browse',
    `/models/export?run=${run}&step=3`,
    ...tabs('/settings/*', ['devices', 'storage', 'privacy', 'keys', 'appearance', 'self-test', 'about']),
    '/nowhere',
  ]
}

test('no screen has a serious or critical fault in light, dark or high contrast', async ({ app }) => {
  const { page, client } = app
  const routes = await furnish(client)
  await app.open()
  const problems: string[] = []
  for (const theme of ['light', 'dark', 'contrast']) {
    await client.call('settings.set', { key: 'appearance.theme', value: theme })
    await expect(page.locator('html')).toHaveAttribute('data-theme', theme)
    for (const route of routes) {
      await app.go(route)
      await expect(page.locator('main h1')).toBeVisible()
      await page.waitForTimeout(300)
      await expect(page.locator('main p[role=status]').filter({ hasText: /…$/ })).toHaveCount(0) // all has been read
      const found = await test.step(`${theme} ${route}`, () => seriousProblems(page))
      problems.push(...found.map((problem) => `${theme} ${route}: ${problem}`))
    }
  }
  expect(problems).toEqual([])
})

/** A phone, a usual window at 200 % zoom, and a small laptop. */
const sizes = [
  { width: 390, height: 844 },
  { width: 720, height: 450 },
  { width: 1024, height: 640 },
]

test('every screen fits into a phone, into a zoomed and into a small window', async ({ app }) => {
  const { page, client } = app
  const routes = await furnish(client)
  await app.open()
  const problems: string[] = []
  for (const size of sizes) {
    await page.setViewportSize(size)
    for (const route of routes) {
      await app.go(route)
      await expect(page.locator('main h1')).toBeAttached()
      await page.waitForTimeout(300)
      await expect(page.locator('main p[role=status]').filter({ hasText: /…$/ })).toHaveCount(0) // all has been read
      const found = await test.step(`${String(size.width)} px ${route}`, () => reflowProblems(page))
      problems.push(...found.map((problem) => `${String(size.width)} px ${route}: ${problem}`))
    }
  }
  expect(problems).toEqual([])
})

test('every empty screen says what it is for', async ({ app }) => {
  const { page } = app
  await app.open()
  for (const route of ['/', '/data', '/rewards', '/runs', '/studies', '/compare', '/models']) {
    await app.go(route)
    await expect(page.locator('main h1')).toBeVisible()
    await expect(page.locator('main').getByRole('button').first()).toBeVisible()
    expect(await seriousProblems(page)).toEqual([])
  }
})
