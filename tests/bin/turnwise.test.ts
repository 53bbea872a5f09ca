import { spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const launcher = join(import.meta.dirname, '../../bin/turnwise.mjs')

/** Answers what it was started with; `wait` stays until SIGTERM, `signals` counts them. */
const commandLine = `
export async function main(argv: string[]): Promise<number> {
  if (argv[0] === 'wait') {
    let interrupts = 0
    process.on('SIGINT', () => console.log('interrupt', ++interrupts))
    console.log('ready')
    const timer = setInterval(() => {}, 1000)
    await new Promise((resolve) => process.once('SIGTERM', resolve))
    clearInterval(timer)
    return 7
  }
  if (argv[0] === 'die') process.kill(process.pid, 'SIGKILL')
  console.log(JSON.stringify({ argv, env: process.env }))
  return 3
}
`

/** Preloads that make this Node look like another one. */
const withoutExec = `--import=data:text/javascript,${encodeURIComponent('delete process.execve')}`
const asNode20 = `--import=data:text/javascript,${encodeURIComponent(
  `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })`,
)}`

let folder: string
let copy: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnwise launcher '))
  copy = join(folder, 'bin/turnwise.mjs')
  mkdirSync(join(folder, 'bin'))
  mkdirSync(join(folder, 'src/cli'), { recursive: true })
  copyFileSync(launcher, copy)
  copyFileSync(join(launcher, '../node.mjs'), join(copy, '../node.mjs'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'src/cli/main.ts'), commandLine)
})

afterAll(() => rmSync(folder, { recursive: true }))

/** Settings of the tests' own process must not hide the launcher's. */
function environment(extra: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(MALLOC_|GLIBC_TUNABLES$|TURNWISE_|NODE_OPTIONS$|NODE_COMPILE_CACHE$)/.test(name),
  )
  return { ...Object.fromEntries(own), ...extra }
}

function run(
  argv: readonly string[],
  extra: Readonly<Record<string, string>> = {},
): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, [copy, ...argv], { encoding: 'utf8', env: environment(extra) })
}

describe.each([
  { way: 'becoming the new process', extra: {} },
  { way: 'waiting for a child', extra: { NODE_OPTIONS: withoutExec } },
])('the launcher, $way', ({ extra }) => {
  test('passes arguments and exit status on and prints no warning', () => {
    const { status, stdout, stderr } = run(['train', 'a b', '--json'], extra)
    expect({ status, stderr }).toEqual({ status: 3, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ argv: ['train', 'a b', '--json'] })
  })

  test('keeps large blocks of memory on the heap, unless told otherwise', () => {
    const env = (result: SpawnSyncReturns<string>) => (JSON.parse(result.stdout) as { env: object }).env
    const linux = process.platform === 'linux'
    const settings = { MALLOC_MMAP_THRESHOLD_: '10485760', MALLOC_TRIM_THRESHOLD_: '4294967296' }
    expect(env(run([], extra))).toEqual(
      expect.objectContaining(
        linux ? { ...settings, MALLOC_ARENA_MAX: '2', GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' } : {},
      ),
    )
    expect(env(run([], { ...extra, MALLOC_ARENA_MAX: '9' }))).toMatchObject({ MALLOC_ARENA_MAX: '9' })
  })

  test('keeps compiled code beside the code, unless told otherwise', () => {
    const cache = join(folder, 'node_modules/.cache/turnwise')
    rmSync(cache, { recursive: true, force: true })
    expect(run([], { ...extra, NODE_COMPILE_CACHE: join(folder, 'elsewhere') }).status).toBe(3)
    expect(existsSync(cache)).toBe(false)
    expect(run([], extra).status).toBe(3)
    expect(readdirSync(cache, { recursive: true }).length).toBeGreaterThan(1)
  })

  test('does not mark what the command line starts in turn', () => {
    expect(run([], extra).stdout).not.toContain('TURNWISE_CHILD')
  })

  test.skipIf(process.platform === 'win32')('ends by the signal that ended the command line', () => {
    expect(run(['die'], extra).signal).toBe('SIGKILL')
  })

  test.skipIf(process.platform === 'win32')('delivers each signal once', async () => {
    const child = spawn(process.execPath, [copy, 'wait'], {
      env: environment(extra),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const seen: string[] = []
    child.stdout.setEncoding('utf8')
    for await (const text of child.stdout as AsyncIterable<string>) {
      seen.push(...text.trim().split('\n'))
      child.kill(seen.length === 1 ? 'SIGINT' : 'SIGTERM')
    }
    if (child.exitCode === null) await once(child, 'exit')
    expect({ seen, status: child.exitCode }).toEqual({ seen: ['ready', 'interrupt 1'], status: 7 })
  })
})

test('an old Node without a newer one beside it gets one sentence', () => {
  const { status, stdout, stderr } = run(['train'], { NODE_OPTIONS: asNode20 })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toBe('turnwise: Needs Node 24.9 or newer, and this is Node 20.19.0.\n')
})
