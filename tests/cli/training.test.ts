import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answer, createWorkplace, killGroup, linesOf, type Finished, type Running } from './turnwise.ts'
import { isWhole, wholeTitle } from '../sweeps.ts'

const place = createWorkplace()
const settings = {
  name: 'tiny',
  model: 'model',
  data: { train: 'rows.csv', heldOut: 'rows.csv' },
  rewards: [{ function: 'length-penalty' }, { function: 'starter-format', weight: 0.5 }],
  adapter: { rank: 2, alpha: 4 },
  algorithm: { settings: { klCoefficient: 0.05 } },
  rollout: { promptsPerStep: 2, groupSize: 3, maxNewTokens: 6 },
  optimization: { learningRate: 0.02, minibatchSize: 3, schedule: 'cosine', warmupProportion: 0.2 },
  evaluation: { every: 4 },
  checkpoints: { every: 2, keepLast: 2 },
  device: { threads: 2 }, // micro-batches are then learned from at the same time, on any machine
  steps: 8,
}

beforeAll(async () => {
  await answer('model', 'random', '--shape', 'tiny-llama', '--out', place.path('model'))
  place.write('rows.csv', 'prompt,answer\n1+1=,2\n2+2=,4\n"3, 4",7\n')
  place.write('run.json', settings)
})

afterAll(() => {
  place[Symbol.dispose]()
})

type Event = Record<string, unknown>
const eventsOf = ({ stdout }: Finished) => linesOf(stdout) as Event[]
const typed = (events: readonly Event[], type: string) => events.filter((event) => event['type'] === type)

/** What of a step must not depend on how long anything took. */
function timeless(events: readonly Event[]): unknown[] {
  return typed(events, 'step').map(({ step, metrics }) => [
    step,
    Object.entries(metrics as Record<string, number>).filter(([name]) => !/time|per_second/.test(name)),
  ])
}

function folderOf(run: Event): string {
  return String(run['directory'])
}

/** Every byte of what training made: adapters and optimizer of the last checkpoint. */
function trained(run: Event): Record<string, string> {
  const folder = path.join(folderOf(run), 'checkpoints', 'step-000008')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.safetensors'),
  )
  expect(files.length).toBe(3)
  return Object.fromEntries(
    files.sort().map((name) => [name, readFileSync(path.join(folder, name), 'base64')]),
  )
}

const logged = (run: Event) =>
  linesOf(readFileSync(path.join(folderOf(run), 'events.jsonl'), 'utf8')) as Event[]

/** A run that nothing disturbed. */
let undisturbed: Event[]
let undisturbedRun: Event

beforeAll(async () => {
  const done = await place.start('train', place.path('run.json'), '--json').finished
  expect(done).toMatchObject({ status: 0, stderr: expect.not.stringContaining('turnwise:') as string })
  undisturbed = eventsOf(done)
  undisturbedRun = undisturbed[0] as Event
})

