/**
 * Stands in for the package `electron`, which is nothing but a download outside of its own program. It keeps what it was
 * told, plays the system's part on request, and starts utility processes as real ones of Node.
 */
import { EventEmitter } from 'node:events'
import { existsSync } from 'node:fs'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { UtilityProcess } from './fakeUtilityProcess.ts'

type Handler = (...given: unknown[]) => unknown

/** What the shell has said to the system so far. */
export const said = {
  switches: new Map<string, string | undefined>(),
  schemes: [] as { readonly scheme: string; readonly privileges: Readonly<Record<string, boolean>> }[],
  paths: new Map<string, string>(),
  sandboxed: false,
  appMenu: null as unknown,
  notices: [] as Notification[],
  questions: [] as { readonly message: string; readonly buttons: readonly string[] }[],
  opened: [] as string[],
  revealed: [] as string[],
  errors: [] as string[],
  dialogs: [] as { readonly kind: string; readonly options: unknown }[],
  wakeLocks: new Set<number>(),
  exitCode: null as number | null,
}

/** What the person and the system answer. */
export const answers = {
  isFirstInstance: true,
  /** Buttons of the next questions. */
  buttons: [] as number[],
  chosen: null as string | null,
  displays: [{ id: 1, workArea: { x: 0, y: 0, width: 1920, height: 1040 } }],
  /** The program is in front. */
  isFocused: false,
}

class App extends EventEmitter {
  readonly isPackaged = false
  readonly commandLine = {
    appendSwitch: (name: string, value?: string) => void said.switches.set(name, value),
  }
  readonly #ready = Promise.withResolvers<undefined>()
  setName(): void {}
  setAppUserModelId(): void {}
  /** As on Linux, but never the tester's own. */
  getPath(name: string): string {
    const place = name === 'appData' ? process.env['XDG_CONFIG_HOME'] : undefined
    if (place === undefined) throw new Error(`Expected a place for ${name}.`)
    return place
  }
  setPath(name: string, path: string): void {
    if (!existsSync(path)) throw new Error(`No such folder: ${path}`)
    said.paths.set(name, path)
  }
  enableSandbox(): void {
    said.sandboxed = true
  }
  requestSingleInstanceLock(handover: unknown): boolean {
    this.emit('fake:lock', handover)
    return answers.isFirstInstance
  }
  whenReady(): Promise<undefined> {
    return this.#ready.promise
  }
  /** As when Electron has started. */
  becomeReady(): void {
    this.#ready.resolve(undefined)
  }
  quit(): void {
    const event = preventable()
    this.emit('before-quit', event)
    if (!event.isPrevented) this.exit(0)
  }
  exit(code: number): void {
    said.exitCode = code
    this.emit('fake:exit', code)
  }
}

/** An event that says whether it was prevented. */
export function preventable<Fields extends object>(
  fields?: Fields,
): Fields & { readonly isPrevented: boolean; preventDefault(): void } {
  const state = { isPrevented: false }
  return {
    ...(fields as Fields),
    get isPrevented() {
      return state.isPrevented
    },
    preventDefault: () => void (state.isPrevented = true),
  }
}

export const app = new App()

class WebContents extends EventEmitter {
  url = ''
  readonly sent: unknown[][] = []
  openHandler: Handler = () => ({ action: 'allow' })
  setWindowOpenHandler(handler: Handler): void {
    this.openHandler = handler
  }
  getURL(): string {
    return this.url
  }
  send(...message: unknown[]): void {
    this.sent.push(message)
  }
  reload(): void {
    this.emit('fake:reload')
  }
}

export interface WindowOptions {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  readonly show: boolean
  readonly icon: string
  readonly webPreferences: Readonly<Record<string, unknown>>
}

export class BrowserWindow extends EventEmitter {
  static readonly all: BrowserWindow[] = []
  readonly webContents = new WebContents()
  readonly options: WindowOptions
  bar: { share: number; mode: string } | null = null
  title = ''
  isShown = false
  isLarge = false
  constructor(options: WindowOptions) {
    super()
    this.options = options
    BrowserWindow.all.push(this)
    app.emit('web-contents-created', {}, this.webContents)
  }
  loadURL(url: string): Promise<void> {
    this.webContents.url = url
    return Promise.resolve()
  }
  show(): void {
    this.isShown = true
  }
  hide(): void {
    this.isShown = false
  }
  focus(): void {
    this.emit('fake:focus')
  }
  restore(): void {}
  maximize(): void {
    this.isLarge = true
  }
  isMaximized(): boolean {
    return this.isLarge
  }
  isMinimized(): boolean {
    return false
  }
  isDestroyed(): boolean {
    return false
  }
  isVisible(): boolean {
    return this.isShown
  }
  isFocused(): boolean {
    return answers.isFocused
  }
  getNormalBounds(): object {
    const { x, y, width, height } = this.options
    return { x, y, width, height }
  }
  setTitle(title: string): void {
    this.title = title
  }
  setProgressBar(share: number, { mode }: { mode: string }): void {
    this.bar = { share, mode }
  }
}

