/** The menu: the usual roles of the system, and the places and first actions of the window. */
import type { MenuItemConstructorOptions } from 'electron'
import type { ShellEvent } from '#shared/bridge.ts'
import { keyTable, places, type KeyId } from '#shared/keyTable.ts'

export interface MenuWishes {
  readonly platform: NodeJS.Platform
  readonly isPackaged: boolean
  readonly tell: (event: ShellEvent) => void
  readonly showDataFolder: () => void
}

/** As Electron writes it: Mod+Digit5 is CmdOrCtrl+5. */
const accelerator = (key: string): string =>
  key
    .replace('Mod+', 'CmdOrCtrl+')
    .replace(/(?:Key|Digit)(?=.$)/, '')
    .replace('Comma', ',')

const keyOf = (id: KeyId): string => accelerator(keyTable[id].keys[0] ?? '')

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
const keyed = (label: string, key: string, click: () => void): MenuItemConstructorOptions => ({
  label,
  accelerator: key,
  registerAccelerator: false,
  click,
})

const fileMenu = ({ tell }: MenuWishes, isMac: boolean): MenuItemConstructorOptions => ({
  label: '&File',
  submenu: [
    keyed('New run', keyOf('newRun'), () => tell({ type: 'new-run' })),
    keyed('Add data…', keyOf('addData'), () => tell({ type: 'add-data' })),
    { type: 'separator' },
    isMac ? { role: 'close' } : { role: 'quit' },
  ],
})

const viewMenu = ({ tell, isPackaged }: MenuWishes): MenuItemConstructorOptions => ({
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

const placesMenu = ({ tell }: MenuWishes): MenuItemConstructorOptions => ({
  label: '&Go',
  submenu: places.map(({ title, route, key }) =>
    keyed(title, accelerator(key), () => tell({ type: 'go', route })),
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
