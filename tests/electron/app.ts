/** The real main code on a data directory of its own, with the fake in Electron's place; one app per test file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import { afterAll } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import { createClient, type Client } from '#shared/api/client.ts'
import type { Port } from '#shared/api/protocol.ts'
import { channels, openBridgePort } from '#shared/bridge.ts'
import * as electron from './fakeElectron.ts'
import { eventually } from '../eventually.ts'

export const pageFrame = { url: 'turnwise://app/#/runs', parent: null }

export interface StartedApp {
  readonly directory: string
  readonly window: electron.BrowserWindow
  /** A connection as the preload script opens it; `frame`: who asks. */
  connect(frame?: object): Client<Api>
  /** The page's end of such a connection itself. */
  open(frame?: object): MessagePort
  /** What the page was told so far. */
  told(): unknown[]
}

/** Resolves when the window is there. */
export async function startApp(
  directory = mkdtempSync(path.join(tmpdir(), 'turnwise-app-')),
): Promise<StartedApp> {
  const settings = mkdtempSync(path.join(tmpdir(), 'turnwise-settings-'))
  process.env['TURNWISE_HOME'] = directory
  process.env['XDG_CONFIG_HOME'] = settings
  const listeners = process.listeners('SIGTERM')
  await import('../../src/main/index.ts')
  electron.app.becomeReady()
  const window = await eventually(() => {
    const [first] = electron.BrowserWindow.all
    if (first === undefined) throw new Error(`No window: ${electron.said.errors.join()}`)
    return first
  })
  afterAll(async () => {
    if (electron.said.exitCode === null) await quitAtOnce()
    for (const name of ['SIGINT', 'SIGTERM'] as const)
      for (const listener of process.listeners(name))
        if (!listeners.includes(listener)) process.off(name, listener)
    for (const folder of [directory, settings]) rmSync(folder, { recursive: true, force: true })
  })
  return {
    directory,
    window,
    connect: (frame = pageFrame) => createClient<Api>(connectPort(frame)),
    open: openChannel,
    told: () => window.webContents.sent.map(([, event]) => event),
  }
}

/** As the system asks for it: no question. */
async function quitAtOnce(): Promise<void> {
  const exited = new Promise((resolve) => electron.app.once('fake:exit', resolve))
  for (const child of electron.utilityProcess.all)
    if (child.pid !== undefined) process.kill(child.pid, 'SIGKILL')
  electron.powerMonitor.emit('shutdown', electron.preventable())
  await exited
}

function openChannel(frame: object = pageFrame): MessagePort {
  const { page, main } = electron.channelToMain()
  electron.ipcMain.emit(channels.connect, { senderFrame: frame, ports: [main] })
  return page
}

function connectPort(frame: object): Port {
  const page = openChannel(frame)
  return openBridgePort({
    post: (text) => page.postMessage(text),
    listen(handler) {
      page.on('message', handler)
      page.on('close', () => handler(null))
    },
  })
}
