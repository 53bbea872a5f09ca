import { globSync, readdirSync, readFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { RunEntry } from '#shared/runs.ts'
import { eventually } from '../eventually.ts'
import { starterConfig } from '../host/runs/runFixture.ts'
import { createWorkplace, linesOf } from './turnwise.ts'
import { isWhole, wholeTitle } from '../sweeps.ts'

const place = createWorkplace()

afterAll(() => {
  place[Symbol.dispose]()
})

const rate = 'optimization.learningRate'
const small = { ...starterConfig, steps: 2, evaluation: { every: 2, rows: 2 }, checkpoints: { every: 2 } }
const sweep = { method: 'grid', points: 2, parameters: { [rate]: { min: 1e-4, max: 1e-2 } } }
place.write('measured.yaml', stringify({ ...small, name: 'rates', sweep }))
place.write('sweep.yaml', stringify({ ...small, name: 'rates', parallel: 1, sweep }))

test('a sweep from a YAML file tells every result and the best, and its runs are listed', async () => {
  const checked = await place.run('sweep', 'measured.yaml', '--check')
  expect(checked.status).toBe(0)
  expect(checked.stdout).toMatch(/^Trials +2 trials of 2 steps: 4 steps in all$/m)
  expect(checked.stdout).toMatch(
    /^Sharing +2 trials, [12] at a time: \d+ cores? \/ 1 thread each\. Memory: .* free\.$/m,
  )
  expect(checked.stdout).toMatch(/^Time +\d+(–\d+)? (s|min)$/m)
  expect(readdirSync(place.path('home'))).not.toContain('runs')
  const done = await place.run('sweep', 'sweep.yaml')
  expect(done.status).toBe(0)
  expect(done.stderr.match(/^Trial \d, step 2: eval_reward /gm)?.toSorted()).toEqual([
    'Trial 1, step 2: eval_reward ',
    'Trial 2, step 2: eval_reward ',
  ])
  expect(done.stdout).toMatch(/^Best +trial \d at step 2: \d/m)
  const [, id = ''] = /^Study (st_\S+)/m.exec(done.stdout) ?? []
  const listed = await place.run('runs', 'list', '--of', id.slice(-8), '--json')
  const [{ runs }] = linesOf(listed.stdout) as [{ runs: RunEntry[] }]
  expect(runs.map(({ name, trial }) => [name, trial])).toEqual([
    ['rates · trial 1', 0],
    ['rates · trial 2', 1],
  ])
  const shown = await place.run('studies', 'show', id)
  expect(shown.stdout).toContain('Importance of settings: 2 results, which are too few; it takes 12.')
  const promoted = await place.run('studies', 'promote', id.slice(-8), '--name', 'winner')
  expect(promoted.stdout).toMatch(
    /^Promoted trial \d at step 2 \(eval_reward \S+\) to the adapter winner\.$/m,
  )
  const exported = await place.run('export', 'winner', '--format', 'peft', '--out', 'adapter')
  expect(exported).toMatchObject({ status: 0, stdout: expect.not.stringContaining('FAILED') as string })
  const written = await place.run('studies', 'export', id, '--trial', '2', '--out', 'best.json')
  expect(written.stdout).toBe('Wrote best.json. To train it: turnwise train best.json\n')
  expect(JSON.parse(readFileSync(place.path('best.json'), 'utf8'))).toMatchObject({
    name: 'rates · trial 2',
    steps: 2,
    optimization: { learningRate: 1e-2 },
  })
  const wrong = await place.run('population', 'sweep.yaml')
  expect(wrong.stderr).toContain('turnwise sweep sweep.yaml')
  expect(wrong.status).toBe(1)
})

test.runIf(isWhole)(wholeTitle('Ctrl-C keeps what is done, and says how to go on'), async () => {
  const begun = () => globSync('home/runs/*/events.jsonl', { cwd: place.folder }).length
  const before = begun()
  const running = place.start('sweep', 'sweep.yaml')
  await running.printed('Study st_')
  await eventually(() => expect(begun()).toBeGreaterThan(before))
  running.child.kill('SIGINT')
  const { status, stderr } = await running.finished
  expect(status).toBe(1)
  expect(stderr).toMatch(/The study was stopped.*To resume: turnwise studies resume st_/s)
})

const seeds = 'runs over seeds are one thing: a mean with its 95 % interval, in lists and comparisons'
test.runIf(isWhole)(wholeTitle(seeds), async () => {
  place.write('seeds.yaml', stringify({ ...small, name: 'alike', parallel: 1, seeds: { values: 2 } }))
  const done = await place.run('seeds', 'seeds.yaml')
  const mean = String.raw`-?\d+\.\d{3}(?: \(-?\d+\.\d{3} to -?\d+\.\d{3}\))?`
  expect(done.stdout).toMatch(new RegExp(`^Mean +${mean} {2}\\(with 95 % interval over 2 seeds\\)$`, 'm'))
  const [, id = ''] = /^Study (st_\S+)/m.exec(done.stdout) ?? []
  const listed = await place.run('runs', 'list', '--of', id)
  const words = 'Mean with 95 % interval over 2 seeds of alike at step 2'
  expect(listed.stdout).toMatch(new RegExp(`^${words}: reward ${mean}, eval after ${mean}$`, 'm'))
  const runs = listed.stdout.match(/run_\S+/g) ?? []
  const compared = await place.run('runs', 'compare', runs[0] ?? '', runs[1] ?? '', '--metric', 'reward')
  expect(compared.stdout).toMatch(new RegExp(`^${words}:\n  reward  ${mean}$`, 'm'))
})
