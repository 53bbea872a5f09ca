import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { AtomicFile, recoverFolder, replaceFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { writeError } from '#host/files/fileErrors.ts'
import { temporaryFolder } from './temporaryFolder.ts'

const root = temporaryFolder()
let count = 0
function newFolder(): string {
  const folder = join(root, `${++count}`)
  mkdirSync(folder)
  return folder
}
const putFile =
  (text: string) =>
  (folder: string): void => {
    writeFileSync(join(folder, 'content'), text)
  }

describe('files', () => {
  test('a file appears only when committed', () => {
    const folder = newFolder()
    const path = join(folder, 'a')
    {
      using file = new AtomicFile(path)
      file.write(Buffer.from('new'))
      expect(readdirSync(folder)).not.toContain('a')
    }
    expect(readdirSync(folder)).toEqual([])
    writeFileAtomic(path, 'first')
    writeFileAtomic(path, 'second')
    expect(readFileSync(path, 'utf8')).toBe('second')
    expect(readdirSync(folder)).toEqual(['a'])
  })

  test('a folder in the way: the sentence says so, nothing is left', () => {
    const folder = newFolder()
    mkdirSync(join(folder, 'a'))
    expect(() => {
      writeFileAtomic(join(folder, 'a'), 'x')
    }).toThrow('a folder with that name is in the way')
    expect(readdirSync(folder)).toEqual(['a'])
  })

  test.each([
    ['ENOSPC', 'the disk is full', 'Free some space'],
    ['EACCES', 'may not write there', 'permissions'],
    ['EROFS', 'read-only', 'another folder'],
    ['EIO', 'the system answered EIO', 'another folder'],
  ])('%s in words', (code, reason, advice) => {
    const error = writeError('/x/y', Object.assign(new Error('native'), { code }))
    expect(error.code).toBe('file/unwritable')
    expect(error.message).toContain('/x/y could not be written')
    expect(error.message).toContain(reason)
    expect(error.hint).toContain(advice)
  })
})

describe('folders', () => {
  test('a folder is replaced whole', async () => {
    const parent = newFolder()
    const folder = join(parent, 'a')
    await replaceFolder(folder, putFile('first'))
    writeFileSync(join(folder, 'other'), '')
    await replaceFolder(folder, putFile('second'))
    expect(readFileSync(join(folder, 'content'), 'utf8')).toBe('second')
    expect(readdirSync(folder)).toEqual(['content'])
    expect(readdirSync(parent)).toEqual(['a'])
  })

  test('a failure while filling keeps the former one', async () => {
    const parent = newFolder()
    const folder = join(parent, 'a')
    await replaceFolder(folder, putFile('first'))
    const full = Object.assign(new Error('no space'), { code: 'ENOSPC' })
    await expect(replaceFolder(folder, () => Promise.reject(full))).rejects.toMatchObject({
      code: 'file/unwritable',
    })
    expect(readFileSync(join(folder, 'content'), 'utf8')).toBe('first')
    expect(readdirSync(parent)).toEqual(['a'])
  })

  test('a death between the two renames is repaired', async () => {
    const parent = newFolder()
    const folder = join(parent, 'a')
    await replaceFolder(folder, putFile('first'))
    renameSync(folder, join(parent, '.a.previous'))
    recoverFolder(folder)
    expect(readFileSync(join(folder, 'content'), 'utf8')).toBe('first')
    recoverFolder(folder)
    expect(readdirSync(parent)).toEqual(['a'])
  })
})
