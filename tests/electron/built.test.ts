import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BootReport } from './bootProcess.ts'
import { buildProject, linkProject, root } from './builtProject.ts'

let built: ReturnType<typeof buildProject>
let project: string

beforeAll(() => {
  built = buildProject()
  project = built.folder
  linkProject(project)
})

afterAll(() => built[Symbol.dispose]())

describe('the built app', () => {
  let report: BootReport

  beforeAll(async () => {
    const home = path.join(project, 'home')
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', path.join(import.meta.dirname, 'bootProcess.ts'), project],
      {
        env: { ...process.env, TURNWISE_HOME: home, XDG_CONFIG_HOME: path.join(home, 'settings') },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
    const status = await new Promise((resolve) => child.once('close', resolve))
    expect({ status, text }).toMatchObject({ status: 0 })
    report = JSON.parse(text) as BootReport
  })

  test('opens a window with the built preload script and page', () => {
    expect(report.preload).toBe(path.join(project, 'out/preload/index.cjs'))
    expect(report.preloadExists).toBe(true)
    expect(report.page.status).toBe(200)
    expect(report.page.text).toContain('<div id="root">')
    expect(report.page.text).not.toContain('__TURNWISE_NONCE__')
    expect(report.page.policy).toContain("default-src 'none'")
    expect(report.script).toEqual({ status: 200, contentType: 'text/javascript; charset=utf-8' })
    expect(report.errors).toEqual([])
  })

  test('answers the API, and asks processes that were built with it', () => {
    expect(report.runs).toEqual([])
    expect(report.version).toBe(
      (JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string }).version,
    )
    expect(report.processes).toEqual([path.join(project, 'out/main/jobProcess.js')])
  })

  test('never loads the runtime that trains into the process with the window', () => {
    expect(report.packages).toEqual(expect.arrayContaining(['electron', 'better-sqlite3', 'zod']))
    expect(report.packages.filter((name) => /onnx|quickjs/.test(name))).toEqual([])
  })

  test('comes with its pictures, and ends in order', () => {
    expect(report.icons).toEqual([true, true])
    expect(report.exitCode).toBe(0)
  })
})

describe('the built preload script', () => {
  interface FakePort {
    onmessage: ((event: { data: unknown }) => void) | null
    readonly posted: unknown[]
    isClosed: boolean
  }

  /** The script in a world that has what a sandboxed preload script has. */
  function load() {
    const exposed = new Map<string, Readonly<Record<string, unknown>>>()
    const sent: unknown[][] = []
    const listeners = new Map<string, (...given: unknown[]) => void>()
    const ports: FakePort[] = []
    class Port {
      onmessage = null
      isClosed = false
      readonly posted: unknown[] = []
      constructor() {
        ports.push(this)
      }
      postMessage(message: unknown) {
        this.posted.push(message)
      }
      addEventListener(name: string, listener: () => void) {
        listeners.set(name, listener)
      }
      close() {
        this.isClosed = true
      }
    }
    const electron = {
      contextBridge: {
        exposeInMainWorld: (name: string, api: Readonly<Record<string, unknown>>) =>
          void exposed.set(name, api),
      },
      ipcRenderer: {
        on: (channel: string, listener: (...given: unknown[]) => void) =>
          void listeners.set(channel, listener),
        postMessage: (...given: unknown[]) => void sent.push(given),
        invoke: (...given: unknown[]) => Promise.resolve(given),
      },
      webUtils: { getPathForFile: (file: { path: string }) => file.path },
    }
    const world = {
      require(name: string) {
        if (name !== 'electron') throw new Error(`module not found: ${name}`)
        return electron
      },
      module: { exports: {} },
      exports: {},
      process: { platform: 'linux', arch: 'x64', versions: { electron: '45.0.0', chrome: '152.0' } },
      MessageChannel: class {
        readonly port1 = new Port()
        readonly port2 = new Port()
      },
    }
    const file = path.join(project, 'out/preload/index.cjs')
    runInContext(readFileSync(file, 'utf8'), createContext(world), { filename: file })
    return { exposed, sent, listeners, ports, api: exposed.get('turnwise') ?? {} }
  }

  type Call = (...given: unknown[]) => unknown
  const call = (api: Readonly<Record<string, unknown>>, name: string, ...given: unknown[]) =>
    (api[name] as Call)(...given)

  test('is one file, and hands the page exactly the bridge', () => {
    expect(readdirSync(path.join(project, 'out/preload'))).toEqual(['index.cjs'])
    const { exposed, api } = load()
    expect([...exposed.keys()]).toEqual(['turnwise'])
    expect(Object.keys(api).toSorted()).toEqual([
      'chooseFile',
      'chooseFolder',
      'chooseSave',
      'listen',
      'onEvent',
      'pathForFile',
      'platform',
      'post',
      'reveal',
    ])
    expect(api['platform']).toEqual({ os: 'linux', arch: 'x64', electron: '45.0.0', chrome: '152.0' })
  })

  test('opens a connection, and another one in its place', () => {
    const { api, sent, ports, listeners } = load()
    const heard: unknown[] = []
    call(api, 'post', 'too early')
    call(api, 'listen', (message: unknown) => heard.push(message))
    expect(sent).toEqual([['turnwise:connect', null, [ports[1]]]])
    call(api, 'post', 'hello')
    expect(ports[0]?.posted).toEqual(['hello'])
    ports[0]?.onmessage?.({ data: 'answer' })
    listeners.get('close')?.()
    expect(heard).toEqual(['answer', null])
    call(api, 'listen', () => undefined)
    expect(ports[0]?.isClosed).toBe(true)
    expect(sent).toHaveLength(2)
  })

  test('keeps events for the first listener, and passes no event of Electron on', () => {
    const { api, listeners } = load()
    const heard: unknown[][] = []
    listeners.get('turnwise:event')?.({ sender: 'secret' }, { type: 'new-run' })
    const end = call(api, 'onEvent', (...given: unknown[]) => heard.push(given)) as () => void
    listeners.get('turnwise:event')?.({ sender: 'secret' }, { type: 'add-data' })
    end()
    listeners.get('turnwise:event')?.({}, { type: 'show-keys' })
    expect(heard).toEqual([[{ type: 'new-run' }], [{ type: 'add-data' }]])
  })

  test('knows where a dropped file lies', () => {
    const { api } = load()
    expect(call(api, 'pathForFile', { path: '/data/a.csv' })).toBe('/data/a.csv')
    expect(call(api, 'pathForFile', { path: '' })).toBe(null)
  })
})
