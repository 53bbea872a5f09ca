/** Nobody else on the machine can read what lies in the data directory, and everybody's permissions hold outside of it. */
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { closeToOthers } from '#host/files/permissions.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { createHost } from '#host/createHost.ts'
import { createWorkplace } from '../../cli/turnwise.ts'
import { temporaryFolder } from './temporaryFolder.ts'

const folder = temporaryFolder()
const modeOf = (file: string) => (lstatSync(file).mode & 0o777).toString(8)

/** Every place in a folder, and the folder, that others may do something with. */
const open = (directory: string): string[] =>
  ['.', ...readdirSync(directory, { recursive: true }).map(String)]
    .filter((name) => (statSync(path.join(directory, name)).mode & 0o077) !== 0)
    .map((name) => `${name} ${modeOf(path.join(directory, name))}`)

describe.runIf(process.platform !== 'win32')('permissions', () => {
  const place = createWorkplace()
  afterAll(() => place[Symbol.dispose]())

  async function done(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await place.start(...args).finished
    expect(status, stderr).toBe(0)
    return stdout
  }

  test('all that a run, imports and their processes write is for its owner alone; exports are not', async () => {
    const home = place.path('home')
    const out = place.path('out')
    mkdirSync(out)
    chmodSync(out, 0o755)
    const before = process.umask(0o022)
    try {
      await done('demo', '--steps', '1')
      const { runs } = JSON.parse(await done('runs', 'list', '--json')) as { runs: [{ id: string }] }
      const [{ id }] = runs
      await done('dataset', 'import', place.write('rows.csv', 'prompt,answer\n1+1=,2\n'))
      const model = path.join(out, 'random')
      await done('model', 'random', '--shape', 'tiny-llama', '--out', model)
      await done('model', 'import', model, '--name', 'own')
      await done('runs', 'export', id, '--out', path.join(out, 'run.json'))
      await done('runs', 'export', id, '--format', 'csv', '--out', path.join(out, 'run.csv'))
      await done('export', id, '--format', 'peft', '--out', path.join(out, 'peft'))
    } finally {
      process.umask(before)
    }
    expect(readdirSync(home)).toEqual(expect.arrayContaining(['history.db', 'runs', 'models', 'datasets']))
    expect(open(home)).toEqual([])
    const exported = readdirSync(out, { recursive: true, withFileTypes: true })
    expect(exported.length).toBeGreaterThan(6)
    for (const entry of exported) {
      const file = path.join(entry.parentPath, entry.name)
      expect(`${file} ${modeOf(file)}`).toBe(`${file} ${entry.isDirectory() ? '755' : '644'}`)
    }
  })

  test('a data directory that an earlier version left open is closed when a host starts', async () => {
    const data = path.join(folder, 'data')
    {
      await using _first = createHost({ dataDirectory: data, servesQueue: false })
    }
    for (const each of Object.values(dataFolders(data))) mkdirSync(each, { recursive: true })
    const outside = path.join(folder, 'outside')
    mkdirSync(outside)
    writeFileSync(path.join(outside, 'model.safetensors'), '')
    chmodSync(path.join(outside, 'model.safetensors'), 0o644)
    const inner = path.join(data, 'models', 'm')
    mkdirSync(inner, { recursive: true })
    writeFileSync(path.join(inner, 'config.json'), '{}')
    linkSync(path.join(outside, 'model.safetensors'), path.join(inner, 'linked.safetensors'))
    symlinkSync(outside, path.join(data, 'models', 'link'))
    for (const name of ['python-consents.json', 'hub-ids.json']) writeFileSync(path.join(data, name), '{}')
    for (const name of [
      '',
      'history.db',
      'python-consents.json',
      'hub-ids.json',
      'models',
      'models/m',
      'models/m/config.json',
    ])
      chmodSync(path.join(data, name), name.includes('.') ? 0o644 : 0o755)
    await using _host = createHost({ dataDirectory: data, servesQueue: false })
    expect(open(data).filter((line) => !line.includes('link'))).toEqual([])
    // What has another name elsewhere is the person's own file.
    expect(modeOf(path.join(outside, 'model.safetensors'))).toBe('644')
    expect(modeOf(outside)).toBe('755')
  })

  test('folders that are not for this program alone stay as they are', () => {
    const shared = path.join(folder, 'shared')
    mkdirSync(path.join(shared, 'runs'), { recursive: true })
    chmodSync(path.join(shared, 'runs'), 0o755)
    chmodSync(shared, 0o1777)
    closeToOthers(shared)
    expect([modeOf(shared), modeOf(path.join(shared, 'runs'))]).toEqual(['777', '700'])
    const project = path.join(folder, 'project')
    mkdirSync(path.join(project, 'models'), { recursive: true })
    writeFileSync(path.join(project, 'notes.txt'), '')
    for (const each of [project, path.join(project, 'models')]) chmodSync(each, 0o755)
    closeToOthers(project)
    expect([modeOf(project), modeOf(path.join(project, 'models'))]).toEqual(['755', '700'])
    const target = path.join(folder, 'target')
    mkdirSync(path.join(target, 'runs'), { recursive: true })
    chmodSync(target, 0o755)
    symlinkSync(target, path.join(folder, 'link-to-target'))
    closeToOthers(path.join(folder, 'link-to-target'))
    expect(modeOf(target)).toBe('755')
  })
})
