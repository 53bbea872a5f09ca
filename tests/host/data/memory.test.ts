import { execFileSync } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const folder = temporaryFolder()
const bench = fileURLToPath(new URL('../../../bench/host/import.ts', import.meta.url))

interface Figures {
  readonly rows: number
  readonly megabytes: number
  readonly peakMemoryMb: number
  readonly memoryBeforeMb: number
}

const rowsPerPart = 1_000

function writeLarge(file: string, parts: number): void {
  const line = JSON.stringify({ prompt: 'word '.repeat(100), answer: '4' })
  const handle = openSync(file, 'w')
  writeSync(handle, `[${line}`)
  for (let part = 0; part < parts; part++) writeSync(handle, `,\n${line}`.repeat(rowsPerPart))
  writeSync(handle, ']')
  closeSync(handle)
}

test('a file is imported in less memory than it has bytes', () => {
  const file = path.join(folder, 'large.json')
  writeLarge(file, 400)
  // A heap too small for the file, and for a fifth of its rows.
  const heap = ['--max-old-space-size=40', '--max-semi-space-size=8']
  const printed = execFileSync(process.execPath, [...heap, bench, '--import', file], { encoding: 'utf8' })
  const { rows, megabytes, peakMemoryMb, memoryBeforeMb } = JSON.parse(printed) as Figures
  expect([rows, megabytes]).toEqual([400_001, 211])
  expect(peakMemoryMb - memoryBeforeMb).toBeLessThan(megabytes / 2)
})
