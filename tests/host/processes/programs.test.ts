import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CardMeter } from '#host/processes/cardLoad.ts'
import { launchProgram, programFile, runProgram } from '#host/processes/programs.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const before = { path: process.env['PATH'], folder: process.cwd() }

/** Programs that leave a mark, in the working folder, which an empty part of PATH stands for. */
let folder = ''
const mark = () => path.join(folder, 'mark')
beforeEach(() => {
  folder = temporaryFolder()
  for (const name of ['nvidia-smi', 'xdg-open']) {
    writeFileSync(path.join(folder, name), `#!/bin/sh\n: > '${mark()}'\n`)
    chmodSync(path.join(folder, name), 0o755)
  }
  process.chdir(folder)
  process.env['PATH'] = `${before.path ?? ''}${path.delimiter}`
})
afterEach(() => {
  process.chdir(before.folder)
  process.env['PATH'] = before.path
})

describe.skipIf(process.platform === 'win32')('a program that is named without a folder', () => {
  test('is found in the folders of PATH, and never in the working folder', () => {
    expect(programFile('sh')).toMatch(/^\/.*\/sh$/)
    expect(programFile('xdg-open') ?? '').not.toContain(folder)
    process.env['PATH'] = ['.', '', folder].join(path.delimiter)
    expect(programFile('xdg-open')).toBe(path.join(folder, 'xdg-open'))
  })

  test('is not started from there: neither for a card nor for a page', async () => {
    process.env['PATH'] = `${path.delimiter}/nowhere`
    await new CardMeter().refresh()
    expect(await launchProgram({ file: 'xdg-open', args: [] })).toBe(false)
    expect(await runProgram({ file: 'xdg-open', args: [] })).toBeNull()
    expect(existsSync(mark())).toBe(false)
  })
})
