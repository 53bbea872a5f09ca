/** The data directory goes away under a run. */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../eventually.ts'
import { answer, createWorkplace, killGroup, type Running } from './turnwise.ts'

const place = createWorkplace()
const home = place.path('home')

beforeAll(async () => {
  await answer('model', 'random', '--shape', 'tiny-llama', '--out', place.path('model'))
  place.write('rows.csv', 'prompt,answer\n1+1=,2\n2+2=,4\n')
  place.write('run.json', {
    model: 'model',
    data: { train: 'rows.csv' },
    rewards: [{ function: 'length-penalty' }],
    adapter: { rank: 2, alpha: 4 },
    rollout: { promptsPerStep: 1, groupSize: 2, maxNewTokens: 4 },
    optimization: { minibatchSize: 2 },
    checkpoints: { every: 5 },
    device: { threads: 1 },
    steps: 100_000,
  })
})

const started: Running[] = []

afterAll(() => {
  for (const running of started) if (running.child.exitCode === null) killGroup(running)
  place[Symbol.dispose]()
})

/** `turnwise train` that has done a step. */
async function train() {
  const running = place.start('train', place.path('run.json'))
  started.push(running)
  await eventually(() => {
    const [name = ''] = readdirSync(place.path('home/runs')).filter((each) => each.startsWith('run_'))
    if (!readFileSync(place.path(`home/runs/${name}/events.jsonl`), 'utf8').includes('"type":"step"'))
      throw new Error('No step yet.')
  })
  return running
}

/** Node's rmSync leaves files, without an error, where some are written meanwhile. */
function removeHome(): void {
  while (existsSync(home)) rmSync(home, { recursive: true })
}

test.skipIf(process.platform === 'win32').each([
  ['removed', removeHome],
  ['moved', () => renameSync(home, place.path('moved'))],
])('%s: the command says so and fails, and nothing is made in its place', async (_name, act) => {
  const running = await train()
  act()
  const { status, stdout, stderr } = await running.finished
  expect(stderr).toContain('no longer exists: it was removed or moved during training.')
  expect(status).toBe(1)
  expect(stdout).not.toMatch(/Stopped|Finished|Checkpoint/)
  expect(existsSync(home)).toBe(false)
})
