import { execFile, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  globSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeManifest } from '../../scripts/cuda/makeManifest.ts'
import { eachOf, isLong } from '../sweeps.ts'
import { startIndex, tinyRecipe } from '../host/devices/loopbackIndex.ts'
import { buildProject, root } from './builtProject.ts'

/** Packages of the real dependencies by the real packager; only Electron itself is a few empty files. */
let built: ReturnType<typeof buildProject>
/** Of a package for Linux, as files. */
let contents: string
const packed = new Map<string, ReturnType<typeof pack>>()

beforeAll(() => {
  // On the same disk as the dependencies, so that they need not be copied.
  built = buildProject(path.join(root, 'node_modules'))
  layOut(built.folder)
  const { archive, isWhole } = pack('linux', 'x64')
  expect(isWhole).toBe(true)
  contents = path.join(built.folder, 'contents')
  run(path.join(root, 'node_modules/@electron/asar/bin/asar.js'), ['extract', archive, contents])
})

afterAll(() => built[Symbol.dispose]())

/** Once each. `isWhole`: for another system the packager ends when it comes to what is in Electron's own files. */
function pack(system: string, arch: string): { archive: string; isWhole: boolean } {
  const known = packed.get(system)
  if (known !== undefined) return known
  const output = path.join(built.folder, `dist-${system}-${arch}`)
  const electronVersion = versionOf('electron')
  const { status } = start(path.join(root, 'node_modules/electron-builder/out/cli/cli.js'), [
    ...['--projectDir', built.folder, '--config', path.join(root, 'electron-builder.yml')],
    ...[`--${system}`, 'dir', `--${arch}`, `-c.directories.output=${output}`],
    `-c.electronVersion=${electronVersion}`,
    `-c.electronDist=${emptyElectron(electronVersion)}`,
    '-c.extraMetadata.main=out/main/index.js',
  ])
  const [archive] = globSync('**/app.asar', { cwd: output })
  if (archive === undefined) throw new Error(`Nothing was packed for ${system}.`)
  const result = { archive: path.join(output, archive), isWhole: status === 0 }
  packed.set(system, result)
  return result
}

const versionOf = (name: string) =>
  (
    JSON.parse(readFileSync(path.join(root, 'node_modules', name, 'package.json'), 'utf8')) as {
      version: string
    }
  ).version

function start(script: string, args: readonly string[]) {
  const env = { ...process.env, TURNWISE_HOME: path.join(built.folder, 'home') }
  return spawnSync(process.execPath, [script, ...args], { cwd: built.folder, env, encoding: 'utf8' })
}

function run(script: string, args: readonly string[]): string {
  const { status, stdout, stderr } = start(script, args)
  if (status !== 0) throw new Error(`${script} ended with ${status ?? 'a signal'}:\n${stdout}${stderr}`)
  return stdout
}

interface LockedPackage {
  readonly dev?: boolean
}

/** The checkout with everything that could be packed by mistake, and without what only developing needs. */
function layOut(folder: string): void {
  for (const name of ['package-lock.json', 'LICENSE', 'README.md'])
    copyFileSync(path.join(root, name), path.join(folder, name))
  cpSync(path.join(root, 'resources'), path.join(folder, 'resources'), { recursive: true })
  for (const name of ['src', 'docs', 'scripts', 'tests', 'bench', 'out/playwright', 'dist']) {
    mkdirSync(path.join(folder, name))
    writeFileSync(path.join(folder, name, 'index.js'), '')
  }
  const { packages } = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, LockedPackage>>
  }
  for (const [place, { dev }] of Object.entries(packages))
    if (place !== '' && dev !== true) link(path.join(root, place), path.join(folder, place))
}

function link(from: string, to: string): void {
  const status = statSync(from, { throwIfNoEntry: false })
  if (status === undefined) return // for another system
  if (!status.isDirectory()) {
    linkSync(from, to)
    return
  }
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(from))
    if (name !== 'node_modules') link(path.join(from, name), path.join(to, name))
}

/** Where Electron's program keeps its fuses: a mark, then the version of the list, how many there are, and each. */
const fuseMark = 'dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX'
const fuses = '101100011'
const fuseWire = Buffer.concat([Buffer.from(fuseMark), Buffer.of(1, fuses.length), Buffer.from(fuses)])

function emptyElectron(version: string): string {
  const place = path.join(built.folder, 'empty-electron')
  mkdirSync(path.join(place, 'resources'), { recursive: true })
  mkdirSync(path.join(place, 'Electron.app/Contents/Resources'), { recursive: true })
  for (const name of ['LICENSE', 'LICENSES.chromium.html', 'chrome-sandbox'])
    writeFileSync(path.join(place, name), '', { mode: 0o755 })
  for (const name of ['electron', 'electron.exe'])
    writeFileSync(path.join(place, name), fuseWire, { mode: 0o755 })
  writeFileSync(path.join(place, 'version'), version)
  return place
}

/** Every file, relative to the package's root. */
const filesOf = () =>
  readdirSync(contents, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) =>
      path.relative(contents, path.join(parentPath, name)).replaceAll(path.sep, '/'),
    )