describe('train', () => {
  test('with --json says everything as events on stdout', () => {
    expect(undisturbedRun).toMatchObject({ type: 'run', id: expect.stringMatching(/^run_/) as string })
    expect(typed(undisturbed, 'step').map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
    expect(typed(undisturbed, 'evaluation').map(({ step }) => step)).toEqual([0, 4, 8])
    expect(typed(undisturbed, 'checkpoint-saved').map(({ step }) => step)).toEqual([2, 4, 6, 8])
    expect(undisturbed.at(-1)).toMatchObject({ type: 'status', phase: 'finished', step: 8, steps: 8 })
    expect(undisturbed.every(({ at }) => typeof at === 'number')).toBe(true)
  })

  test('says what lies ahead before it begins', () => {
    const stage = { firstStep: 0, lastStep: 8, evaluateEvery: 4, heldOutRows: 3, expected: null }
    expect(typed(undisturbed, 'schedule')).toMatchObject([{ step: 0, stages: [stage] }])
  })

  test('keeps the same events in the run folder', () => {
    const withoutTime = (events: readonly Event[]) => events.map(({ at: _, ...event }) => event)
    expect(withoutTime(logged(undisturbedRun))).toEqual(withoutTime(undisturbed.slice(1)))
  })

  test('learns: the adapter moved', () => {
    const norms = typed(undisturbed, 'step').map(
      ({ metrics }) => (metrics as Record<string, number>)['grad_norm'],
    )
    expect(norms.some((norm) => (norm ?? 0) > 0)).toBe(true)
  })

  test('the run is in the list and can be looked at', async () => {
    const { id, directory } = undisturbedRun
    const list = await place.run('runs', 'list', '--json')
    const [{ runs }] = linesOf(list.stdout) as [{ runs: Event[] }]
    expect(runs.find((run) => run['id'] === id)).toMatchObject({
      name: 'tiny',
      status: 'finished',
      step: 8,
      steps: 8,
      algorithm: 'grpo',
    })
    const shown = await place.run('runs', 'show', String(id).slice(-12), '--json')
    const [run] = linesOf(shown.stdout) as [{ checkpoints: Event[] }]
    expect(run).toMatchObject({
      id,
      directory,
      rewardBefore: expect.any(Number) as number,
      rewardAfter: expect.any(Number) as number,
    })
    expect(run.checkpoints.map(({ step }) => step)).toEqual(expect.arrayContaining([6, 8]))
    expect((await place.run('runs', 'show', String(id))).stdout).toContain('finished, step 8 of 8')
    expect((await place.run('runs', 'restore', 'none')).stderr).toContain('turnwise runs trash shows')
  })

  test('is taken into another history as one file', async () => {
    const id = String(undisturbedRun['id'])
    const file = place.path('bundle.json')
    expect(await place.run('runs', 'export', id, '--out', file)).toMatchObject({ status: 0 })
    const other = ['--data-dir', place.path('other')]
    const imported = await place.run('runs', 'import', file, '--json', ...other)
    expect(linesOf(imported.stdout)).toEqual([{ run: id }])
    const shown = await place.run('runs', 'show', id, ...other)
    expect(shown.stdout).toContain('finished, step 8 of 8')
    const again = await place.run('runs', 'import', file, ...other)
    expect(again).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('already has this run') as string,
    })
  })

  test('a finished run has nothing to resume', async () => {
    const done = await place.run('resume', String(undisturbedRun['id']))
    expect(done).toMatchObject({ status: 0, stdout: expect.stringContaining('is finished') as string })
  })

  test('a wrong config is told before a run is made', async () => {
    const home = mkdtempSync(path.join(tmpdir(), 'turnwise-home-'))
    const wrong = place.write('wrong.json', { ...settings, stepz: 3, rollout: { temperature: 0 } })
    const done = await answer('train', wrong, '--json', '--data-dir', home)
    expect(done).toMatchObject({ status: 1, stdout: '' })
    expect(done.stderr).toMatch(
      /2 problems: .*rollout\.temperature: expected more than 0, got 0\..*stepz: unknown key\./,
    )
    const other = place.write('wrong.json', { ...settings, rewards: [{ function: 'no-such-reward' }] })
    const refused = await answer('train', other, '--json', '--data-dir', home)
    expect(refused).toMatchObject({ status: 1, stdout: '' })
    expect(refused.stderr).toContain('rewards[0]: There is no reward function called “no-such-reward”.')
    expect(readdirSync(home)).toEqual([])
    rmSync(home, { recursive: true })
  })

  test('what goes wrong in training is a sentence, in the log too', async () => {
    place.write('throws.js', 'export default () => { throw new Error("no such answer") }')
    const wrong = place.write('wrong.json', {
      ...settings,
      rewards: [{ function: 'throws.js' }],
      rewardFailures: 'fail',
    })
    const done = await place.run('train', wrong, '--json')
    expect(done.status).toBe(1)
    expect(done.stderr).toContain('no such answer')
    const [run] = eventsOf(done) as [Event]
    expect(logged(run).at(-1)).toMatchObject({ type: 'error', code: 'reward/failed' })
    const shown = await place.run('runs', 'show', folderOf(run), '--json')
    expect(linesOf(shown.stdout)).toEqual([expect.objectContaining({ status: 'failed' })])
  })
})

