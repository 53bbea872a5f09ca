/** What is shown of a history made by history.ts: a name, a route and what a person would press there. */
import type { Page } from '@playwright/test'
import type { Api } from '#shared/api/api.ts'
import type { Client } from '#shared/api/client.ts'
import { places, viewRoute } from '#shared/places.ts'

export interface Scene {
  readonly name: string
  readonly route: string
  readonly prepare?: (page: Page) => Promise<void>
}

const press = (name: string | RegExp) => async (page: Page) => {
  await page.getByRole('button', { name }).first().click()
}

/**
 * Without the draft that the last pictures left in the history: its paths may be those of another installation, its choices those of
 * another picture.
 */
export async function forgetDrafts(client: Client<Api>): Promise<void> {
  for (const key of ['newRun.draft', 'newRun.aside'] as const)
    await client.call('settings.set', { key, value: null })
}

/** The draft is kept: the second picture finds it filled in. */
async function fillIn(page: Page): Promise<void> {
  const fill = page.getByRole('button', { name: 'Fill in the sample run' })
  const verdict = page.getByText('The settings fit together')
  await fill.or(verdict).first().waitFor()
  if (await fill.isVisible()) await fill.click()
  await page.getByRole('radio', { name: 'Run', exact: true }).click()
  await verdict.waitFor()
}

async function choosePopulation(page: Page): Promise<void> {
  await fillIn(page)
  await page.getByRole('radio', { name: 'Population' }).click()
  await page.getByText(/6 members, \d+ at a time/).waitFor()
}

async function dryRun(page: Page): Promise<void> {
  await press(/^Dry-run/)(page)
  await page.getByRole('tabpanel').getByRole('row').nth(5).waitFor()
}

async function generate(page: Page): Promise<void> {
  await press('Generate')(page)
  await page.getByRole('button', { name: 'They are alike' }).waitFor()
}

/** Asked twice, with the tokens of an answer. */
async function talk(page: Page): Promise<void> {
  for (const text of ['Reverse 7 2 5', 'What is 17 plus 26?']) {
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill(text)
    await press('Send')(page)
    await page.getByRole('button', { name: 'Send' }).waitFor()
    await page.waitForTimeout(1000)
  }
  await page
    .getByRole('button', { name: /^Token probabilities/ })
    .last()
    .click()
  await page.locator('[data-token="0"]').hover()
}

/** On a row whose first answer is wrong; what is tried is kept for the second picture. */
async function playEpisode(page: Page): Promise<void> {
  const trial = page.getByRole('region', { name: 'Trial' })
  if (!(await trial.getByRole('list', { name: 'Rewards' }).isVisible())) {
    await trial.getByRole('button', { name: 'Add reward' }).click()
    await page.getByRole('menuitem', { name: /^starter-correct/ }).click()
    await trial.getByRole('textbox', { name: 'Max new tokens' }).fill('12')
    await trial.getByRole('textbox', { name: /^Row of/ }).fill('2')
  }
  await press('Play')(page)
  await page.getByRole('region', { name: 'Result' }).waitFor()
}

/** The checkpoint that was evaluated beside its base model. */
async function byTask(page: Page): Promise<void> {
  await page
    .getByRole('row', { name: /arith-grpo-1, step 30/ })
    .last()
    .click()
  await page.getByLabel('Column', { exact: true }).selectOption('task')
}

/** The best member stands out with those it descends from. */
async function followLine(page: Page): Promise<void> {
  await page.getByRole('treeitem').first().focus()
  await page.keyboard.press('End')
}

/** Places that are pictured with something chosen. */
const isBelow = new Set(['playground', 'settings'])

const place = (name: string, route: string, prepare?: Scene['prepare']): Scene =>
  prepare === undefined ? { name, route } : { name, route, prepare }

