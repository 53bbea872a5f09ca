/** The menu: the usual roles of the system, and the places and first actions of the window. */
import type { MenuItemConstructorOptions } from 'electron'
import type { ShellEvent } from '#shared/bridge.ts'

export interface MenuWishes {
  readonly platform: NodeJS.Platform
  readonly isPackaged: boolean
  readonly tell: (event: ShellEvent) => void
  readonly showDataFolder: () => void
}

/** In the order of their keys. */
const places: readonly (readonly [label: string, route: string])[] = [
  ['Home', '/'],
  ['Data', '/data'],
  ['Rewards', '/rewards'],
  ['Runs', '/runs'],
  ['Arena', '/arena'],
  ['Models', '/models'],
  ['Settings', '/settings'],
]

export function menuTemplate(wishes: MenuWishes): MenuItemConstructorOptions[] {
  const isMac = wishes.platform === 'darwin'
  return [
    ...(isMac ? [{ role: 'appMenu' } as const] : []),
    fileMenu(wishes, isMac),
    { role: 'editMenu' },
    viewMenu(wishes),
    placesMenu(wishes),
    { role: 'windowMenu' },
    helpMenu(wishes),
  ]
}

/** Keys are shown only: the page has them, and a person may have chosen others. On macOS the system takes them anyway. */
const keyed = (label: string, accelerator: string, click: () => void): MenuItemConstructorOptions => ({
  label,
  accelerator,
  registerAccelerator: false,
  click,
})

const fileMenu = ({ tell }: MenuWishes, isMac: boolean): MenuItemConstructorOptions => ({
  label: '&File',
  submenu: [
    keyed('New run', 'CmdOrCtrl+N', () => tell({ type: 'new-run' })),
    keyed('Add data…', 'CmdOrCtrl+O', () => tell({ type: 'add-data' })),
    { type: 'separator' },
    isMac ? { role: 'close' } : { role: 'quit' },
  ],
})

const viewMenu = ({ tell, isPackaged }: MenuWishes): MenuItemConstructorOptions => ({
  label: '&View',
  submenu: [
    keyed('Command palette', 'CmdOrCtrl+K', () => tell({ type: 'show-palette' })),
    { type: 'separator' },
    { role: 'resetZoom' },
    { role: 'zoomIn' },
    { role: 'zoomOut' },
    { role: 'togglefullscreen' },
    ...(isPackaged ? [] : ([{ type: 'separator' }, { role: 'reload' }, { role: 'toggleDevTools' }] as const)),
  ],
})

const placesMenu = ({ tell }: MenuWishes): MenuItemConstructorOptions => ({
  label: '&Go',
  submenu: places.map(([label, route], index) =>
    keyed(label, `CmdOrCtrl+${index + 1}`, () => tell({ type: 'go', route })),
  ),
})

const helpMenu = ({ platform, tell, showDataFolder }: MenuWishes): MenuItemConstructorOptions => ({
  role: 'help',
  submenu: [
    { label: 'Keyboard shortcuts', click: () => tell({ type: 'show-keys' }) },
    { label: 'Show data folder', click: showDataFolder },
    ...(platform === 'darwin' ? [] : ([{ type: 'separator' }, { role: 'about' }] as const)),
  ],
})
