import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { publishAddress, publishedAddress } from '#host/hostAddress.ts'

const address = { origin: 'http://127.0.0.1:4123', token: 'secret' }
let folder: string
const file = () => path.join(folder, 'host.json')
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'turnwise-address-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('an address is known from when its host begins until it ends', () => {
  expect(publishedAddress(folder)).toBeNull()
  using published = publishAddress(folder, address)
  expect(publishedAddress(folder)).toEqual(address)
  published[Symbol.dispose]()
  expect(existsSync(file())).toBe(false)
})

test('a host that ends leaves the address of a later one', () => {
  const first = publishAddress(folder, address)
  const later = { ...address, token: 'later' }
  using _second = publishAddress(folder, later)
  first[Symbol.dispose]()
  expect(publishedAddress(folder)).toEqual(later)
})

test('a file that came from elsewhere counts as none', () => {
  using _published = publishAddress(folder, address)
  const own = path.join(folder, 'own.json')
  copyFileSync(file(), own)
  rmSync(file())
  copyFileSync(own, file())
  expect(publishedAddress(folder)).toBeNull()
  rmSync(file())
  symlinkSync(own, file())
  expect(publishedAddress(folder)).toBeNull()
})

test.each(['', '[', '{}', 'x'.repeat(20_000)])('nor does one with other content: %.10s', (text) => {
  writeFileSync(file(), text)
  expect(publishedAddress(folder)).toBeNull()
})

test('only an address on this machine counts', () => {
  using _published = publishAddress(folder, { ...address, origin: 'http://machine.example:80' })
  expect(publishedAddress(folder)).toBeNull()
})

test.skipIf(process.platform === 'win32')('nobody else may read it', () => {
  const before = process.umask(0o077)
  try {
    using _published = publishAddress(folder, address)
    expect(statSync(file()).mode & 0o077).toBe(0)
    expect(readFileSync(file(), 'utf8')).toContain('secret')
  } finally {
    process.umask(before)
  }
})
