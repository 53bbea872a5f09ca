/** The table of defaults in docs/algorithms/differences.md against the code: every default that is not AgileRL's, and no other. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { isEqual, valueAt } from '#shared/config/paths.ts'
import { initialConfig } from '#host/exchange/importConfig.ts'
import { rowsFor } from '#host/exchange/settingsTable.ts'

const written = (value: unknown): string =>
  typeof value === 'number' ? String(value) : String(value).replaceAll('_', '-')

/** setting → [AgileRL, here] */
function documented(): Map<string, readonly [string, string]> {
  const text = readFileSync(path.join(import.meta.dirname, '../../../docs/algorithms/differences.md'), 'utf8')
  const begin = text.indexOf("Defaults that differ from AgileRL's")
  expect(begin).toBeGreaterThan(0)
  const rows = text.slice(begin).split('\n\n')[1]!.split('\n').slice(2)
  return new Map(
    rows.map((row) => {
      const [, name = '', theirs = '', ours = '', reason = ''] = row.split('|').map((cell) => cell.trim())
      expect(reason.length).toBeGreaterThan(5)
      return [name.replaceAll('`', ''), [theirs, ours]]
    }),
  )
}

/** The same for what the table of settings reads from an empty file. */
function differing(): Map<string, readonly [unknown, unknown]> {
  const config = initialConfig('grpo')
  return new Map(
    rowsFor('grpo').flatMap(({ ours, agilerl }) => {
      const theirs = agilerl?.read?.(
        (name) => agilerl.keys[name] ?? null,
        () => undefined,
      )
      const own = valueAt(config, ours)
      return theirs === undefined || isEqual(theirs, own) ? [] : [[ours, [theirs, own]] as const]
    }),
  )
}

test('lists every default that differs, as it is in both', () => {
  const table = documented()
  for (const [name, [theirs, own]] of differing()) {
    const [saidTheirs = '', saidOwn = ''] = table.get(name) ?? []
    expect([name, written(saidTheirs), saidOwn].map(normal)).toEqual(
      [name, written(theirs), written(own)].map(normal),
    )
  }
  for (const [name, [, own]] of table)
    expect([name, normal(own)]).toEqual([name, normal(written(valueAt(initialConfig('grpo'), name)))])
})

const normal = (text: string): string => (Number.isFinite(Number(text)) ? String(Number(text)) : text)
