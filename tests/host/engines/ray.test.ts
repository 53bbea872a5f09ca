/**
 * Runs that TRL trains on a cluster of Ray, of one node with two processors that the test starts, where Python with both is at hand: the
 * program named by TURNWISE_PYTHON_RAY, or else by TURNWISE_PYTHON. Elsewhere these tests are passed over, by name.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { reviewEngine } from '#host/engines/engineCode.ts'
import { readyEnvironment } from '#host/engines/environment.ts'
import { jobStarter } from '#host/processes/job.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { allowPython } from '#host/python/consent.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { createHome, historyOf, starterConfig, stepsOf, until } from '../runs/runFixture.ts'
import { interpreter } from '../python/interpreter.ts'

const python = process.env['TURNWISE_PYTHON_RAY'] ?? interpreter
const lookUp =
  'import importlib.util as u; assert all(u.find_spec(name) for name in ("trl", "peft", "datasets", "ray"))'
const isMissing = process.platform !== 'linux' || spawnSync(python, ['-c', lookUp]).status !== 0

const home = createHome()
const consents = consentsFile(home.directory)
let cluster: Cluster | null = null

beforeAll(async () => {
  if (!isMissing) cluster = await startCluster()
})
afterAll(() => {
  cluster?.stop()
  home[Symbol.dispose]()
})

function clusterHere(): Cluster {
  if (cluster === null) throw new Error('Expected a cluster.')
  return cluster
}

interface Cluster {
  readonly address: string
  /** Of a process of the head. */
  pidOf(words: string): number
  /** Processes of Ray Train, of all ranks. */
  trainers(): number[]
  stop(): void
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

/** Nodes that share a machine share a folder of Ray too, and remove a job's files under each other: this is one node. */
async function startCluster(): Promise<Cluster> {
  // Sockets below it have a limit on their names.
  const folder = mkdtempSync(path.join(tmpdir(), 'twray-'))
  const [port, dashboard, client, agent] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
  const others = ['--num-cpus', '2', '--disable-usage-stats', '--block', '--temp-dir', folder]
  const ports = Object.entries({
    port: port,
    'dashboard-port': dashboard,
    'ray-client-server-port': client,
    'dashboard-agent-listen-port': agent,
  }).flatMap(([name, value]) => [`--${name}`, `${value}`])
  const head = startRay(['--head', ...ports, ...others], folder)
  const address = `http://127.0.0.1:${dashboard}`
  await untilAnswers(`${address}/api/version`)
  await untilAnswers(`${address}/nodes?view=summary`, (text) => text.includes('"ALIVE"'))
  return {
    address,
    pidOf: (words) => pidsWith(folder, words)[0] ?? 0,
    trainers: () => trainersBelow(folder),
    stop() {
      // Those of a node are in groups of their own.
      const left = pidsWith(folder, '')
      for (const pid of [-(head.pid ?? 0), ...left]) kill(pid)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function startRay(words: readonly string[], cwd: string): ChildProcess {
  // `python` of jobs is the one that has the packages.
  const env = { ...process.env, PATH: `${path.dirname(python)}:${process.env['PATH'] ?? ''}` }
  return spawn(path.join(path.dirname(python), 'ray'), ['start', ...words], {
    cwd,
    env,
    detached: true,
    stdio: 'ignore',
  })
}

/** A negative number: its group. */
function kill(pid: number): void {
  try {
    if (pid !== 0) process.kill(pid, 'SIGKILL')
  } catch {
    // It is gone already.
  }
}

/** Processes whose words name this folder. */
const pidsWith = (folder: string, words: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        return line.includes(folder) && line.includes(words)
      } catch {
        return false
      }
    })
    .map(Number)

/** Those whose working directory, that of a job, lies in this folder: their words are Ray's. */
const trainersBelow = (folder: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        return words.includes('RayTrainWorker') && readlinkSync(`/proc/${pid}/cwd`).startsWith(folder)
      } catch {
        return false
      }
    })
    .map(Number)

async function untilAnswers(url: string, isWanted: (text: string) => boolean = () => true): Promise<void> {
  for (;;) {
    const text = await fetch(url).then(
      (response) => response.text(),
      () => null,
    )
    if (text !== null && isWanted(text)) return
    await wait(200)
  }
}

function createRun(changes: object = {}, engine: object = {}) {
  const config = parseRunConfig({
    ...starterConfig,
    optimization: { learningRate: 0.005, minibatchSize: 4 },
    rollout: { promptsPerStep: 2, groupSize: 4, maxNewTokens: 4 },
    evaluation: { every: 0, rows: 2 },
    shownTrajectories: 4,
    engine: { kind: 'trl', launcher: 'ray', python, processes: 2, address: clusterHere().address, ...engine },
    ...changes,
  })
  allowPython(reviewEngine(config, home.directory), consents)
  return { config, run: home.createRun(config) }
}

