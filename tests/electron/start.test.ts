import { spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { browserProgram, buildWindow, findElectron, hasDisplay, isStale, missingBuild } from '#cli/desktop.ts'
import type { Output } from '#cli/output.ts'
import { buildProject, linkProject } from './builtProject.ts'
import { eventually } from '../eventually.ts'

let built: ReturnType<typeof buildProject>

beforeAll(() => {
  built = buildProject()
  linkProject(built.folder)
})

afterAll(() => built[Symbol.dispose]())

const inside = (...names: string[]) => path.join(built.folder, ...names)

/** `turnwise app` of the built project; resolves at its end. `printed`: as soon as stdout has it. */
function startApp(args: readonly string[], env: Readonly<Record<string, string>> = {}, command = 'app') {
  const child = spawn(process.execPath, [inside('bin/turnwise.mjs'), command, ...args], {
    env: { ...process.env, TURNWISE_HOME: inside('home'), DISPLAY: ':0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (chunk: Buffer) => (said[name] += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { child, said, ended }
}

/** A program in Electron's place that notes how it was started. */
function electronThat(ends: string): string {
  const folder = mkdtempSync(inside('electron-'))
  const script = `#!/bin/sh\necho "$@" > "${folder}/args"\necho "$TURNWISE_HOME" > "${folder}/home"\n${ends}\n`
  writeFileSync(path.join(folder, 'electron'), script, { mode: 0o755 })
  return folder
}

async function servedUrl(app: ReturnType<typeof startApp>): Promise<string> {
  return eventually(() => {
    const [, url] = /served at (http:\S+)/.exec(app.said.stdout) ?? []
    if (url === undefined) throw new Error(`${app.said.stdout}${app.said.stderr}`)
    return url
  })
}

async function expectServed(app: ReturnType<typeof startApp>): Promise<void> {
  const page = await fetch(await servedUrl(app))
  expect(await page.text()).toContain('<div id="root">')
  app.child.kill('SIGINT')
  expect(await app.ended).toBe(0)
}

describe.runIf(process.platform !== 'win32')('turnwise app', () => {
  test('where there is no Electron says so in one line and serves the same window', async () => {
    const app = startApp([], { ELECTRON_OVERRIDE_DIST_PATH: inside('nowhere') })
    await expectServed(app)
    expect(app.said.stderr).toBe(
      'Electron is not installed (npx install-electron downloads it); serving the same window to a browser instead.\n',
    )
  })

  test('starts Electron on the project, with the data directory, and ends with it', async () => {
    const folder = electronThat('exit 0')
    const app = startApp(['--data-dir', inside('other')], { ELECTRON_OVERRIDE_DIST_PATH: folder })
    expect(await app.ended).toBe(0)
    expect(app.said).toEqual({ stdout: '', stderr: '' })
    expect(readFileSync(path.join(folder, 'args'), 'utf8').trim()).toBe(inside() + path.sep)
    expect(readFileSync(path.join(folder, 'home'), 'utf8').trim()).toBe(inside('other'))
  })

  test('an Electron that cannot start is no end', async () => {
    const app = startApp([], { ELECTRON_OVERRIDE_DIST_PATH: electronThat('exit 127') })
    await expectServed(app)
    expect(app.said.stderr).toContain('Electron exited immediately (status 127); serving the same window')
  })

  test('a person can choose the browser', async () => {
    const folder = electronThat('exit 0')
    const app = startApp(['--browser', '--no-open'], { ELECTRON_OVERRIDE_DIST_PATH: folder })
    await expectServed(app)
    expect(app.said.stderr).toBe('')
    expect(existsSync(path.join(folder, 'args'))).toBe(false)
  })

  test('without a build says how to make one', async () => {
    renameSync(inside('out/renderer'), inside('out/away'))
    const app = startApp([])
    expect(await app.ended).toBe(2)
    expect(app.said.stderr).toContain('The window is not built: out/renderer/index.html missing.')
    expect(app.said.stderr).toContain('npm run build')
    renameSync(inside('out/away'), inside('out/renderer'))
  })
})

test('turnwise serve builds the window of a checkout first', async () => {
  // Newer than the build, and no config to build it by: that it tries is enough.
  mkdirSync(inside('src/renderer'), { recursive: true })
  writeFileSync(inside('src/renderer/New.tsx'), '')
  const served = startApp([], {}, 'serve')
  await eventually(() => expect(served.said.stderr).toContain('Building the window'))
  served.child.kill('SIGKILL')
  await served.ended
  rmSync(inside('src'), { recursive: true })
})

describe.runIf(process.platform === 'linux')('the browser', () => {
  test('is handed a page that its owner alone can read, and no argument holds the token', async () => {
    const folder = mkdtempSync(inside('browser-'))
    const seen = (name: string) => readFileSync(path.join(folder, name), 'utf8')
    const looks = [
      'cd "$(dirname "$0")"; echo "$1" > opened; stat -c %a "$1" > mode; cp "$1" page',
      String.raw`for file in /proc/[0-9]*/cmdline; do tr '\0' ' ' < $file; echo; done > arguments 2> /dev/null`,
      'touch done',
    ]
    writeFileSync(path.join(folder, 'xdg-open'), `#!/bin/sh\n${looks.join('\n')}\n`, { mode: 0o755 })
    // The browser is opened from a terminal only.
    const command = `"${process.execPath}" "${inside('bin/turnwise.mjs')}" app --browser`
    const terminal = spawn('script', ['-qefc', command, '/dev/null'], {
      env: {
        ...process.env,
        TURNWISE_HOME: inside('home'),
        DISPLAY: ':0',
        PATH: `${folder}:${process.env['PATH'] ?? ''}`,
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const ended = new Promise((resolve) => terminal.once('close', resolve))
    let said = ''
    terminal.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    const [, token = ''] = await eventually(() => {
      const found = /#token=([\w-]{32})/.exec(said)
      if (found === null || !existsSync(path.join(folder, 'done'))) throw new Error(said)
      return found
    })
    expect(seen('page')).toContain(`#token=${token}"`)
    expect(seen('mode')).toBe('600\n')
    expect(seen('arguments')).toContain('turnwise.mjs')
    expect(`${seen('arguments')}${seen('opened')}`).not.toContain(token)
    terminal.stdin.write('\u0003')
    await ended
    expect(existsSync(seen('opened').trim())).toBe(false)
  })
})

describe('what there is to show a window with', () => {
  test('Electron is found where its package or the variable says, and never loaded', () => {
    const folder = electronThat('exit 0')
    expect(findElectron({ ELECTRON_OVERRIDE_DIST_PATH: folder })).toBe(path.join(folder, 'electron'))
    expect(findElectron({ ELECTRON_OVERRIDE_DIST_PATH: '/nowhere' })).toBe(findElectron({}))
  })

  test('a display, where a machine may have none', () => {
    expect(hasDisplay({}, 'linux')).toBe(false)
    expect(hasDisplay({ DISPLAY: ':0' }, 'linux')).toBe(true)
    expect(hasDisplay({ WAYLAND_DISPLAY: 'wayland-0' }, 'linux')).toBe(true)
    expect(hasDisplay({}, 'win32')).toBe(true)
  })

  test('the browser of each system', () => {
    const page = '/home/me/a&calc/open.html'
    expect(browserProgram(page, 'linux')).toEqual({ file: 'xdg-open', args: [page] })
    expect(browserProgram(page, 'darwin')).toEqual({ file: 'open', args: [page] })
    // cmd.exe would take what follows the & for a command of its own.
    expect(browserProgram('C:\\me\\a&calc&\\100% b\\open.html', 'win32')).toEqual({
      file: 'rundll32',
      args: ['url.dll,FileProtocolHandler', 'file:///C:/me/a&calc&/100%25%20b/open.html'],
    })
  })
})

describe('the window of a checkout', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-start-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const touch = (file: string, at: number, text = '') => {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    writeFileSync(path.join(folder, file), text)
    utimesSync(path.join(folder, file), at, at)
  }
  const results = ['out/main/index.js', 'out/preload/index.cjs', 'out/renderer/index.html']
  const notes: string[] = []
  const output = { note: (line: string) => notes.push(line) } as unknown as Output

  test('is stale where something is missing or older than its sources', () => {
    touch('package.json', 100)
    touch('src/main/index.ts', 100)
    expect(isStale(folder)).toBe(true)
    for (const file of results) touch(file, 200)
    expect(isStale(folder)).toBe(false)
    touch('src/renderer/features/run/Deep.tsx', 300)
    expect(isStale(folder)).toBe(true)
  })

  test('is built before it is shown, once', async () => {
    const makes = results.map(
      (file) => `require('fs').writeFileSync(${JSON.stringify(file)}, '')`, // where it is started, as the builder does
    )
    touch('node_modules/electron-vite/bin/electron-vite.js', 100, makes.join('\n'))
    for (const file of results) rmSync(path.join(folder, file))
    await buildWindow(output, folder)
    await buildWindow(output, folder)
    expect(notes).toEqual(['Building the window; this takes half a minute and happens only once.'])
    expect(isStale(folder)).toBe(false)
  })

  test('whose building is stopped is not shown in pieces', async () => {
    const stopped = `process.kill(process.pid, 'SIGINT')\nsetInterval(() => undefined, 1000)`
    touch('node_modules/electron-vite/bin/electron-vite.js', 100, stopped)
    touch('src/main/index.ts', Date.now() / 1000 + 60)
    await expect(buildWindow(output, folder)).rejects.toThrow('Building the window was stopped.')
    touch('src/main/index.ts', 100)
    notes.pop()
  })

  test('that cannot be built is not tried', async () => {
    rmSync(path.join(folder, 'node_modules'), { recursive: true })
    rmSync(path.join(folder, results[2] ?? ''))
    await buildWindow(output, folder)
    expect(missingBuild(folder)).toEqual(['out/renderer/index.html'])
    expect(notes).toHaveLength(1)
  })
})
