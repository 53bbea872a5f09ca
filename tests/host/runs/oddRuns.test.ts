/** Whatever stands in the folder or the exported file of one run harms that run alone. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import { api } from '#shared/api/api.ts'
import { createClient, type Client } from '#shared/api/client.ts'
import { serve } from '#shared/api/serve.ts'
import { createRunFolder, runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { createHost } from '#host/createHost.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { openStore } from '#host/store/store.ts'
import { createServices } from '#host/api/services.ts'
import { casesOf, isWhole, wholeTitle } from '../../sweeps.ts'
import { memoryPorts } from '../../shared/api/memoryPort.ts'
import { answer } from '../../cli/turnwise.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { createRandom } from '../store/random.ts'
import { checkpoint, evaluation, lineOf, newRun, samples, status, step } from '../store/logs.ts'

const folder = temporaryFolder()
const config = { name: 'a name', model: 'm', seed: 3, steps: 9, algorithm: { id: 'grpo' } }
const at = 1_795_394_831_136

const log = [
  status('training', 0, 9),
  step(1, { reward: 0.5, loss: -0.25, kl: 0 }, 9),
  evaluation(1, 0.75),
  samples(1),
  checkpoint(1),
  { type: 'warning', step: 1, message: 'a warning' },
  status('finished', 1, 9),
]

/** A number, a text or a list where something else is expected, written as JSON has it. */
const oddities = [
  ...['1.5', '-1', '-0', '0', '1e300', '1e999', '9007199254740991', '9007199254740993', '8640000000000001'],
  ...[
    '-8640000000000001',
    '2147483648',
    '1795394831136.5',
    '1e-320',
    'null',
    'true',
    '""',
    '"\\ud800"',
    '"\\u0000"',
  ],
  ...['[]', '{}', '[1.5]', '{"__proto__":1}', '"2026-01-01"'],
]

type Random = () => number
const pick = <T>(random: Random, all: readonly T[]): T => all[Math.floor(random() * all.length)] as T

/** The text of a document in which one value, wherever it lies, is another one. */
function changed(document: unknown, random: Random): string {
  const places: [holder: Record<string, unknown>, key: string][] = []
  const copy = structuredClone({ document })
  const walk = (holder: Record<string, unknown>) => {
    for (const [key, value] of Object.entries(holder)) {
      places.push([holder, key])
      if (typeof value === 'object' && value !== null) walk(value as Record<string, unknown>)
    }
  }
  walk(copy.document as Record<string, unknown>)
  const [holder, key] = pick(random, places)
  holder[key] = '#odd#'
  return JSON.stringify(copy.document).replace('"#odd#"', () => pick(random, oddities))
}

interface Looked extends AsyncDisposable {
  readonly client: Client<Api>
  readonly faults: unknown[]
  readonly lookAround: () => boolean
}

/** A host as `serve` has it, whose answers are held against the contract. */
function open(dataDirectory: string): Looked {
  const faults: unknown[] = []
  const onFault = (name: string, error: unknown) => void faults.push([name, error])
  const host = createHost({ dataDirectory, servesQueue: true, onFault })
  const [near, far] = memoryPorts()
  const serving = serve(far, api, createServices(host), { checkOutputs: true, onFault })
  const client = createClient<Api>(near)
  return {
    client,
    faults,
    lookAround: () => host.history.lookAround(),
    async [Symbol.asyncDispose]() {
      client.close()
      serving[Symbol.dispose]()
      await host[Symbol.asyncDispose]()
    },
  }
}

/** All that a window asks about runs. */
async function readEverything(client: Client<Api>): Promise<string[]> {
  const runs = await client.call('runs.list', {})
  for (const { id: runId, createdAt } of runs) {
    expect(Number.isNaN(new Date(createdAt).getTime())).toBe(false)
    const events = await client.call('runs.events', { runId })
    for (const { event } of events) expect(Number.isNaN(new Date(event.at).getTime())).toBe(false)
    await client.call('runs.get', { runId })
    await client.call('checkpoints.list', { runId })
    await client.call('samples.list', { runId })
    await client.call('metrics.table', { runId })
  }
  for await (const { runs: told } of client.follow('runs.watch')) {
    expect(told.length).toBe(runs.length)
    break
  }
  return runs.map(({ id }) => id)
}

