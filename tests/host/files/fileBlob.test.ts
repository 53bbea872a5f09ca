import { ftruncateSync, openSync, closeSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { FileBlob } from '#host/files/fileBlob.ts'
import { temporaryFolder } from './temporaryFolder.ts'

const start = 0

test('a part beyond 4 GiB has its bytes, and every byte that is read is told', async () => {
  const file = path.join(temporaryFolder(), 'large')
  const size = 4 * 2 ** 30 + 100
  const written = openSync(file, 'w')
  ftruncateSync(written, size)
  writeSync(written, 'the end', size - 7)
  closeSync(written)
  await using handle = await open(file)
  let read = 0
  const blob = new FileBlob(handle, { start, end: size }, (bytes) => void (read += bytes))
  expect(blob.size).toBe(size)
  const part = blob.slice(size - 50).slice(43, 1000)
  expect([part.size, Buffer.from(await part.arrayBuffer()).toString(), read]).toEqual([7, 'the end', 7])
  expect(() => blob.arrayBuffer()).toThrow(RangeError)
})

test('a file that became shorter is an error, not a short answer', async () => {
  const file = path.join(temporaryFolder(), 'short')
  await using handle = await open(file, 'w+')
  await handle.write('12345')
  const blob = new FileBlob(handle, { start, end: 6 }, () => undefined)
  await expect(blob.arrayBuffer()).rejects.toThrow('became shorter')
})
