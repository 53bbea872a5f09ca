import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createHostFixture } from './hostFixture.ts'

const fixture = createHostFixture()

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

test('uploads that were not imported are cleared, but for those of this minute', async () => {
  const { client, directory } = fixture
  const upload = (digit: string, secondsAgo: number) => {
    const folder = path.join(directory, 'uploads', `upl_${digit.repeat(8)}-0000-0000-0000-000000000000`)
    mkdirSync(folder, { recursive: true })
    writeFileSync(path.join(folder, 'rows.jsonl'), 'x'.repeat(1000))
    const at = Date.now() / 1000 - secondsAgo
    utimesSync(folder, at, at)
    return folder
  }
  const [old, young] = [upload('1', 300), upload('2', 5)]
  expect(await client.call('system.clearUploads')).toEqual({ freedBytes: 1000 })
  expect([old, young].map((folder) => existsSync(folder))).toEqual([false, true])
})
