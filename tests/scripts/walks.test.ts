/** The walks of docs/contributing: what adding something costs, and that the kept diffs still fit the code. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '../..')
const folder = path.join(root, 'docs/contributing')

/** The most places each may touch. */
const limits = {
  'algorithm.diff': 3,
  'architecture.diff': 4,
  'screen.diff': 3,
  'metric.diff': 2,
  'column.diff': 3,
  'api-call.diff': 3,
}

/** A reference model is one place: an entry, a row of its README, and files that a script writes. */
function placesOf(diff: string): Set<string> {
  const files = Array.from(diff.matchAll(/^diff --git a\/(\S+) /gm), ([, file = '']) => file)
  return new Set(files.map((file) => file.replace(/^(tests\/fixtures\/reference)\/.*/, '$1')))
}

test('every walk has a limit', () => {
  expect(
    readdirSync(folder)
      .filter((name) => name.endsWith('.diff'))
      .sort(),
  ).toEqual(Object.keys(limits).sort())
})

test.each(Object.entries(limits))('%s touches at most %i places and still applies', (name, limit) => {
  const places = placesOf(readFileSync(path.join(folder, name), 'utf8'))
  expect(places.size).toBeGreaterThan(0)
  expect(places.size, `${name} touches ${[...places].join(', ')}`).toBeLessThanOrEqual(limit)
  // -C0: lines around it may change, those that it changes itself may not.
  const { status, stderr } = spawnSync('git', ['apply', '--check', '-C0', path.join(folder, name)], {
    cwd: root,
    encoding: 'utf8',
  })
  const advice = `Recreate the diff, as docs/contributing/README.md says.\n${stderr}`
  expect(status, advice).toBe(0)
})
