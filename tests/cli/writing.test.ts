/** Files whose place a person chose: nothing is overwritten without being asked, and nothing but files is replaced. */
import { execFileSync } from 'node:child_process'
import { appendFileSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { createRunFolder, runPaths } from '#host/workFolder/runFolder.ts'
import { createHostFixture } from '../host/api/hostFixture.ts'
import { temporaryFolder } from '../host/files/temporaryFolder.ts'
import { lineOf, step } from '../host/store/logs.ts'
import { answer } from './turnwise.ts'

const folder = temporaryFolder()
const data = path.join(folder, 'data')
const run = createRunFolder(data, { model: 'm', seed: 1, algorithm: { id: 'grpo' } })
appendFileSync(
  runPaths(run.directory).events,
  lineOf(step(1, { reward: 0.5, '=HYPERLINK("http://x")': 1, 'a,b': 2, '@sum': -3 })),
)
const settings = path.join(folder, 'trl.yaml')
writeFileSync(settings, 'learning_rate: 1.0e-5\nnum_generations: 8\n')

const commands = {
  'a bundle': (out: string, ...more: string[]) =>
    answer('runs', 'export', run.id, '--out', out, '--data-dir', data, ...more),
  'a table': (out: string, ...more: string[]) =>
    answer('runs', 'export', run.id, '--format', 'csv', '--out', out, '--data-dir', data, ...more),
  'a config': (out: string, ...more: string[]) =>
    answer('config', 'import', settings, '--from', 'trl', '--out', out, ...more),
} as const

test('a config shows on a terminal what would move or turn its text', async () => {
  const odd = path.join(folder, 'odd.yaml')
  writeFileSync(odd, 'model_name_or_path: "a\\u202eb\\u009bc"\nnum_generations: 8\n')
  const { stdout } = await answer('config', 'import', odd, '--from', 'trl')
  expect(stdout).toContain(String.raw`a\u202eb\u009bc`)
  expect(JSON.parse(stdout)).toMatchObject({ model: 'a\u202eb\u009bc' })
  const asked = await answer('config', 'import', odd, '--from', 'trl', '--json')
  for (const text of [stdout, asked.stdout]) expect(text).not.toMatch(/[\u009b\u202e]/)
})

describe.each(Object.entries(commands))('%s', (name, write) => {
  const out = path.join(folder, `${name.replace(' ', '-')}.out`)

  test('is not written over a file, but with --force', async () => {
    writeFileSync(out, 'mine')
    const refused = await write(out)
    expect(refused).toMatchObject({ status: 1, stdout: '' })
    expect(refused.stderr).toContain(`${out} already exists.`)
    expect(readFileSync(out, 'utf8')).toBe('mine')
    expect(await write(out, '--force')).toMatchObject({ status: 0 })
    expect(readFileSync(out, 'utf8')).not.toBe('mine')
  })

  test.skipIf(process.platform === 'win32')('replaces no link, pipe or folder, asked or not', async () => {
    const places = ['link', 'pipe', 'folder'].map((kind) => `${out}-${kind}`)
    const [link = '', pipe = '', inner = ''] = places
    symlinkSync(settings, link)
    execFileSync('mkfifo', [pipe])
    mkdirSync(inner)
    for (const place of places) {
      const before = lstatSync(place).mode
      for (const more of [[], ['--force']]) {
        const refused = await write(place, ...more)
        expect(refused.status).toBe(1)
        expect(refused.stderr).toMatch(/is (?:no ordinary file|a folder), so it is not replaced/)
      }
      expect(lstatSync(place).mode).toBe(before)
    }
    expect(readFileSync(settings, 'utf8')).toContain('num_generations')
  })
})

test('names of metrics in a table are quoted, and none of them is a formula', async () => {
  const out = path.join(folder, 'numbers.csv')
  expect(await commands['a table'](out)).toMatchObject({ status: 0 })
  const [header = '', row] = readFileSync(out, 'utf8').split('\n')
  expect(header.split(',')).toContain('reward')
  expect(header).toContain(`"'=HYPERLINK(""http://x"")"`)
  expect(header).toContain('"a,b"')
  expect(header).toContain(`'@sum`)
  expect(row?.split(',')).toHaveLength(5)
})

test('a host overwrites what it is asked to and nothing else', async () => {
  await using fixture = createHostFixture()
  const { id: runId } = createRunFolder(fixture.directory, { model: 'm' })
  fixture.host.history.lookAround()
  const file = path.join(fixture.directory, 'exports', 'mine.json')
  mkdirSync(path.dirname(file))
  writeFileSync(file, 'mine')
  await expect(fixture.client.call('runs.exportBundle', { runId, path: file })).rejects.toMatchObject({
    code: 'file/exists',
  })
  expect(readFileSync(file, 'utf8')).toBe('mine')
  await fixture.client.call('runs.exportBundle', { runId, path: file, overwrite: true })
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ run: { id: runId } })
  const inner = path.join(fixture.directory, 'exports', 'folder')
  mkdirSync(inner)
  const taken = fixture.client.call('runs.exportBundle', { runId, path: inner, overwrite: true })
  await expect(taken).rejects.toMatchObject({ code: 'file/unwritable' })
  expect(fixture.faults).toEqual([])
})
