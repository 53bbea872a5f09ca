/** The walks of docs/contributing: what adding something costs, and that the kept diffs are whole. */
import { spawnSync } from 'node:child_process'
import { cpSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong } from '../sweeps.ts'

const root = path.resolve(import.meta.dirname, '../..')
/** True for a file that is there; links, which the site has, lead to files that are copied anyway. */
const isFile = (name: string) =>
  lstatSync(path.join(root, name), { throwIfNoEntry: false })?.isFile() === true && name !== ''
const programOf = (name: string, file: string) =>
  path.join(path.dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), file)
const tsc = programOf('typescript', 'lib/tsc.js')
const vitest = programOf('vitest', 'vitest.mjs')
const folder = path.join(root, 'docs/contributing')

/** The most places each may touch. */
const limits = {
  'algorithm.diff': 3,
  'architecture.diff': 4,
  'screen.diff': 3,
  'metric.diff': 2,
  'column.diff': 3,
  'api-call.diff': 3,
}

/** A reference model is one place: an entry, a row of its README, and files that a script writes. */
function placesOf(diff: string): Set<string> {
  const files = Array.from(diff.matchAll(/^diff --git a\/(\S+) /gm), ([, file = '']) => file)
  return new Set(files.map((file) => file.replace(/^(tests\/fixtures\/reference)\/.*/, '$1')))
}

test('every walk has a limit', () => {
  expect(
    readdirSync(folder)
      .filter((name) => name.endsWith('.diff'))
      .sort(),
  ).toEqual(Object.keys(limits).sort())
})

test.each(Object.entries(limits))('%s touches at most %i places', (name, limit) => {
  const places = placesOf(readFileSync(path.join(folder, name), 'utf8'))
  expect(places.size).toBeGreaterThan(0)
  expect(places.size, `${name} touches ${[...places].join(', ')}`).toBeLessThanOrEqual(limit)
})

describe('all of them together, in a copy of the sources', () => {
  const copy = path.join(mkdtempSync(path.join(tmpdir(), 'turnwise-walks-')), 'turnwise')
  const run = (program: string, ...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: copy, encoding: 'utf8' })
    return { status, output: `${stdout}${stderr}` }
  }
  const typescript = (project: string) => run(process.execPath, tsc, '-p', project, '--noEmit')

  beforeAll(() => {
    const files = spawnSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).stdout
    for (const file of files.split('\0').filter(isFile)) cpSync(path.join(root, file), path.join(copy, file))
    symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'))
  })
  afterAll(() => rmSync(path.dirname(copy), { recursive: true, force: true }))

  const advice = 'Recreate the diff, as docs/contributing/README.md says.'

  test('they apply', () => {
    for (const name of Object.keys(limits)) {
      // -C0: lines around it may change, those that it changes itself may not.
      const { status, output } = run('git', 'apply', '-C0', path.join(folder, name))
      expect(status, `${name}: ${advice}\n${output}`).toBe(0)
    }
  })

  test('the compiler misses no place', () => {
    expect(typescript('.').output, advice).toBe('')
    expect(typescript('src/renderer').output, advice).toBe('')
  })

  test.runIf(isLong)('their tests pass (in the long run only)', () => {
    const files = [
      'tests/rl/algorithms',
      'tests/rl/training/train.test.ts',
      'tests/host/store',
      'tests/shared/api',
    ]
    const { status, output } = run(process.execPath, vitest, 'run', ...files)
    expect(status, output).toBe(0)
  })
})