/** One that nothing may happen to. */
function makeSound(dataDirectory: string): RunFolder {
  const sound = createRunFolder(dataDirectory, config)
  writeFileSync(runPaths(sound.directory).events, log.map(lineOf).join(''))
  return sound
}

describe('folders', () => {
  const dataDirectory = path.join(folder, 'folders')
  const sound = makeSound(dataDirectory)
  const model = createRunFolder(dataDirectory, config)
  rmSync(model.directory, { recursive: true })
  const run = { format: 1, id: model.id, createdAt: at, parent: { runId: 'run_0', step: 1 } }

  const write = (files: { run?: string; config?: string; events?: string }) => {
    const paths = runPaths(model.directory)
    mkdirSync(paths.checkpoints, { recursive: true })
    writeFileSync(paths.config, files.config ?? JSON.stringify(config))
    writeFileSync(paths.events, files.events ?? log.map(lineOf).join(''))
    writeFileSync(paths.run, files.run ?? JSON.stringify(run))
  }

  test('a living host and a new one read everything else, whatever a file of a run says', async () => {
    const random = createRandom(2)
    for (let round = 0; round < casesOf(50, 150); round++) {
      const what = pick(random, ['run', 'config', 'events'] as const)
      const odd = pick(random, log)
      const text =
        what === 'events'
          ? log
              .map((event) => (event === odd ? `${changed({ at, ...event }, random)}\n` : lineOf(event)))
              .join('')
          : changed(what === 'run' ? run : config, random)
      {
        await using living = open(dataDirectory)
        write({ [what]: text })
        living.lookAround()
        expect(await readEverything(living.client), text).toContain(sound.id)
        expect(living.faults, text).toEqual([])
      }
      {
        await using next = open(dataDirectory)
        const ids = await readEverything(next.client)
        expect(ids, text).toContain(sound.id)
        expect(next.faults, text).toEqual([])
        if (ids.includes(model.id)) await next.client.call('runs.delete', { runId: model.id })
      }
      rmSync(model.directory, { recursive: true, force: true })
    }
  })

  test.each([
    ['no config', () => rmSync(runPaths(model.directory).config)],
    ['a folder as config', () => replaceByFolder(runPaths(model.directory).config)],
    ['a folder as log', () => replaceByFolder(runPaths(model.directory).events)],
    ['a folder as lock', () => mkdirSync(runPaths(model.directory).lock)],
    [
      'another id',
      () => writeFileSync(runPaths(model.directory).run, JSON.stringify({ ...run, id: sound.id })),
    ],
    [
      'an id that leads elsewhere',
      () => writeFileSync(runPaths(model.directory).run, JSON.stringify({ ...run, id: '../x' })),
    ],
  ])('%s: the run is named with the reason, the others are read', async (_name, spoil) => {
    await using living = open(dataDirectory)
    write({})
    spoil()
    expect(living.lookAround()).toBe(true)
    expect(living.lookAround()).toBe(false)
    for await (const { unreadable, runs } of living.client.follow('runs.watch')) {
      expect(unreadable).toMatchObject([{ directory: model.directory }])
      expect(unreadable[0]?.error.message).toContain(model.directory)
      expect(runs.map(({ id }) => id)).toContain(sound.id)
      break
    }
    const { status: code, stdout, stderr } = await answer('runs', 'list', '--data-dir', dataDirectory)
    expect([code, stdout]).toEqual([0, expect.stringContaining(sound.id)])
    expect(stderr).toContain(model.directory)

    rmSync(model.directory, { recursive: true })
    living.lookAround()
    for await (const { unreadable } of living.client.follow('runs.watch')) {
      expect(unreadable).toEqual([])
      break
    }
    const known = await living.client.call('runs.list', {})
    if (known.some(({ id }) => id === model.id)) await living.client.call('runs.delete', { runId: model.id })
    expect(living.faults).toEqual([])
  })

  test('a run whose file was put right is taken in', async () => {
    await using living = open(dataDirectory)
    write({ run: JSON.stringify({ ...run, createdAt: at + 0.5 }) })
    living.lookAround()
    expect(await readEverything(living.client)).not.toContain(model.id)
    writeFileSync(runPaths(model.directory).run, JSON.stringify(run))
    expect(living.lookAround()).toBe(true)
    expect(await readEverything(living.client)).toContain(model.id)
    await living.client.call('runs.delete', { runId: model.id })
  })
})

