import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { consentsFile } from '#host/consents/consents.ts'
import { isSealed, sealFolder } from '#host/consents/seals.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

let [home, folder, consents] = ['', '', '']
beforeEach(() => {
  home = temporaryFolder()
  folder = path.join(home, 'checkpoint')
  consents = consentsFile(home)
  mkdirSync(path.join(folder, 'actor'), { recursive: true })
  writeFileSync(path.join(folder, 'rng_state_0.pth'), 'state')
  writeFileSync(path.join(folder, 'actor', 'attributes.pt'), 'attributes')
  sealFolder(folder, consents)
})

test('a folder is as it was sealed, also under another name', () => {
  expect(isSealed(folder, consents)).toBe(true)
  renameSync(folder, path.join(home, 'other'))
  expect(isSealed(path.join(home, 'other'), consents)).toBe(true)
})

const place = (...names: readonly string[]) => path.join(folder, ...names)
test.each<[string, () => void]>([
  ['a changed file', () => writeFileSync(place('actor', 'attributes.pt'), 'attributeS')],
  ['a new file', () => writeFileSync(place('actor', 'more.pt'), '')],
  ['a file less', () => rmSync(place('rng_state_0.pth'))],
  ['a file elsewhere', () => renameSync(place('rng_state_0.pth'), place('actor', 'rng_state_0.pth'))],
  ['no seal', () => rmSync(place('turnwise.seal'))],
  [
    'another seal',
    () => writeFileSync(place('turnwise.seal'), readFileSync(place('turnwise.seal')).toReversed()),
  ],
])('%s breaks the seal', (_what, change) => {
  change()
  expect(isSealed(folder, consents)).toBe(false)
})

test('a link breaks the seal, whatever it leads to', () => {
  renameSync(place('rng_state_0.pth'), path.join(home, 'moved'))
  symlinkSync(path.join(home, 'moved'), place('rng_state_0.pth'))
  expect(isSealed(folder, consents)).toBe(false)
})

test('a seal does not count in a copy of the data directory, nor without consents', () => {
  const copy = temporaryFolder()
  cpSync(home, copy, { recursive: true })
  expect(isSealed(path.join(copy, 'checkpoint'), consentsFile(copy))).toBe(false)
  expect(isSealed(folder, null)).toBe(false)
  sealFolder(path.join(copy, 'checkpoint'), consentsFile(copy))
  expect(isSealed(path.join(copy, 'checkpoint'), consentsFile(copy))).toBe(true)
  expect(isSealed(path.join(copy, 'checkpoint'), consents)).toBe(false)
})
