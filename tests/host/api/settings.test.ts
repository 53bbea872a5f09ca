/** Settings of the program, as clients change them. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { createHostFixture } from './hostFixture.ts'

test.each<[string, string, unknown]>([
  ['taken back', 'hub.token', null],
  ['emptied', 'hub.token', ''],
  ['replaced', 'hub.token', 'hf_other'],
  ['forgotten with its hub', 'hub.endpoint', 'https://hub.example'],
])('a token of a hub that was %s is nowhere in the history', async (_, key, after) => {
  await using fixture = createHostFixture()
  const isThere = () =>
    ['history.db', 'history.db-wal'].some((name) =>
      readFileSync(path.join(fixture.directory, name)).includes('hf_to_forget'),
    )
  await fixture.client.call('settings.set', { key: 'hub.token', value: 'hf_to_forget' })
  expect(isThere()).toBe(true)
  await fixture.client.call('settings.set', { key, value: after })
  expect(isThere()).toBe(false)
})
