import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { createRunFolder, runPaths } from '#host/workFolder/runFolder.ts'
import { createHost } from '#host/createHost.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { scratchFolder } from '#host/files/scratch.ts'
import { bytesOf, clearLeftovers } from '#host/workFolder/leftovers.ts'
import { temporaryFolder } from './temporaryFolder.ts'

const folder = temporaryFolder()
let number = 0
let dataDirectory: string

beforeEach(() => {
  dataDirectory = path.join(folder, `data-${++number}`)
})

/** The number of a process that is gone. */
function deadPid(): number {
  const { pid } = spawnSync(process.execPath, ['--version'])
  return pid
}

function lay(place: string): string {
  mkdirSync(place, { recursive: true })
  writeFileSync(path.join(place, 'weights'), Buffer.alloc(1000))
  return place
}

test('what killed processes left is removed at the start of a host and counted; what living ones write is not', async () => {
  const dead = deadPid()
  const { runs, models, datasets, adapters, cache, studies, evaluations } = dataFolders(dataDirectory)
  const run = createRunFolder(dataDirectory, { model: 'm' })
  const left = [
    lay(path.join(models, `.m2.${dead}.1.partial`)),
    lay(path.join(adapters, `.a.${dead}.12.partial`)),
    lay(path.join(datasets, `.import.${dead}.3`)),
    lay(path.join(runs, `.run_x.${dead}.1.partial`)),
    lay(path.join(runs, '.run_y.removed')),
    lay(path.join(studies, `.st_x.${dead}.1.partial`)),
    lay(path.join(studies, 'st_y', `.state.json.${dead}.1.partial`)),
    lay(path.join(evaluations, '.ev_x.removed')),
    lay(path.join(runPaths(run.directory).checkpoints, `.step-000020.${dead}.4.partial`)),
    lay(path.join(cache, 'abc', `layer.safetensors.${dead}.partial`)),
  ]
  const redirectOf = (digit: string) =>
    path.join(dataDirectory, `open-${digit.repeat(8)}-1111-1111-1111-${digit.repeat(12)}.html`)
  left.push(lay(redirectOf('a')))
  using scratch = scratchFolder(dataDirectory)
  left.push(lay(scratch.folder.replace(`.${process.pid}.`, `.${dead}.`)))
  const longAgo = new Date(Date.now() - 3_600_000)
  utimesSync(redirectOf('a'), longAgo, longAgo)
  const own = [
    lay(scratch.folder),
    lay(redirectOf('b')),
    lay(path.join(models, `.m3.${process.pid}.1.partial`)),
    lay(path.join(datasets, `.import.${process.pid}.3`)),
    lay(path.join(models, 'm')),
    lay(path.join(models, 'a.partial')),
  ]
  await using host = createHost({ dataDirectory, servesQueue: true })
  expect(host.cleared).toEqual({ count: left.length, bytes: 1000 * left.length })
  expect(left.filter((place) => existsSync(place))).toEqual([])
  expect(own.filter((place) => !existsSync(place))).toEqual([])
  expect(host.store.runs.list().map(({ id }) => id)).toEqual([run.id])
})

test('the folder of a run that an earlier version did not finish goes when nobody has touched it for a while', async () => {
  const { runs } = dataFolders(dataDirectory)
  const then = new Date(Date.now() - 3_600_000)
  const make = (name: string, file: string, isOld: boolean) => {
    const run = path.join(runs, name)
    mkdirSync(path.join(run, 'checkpoints'), { recursive: true })
    writeFileSync(path.join(run, file), '{}')
    if (isOld) for (const place of ['checkpoints', file, '.']) utimesSync(path.join(run, place), then, then)
  }
  make('run_old', '.config.json.1.1.partial', true)
  make('run_young', '.config.json.1.1.partial', false)
  make('run_notes', 'notes.txt', true)
  await using _host = createHost({ dataDirectory, servesQueue: false })
  expect(readdirSync(runs).sort()).toEqual(['run_notes', 'run_young'])
})

test('a run whose making fails half-way leaves nothing', () => {
  const { runs } = dataFolders(dataDirectory)
  const missing = path.join(dataDirectory, 'no-checkpoint')
  const origin = { parent: { runId: 'run_0', step: 1 }, checkpoint: missing, rewards: null }
  expect(() => createRunFolder(dataDirectory, { model: 'm' }, { origin })).toThrow(/no-checkpoint/)
  expect(readdirSync(runs)).toEqual([])
  rmSync(dataDirectory, { recursive: true })
})

test('a leftover that is a link is removed, and what it leads to is neither read nor counted', () => {
  const elsewhere = lay(path.join(folder, 'elsewhere'))
  mkdirSync(dataDirectory)
  symlinkSync(elsewhere, path.join(dataDirectory, `.x.${deadPid()}.1.partial`))
  expect(bytesOf(elsewhere)).toBe(1000)
  expect(clearLeftovers(dataDirectory)).toEqual({ count: 1, bytes: 0 })
  expect(readdirSync(dataDirectory)).toEqual([])
  expect(readdirSync(elsewhere)).toEqual(['weights'])
})
