import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { keyTable } from '#shared/keyTable.ts'
import { forwarded, hereAt, paletteEntries, places } from '#shared/places.ts'
import { link, parseRoute } from '#renderer/client/route.ts'

const views = places.flatMap((place) => place.views.map((view) => ({ ...view, place: place.id })))

test('six places and the settings, with the keys 1 to 6 in their order', () => {
  expect(places.map(({ title }) => title)).toEqual([
    ...['Home', 'Data', 'Rewards', 'Runs', 'Playground', 'Models'],
    'Settings',
  ])
  const keys = places.map(({ id }) => keyTable[id].keys)
  expect(keys.slice(0, 6)).toEqual(
    [1, 2, 3, 4, 5, 6].map((n) => [`Digit${String(n)}`, `Mod+Digit${String(n)}`]),
  )
  expect(keys[6]).toEqual(['Mod+Comma'])
  const all = Object.values(keyTable).flatMap((row) => row.keys)
  expect(new Set(all).size).toBe(all.length)
})

test('every view is found at its address, alone and with more after it', () => {
  for (const { id, place, route } of views) {
    const found = hereAt(parseRoute(`#${route}`).path)
    expect([found?.place.id, found?.view.id, found?.rest]).toEqual([place, id, []])
    expect(forwarded(route)).toBe(route)
    if (route !== '/') expect(parseRoute(`#${route}/one/two`)).toMatchObject({ rest: ['one', 'two'] })
  }
  expect(hereAt(['nowhere'])).toBeNull()
})

describe('addresses of earlier versions', () => {
  test.each([
    ['/compare?runs=a%2Cb&group=seed', '/runs/compare?runs=a%2Cb&group=seed'],
    ['/studies', '/runs/studies'],
    ['/studies/st_1?tab=trials&trial=2', '/runs/studies/st_1?tab=trials&trial=2'],
    ['/chat/c_1', '/playground/chat/c_1'],
    ['/arena?a=starter&b=starter~run_1%402', '/playground/vote?a=starter&b=starter~run_1%402'],
    ['/evaluations/ev_1?against=ev_2', '/playground/evaluate/ev_1?against=ev_2'],
    ['/evaluate', '/playground/evaluate'],
    ['/losses/rw_1', '/rewards/losses/rw_1'],
    ['/workflows/gallery.tree', '/rewards/workflows/gallery.tree'],
    ['/settings/devices', '/settings/machine?at=devices'],
    ['/settings/self-test', '/settings/machine?at=self-test'],
    ['/settings/about', '/settings/machine?at=about'],
    ['/settings/python', '/settings/access?at=python'],
    ['/settings/server', '/settings/access?at=server'],
    ['/settings/privacy', '/settings/access?at=privacy'],
    ['/settings/keys', '/settings/appearance?at=keys'],
    ['/settings/storage', '/settings/storage'],
    ['/settings/appearance', '/settings/appearance'],
    ['/settings', '/settings/machine'],
    ['/playground', '/playground/chat'],
  ])('%s leads to %s', (from, to) => {
    expect(forwarded(from)).toBe(to)
    expect(parseRoute(`#${from}`).here).not.toBeNull()
  })

  test('none is written in the window itself', () => {
    const former = views.flatMap(({ formerly = [] }) => formerly.map((address) => address.slice(1)))
    const written = new RegExp(`['\`]/(?:${former.join('|')})(?=['\`/?])`)
    const folder = path.resolve('src/renderer')
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.tsx?$/.test(file),
    )
    expect(files.filter((file) => written.test(readFileSync(path.join(folder, file), 'utf8')))).toEqual([])
  })
})

test.each([
  ...[
    'Home',
    'Data',
    'Rewards',
    'Environments',
    'Judges',
    'Workflows',
    'Losses',
    'Runs',
    'Studies',
    'Compare',
  ],
  ...['Chat', 'Arena', 'Blind vote', 'Evaluate', 'Evaluations', 'Models', 'Models & export', 'Export'],
  ...['Find a model', 'Settings', 'Devices', 'Python', 'Server', 'Storage', 'Privacy', 'Keys', 'Appearance'],
  ...['Self-test', 'About', 'Machine', 'Access'],
])('the palette knows the word “%s”', (word) => {
  const isNamed = (name: string) =>
    name === word || name.endsWith(`› ${word}`) || name.startsWith(`${word} ›`)
  const found = paletteEntries.filter(({ title, words }) => [title, ...words].some(isNamed))
  expect(found.length).toBeGreaterThan(0)
  for (const { address } of found) expect(parseRoute(link(address)).here).not.toBeNull()
})