const supervise = () => home.supervise({ consents, startJob: jobStarter() })

test.skipIf(isMissing)(
  'A Ray cluster trains a run in two processes, which is stopped and resumed (skipped without Python with trl and ray)',
  async () => {
    // The wish to stop takes some seconds, in which the job takes steps.
    const steps = 60
    const { config, run } = createRun({ steps, checkpoints: { every: 20 } })
    expect(await readyEnvironment(config, consents)).toMatchObject({
      cluster: clusterHere().address,
      gpus: 0,
    })
    const supervisor = supervise()
    const first = supervisor.start(run, { resumeFrom: null })
    await until(() => stepsOf(run).length > 0)
    await supervisor.stop(run.id)
    expect(await first).toMatchObject({ kind: 'stopped', error: null })
    const { checkpoint } = resolveResume(home.directory, run.id)
    for (const name of ['optimizer.pt', 'rng_state_0.pth', 'rng_state_1.pth'])
      expect(existsSync(path.join(checkpoint?.directory ?? '', 'engine', name))).toBe(true)
    expect(await supervise().start(run, { resumeFrom: checkpoint?.directory ?? null })).toMatchObject({
      kind: 'finished',
    })
    expect(stepsOf(run)).toEqual(Array.from({ length: steps }, (_, i) => i + 1))
    expect(historyOf(run, 'samples').filter(({ source }) => source === 'rollout')).toHaveLength(steps)
    expect(checkpoint?.step).toBeLessThan(steps)
    expect(historyOf(run, 'engine')[0]).toMatchObject({ processes: 2, device: 'cpu' })
    expect(historyOf(run, 'warning')).toEqual([])
  },
)

test.skipIf(isMissing)(
  'A killed process of Ray Train ends the run in a sentence, its history whole (skipped without Python with trl and ray)',
  async () => {
    const { run } = createRun({ steps: 1000, checkpoints: { every: 2 } })
    const ended = supervise().start(run, { resumeFrom: null })
    await until(() => historyOf(run, 'checkpoint-saved').length > 0)
    const [, second] = clusterHere().trainers()
    expect(second).toBeDefined()
    process.kill(second ?? 0, 'SIGKILL')
    const { kind, error } = await ended
    expect(kind).toBe('failed')
    expect(error).toMatchObject({
      code: 'engine/failed',
      message: expect.stringContaining('one of its processes on the Ray cluster died') as string,
    })
    const steps = stepsOf(run)
    expect(steps).toEqual(steps.map((_, i) => i + 1))
    const { checkpoint } = resolveResume(home.directory, run.id)
    expect(checkpoint?.step).toBeGreaterThanOrEqual(2)
    // The cluster takes it up again.
    const last = (checkpoint?.step ?? 0) + 2
    const again = { resumeFrom: checkpoint?.directory ?? null, until: last }
    expect(await supervise().start(run, again)).toMatchObject({ error: null })
    expect(stepsOf(run)).toEqual(Array.from({ length: last }, (_, i) => i + 1))
  },
)

test.skipIf(isMissing)(
  'A cluster that falls silent is waited for, and one that is lost ends the run in a sentence (skipped without Python with trl and ray)',
  async () => {
    const { run } = createRun({ steps: 1000, checkpoints: { every: 2 } }, { patienceSeconds: 15 })
    const ended = supervise().start(run, { resumeFrom: null })
    await until(() => historyOf(run, 'checkpoint-saved').length > 0)
    const dashboard = clusterHere().pidOf('dashboard.py')
    process.kill(dashboard, 'SIGSTOP')
    await wait(12_000)
    process.kill(dashboard, 'SIGCONT')
    const before = stepsOf(run).length
    await until(() => stepsOf(run).length > before + 2)
    const words = historyOf(run, 'warning').map(({ message }) => String(message))
    expect(words).toEqual([
      expect.stringContaining('does not answer; the job is waited for'),
      expect.stringMatching(/answers again after \d+ s/),
    ])
    clusterHere().stop()
    const { kind, error } = await ended
    expect(kind).toBe('failed')
    expect(error).toMatchObject({
      code: 'engine/failed',
      message: expect.stringContaining('has not answered for') as string,
    })
    const steps = stepsOf(run)
    expect(steps).toEqual(steps.map((_, i) => i + 1))
    expect(resolveResume(home.directory, run.id).checkpoint?.step).toBeGreaterThanOrEqual(2)
  },
)
