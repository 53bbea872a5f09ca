import { expect, test } from 'vitest'
import { menuTemplate } from '../../src/main/menu.ts'
import { keyTable } from '#shared/keyTable.ts'
import { places } from '#shared/places.ts'
import type { ShellEvent } from '#shared/bridge.ts'
import type { MenuEntry } from './fakeElectron.ts'

const told: ShellEvent[] = []

const menu = menuTemplate({
  platform: 'linux',
  isPackaged: true,
  tell: (event) => told.push(event),
  showDataFolder: () => undefined,
}) as unknown as readonly (MenuEntry & { readonly accelerator?: string })[]

/** The code of the key on a keyboard, as the page listens for it. */
const codeOf = (key: string): string =>
  /^\d$/.test(key) ? `Digit${key}` : key === ',' ? 'Comma' : `Key${key}`

interface Entry {
  readonly label?: string
  readonly accelerator?: string
  readonly click?: () => void
}

const entries = menu.flatMap(({ submenu }) => (submenu ?? []) as readonly Entry[])

test('the menu prints the keys that the page listens for', () => {
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

test('the menu goes where the key beside it goes', () => {
  const all = Object.keys(keyTable) as (keyof typeof keyTable)[]
  const rows = all.filter((id) => keyTable[id].group === 'Places')
  expect(places.map(({ id }) => id)).toEqual(rows)
  for (const { title, route } of places) {
    entries.find(({ label }) => label === title)?.click?.()
    expect(told.at(-1)).toEqual({ type: 'go', route })
  }
})
