/** The shape of the sources, as docs/architecture.md records it: arrows between folders, circles, functions, places of a fact. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { measure } from '../../scripts/shape/shape.ts'
import { closureOf, roomsOf } from '../../scripts/shape/rooms.ts'
import type { SourceFile } from '../../scripts/shape/source.ts'

const measured = measure()
const recorded = new Map(
  [...readFileSync('docs/architecture.md', 'utf8').matchAll(/^\| ([a-z][^|]+?) +\| +(\d+) \|$/gm)].map(
    ([, name = '', value]) => [name, Number(value)] as const,
  ),
)

test('no figure that is held is worse than the one recorded; `npm run shape` prints the table anew', () => {
  const figures = measured.filter(({ isHeld }) => isHeld)
  expect(figures.length).toBeGreaterThan(15)
  expect(figures.filter(({ name, value }) => !(value <= (recorded.get(name) ?? -1)))).toEqual([])
})

test.each([
  ['words of docs without reference and api', 40_000],
  ['words of architecture.md', 2500],
])('%s are at most %i', (name, limit) => {
  const value = measured.find((figure) => figure.name === name)?.value
  expect(value).toBeGreaterThan(1000)
  expect(value).toBeLessThanOrEqual(limit)
})

const file = (path: string, ...imports: string[]): SourceFile => ({
  path,
  imports,
  loads: imports.slice(0, 1),
  lines: 10,
  functions: [],
  comments: [],
})

test('arrows against the best order and circles are found', () => {
  const files = [
    file('src/host/a/one.ts', 'src/host/b/two.ts', 'src/host/b/four.ts'),
    file('src/host/b/two.ts', 'src/host/c/three.ts'),
    file('src/host/b/four.ts'),
    file('src/host/c/three.ts', 'src/host/a/one.ts'),
    file('src/host/d/five.ts', 'src/host/a/one.ts'),
  ]
  expect(roomsOf(files, 'src/host')).toMatchObject({ rooms: 4, arrows: 4, up: 1, largestCycle: 3 })
  expect(roomsOf(files.slice(0, 3), 'src/host')).toMatchObject({ up: 0, largestCycle: 1 })
  expect(closureOf(files, 'src/host/b/two.ts')).toHaveLength(4)
  expect(closureOf(files, 'src/host/a/one.ts', 'loads')).toHaveLength(3)
})