/** The frames, permissions and requests of the one session. */
class Session {
  readonly handlers: Record<string, Handler | null> = {}
  readonly #keep = (name: string) => (handler: Handler | null) => void (this.handlers[name] = handler)
  readonly setPermissionRequestHandler = this.#keep('permissionRequest')
  readonly setPermissionCheckHandler = this.#keep('permissionCheck')
  readonly setDevicePermissionHandler = this.#keep('device')
  readonly setDisplayMediaRequestHandler = this.#keep('displayMedia')
  readonly webRequest = { onBeforeRequest: this.#keep('request') }
  readonly protocol = {
    handle: (scheme: string, handler: Handler) => this.#keep(`scheme:${scheme}`)(handler),
  }
  spellChecks = true
  setSpellCheckerEnabled(isEnabled: boolean): void {
    this.spellChecks = isEnabled
  }
}

const defaultSession = new Session()
export const session = { defaultSession }

export const protocol = {
  registerSchemesAsPrivileged: (schemes: typeof said.schemes) => void said.schemes.push(...schemes),
}

class IpcMain extends EventEmitter {
  readonly handlers = new Map<string, Handler>()
  handle(channel: string, handler: Handler): void {
    this.handlers.set(channel, handler)
  }
}

export const ipcMain = new IpcMain()

/** As Electron's: what arrives is an event that has it as `data`. */
class MessagePortMain extends EventEmitter {
  readonly #port: MessagePort
  constructor(port: MessagePort) {
    super()
    this.#port = port
    port.on('message', (data: unknown) => this.emit('message', { data, ports: [] }))
    port.on('close', () => this.emit('close'))
  }
  start(): void {
    this.#port.start()
  }
  postMessage(message: unknown): void {
    this.#port.postMessage(message)
  }
  close(): void {
    this.#port.close()
  }
}

/** Two ends of a channel: the page's, and the one that main gets. */
export function channelToMain(): { readonly page: MessagePort; readonly main: object } {
  const { port1, port2 } = new MessageChannel()
  return { page: port1, main: new MessagePortMain(port2) }
}

export const dialog = {
  showMessageBox(...given: unknown[]): Promise<{ response: number }> {
    said.questions.push(given.at(-1) as (typeof said.questions)[number])
    return Promise.resolve({ response: answers.buttons.shift() ?? -1 })
  },
  showOpenDialog(_window: unknown, options: unknown): Promise<{ canceled: boolean; filePaths: string[] }> {
    said.dialogs.push({ kind: 'open', options })
    return Promise.resolve({
      canceled: answers.chosen === null,
      filePaths: answers.chosen === null ? [] : [answers.chosen],
    })
  },
  showSaveDialog(_window: unknown, options: unknown): Promise<{ canceled: boolean; filePath: string }> {
    said.dialogs.push({ kind: 'save', options })
    return Promise.resolve({ canceled: answers.chosen === null, filePath: answers.chosen ?? '' })
  },
  showErrorBox: (title: string, content: string) => void said.errors.push(`${title}: ${content}`),
}

export const shell = {
  openExternal: (url: string) => Promise.resolve(void said.opened.push(url)),
  openPath: (path: string) => Promise.resolve(void said.opened.push(path)),
  showItemInFolder: (path: string) => void said.revealed.push(path),
}

export class Notification extends EventEmitter {
  readonly options: { readonly title: string; readonly body: string }
  constructor(options: Notification['options']) {
    super()
    this.options = options
  }
  show(): void {
    said.notices.push(this)
  }
}

export interface MenuEntry {
  readonly label?: string
  readonly role?: string
  readonly enabled?: boolean
  readonly submenu?: readonly MenuEntry[]
  readonly click?: () => void
}

export const Menu = {
  buildFromTemplate: (template: readonly MenuEntry[]) => template,
  setApplicationMenu: (menu: unknown) => void (said.appMenu = menu),
}

export class Tray extends EventEmitter {
  static readonly all: Tray[] = []
  readonly image: string
  toolTip = ''
  menu: readonly MenuEntry[] = []
  constructor(image: string) {
    super()
    this.image = image
    Tray.all.push(this)
  }
  setToolTip(text: string): void {
    this.toolTip = text
  }
  setContextMenu(menu: readonly MenuEntry[]): void {
    this.menu = menu
  }
}

let lastWakeLock = 0
export const powerSaveBlocker = {
  start(kind: string): number {
    if (kind !== 'prevent-app-suspension') throw new Error(`Expected prevent-app-suspension, got ${kind}.`)
    said.wakeLocks.add(++lastWakeLock)
    return lastWakeLock
  },
  stop: (lock: number) => void said.wakeLocks.delete(lock),
}

export const powerMonitor = new EventEmitter()
export const nativeTheme = { shouldUseDarkColors: true }
export const screen = {
  getPrimaryDisplay: () => answers.displays[0],
  getAllDisplays: () => answers.displays,
}

export const utilityProcess = {
  fork: (...given: ConstructorParameters<typeof UtilityProcess>) => new UtilityProcess(...given),
  all: UtilityProcess.all,
}
