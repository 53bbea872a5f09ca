/** The one window: its creation, and restoring its position. */
import { fileURLToPath } from 'node:url'
import { BrowserWindow, nativeTheme, screen, type WebPreferences } from 'electron'
import { type ShellEvent, channels } from '#shared/bridge.ts'
import type { Store } from '#host/store/store.ts'
import { iconFile } from './menu.ts'
import { appPage } from './page.ts'

const preloadFile = fileURLToPath(new URL('../../out/preload/index.cjs', import.meta.url))

/** Preferences that give the page a process without privileges, and nothing of the shell but the bridge. */
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

/** Background of the page, so that nothing flashes before it has loaded. */
const background = () => (nativeTheme.shouldUseDarkColors ? '#0c0c0e' : '#ffffff')

/** Creates the window, which shows itself as soon as there is content. */
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

/* Where the window was when it was last seen, and where it fits now. */

interface Rectangle {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

interface WindowState {
  /** Bounds of the window while it is not maximized. */
  readonly bounds: Rectangle
  readonly isMaximized: boolean
}

const windowStateKey = 'window.state'
const leastSize = { width: 960, height: 640 }
const defaultSize = { width: 1440, height: 900 }

export function readWindowState(value: unknown): WindowState | null {
  if (typeof value !== 'object' || value === null || !('bounds' in value) || !isRectangle(value.bounds))
    return null
  const { x, y, width, height } = value.bounds
  return {
    bounds: { x, y, width, height },
    isMaximized: 'isMaximized' in value && value.isMaximized === true,
  }
}

function isRectangle(value: unknown): value is Rectangle {
  if (typeof value !== 'object' || value === null) return false
  const { x, y, width, height } = value as Readonly<Record<string, unknown>>
  return [x, y, width, height].every(Number.isFinite) && Number(width) > 0 && Number(height) > 0
}

/**
 * Returns the saved position, moved wholly onto the display that shows most of it, or to the middle of the first if
 * none shows any. `workAreas`: of the current displays, the primary one first.
 */
export function placeWindow(
  saved: WindowState | null,
  workAreas: readonly [Rectangle, ...Rectangle[]],
): WindowState {
  const [primary] = workAreas
  const shown = saved === null ? null : bestDisplay(saved.bounds, workAreas)
  if (saved === null || shown === null) {
    return {
      bounds: centred(saved?.bounds ?? defaultSize, primary),
      isMaximized: saved?.isMaximized ?? false,
    }
  }
  const { width, height } = fitted(saved.bounds, shown)
  return {
    bounds: {
      x: clamp(saved.bounds.x, shown.x, shown.x + shown.width - width),
      y: clamp(saved.bounds.y, shown.y, shown.y + shown.height - height),
      width,
      height,
    },
    isMaximized: saved.isMaximized,
  }
}

function bestDisplay(bounds: Rectangle, workAreas: readonly Rectangle[]): Rectangle | null {
  const shares = workAreas.map((area) => ({ area, shown: overlap(bounds, area) }))
  const best = shares.reduce((a, b) => (b.shown > a.shown ? b : a))
  return best.shown > 0 ? best.area : null
}

function overlap(a: Rectangle, b: Rectangle): number {
  const width = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x)
  const height = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y)
  return Math.max(0, width) * Math.max(0, height)
}

type Size = Pick<Rectangle, 'width' | 'height'>

const fitted = (size: Size, area: Rectangle): Size => ({
  width: Math.round(clamp(size.width, Math.min(leastSize.width, area.width), area.width)),
  height: Math.round(clamp(size.height, Math.min(leastSize.height, area.height), area.height)),
})

function centred(size: Size, area: Rectangle): Rectangle {
  const { width, height } = fitted(size, area)
  const x = Math.round(area.x + (area.width - width) / 2)
  const y = Math.round(area.y + (area.height - height) / 2)
  return { x, y, width, height }
}

const clamp = (value: number, low: number, high: number): number => Math.min(Math.max(value, low), high)
