import { expect, test } from 'vitest'
import { menuTemplate } from '../../src/main/menu.ts'
import { keyTable } from '#shared/keyTable.ts'
import type { MenuEntry } from './fakeElectron.ts'

const menu = menuTemplate({
  platform: 'linux',
  isPackaged: true,
  tell: () => undefined,
  showDataFolder: () => undefined,
}) as unknown as readonly (MenuEntry & { readonly accelerator?: string })[]

/** The code of the key on a keyboard, as the page listens for it. */
const codeOf = (key: string): string =>
  /^\d$/.test(key) ? `Digit${key}` : key === ',' ? 'Comma' : `Key${key}`

test('the menu prints the keys that the page listens for', () => {
  const entries = menu.flatMap(
    ({ submenu }) => (submenu ?? []) as readonly { readonly label?: string; readonly accelerator?: string }[],
  )
  const printed = new Map(
    entries.flatMap(({ label, accelerator }) =>
      accelerator === undefined
        ? []
        : [[label ?? '', `Mod+${codeOf(accelerator.replace('CmdOrCtrl+', ''))}`] as const],
    ),
  )
  const places = Object.values(keyTable).filter(({ group }) => group === 'Places')
  expect(places.map(({ label }) => [label, printed.get(label)])).toEqual(
    places.map(({ label, keys }) => [label, keys.find((key) => key.startsWith('Mod+'))]),
  )
  expect(printed.get('New run')).toBe(keyTable.newRun.keys[0])
  expect(printed.get('Add data…')).toBe(keyTable.addData.keys[0])
  expect(printed.get('Command palette')).toBe(keyTable.palette.keys[0])
})
