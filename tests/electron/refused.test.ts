import { chmodSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import type * as fakeElectron from './fakeElectron.ts'
import { eventually } from '../eventually.ts'

beforeEach(() => vi.resetModules())

/** The app on a data directory that cannot be used, until it has ended. */
async function startOn(directory: string, change?: (electron: typeof fakeElectron) => void) {
  process.env['TURNWISE_HOME'] = directory
  process.env['XDG_CONFIG_HOME'] = mkdtempSync(path.join(tmpdir(), 'turnwise-settings-'))
  // The same module as the one the app finds.
  const electron = (await import('electron')) as unknown as typeof fakeElectron
  change?.(electron)
  await import('../../src/main/index.ts')
  electron.app.becomeReady()
  await eventually(() => expect(electron.said.exitCode).not.toBe(null))
  return electron
}

test('a data directory that cannot be made is said, and ends the program', async () => {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'turnwise-refused-')), 'file')
  writeFileSync(file, '')
  const { said, BrowserWindow } = await startOn(path.join(file, 'data'))
  expect(said.errors[0]).toContain('Turnwise cannot start: ')
  expect(said.exitCode).toBe(1)
  expect(BrowserWindow.all).toEqual([])
})

test('a history that cannot be read is said, and ends the program', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-refused-'))
  writeFileSync(
    path.join(directory, 'history.db'),
    'this is no database, but it has to be long enough to look at',
  )
  chmodSync(path.join(directory, 'history.db'), 0o600)
  const { said, BrowserWindow } = await startOn(directory)
  expect(said.errors[0]).toContain('Turnwise cannot start: ')
  expect(said.exitCode).toBe(1)
  expect(BrowserWindow.all).toEqual([])
})

test('a second program hands its files over and ends', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-refused-'))
  const handed: unknown[] = []
  const { said, BrowserWindow } = await startOn(directory, ({ answers, app }) => {
    answers.isFirstInstance = false
    app.once('fake:lock', (handover) => handed.push(handover))
  })
  expect(handed).toEqual([{ files: expect.any(Array) as unknown[] }])
  expect(said.exitCode).toBe(0)
  expect(BrowserWindow.all).toEqual([])
})

test('each data directory has a profile of its own by where it really lies, and a link that came with it is not gone through', async () => {
  const [elsewhere, first, second] = ['a', 'b', 'c'].map((name) =>
    mkdtempSync(path.join(tmpdir(), `turnwise-refused-${name}-`)),
  )
  const link = path.join(elsewhere!, 'link')
  symlinkSync(first!, link)
  symlinkSync(elsewhere!, path.join(first!, 'window'))
  const profiles: string[] = []
  for (const directory of [first!, link, second!]) {
    vi.resetModules()
    const { said } = await startOn(directory, ({ answers }) => (answers.isFirstInstance = false))
    profiles.push(path.basename(said.paths.get('userData')!))
  }
  expect(profiles[1]).toBe(profiles[0])
  expect(profiles[2]).not.toBe(profiles[0])
  expect(readdirSync(elsewhere!)).toEqual(['link'])
})
