import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import type * as fakeElectron from './fakeElectron.ts'
import { eventually } from '../eventually.ts'

beforeEach(() => vi.resetModules())

/** The app on a data directory that cannot be used, until it has ended. */
async function startOn(directory: string, change?: (electron: typeof fakeElectron) => void) {
  process.env['TURNWISE_HOME'] = directory
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
