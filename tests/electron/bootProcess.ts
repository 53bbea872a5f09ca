/**
 * Starts the built app outside of Electron, with the fake in its place, and says on stdout what came of it. The argument
 * is the folder that holds `out`.
 */
import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Api } from '#shared/api/api.ts'
import { createClient } from '#shared/api/client.ts'
import { channels, openBridgePort } from '#shared/bridge.ts'
import type * as fakeElectron from './fakeElectron.ts'

export interface BootReport {
  readonly preload: string
  readonly preloadExists: boolean
  readonly page: { readonly status: number; readonly text: string; readonly policy: string | null }
  readonly script: { readonly status: number; readonly contentType: string | null }
  readonly runs: unknown
  readonly version: string
  /** Scripts of the processes it started. */
  readonly processes: readonly string[]
  /** Packages that were loaded into its own process. */
  readonly packages: readonly string[]
  readonly icons: readonly boolean[]
  readonly errors: readonly string[]
  readonly exitCode: number | null
}

const [, , project = ''] = process.argv
const fake = new URL('fakeElectron.ts', import.meta.url).href
const packages = new Set<string>()

registerHooks({
  resolve(specifier, context, next) {
    if (
      context.parentURL !== import.meta.url &&
      /^[a-z@]/.test(specifier) &&
      !/^(node|file|data):/.test(specifier)
    )
      packages.add(specifier)
    return specifier === 'electron' ? { url: fake, shortCircuit: true } : next(specifier, context)
  },
})

const {
  app,
  BrowserWindow,
  channelToMain,
  ipcMain,
  powerMonitor,
  preventable,
  said,
  session,
  Tray,
  utilityProcess,
} = (await import(fake)) as typeof fakeElectron
await import(pathToFileURL(path.join(project, 'out/main/index.js')).href)
app.becomeReady()
while (BrowserWindow.all.length === 0 && said.errors.length === 0) await setTimeout(10)
const [window] = BrowserWindow.all
if (window === undefined) throw new Error(said.errors.join('\n'))

const get = (url: string) =>
  session.defaultSession.handlers['scheme:turnwise']?.(new Request(url)) as Promise<Response>
const page = await get('turnwise://app/')
const text = await page.text()
const script = await get(`turnwise://app/${/src="\.?\/?([^"]+\.js)"/.exec(text)?.[1] ?? ''}`)

const { page: end, main } = channelToMain()
ipcMain.emit(channels.connect, { senderFrame: { url: 'turnwise://app/', parent: null }, ports: [main] })
const client = createClient<Api>(
  openBridgePort({
    post: (message) => end.postMessage(message),
    listen: (handler) => end.on('message', handler),
  }),
)
const runs = await client.call('runs.list', {})
const { version } = await client.call('system.info')

const preload = String(window.options.webPreferences['preload'])
const exited = new Promise((resolve) => app.once('fake:exit', resolve))
powerMonitor.emit('shutdown', preventable())
await exited
const report: BootReport = {
  preload,
  preloadExists: existsSync(preload),
  page: { status: page.status, text, policy: page.headers.get('content-security-policy') },
  script: { status: script.status, contentType: script.headers.get('content-type') },
  runs,
  version,
  processes: utilityProcess.all.map((each) => each.script),
  packages: [...packages],
  icons: [window.options.icon, Tray.all[0]?.image ?? ''].map((file) => existsSync(file)),
  errors: said.errors,
  exitCode: said.exitCode,
}
process.stdout.write(JSON.stringify(report), () => process.exit(0))