describe('bundles', () => {
  const dataDirectory = path.join(folder, 'bundles')
  const sound = makeSound(dataDirectory)
  const file = path.join(folder, 'bundle.json')
  const other = createRunFolder(path.join(folder, 'other'), config)
  const bundle = {
    format: 'turnwise-run-1',
    run: {
      id: other.id,
      name: 'n',
      createdAt: at,
      step: 1,
      steps: 9,
      status: 'finished',
      tags: ['a', 'b'],
      notes: '',
      parentRunId: 'run_0',
      parentCheckpointStep: 3,
    },
    config,
    events: log.map((event) => ({ at, ...event })),
  }

  test.each([
    ['a time between two milliseconds', { createdAt: at + 0.5 }],
    ['a time before there were runs', { createdAt: -1 }],
    ['a time before there were runs', { createdAt: Date.UTC(2019, 11, 31) }],
    ['a time in the far future', { createdAt: Date.UTC(2101) }],
    ['a time that no calendar has', { createdAt: Number.MAX_SAFE_INTEGER }],
    ['half a step', { parentCheckpointStep: 0.5 }],
    ['a negative step', { step: -1 }],
  ])('%s is refused in one sentence and leaves nothing behind', async (_name, change) => {
    writeFileSync(file, JSON.stringify({ ...bundle, run: { ...bundle.run, ...change } }))
    await using living = open(dataDirectory)
    await expect(living.client.call('runs.importBundle', { source: { path: file } })).rejects.toMatchObject({
      code: 'data/invalid',
      message: expect.stringContaining(Object.keys(change)[0] ?? '') as string,
    })
    expect(readdirSync(dataFolders(dataDirectory).runs)).toEqual([sound.id])
    expect(living.faults).toEqual([])
  })

  test('a bundle that cannot be read once it is laid down leaves nothing behind', async () => {
    // More settings than a run's folder is read with.
    writeFileSync(file, JSON.stringify({ ...bundle, config: { ...config, name: 'n'.repeat(5 << 20) } }))
    await using living = open(dataDirectory)
    await expect(living.client.call('runs.importBundle', { source: { path: file } })).rejects.toThrow()
    expect(readdirSync(dataFolders(dataDirectory).runs)).toEqual([sound.id])
    expect((await readEverything(living.client)).length).toBe(1)
  })

  const bundles =
    'whatever a bundle says, it is taken in whole or not at all, and everything can be read afterwards'
  test.runIf(isWhole)(wholeTitle(bundles), async () => {
    const random = createRandom(5)
    for (let round = 0; round < casesOf(50, 150); round++) {
      const text = changed(bundle, random)
      writeFileSync(file, text)
      const living = open(dataDirectory)
      const taken = await living.client.call('runs.importBundle', { source: { path: file } }).then(
        ({ runId }) => runId,
        () => null,
      )
      living.lookAround()
      const ids = await readEverything(living.client)
      expect(ids, text).toContain(sound.id)
      const folders = readdirSync(dataFolders(dataDirectory).runs)
      expect(folders.sort(), text).toEqual([sound.id, ...(taken === null ? [] : [taken])].sort())
      expect(living.faults, text).toEqual([])
      await living[Symbol.asyncDispose]()
      await using next = open(dataDirectory)
      expect((await readEverything(next.client)).length, text).toBe(folders.length)
      expect(next.faults, text).toEqual([])
      if (taken !== null) await next.client.call('runs.delete', { runId: taken })
    }
  })
})

test('a time that an earlier version let into the history is told as one that a calendar has', () => {
  using store = openStore(path.join(folder, 'earlier.sqlite'))
  newRun(store, folder, 'run_a', Number.MAX_SAFE_INTEGER)
  expect(Number.isNaN(new Date(store.runs.get('run_a').createdAt).getTime())).toBe(false)
})

function replaceByFolder(file: string): void {
  rmSync(file)
  mkdirSync(file)
}