async function studyScenes(client: Client<Api>): Promise<readonly Scene[]> {
  const { studies } = await client.call('studies.list', undefined)
  const routeOf = (wanted: string) =>
    `#/runs/studies/${studies.find(({ name }) => name === wanted)?.id ?? ''}`
  return [
    place('studies', '#/runs/studies'),
    place('study-population', routeOf('arith-population'), followLine),
    place('study-sweep', `${routeOf('arith-sweep')}?tab=trials`),
    place('study-settings', `${routeOf('arith-sweep')}?tab=settings`),
    place('study-seeds', routeOf('arith-seeds')),
  ]
}

/** A base model and what was trained on it, side by side. */
function besideScenes(base: string, trained: string): readonly Scene[] {
  const [one, other] = [base, trained].map(encodeURIComponent)
  return [
    place(
      'vote',
      `#/playground/vote?a=${one ?? ''}&b=${other ?? ''}&prompt=Reverse%207%200%202%205`,
      generate,
    ),
    place('chat', `#/playground/chat?a=${other ?? ''}&b=${one ?? ''}`, talk),
  ]
}

export async function scenesOf(client: Client<Api>): Promise<readonly Scene[]> {
  const runs = await client.call('runs.list', {})
  const dataSets = await client.call('datasets.list')
  const rewards = await client.call('rewards.list', {})
  const named = (name: string) => runs.find((run) => run.name === name)?.id ?? ''
  const versionId = dataSets.find(({ name }) => name === 'demo-tasks')?.versions[0]?.id ?? ''
  const codeNamed = (wanted: string) => rewards.find(({ name }) => name === wanted)?.id ?? ''
  const firstOf = (wanted: string) => rewards.find(({ kind }) => kind === wanted)?.id ?? ''
  const run = named('arith-grpo-1')
  const additions = named('Additions with SmolLM2-135M')
  const base = runs.find(({ name }) => name === 'arith-grpo-1')?.model
  const several = ['arith-grpo-1', 'arith-grpo-2', 'arith-grpo-3', 'arith-slow', 'arith-ppo']
    .map(named)
    .join(',')
  return [
    ...places.flatMap(({ id, route }) => (isBelow.has(id) ? [] : [place(id, `#${route}`)])),
    place('evaluations', '#/playground/evaluate', byTask),
    place('data-rows', `#/data/${versionId}`),
    ...['prompt', 'lengths', 'split', 'difficulty'].map((tab) =>
      place(`data-${tab}`, `#/data/${versionId}?tab=${tab}`),
    ),
    place('reward', `#/rewards/${codeNamed('Exact match')}`, dryRun),
    place('environment', `#/rewards/environments/${firstOf('environment')}`),
    place('loss', `#/rewards/losses/${firstOf('loss')}`),
    place('workflow', `#/rewards/workflows/${codeNamed('Self-correction')}`, playEpisode),
    place('new-run', '#/new-run', fillIn),
    place('new-study', '#/new-run', choosePopulation),
    ...['overview', 'diagnosis', 'checkpoints', 'config', 'log'].map((tab) =>
      place(`run-${tab}`, `#/runs/${run}/${tab}`),
    ),
    // Of examples/additions, where it was trained.
    ...(additions === '' ? [] : [place('run-real', `#/runs/${additions}/overview`)]),
    // While answers still differ.
    place('run-samples', `#/runs/${run}/samples?step=6`),
    ...(await studyScenes(client)),
    place('compare', `#/runs/compare?runs=${several}`),
    ...besideScenes(base ?? '', `${base ?? ''}~${run}@30`),
    place('model', '#/models/starter'),
    place('find-model', '#/models/browse'),
    place('export', `#/models/export?run=${run}&step=30`),
    ...(['machine', 'access', 'storage', 'appearance'] as const).map((page) =>
      place(`settings-${page}`, `#${viewRoute(page)}`),
    ),
    place('palette', '#/', async (page) => {
      await page.keyboard.press('Control+k')
    }),
  ]
}
