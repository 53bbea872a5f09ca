/** The npm package in a project of its own, which has what the package depends on and nothing else of this checkout. */
import { execFile, execFileSync } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeEntry } from '../../scripts/api/write.ts'
import { buildProject, root } from '../electron/builtProject.ts'
import { isWhole, wholeTitle } from '../sweeps.ts'

const project = mkdtempSync(path.join(tmpdir(), 'turnwise-fresh-'))
const installed = path.join(project, 'node_modules/turnwise')
const env = { ...process.env, TURNWISE_HOME: path.join(project, 'home') }
/** Paths in the package. */
let packed: readonly string[] = []
afterAll(() => rmSync(project, { recursive: true, force: true }))

beforeAll(() => {
  using built = buildProject()
  writeEntry(path.join(built.folder, 'out/library'))
  for (const name of ['resources', 'LICENSE', 'README.md'])
    cpSync(path.join(root, name), path.join(built.folder, name), { recursive: true })
  // What could be packed by mistake.
  for (const name of ['src', 'tests', 'examples', 'docs', 'scripts', 'out/playwright']) {
    mkdirSync(path.join(built.folder, name))
    writeFileSync(path.join(built.folder, name, 'index.js'), '')
  }
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', project]
  const answer = execFileSync('npm', args, { cwd: built.folder, encoding: 'utf8', stdio: 'pipe' })
  const [{ filename, files }] = JSON.parse(answer) as [{ filename: string; files: { path: string }[] }]
  packed = files.map((file) => file.path)
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['-xzf', path.join(project, filename), '-C', installed, '--strip-components=1'])
  installDependencies()
  writeFileSync(path.join(project, 'package.json'), '{ "type": "module" }')
  const rows = readFileSync(path.join(root, 'resources/demo/train.jsonl'), 'utf8').split('\n').slice(0, 8)
  writeFileSync(path.join(project, 'sums.jsonl'), rows.join('\n'))
  for (const file of globSync('examples/*.ts', { cwd: root }))
    cpSync(path.join(root, file), path.join(project, path.basename(file)))
  for (const [i, block] of documentedPrograms().entries())
    writeFileSync(path.join(project, `block${i}.ts`), block)
})

/** Its own dependencies alone; they are the checkout's. Types of Node are what every program in TypeScript has. */
function installDependencies(): void {
  const manifest = readFileSync(path.join(installed, 'package.json'), 'utf8')
  const { dependencies } = JSON.parse(manifest) as { dependencies: Readonly<Record<string, string>> }
  for (const name of [...Object.keys(dependencies), '@types/node', 'undici-types']) {
    const place = path.join(project, 'node_modules', name)
    mkdirSync(path.dirname(place), { recursive: true })
    symlinkSync(path.join(root, 'node_modules', name), place)
  }
}

/** Blocks of code in the documents that import the library. */
const documentedPrograms = (): string[] =>
  ['README.md', ...globSync('docs/**/*.md', { cwd: root }).toSorted()].flatMap((file) =>
    Array.from(
      readFileSync(path.join(root, file), 'utf8').matchAll(/^```ts\n([^]*?)^```$/gm),
      ([, code = '']) => code,
    ).filter((code) => code.includes(" from 'turnwise'")),
  )

const running = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: project, env })

/** Names of values that are there. */
async function exportsOf(entry: string): Promise<string[]> {
  const code = `const all = Object.entries(await import('${entry}')).filter(([, value]) => value !== undefined)
    console.log(JSON.stringify(all.map(([name]) => name).toSorted()))`
  return JSON.parse((await running('--input-type=module', '-e', code)).stdout) as string[]
}

/** A person's own files, as an editor sees them. */
const consumer = `
import { defineLoss, mean, openPolicy, rollout, train, type RewardFunction, type RunConfigInput, type TrainingScript } from 'turnwise'

export const written = defineLoss({
  settings: { scale: 1 },
  loss: ({ logp, advantages, mask, settings }) => -mean(advantages * logp * settings.scale, mask),
})
export const reward: RewardFunction = ({ completion, row }) => (completion === row['answer'] ? 1 : 0)
// @ts-expect-error a reward is a number
export const wrong: RewardFunction = () => 'good'
export const config: RunConfigInput = {
  model: 'starter',
  data: { train: 'sums.jsonl' },
  // @ts-expect-error no such precision
  base: { precision: 'int9' },
}
export const script: TrainingScript = async function* ({ learn, prompts, rollout }) {
  const { kl } = await learn(await rollout(prompts()))
  const limited: number | undefined = kl
  yield limited
}
// @ts-expect-error no such metric
for await (const event of train(config)) if (event.type === 'step') console.log(event.metrics.rewardd)
await using policy = await openPolicy({ model: 'starter' })
// @ts-expect-error a run, or a model
await openPolicy({ adapter: 'x' })
console.log((await rollout(policy, {}, { rows: [{ prompt: 'x' }] }))[0]?.reward.total)
`

