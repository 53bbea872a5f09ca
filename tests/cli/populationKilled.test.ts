/** A population whose members and commands are killed at random moments; TURNWISE_KILLS sets how often (3). */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { StudyEntry } from '#shared/api/studies.ts'
import { historyFile } from '#host/createHost.ts'
import { livingOwner } from '#host/files/living.ts'
import { openRunFolder } from '#host/workFolder/runFolder.ts'
import { workHolder } from '#host/workFolder/workFolder.ts'
import { studyState } from '#host/workFolder/studyFolder.ts'
import { openStore } from '#host/store/store.ts'
import { learnedBy, starterConfig, tensorsOf } from '../host/runs/runFixture.ts'
import { casesOf, isWhole, wholeTitle } from '../sweeps.ts'
import { createWorkplace, killGroup, linesOf, type Running, type Workplace } from './turnwise.ts'

const kills = Number(process.env['TURNWISE_KILLS'] ?? 3)
const [steps, every] = [casesOf(4, 6), 2]
const range = { min: 1e-4, max: 1e-2 }
const mutation = {
  probability: 1,
  elite: false,
  parameters: { 'optimization.learningRate': range, 'optimization.criticLearningRate': range },
}
const file = {
  ...starterConfig,
  name: 'rates',
  steps,
  algorithm: { id: 'ppo' },
  device: { threads: 1 },
  parallel: 2,
  evaluation: { every, rows: 4 },
  checkpoints: { every: 1 },
  population: { size: casesOf(2, 3), every, mutation }, // of three, clones of clones are killed too
}

const places: Workplace[] = []
afterAll(() => {
  for (const place of places) place[Symbol.dispose]()
})

function placeWithFile(): Workplace {
  const place = createWorkplace()
  places.push(place)
  place.write('population.json', file)
  return place
}

const entryOf = (stdout: string): StudyEntry => linesOf(stdout).at(-1) as StudyEntry

/** All that a study comes to, without ids and what depends on the clock. */
function outcomeOf(place: Workplace, { trials, best, status }: StudyEntry) {
  using store = openStore(historyFile(place.path('home')))
  const indexOf = (id: string) => trials.findIndex(({ runId }) => runId === id)
  const members = trials.map(({ runId, results, ...trial }) => {
    const folder = openRunFolder(place.path('home'), runId ?? '')
    const last = results.at(-1)?.step ?? 0
    const { metrics, rows } = store.metrics.table(folder.id)
    const isClock = metrics.map((name) => /(^|_)time$|^time\/|per_second$/.test(name))
    return {
      ...trial,
      results: results.map(({ seconds: _, ...result }) => result),
      forkOf: folder.parent === null ? null : [indexOf(folder.parent.runId), folder.parent.step],
      learned: learnedBy(folder),
      tensors: tensorsOf(folder, last),
      metrics: metrics.filter((_, i) => isClock[i] === false),
      history: rows.map(({ step, values }) => [step, ...values.filter((_, i) => isClock[i] === false)]),
    }
  })
  return { status, members, best: best?.trial }
}

type Victim = 'member' | 'command' | 'both'

interface Moment {
  readonly victim: Victim
  /** Lines that are written before it, in the logs of the study and of its runs; then it takes so long. */
  readonly lines: number
  readonly milliseconds: number
}

/** Spread over a study that writes so many lines. */
function randomMoments(lines: number, random: SequentialRandom): Moment[] {
  const victims = ['member', 'command', 'both'] as const
  const shares = Array.from({ length: kills }, () => random.uniform())
  const sum = shares.reduce((total, share) => total + share, 0)
  return shares.map((share, i) => ({
    victim: victims[i % victims.length]!,
    lines: Math.floor((0.8 * lines * share) / sum),
    milliseconds: Math.floor(200 * random.uniform() ** 2),
  }))
}

const foldersIn = (place: Workplace, kind: 'studies' | 'runs'): string[] => {
  const folder = path.join(place.path('home'), kind)
  return existsSync(folder) ? readdirSync(folder).map((name) => path.join(folder, name)) : []
}

function linesWritten(place: Workplace): number {
  const logs = [
    ...foldersIn(place, 'studies').map((folder) => path.join(folder, 'log.jsonl')),
    ...foldersIn(place, 'runs').map((folder) => path.join(folder, 'events.jsonl')),
  ]
  return logs
    .filter((log) => existsSync(log))
    .reduce((sum, log) => sum + readFileSync(log, 'utf8').split('\n').length - 1, 0)
}

/** Kills it as soon as it is there. Returns whether the command is gone. */
async function kill(place: Workplace, victim: Victim, command: Running): Promise<boolean> {
  for (;;) {
    const pids =
      victim === 'member'
        ? foldersIn(place, 'runs').map((folder) => workHolder(folder))
        : foldersIn(place, 'studies').map((folder) => livingOwner(path.join(folder, 'lock')))
    const pid = pids.find((each) => each !== null)
    if (pid === undefined) {
      await setTimeout(5)
      continue
    }
    if (victim === 'both') killGroup(command)
    else process.kill(pid, 'SIGKILL')
    return victim !== 'member'
  }
}

/** Kills it and starts it again until all moments have passed; waits for its end. */
async function disturbed(place: Workplace, moments: readonly Moment[]): Promise<StudyEntry> {
  let command = place.start('population', 'population.json')
  const studyFolder = () => foldersIn(place, 'studies')[0] ?? ''
  const studyId = () => path.basename(studyFolder())
  for (const { victim, lines, milliseconds } of moments) {
    const target = linesWritten(place) + lines
    while (linesWritten(place) < target) await setTimeout(5)
    await setTimeout(milliseconds)
    if (!(await kill(place, victim, command))) continue
    await command.finished
    expect(['waiting', 'interrupted']).toContain(studyState(studyFolder()).status)
    command = place.start('--json', 'studies', 'resume', studyId())
  }
  await command.finished
  return entryOf((await place.run('--json', 'studies', 'show', studyId())).stdout)
}

// In every run studies.test.ts does that to a host and its members.
test.runIf(isWhole)(wholeTitle(`killed ${kills} times, it comes to what it would have come to`), async () => {
  const calm = placeWithFile()
  const expected = outcomeOf(
    calm,
    entryOf((await calm.run('--json', 'population', 'population.json')).stdout),
  )
  expect(expected.status).toBe('finished')
  expect(expected.members.some(({ mutation: each }) => each !== null)).toBe(true)
  for (const { tensors, history, learned } of expected.members) {
    expect(Object.keys(tensors)).toHaveLength(5)
    expect(history.length).toBeGreaterThanOrEqual(every)
    expect(learned.length).toBeGreaterThanOrEqual(every)
  }
  const place = placeWithFile()
  const moments = randomMoments(linesWritten(calm), new SequentialRandom(randomStream(2026, 24)))
  expect(outcomeOf(place, await disturbed(place, moments))).toEqual(expected)
})
