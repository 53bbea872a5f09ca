/** The one window: how it is made, and that it comes back where it was. */
import { fileURLToPath } from 'node:url'
import { BrowserWindow, nativeTheme, screen, type WebPreferences } from 'electron'
import type { ShellEvent } from '#shared/bridge.ts'
import { channels } from '#shared/bridge.ts'
import type { Store } from '#host/store/store.ts'
import { iconFile } from './icons.ts'
import { appPage } from './origin.ts'
import { leastSize, placeWindow, readWindowState, windowStateKey } from './windowState.ts'

const preloadFile = fileURLToPath(new URL('../../out/preload/index.cjs', import.meta.url))

/** The page has a process without rights, and no more of the shell than the bridge. */
const webPreferences: WebPreferences = {
  preload: preloadFile,
  contextIsolation: true,
  sandbox: true,
  nodeIntegration: false,
  nodeIntegrationInWorker: false,
  nodeIntegrationInSubFrames: false,
  webSecurity: true,
  allowRunningInsecureContent: false,
  experimentalFeatures: false,
  webviewTag: false,
  navigateOnDragDrop: false,
  spellcheck: false,
}

const saveAfterMs = 500

/** The page's own backgrounds, so that nothing flashes before it is there. */
const background = () => (nativeTheme.shouldUseDarkColors ? '#0c0c0e' : '#ffffff')

/** Shows itself as soon as there is something to see. */
export function createMainWindow(store: Store): BrowserWindow {
  const primary = screen.getPrimaryDisplay()
  const others = screen.getAllDisplays().filter(({ id }) => id !== primary.id)
  const place = placeWindow(readWindowState(store.settings.get(windowStateKey)), [
    primary.workArea,
    ...others.map(({ workArea }) => workArea),
  ])
  const window = new BrowserWindow({
    ...place.bounds,
    minWidth: leastSize.width,
    minHeight: leastSize.height,
    title: 'Turnwise',
    icon: iconFile('icon.png'),
    backgroundColor: background(),
    show: false,
    webPreferences,
  })
  if (place.isMaximized) window.maximize()
  window.once('ready-to-show', () => window.show())
  rememberPlace(window, store)
  void window.loadURL(appPage)
  return window
}

function rememberPlace(window: BrowserWindow, store: Store): void {
  let timer: NodeJS.Timeout | undefined
  const save = () => {
    if (window.isDestroyed() || window.isMinimized()) return
    store.settings.set(windowStateKey, {
      bounds: window.getNormalBounds(),
      isMaximized: window.isMaximized(),
    })
  }
  const saveSoon = () => {
    clearTimeout(timer)
    timer = setTimeout(save, saveAfterMs)
  }
  window.on('resize', saveSoon)
  window.on('move', saveSoon)
  window.on('close', () => {
    clearTimeout(timer)
    save()
  })
}

export function showWindow(window: BrowserWindow): void {
  if (window.isMinimized()) window.restore()
  window.show()
  window.focus()
}

export const tellPage = ({ webContents }: BrowserWindow, event: ShellEvent): void =>
  webContents.send(channels.event, event)
