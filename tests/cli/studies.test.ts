import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { StudyEntry } from '#shared/api/studies.ts'
import type { RunEntry } from '#shared/runs.ts'
import { starterConfig } from '../host/runs/runFixture.ts'
import { createWorkplace, killGroup, linesOf } from './turnwise.ts'

const place = createWorkplace()

afterAll(() => {
  place[Symbol.dispose]()
})

const rate = 'optimization.learningRate'
const small = { ...starterConfig, steps: 4, evaluation: { every: 4, rows: 2 }, checkpoints: { every: 2 } }
const sweep = { method: 'grid', points: 2, parameters: { [rate]: { min: 1e-4, max: 1e-2 } } }
place.write('sweep.yaml', stringify({ ...small, name: 'rates', sweep }))
const mutation = { probability: 1, elite: false, parameters: { [rate]: { min: 1e-4, max: 1e-2 } } }
place.write('population.json', { ...small, population: { size: 2, every: 2, mutation } })

const entryOf = (stdout: string): StudyEntry => linesOf(stdout).at(-1) as StudyEntry

test('a sweep from a YAML file tells every result and the best, and its runs are listed', async () => {
  const checked = await place.run('sweep', 'sweep.yaml', '--check')
  expect(checked).toMatchObject({ status: 0, stdout: '2 trials of 4 steps (8 steps in all), 1 at a time.\n' })
  const done = await place.run('sweep', 'sweep.yaml')
  expect(done.status).toBe(0)
  expect(done.stderr.match(/^Trial \d, step 4: eval_reward /gm)).toEqual([
    'Trial 1, step 4: eval_reward ',
    'Trial 2, step 4: eval_reward ',
  ])
  expect(done.stdout).toMatch(/^Best +trial \d at step 4: \d/m)
  const [, id = ''] = /^Study (st_\S+)/m.exec(done.stdout) ?? []
  const listed = await place.run('runs', 'list', '--of', id.slice(-8), '--json')
  const [{ runs }] = linesOf(listed.stdout) as [{ runs: RunEntry[] }]
  expect(runs.map(({ name, trial }) => [name, trial])).toEqual([
    ['rates · trial 1', 0],
    ['rates · trial 2', 1],
  ])
  const wrong = await place.run('population', 'sweep.yaml')
  expect(wrong.stderr).toContain('turnwise sweep sweep.yaml')
  expect(wrong.status).toBe(1)
})

test('a population whose command and members are killed comes to what it would have come to', async () => {
  const undisturbed = entryOf((await place.run('--json', 'population', 'population.json')).stdout)
  const killed = place.start('population', 'population.json')
  await killed.printed('Study st_')
  const id = readdirSync(place.path('home/studies')).sort().at(-1) ?? ''
  const log = place.path(`home/studies/${id}/log.jsonl`)
  while (!readFileSync(log, 'utf8').includes('"result"')) await setTimeout(20)
  killGroup(killed)
  await killed.finished
  const shown = await place.run('--json', 'studies', 'show', id)
  expect(entryOf(shown.stdout).status).toBe('interrupted')
  const resumed = entryOf((await place.run('--json', 'studies', 'resume', id)).stdout)
  const outcome = ({ trials }: StudyEntry) =>
    trials.map(({ settings, parent, results }) => [
      settings,
      parent,
      results.map(({ step, fitness, tokens }) => [step, fitness, tokens]),
    ])
  expect(resumed.status).toBe('finished')
  expect(outcome(resumed)).toEqual(outcome(undisturbed))
})

test('Ctrl-C keeps what is done, and says how to go on', async () => {
  const running = place.start('sweep', 'sweep.yaml')
  await running.printed('Study st_')
  await setTimeout(1500)
  running.child.kill('SIGINT')
  const { status, stderr } = await running.finished
  expect(status).toBe(1)
  expect(stderr).toMatch(/The study was stopped.*To resume: turnwise studies resume st_/s)
})
