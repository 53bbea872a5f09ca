/** The menu, with the system's usual roles and the places of the window, and the tray icon. */
import path from 'node:path'
import { Menu, Tray, type MenuItemConstructorOptions } from 'electron'
import type { ShellEvent } from '#shared/bridge.ts'
import { keyTable, type KeyId } from '#shared/keyTable.ts'
import { places } from '#shared/places.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { runLabel } from '#shared/notices.ts'
import { activityOf, type Activity, type TrainedRun } from './news.ts'

export interface MenuOptions {
  readonly platform: NodeJS.Platform
  readonly isPackaged: boolean
  readonly tell: (event: ShellEvent) => void
  readonly showDataFolder: () => void
}

/** Converts a key to Electron's notation: Mod+Digit5 is CmdOrCtrl+5. */
const accelerator = (key: string): string =>
  key
    .replace('Mod+', 'CmdOrCtrl+')
    .replace(/(?:Key|Digit)(?=.$)/, '')
    .replace('Comma', ',')

const keyOf = (id: KeyId): string => accelerator(keyTable[id].keys[0] ?? '')

export function menuTemplate(options: MenuOptions): MenuItemConstructorOptions[] {
  const isMac = options.platform === 'darwin'
  return [
    ...(isMac ? [{ role: 'appMenu' } as const] : []),
    fileMenu(options, isMac),
    { role: 'editMenu' },
    viewMenu(options),
    placesMenu(options),
    { role: 'windowMenu' },
    helpMenu(options),
  ]
}

/**
 * Shows the key without registering it: the page handles keys, and the user may have rebound them. On macOS the system
 * registers them anyway.
 */
const keyed = (label: string, key: string, click: () => void): MenuItemConstructorOptions => ({
  label,
  accelerator: key,
  registerAccelerator: false,
  click,
})

const fileMenu = ({ tell }: MenuOptions, isMac: boolean): MenuItemConstructorOptions => ({
  label: '&File',
  submenu: [
    keyed('New run', keyOf('newRun'), () => tell({ type: 'new-run' })),
    keyed('Add data…', keyOf('addData'), () => tell({ type: 'add-data' })),
    { type: 'separator' },
    isMac ? { role: 'close' } : { role: 'quit' },
  ],
})

const viewMenu = ({ tell, isPackaged }: MenuOptions): MenuItemConstructorOptions => ({
  label: '&View',
  submenu: [
    keyed('Command palette', keyOf('palette'), () => tell({ type: 'show-palette' })),
    { type: 'separator' },
    { role: 'resetZoom' },
    { role: 'zoomIn' },
    { role: 'zoomOut' },
    { role: 'togglefullscreen' },
    ...(isPackaged ? [] : ([{ type: 'separator' }, { role: 'reload' }, { role: 'toggleDevTools' }] as const)),
  ],
})

const placesMenu = ({ tell }: MenuOptions): MenuItemConstructorOptions => ({
  label: '&Go',
  submenu: places.map(({ title, route, keys }) =>
    keyed(title, accelerator(keys.at(-1) ?? ''), () => tell({ type: 'go', route })),
  ),
})

const helpMenu = ({ platform, tell, showDataFolder }: MenuOptions): MenuItemConstructorOptions => ({
  role: 'help',
  submenu: [
    { label: 'Keyboard shortcuts', click: () => tell({ type: 'show-keys' }) },
    { label: 'Show data folder', click: showDataFolder },
    ...(platform === 'darwin' ? [] : ([{ type: 'separator' }, { role: 'about' }] as const)),
  ],
})

/* The icon beside the clock: how far training is while the window is hidden, and the way back to it. */

interface TrayOptions {
  readonly show: () => void
  readonly pause: (runId: string) => void
  readonly unpause: (runId: string) => void
  readonly quit: () => void
}

interface TrayIcon {
  show(activity: Activity): void
}

export function createTray(options: TrayOptions): TrayIcon {
  // A template is drawn in the colour of the menu bar.
  const tray = new Tray(iconFile(process.platform === 'darwin' ? 'trayTemplate.png' : 'tray.png'))
  tray.on('click', options.show)
  const icon: TrayIcon = {
    show(activity) {
      tray.setToolTip(`Turnwise — ${activity.text}`)
      tray.setContextMenu(Menu.buildFromTemplate(trayTemplate(activity, options)))
    },
  }
  icon.show(activityOf([]))
  return icon
}

export function trayTemplate(
  { text, runs, keepsAwake }: Activity,
  options: TrayOptions,
): MenuItemConstructorOptions[] {
  return [
    { label: text, enabled: false },
    ...(keepsAwake ? [{ label: 'This machine stays awake while training', enabled: false }] : []),
    { type: 'separator' },
    { label: 'Show Turnwise', click: options.show },
    ...runs.flatMap((run) => holdItem(run, options)),
    { type: 'separator' },
    { label: 'Quit', click: options.quit },
  ]
}

function holdItem(run: TrainedRun, { pause, unpause }: TrayOptions): MenuItemConstructorOptions[] {
  if (run.activity === 'stopping') return []
  const isHeld = run.activity === 'pausing' || run.activity === 'paused'
  const label = `${isHeld ? 'Go on with' : 'Pause'} ${runLabel(run)}`
  return [{ label, click: () => (isHeld ? unpause : pause)(run.id) }]
}

export const iconFile = (name: string): string => path.join(resourcesDirectory, 'icons', name)