describe('a run that was disturbed ends with the same bytes', () => {
  /** Everything but the steps that were lost, and what they led to, as one undisturbed history. */
  function expectSameHistory(run: Event): void {
    const events = logged(run)
    const resumedAt = events.findIndex(({ type }) => type === 'resumed')
    const history = [...events.slice(0, Number(events[resumedAt]?.['keep'])), ...events.slice(resumedAt)]
    expect(timeless(history)).toEqual(timeless(undisturbed))
    expect(trained(run)).toEqual(trained(undisturbedRun))
  }

  /** What was left of a run that a signal reached in its fifth step; one that ended before the signal came is begun again. */
  async function disturbed(signal: (running: Running) => void, left: RegExp): Promise<Finished> {
    for (;;) {
      const running = place.start('train', place.path('run.json'), '--json')
      await running.printed('"type":"step","step":5,')
      signal(running)
      const done = await running.finished
      const [run] = eventsOf(done) as [Event]
      const look = async () =>
        linesOf((await place.run('runs', 'show', String(run['id']), '--json')).stdout)[0] as Event
      // A process that was killed is there until the system has taken it down.
      let { status, step } = await look()
      while (status === 'running') ({ status, step } = await look())
      if (status === 'finished' || step === 8) continue
      expect(status).toMatch(left)
      return done
    }
  }

  test('killed between checkpoints and resumed', async () => {
    const killed = await disturbed(killGroup, /^interrupted$/)
    const [run] = eventsOf(killed) as [Event]
    const resumed = await place.run('resume', String(run['id']), '--json')
    expect(resumed.status).toBe(0)
    expect(eventsOf(resumed).at(-1)).toMatchObject({ phase: 'finished', step: 8 })
    expectSameHistory(run)
  })

  const stopped = 'stopped by Ctrl-C and resumed from the folder of its checkpoint'
  test.runIf(isWhole)(wholeTitle(stopped), async () => {
    const stopped = await disturbed((running) => running.child.kill('SIGINT'), /^stopped$/)
    expect(stopped.status).toBe(0)
    expect(stopped.stderr).toContain('Stopping after this step; a checkpoint will be saved.')
    const events = eventsOf(stopped)
    const [run] = events as [Event]
    const saved = typed(events, 'checkpoint-saved').at(-1)
    expect(events.at(-1)).toMatchObject({ type: 'status', phase: 'stopped', step: saved?.['step'] })

    const resumed = await place.run('resume', String(saved?.['directory']), '--json')
    expect(resumed.status).toBe(0)
    expectSameHistory(run)
  })
})

test.runIf(isWhole)(wholeTitle('a second Ctrl-C stops at once, and says how to go on'), async () => {
  const running = place.start('train', place.write('long.json', { ...settings, steps: 10_000 }), '--json')
  await running.printed('"type":"step","step":2,')
  running.child.kill('SIGINT')
  running.child.kill('SIGINT') // signals of one kind may be delivered as one
  const again = setInterval(() => running.child.kill('SIGINT'), 5)
  const done = await running.finished
  clearInterval(again)
  const [run] = eventsOf(done) as [Event]
  if (done.status === 0) expect(eventsOf(done).at(-1)).toMatchObject({ phase: 'stopped' })
  else expect(done.stderr).toContain(`turnwise resume ${String(run['id'])}`)
})

/** The run of this workplace that is being trained. */
async function livingRun(): Promise<{ id: string; directory: string }> {
  const [{ runs }] = linesOf((await place.run('runs', 'list', '--json')).stdout) as [{ runs: Event[] }]
  const run = runs.find(({ status }) => status === 'running')
  return { id: String(run?.['id']), directory: String(run?.['directory']) }
}

test('a run that is being trained cannot be resumed; when its process dies, the command lives to report it', async () => {
  const running = place.start('train', place.write('long.json', { ...settings, steps: 10_000 }), '--json')
  await running.printed('"type":"step","step":1,')
  const { id, directory } = await livingRun()
  const refused = await place.run('resume', id)
  expect(refused.status).toBe(1)
  expect(refused.stderr).toMatch(/is being trained by process \d+/)

  process.kill(Number.parseInt(readFileSync(path.join(directory, 'lock'), 'utf8'), 10), 'SIGKILL')
  const done = await running.finished
  expect(done.status).toBe(1)
  expect(done.stderr).toContain('turnwise: The training process ended unexpectedly (signal SIGKILL).')
  expect(done.stderr).toContain(`turnwise resume ${id}`)
})

test.runIf(isWhole)(wholeTitle('a run with which something is wrong says so at its end too'), async () => {
  // An untrained model does not know how to end.
  const config = { ...settings, name: 'endless', steps: 6, evaluation: { every: 0 } }
  const { status, stdout, stderr } = await place.run('train', place.write('endless.json', config))
  expect(stderr).toMatch(/Problem after step \d+: .*truncated at 6 tokens\./)
  expect([status, stdout.trim().split('\n').at(-1)]).toEqual([
    0,
    expect.stringMatching(/truncated at 6 tokens\. What to change: turnwise runs diagnose run_/),
  ])
})
