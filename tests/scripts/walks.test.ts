/**
 * The walks of docs/contributing: what adding something costs, and that the kept diffs are whole. The compiler looks at what
 * they touch and at what imports that; in the long run at everything.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong, isWhole, longTitle, wholeTitle } from '../sweeps.ts'

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

const filesOf = (diff: string): string[] =>
  Array.from(diff.matchAll(/^diff --git a\/(\S+) /gm), ([, file = '']) => file)

/** A reference model is one place: an entry, a row of its README, and files that a script writes. */
function placesOf(diff: string): Set<string> {
  return new Set(filesOf(diff).map((file) => file.replace(/^(tests\/fixtures\/reference)\/.*/, '$1')))
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

/** Sources of a checkout, and what its tests share, that import one of the files, which have absolute names; and those themselves. */
function importersOf(checkout: string, files: ReadonlySet<string>): string[] {
  const source = path.join(checkout, 'src')
  const importsOne = (name: string) =>
    ts.preProcessFile(readFileSync(name, 'utf8')).importedFiles.some(({ fileName }) => {
      const base = fileName.startsWith('#') ? source : path.dirname(name)
      return files.has(path.resolve(base, fileName.replace('#', '')))
    })
  const shared = ts.sys
    .readDirectory(path.join(checkout, 'tests'), ['.ts'], ['e2e', 'renderer'])
    .filter((name) => !name.endsWith('.test.ts'))
  const importers = [...ts.sys.readDirectory(source, ['.ts', '.tsx']), ...shared].filter(importsOne)
  return [...new Set([...files, ...importers])]
}

/** What the compiler has to say of some files of a checkout, those of the window among them. */
function compiled(checkout: string, files: readonly string[]): string {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => {} }
  const config = ts.getParsedCommandLineOfConfigFile(
    path.join(checkout, 'src/renderer/tsconfig.json'),
    { types: ['vite/client', 'node'] },
    host,
  )
  if (config === undefined) throw new Error('Expected the settings of the window.')
  const declarations = config.fileNames.filter((name) => name.endsWith('.d.ts'))
  const program = ts.createProgram([...files, ...declarations], config.options)
  const found = files.flatMap((name) => {
    const file = program.getSourceFile(name)
    if (file === undefined) throw new Error(`Expected ${name} in the program.`)
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
  })
  return ts.formatDiagnostics(found, { ...ts.createCompilerHost({}), getCurrentDirectory: () => checkout })
}

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

  test.runIf(isWhole)(wholeTitle('the compiler misses no place'), () => {
    const touched = Object.keys(limits).flatMap((name) =>
      filesOf(readFileSync(path.join(folder, name), 'utf8')),
    )
    const sources = touched.filter((file) => /\.tsx?$/.test(file)).map((file) => path.join(copy, file))
    const near = importersOf(copy, new Set(sources))
    expect(near.length).toBeGreaterThan(2 * sources.length)
    expect(compiled(copy, near), advice).toBe('')
  })

  test.runIf(isLong)(longTitle('the compiler misses none anywhere'), () => {
    expect(typescript('.').output, advice).toBe('')
    expect(typescript('src/renderer').output, advice).toBe('')
  })

  test.runIf(isLong)(longTitle('their tests pass'), () => {
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