function checkedProject() {
  writeFileSync(path.join(project, 'consumer.ts'), consumer)
  const gallery = globSync(path.join(installed, 'resources/{losses,workflows}/*.ts')).map((file) => {
    const copy = path.join(project, path.basename(file))
    const code = readFileSync(file, 'utf8')
    writeFileSync(
      copy,
      file.includes('workflows') ? `import { defineWorkflow } from 'turnwise'\n${code}` : code,
    )
    return copy
  })
  const own = globSync('{consumer,gsm8k,ownLoop,block*}.ts', { cwd: project }).map((file) =>
    path.join(project, file),
  )
  const program = ts.createProgram([...own, ...gallery], {
    strict: true,
    exactOptionalPropertyTypes: true,
    target: ts.ScriptTarget.ES2024,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    typeRoots: [path.join(project, 'node_modules/@types')],
    types: ['node'],
    skipDefaultLibCheck: true,
    noEmit: true,
  })
  return { program, own, gallery }
}

/** Parameters without a type, and what follows from them: nobody who writes such code has to give any. */
const withoutTypes = new Set([7006, 7022, 7023, 7024, 7031])

describe('the npm package', () => {
  test('holds what is built, what comes along, and nothing else', () => {
    const top = new Set(packed.map((file) => file.replace(/^(out\/[^/]+|[^/]+).*$/, '$1')))
    const built = ['out/library', 'out/main', 'out/preload', 'out/renderer']
    expect([...top].toSorted()).toEqual([
      'LICENSE',
      'README.md',
      'bin',
      ...built,
      'package.json',
      'resources',
    ])
    const sources = packed.filter((file) => /\.(ts|tsx|map)$/.test(file) && !file.startsWith('resources/'))
    expect(sources).toEqual(['out/library/turnwise.d.ts'])
    for (const wanted of [
      'out/main/cli.js',
      'out/renderer/index.html',
      'resources/starter/model.safetensors',
    ])
      expect(packed).toContain(wanted)
  })

  test('has types that stand alone: examples, documented programs, the gallery and own files compile', async () => {
    const { program, own, gallery } = checkedProject()
    expect(own.length).toBeGreaterThan(6)
    expect(gallery).toHaveLength(16)
    const problems = ts
      .getPreEmitDiagnostics(program)
      .filter(({ file, code }) => !(gallery.includes(file?.fileName ?? '') && withoutTypes.has(code)))
      .map(({ file, messageText }) => {
        const text = ts.flattenDiagnosticMessageText(messageText, ' ')
        return `${path.basename(file?.fileName ?? '')}: ${text}`
      })
    expect(problems).toEqual([])

    // What they declare as values is what can be imported.
    const declared = program.getSourceFile(path.join(installed, 'out/library/turnwise.d.ts'))!
    const checker = program.getTypeChecker()
    const isValue = (symbol: ts.Symbol) =>
      (checker.getAliasedSymbol(symbol).flags & ts.SymbolFlags.Value) !== 0 &&
      !symbol.declarations!.some((each) => ts.isExportSpecifier(each) && each.parent.parent.isTypeOnly)
    const values = checker.getExportsOfModule(checker.getSymbolAtLocation(declared)!).filter(isValue)
    const names = values.map(({ name }) => name).toSorted()
    for (const entry of ['turnwise', './node_modules/turnwise/out/main/turnwise.js'])
      expect(await exportsOf(entry)).toEqual(names)
  })

  test.runIf(isWhole)(wholeTitle('trains, generates and evaluates as documented'), async () => {
    const blocks = globSync('block*.ts', { cwd: project }).toSorted()
    const all = blocks.map((file) => `console.log('${file}'); await import('./${file}')`).join('\n')
    writeFileSync(path.join(project, 'all.ts'), all)
    const { stdout } = await running('all.ts')
    for (const file of blocks) expect(stdout).toContain(file)
    expect(stdout).toMatch(/\n3 0?\.?\d+/)
  })

  test('runs the example program: two steps, and answers with the adapter that they left', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['ownLoop.ts'], {
      cwd: project,
      env: { ...env, STEPS: '2' },
    })
    expect(stdout).toMatch(/^step 1 {2}reward 0\.\d{3} .*\nstep 2 {2}reward 0\.\d{3} /)
    const [base, trained] = Array.from(stdout.matchAll(/(\d+) of 64 right/g), ([, right]) => Number(right))
    expect(base).toBeGreaterThan(0)
    expect(trained).not.toBe(base)
  })

  test('has the command line', async () => {
    const { stdout } = await running('node_modules/turnwise/bin/turnwise.mjs', 'runs', 'list', '--json')
    expect(stdout).toContain('A loop of its own')
    const help = await running('node_modules/turnwise/bin/turnwise.mjs', '--help')
    expect(help.stdout).toMatch(/^Usage: turnwise COMMAND/)
  })

  test('says what it needs on an older Node', async () => {
    const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })`
    const preload = `--import=data:text/javascript,${encodeURIComponent(older)}`
    const asked = running(preload, '--input-type=module', '-e', "import 'turnwise'")
    await expect(asked).rejects.toThrow(/Needs Node 24\.9 or newer, and this is Node 20\.19\.0/)
  })
})
