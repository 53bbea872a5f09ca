import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { hashFiles, sha256Of } from '#host/files/contentHash.ts'

const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-hash-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

test('a hash that nobody waits for any more is given up, and leaves nothing behind', async () => {
  const file = path.join(directory, 'weights')
  const cache = path.join(directory, 'cache')
  writeFileSync(file, Buffer.alloc(9 << 20, 1)) // three pieces
  const abort = new AbortController()
  const read: number[] = []
  const onProgress = (bytes: number) => {
    read.push(bytes)
    abort.abort()
  }
  await expect(hashFiles([file], cache, { onProgress, signal: abort.signal })).rejects.toThrow()
  expect(read).toHaveLength(1)
  expect(existsSync(cache)).toBe(false)
  expect(await hashFiles([file], cache)).toEqual([sha256Of(file)])
})
