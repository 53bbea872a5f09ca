/** docs/other-tools.md lists the names that settings have elsewhere; the table that import and export read is the truth. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ourSettings, settingsOf } from '#host/exchange/settingsTable.ts'
import { toolIds } from '#shared/tools.ts'

const page = readFileSync(new URL('../../../docs/other-tools.md', import.meta.url), 'utf8')
/** Setting → its cells, a tool each. */
const documented = new Map(
  [...page.matchAll(/^\| `([^`]+)` \| (.*) \|$/gm)].map(([, name = '', cells = '']) => [
    name,
    cells.split(' | '),
  ]),
)

/** Setting → tool → every name it has there, of any algorithm. */
const short = (ours: string) => ours.replace('algorithm.settings.', '')
const named = new Set(ourSettings.map(({ ours }) => short(ours)))
const namesOf = (name: string) =>
  toolIds.map((tool) =>
    settingsOf[tool].filter(({ ours }) => short(ours) === name).flatMap(({ link }) => Object.keys(link.keys)),
  )

/** What is short for a name: without the path that stands before. */
const isShortFor = (name: string) => (full: string) => full === name || full.endsWith(`.${name}`)

const settings = [...named].filter((name) => namesOf(name).some((names) => names.length > 0))

test.each(settings)('%s', (name) => {
  const cells = documented.get(name) ?? []
  expect(cells.length, 'a cell for every tool').toBe(toolIds.length)
  for (const [i, names] of namesOf(name).entries()) {
    const told = [...(cells[i] ?? '').matchAll(/`([^`]+)`/g)].map(([, each = '']) => each)
    const where = `${name}, ${toolIds[i] ?? ''}`
    for (const each of told) expect(names.some(isShortFor(each)), `${where}: ${each}`).toBe(true)
    expect(told.length > 0, `${where}: ${names.join(', ')}`).toBe(names.length > 0)
  }
})

test('no row is of a setting that is not there', () => {
  expect([...documented.keys()].filter((name) => !named.has(name))).toEqual([])
})