// Electron's files are laid out as on Linux.
describe.runIf(process.platform === 'linux')('the package', () => {
  test('holds what is built, what comes along, dependencies, and nothing else', () => {
    expect(readdirSync(contents).toSorted()).toEqual([
      'LICENSE',
      'bin',
      'node_modules',
      'out',
      'package.json',
      'resources',
    ])
    expect(readdirSync(path.join(contents, 'out')).toSorted()).toEqual(['main', 'preload', 'renderer'])
    const files = filesOf()
    for (const wanted of [
      'out/main/index.js',
      'out/main/cli.js',
      'out/main/jobProcess.js',
      'out/main/sandboxProcess.js',
      'out/preload/index.cjs',
      'out/renderer/index.html',
      'resources/starter/model.safetensors',
      'resources/demo/run.json',
      'resources/icons/tray.png',
      'resources/rewards/manifest.json',
    ])
      expect(files).toContain(wanted)
    const ours = files.filter((file) => file.startsWith('resources/'))
    const all = readdirSync(path.join(root, 'resources'), { recursive: true, withFileTypes: true })
    expect(ours).toHaveLength(all.filter((entry) => entry.isFile()).length)
  })

  test('has no Node of its own, and is not large', () => {
    const files = filesOf()
    expect(files.filter((file) => /^node_modules\/node-/.test(file))).toEqual([])
    const bytes = files.reduce((sum, file) => sum + statSync(path.join(contents, file)).size, 0)
    expect(bytes / 2 ** 20).toBeLessThan(100)
  })

  const systems = [
    { system: 'linux', arch: 'x64', own: 'linux', runtime: 'libonnxruntime.so.1' },
    { system: 'win', arch: 'x64', own: 'win32', runtime: 'onnxruntime.dll' },
    ...(isLong
      ? [{ system: 'mac', arch: 'arm64', own: 'darwin', runtime: 'libonnxruntime.1.dylib' } as const]
      : []),
  ]
  const isAlways = ({ system }: (typeof systems)[number]) => system === 'linux'
  const libraries = 'for $system on $arch has the native libraries of that system alone, beside the archive'
  eachOf(test, { rows: systems, isAlways }, libraries, (each) => {
    const { system, arch, own, runtime } = each
    const unpacked = `${pack(system, arch).archive}.unpacked`
    const native = globSync('**/*.{node,dylib,dll,exe,so,so.*}', { cwd: unpacked })
    const runtimes = `onnxruntime-node/bin/napi-v6/${own}/${arch}/`
    for (const file of native)
      expect(file.includes(runtimes) || file.endsWith(`prebuilds/${own}-${arch}.node`), file).toBe(true)
    const names = native.map((file) => path.basename(file))
    expect(names).toEqual(
      expect.arrayContaining(['onnxruntime_binding.node', runtime, `${own}-${arch}.node`]),
    )
  })

  test('has no sources, tests or documents of dependencies, but their licences', () => {
    const theirs = filesOf().filter((file) => file.startsWith('node_modules/'))
    expect(theirs.filter((file) => /\.(ts|md|map|c|cc|cpp|h|gyp)$/.test(file))).toEqual([])
    // The YAML library has a folder of code that is called so.
    const others = theirs.filter((file) => !file.startsWith('node_modules/yaml/dist/doc/'))
    expect(others.filter((file) => /\/(tests?|docs?|examples?|__tests__)\//.test(file))).toEqual([])
    expect(theirs).toContain('node_modules/better-sqlite3/LICENSE')
    expect(
      theirs.some((file) => /^node_modules\/(electron|react|vite|typescript|playwright)/.test(file)),
    ).toBe(false)
  })

  test('cannot be made to run other code than its own', () => {
    const program = path.join(path.dirname(path.dirname(pack('linux', 'x64').archive)), 'turnwise')
    const wire = readFileSync(program, 'latin1').slice(fuseMark.length + 2)
    // runAsNode (for the processes of reward code), cookie encryption, NODE_OPTIONS, --inspect, integrity of the archive,
    // only the archive, another snapshot, privileges of file:, WebAssembly's trap handlers.
    expect(wire).toBe('100011001')
  })

  test('works by itself: trains a step and imports a table', () => {
    const alone = (...args: string[]) => run(path.join(contents, 'bin/turnwise.mjs'), args)
    const [done] = alone('demo', '--steps', '1', '--json').trim().split('\n').slice(-1)
    expect(JSON.parse(done ?? '')).toMatchObject({ algorithm: 'grpo', steps: 1 })
    writeFileSync(path.join(built.folder, 'rows.csv'), 'prompt,answer\n1+1=,2\n')
    expect(alone('dataset', 'import', path.join(built.folder, 'rows.csv'), '--json')).toContain('"rows"')
  })

  // Resources of its own and the binaries of its own packages, as where an installed app lies on a read-only disk.
  test('installs the CUDA library beside the runs, which its processes then load, and stays as it is', async () => {
    await using server = await startIndex()
    const list = path.join(built.folder, 'wheels.json')
    writeFileSync(list, JSON.stringify(await makeManifest(tinyRecipe, server.index)))
    const before = filesOf().toSorted()
    const script = path.join(contents, 'bin/turnwise.mjs')
    const home = path.join(built.folder, 'cuda-home')
    const env = { ...process.env, TURNWISE_HOME: home, TURNWISE_CUDA_MANIFEST: list }
    const args = [script, 'device', 'install', 'cuda', '--yes', '--json', '--index', server.index]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: built.folder, env })
    const { isInstalled, device } = JSON.parse(stdout) as {
      isInstalled: boolean
      device: { available: boolean; reason: string }
    }
    expect(isInstalled).toBe(true)
    if (process.arch === 'x64')
      expect(device.reason).toMatch(/No NVIDIA driver is installed here|of the CUDA library cannot be loaded/)
    expect(readdirSync(path.join(home, 'libraries/cuda'))).toContain('onnxruntime_binding.node')
    expect(filesOf().toSorted()).toEqual(before)
  })

  test('holds the list of what the CUDA library is made of', () => {
    expect(readdirSync(path.join(contents, 'resources/libraries'))).toEqual(['cuda-linux-x64.json'])
  })
})
