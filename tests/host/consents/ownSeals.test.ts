/** What counts in a data directory after somebody who has read it hands back a copy, which is put over the directory itself. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { changeConsents, consentsFile, foreignConsents, readConsents } from '#host/consents/consents.ts'
import { isOwnSeal, machineKeyFile, ownSeal } from '#host/files/ownSeals.ts'
import { isSealed, sealFolder } from '#host/consents/seals.ts'
import { publishAddress, publishedAddress } from '#host/hostAddress.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const evil = { interpreter: '/usr/bin/python3', path: '/tmp/evil.py', sha256: '0'.repeat(64), at: 1 }
const key = { variable: 'KEY', origin: 'https://a.example', at: 1 }

let [home, copy, consents] = ['', '', '']
beforeEach(() => {
  liveIn(temporaryFolder())
  ;[home, copy] = [temporaryFolder(), temporaryFolder()]
  consents = consentsFile(home)
  changeConsents(consents, () => ({ keys: [key] }))
})
/** Makes it the folder of the person. */
function liveIn(folder: string): void {
  for (const name of ['HOME', 'APPDATA']) vi.stubEnv(name, folder)
}
afterEach(() => vi.unstubAllEnvs())

/** As `cp -a` does it: what is there is written in place, and keeps its number and birth time. */
function putOver(change: (copied: string) => void): void {
  cpSync(home, copy, { recursive: true })
  change(copy)
  const before = statSync(consents, { bigint: true })
  cpSync(copy, home, { recursive: true, force: true })
  const { ino, birthtimeNs } = statSync(consents, { bigint: true })
  expect([ino, birthtimeNs]).toEqual([before.ino, before.birthtimeNs])
}

type Said = Record<string, unknown>
const edit = (change: (said: Said) => Said) => (copied: string) => {
  const file = consentsFile(copied)
  writeFileSync(file, JSON.stringify(change(JSON.parse(readFileSync(file, 'utf8')) as Said)))
}

test.each<[string, (said: Said) => Said]>([
  ['with a consent more', (said) => ({ ...said, python: [evil] })],
  ['with another key', (said) => ({ ...said, keys: [{ ...key, origin: 'https://b.example' }] })],
  ['with what an agent may', (said) => ({ ...said, agents: [{ client: 'c', may: 'start runs', at: 1 }] })],
  ['without a consent', (said) => ({ ...said, keys: [] })],
  ['with another seal', (said) => ({ ...said, seal: String(said['seal']).split('').reverse().join('') })],
])('a file of consents %s allows nothing', (_, change) => {
  putOver(edit(change))
  expect(readConsents(consents)).toEqual({ python: [], keys: [], agents: [] })
  expect(foreignConsents(consents)).toContain('does not count any more')
})

test('one as Turnwise wrote it counts, and is changed further', () => {
  putOver(() => undefined)
  expect(readConsents(consents).keys).toEqual([key])
  changeConsents(consents, () => ({ python: [evil] }))
  expect(readConsents(consents)).toMatchObject({ python: [evil], keys: [key] })
})

test('a changed checkpoint of a trainer has no seal that can be made from what lies in the directory', () => {
  const folder = path.join(home, 'checkpoint')
  mkdirSync(folder)
  writeFileSync(path.join(folder, 'optimizer.pt'), 'ours')
  sealFolder(folder, consents)
  const inDirectory = readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), 'utf8'))
  expect(inDirectory.join()).not.toContain(readFileSync(machineKeyFile(), 'utf8'))
  putOver((copied) => writeFileSync(path.join(copied, 'checkpoint', 'optimizer.pt'), 'evil'))
  expect(isSealed(folder, consents)).toBe(false)
})

test('the address of a host counts as the host wrote it', () => {
  using _published = publishAddress(home, { origin: 'http://127.0.0.1:1', token: 'own' })
  expect(publishedAddress(home)).toEqual({ origin: 'http://127.0.0.1:1', token: 'own' })
  const file = path.join(home, 'host.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace(':1"', ':2"'))
  expect(publishedAddress(home)).toBeNull()
})

test('a seal is for one thing, one directory, one person on one machine', () => {
  const seal = ownSeal(home, 'a', [1])
  expect(isOwnSeal(seal, home, 'a', [1])).toBe(true)
  expect(isOwnSeal(seal, home, 'b', [1])).toBe(false)
  expect(isOwnSeal(seal, home, 'a', [2])).toBe(false)
  expect(isOwnSeal(seal, copy, 'a', [1])).toBe(false)
  for (const none of [undefined, null, '', 1]) expect(isOwnSeal(none, home, 'a', [1])).toBe(false)
  rmSync(machineKeyFile())
  expect(isOwnSeal(seal, home, 'a', [1])).toBe(false)
  expect(readConsents(consents).keys).toEqual([])
})

test('the key is made once, for its person alone', () => {
  const [made, { mode }] = [readFileSync(machineKeyFile(), 'utf8'), statSync(machineKeyFile())]
  expect(made).toMatch(/^[\da-f]{64}$/)
  if (process.platform !== 'win32') expect(mode & 0o777).toBe(0o600)
  ownSeal(home, 'a', [1])
  expect(readFileSync(machineKeyFile(), 'utf8')).toBe(made)
  expect(readdirSync(path.dirname(machineKeyFile()))).toEqual([path.basename(machineKeyFile())])
})

test('where nothing can be kept outside of the directory, consents are given and count by the marks of their file', () => {
  const file = path.join(copy, 'file')
  writeFileSync(file, '')
  liveIn(file)
  changeConsents(consents, () => ({ keys: [key] }))
  expect(readConsents(consents).keys).toEqual([key])
  cpSync(consents, consentsFile(copy))
  expect(readConsents(consentsFile(copy)).keys).toEqual([])
})

test('a person without a folder gets none', () => {
  const missing = path.join(copy, 'missing')
  liveIn(missing)
  expect(isOwnSeal(ownSeal(home, 'a', [1]), home, 'a', [1])).toBe(true)
  expect(existsSync(missing)).toBe(false)
})
