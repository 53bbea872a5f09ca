import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { fuzzReader } from '../../scripts/fuzz/run.ts'
import { fuzzReaders } from '../../scripts/fuzz/readers.ts'
import { casesOf, eachOf, isWhole } from '../sweeps.ts'
import { fuzzReaders as planted } from './fuzzFaults.ts'

const keep = mkdtempSync(path.join(tmpdir(), 'turnwise-fuzzed-'))
afterAll(() => rmSync(keep, { recursive: true }))

/** On a busy machine a process may be silent for long without hanging. */
const patience = 600_000

describe('readers of foreign files', () => {
  test.each(fuzzReaders.map(({ name }) => name))(
    '%s: broken files are read or refused in a sentence',
    async (reader) => {
      const cases = isWhole ? casesOf(200, 2_000) : 60
      const { report, problems } = await fuzzReader({ reader, cases, seed: 1, keep, silenceMs: patience })
      expect(problems).toEqual([])
      expect(report?.cases).toBe(cases)
      // Neither was every variant sound, nor did none get past the first check.
      expect(report?.read).toBeGreaterThan(cases / 100)
      expect(report?.refused).toBeGreaterThan(cases / 100)
      expect((report?.read ?? 0) + (report?.refused ?? 0)).toBe(cases)
    },
  )
})

describe('a fault is found', () => {
  const readers = path.join(import.meta.dirname, 'fuzzFaults.ts')
  const fuzz = (reader: string, cases: number) =>
    fuzzReader({ reader, readers, cases, seed: 3, keep, silenceMs: reader === 'hangs' ? 2_000 : patience })

  test('and none where there is none', async () => {
    const { report, problems } = await fuzz('sound', 40)
    expect(problems).toEqual([])
    expect(report).toMatchObject({ cases: 40 })
    expect(report?.read).toBeGreaterThan(0)
    expect(report?.refused).toBeGreaterThan(0)
  })

  const sentences: Readonly<Record<string, RegExp>> = {
    throws: /^It threw TypeError: undefined is not a function\.$/,
    rejects: /^It threw RangeError: Out of bounds\.$/,
    mumbles: /^It was refused in no sentence: bad\nfile$/,
    allocates: /^Uint8Array of 10000000 bytes for a file of \d+\.$/,
    'allocates-buffer': /^Buffer\.alloc of 10000000 bytes for a file of \d+\.$/,
    'allocates-list': /^Array of 80000000 bytes for a file of \d+\.$/,
    dawdles: /^It took \d{4} ms\.$/,
    grows: /^Its process ended with (SIGABRT|SIGTRAP|134|133): .*heap/s,
    hangs: /^It hung\.$/,
    dies: /^Its process ended with (SIGABRT|134)/,
    leaves: /^Its process ended with 0/,
  }

  test('and there is a sentence about each', () => {
    expect(['sound', ...Object.keys(sentences)].sort()).toEqual(planted.map(({ name }) => name).sort())
  })

  /** Of what a watched process does: an error, too much memory, time, and its end. */
  const isAlways = ([fault]: [string, RegExp]) => ['throws', 'allocates', 'hangs', 'dies'].includes(fault)
  eachOf(test, { rows: Object.entries(sentences), isAlways }, '%s', async (reader, sentence) => {
    const { problems } = await fuzz(reader, 1)
    const [first] = problems
    expect(first?.sentence).toMatch(sentence)
    // The file is there to be looked at, and it is not the one that could be read.
    expect(existsSync(first?.file ?? '')).toBe(true)
    expect(readFileSync(first?.file ?? '').equals(Buffer.from('{"a":[1,2,3],"b":"text"}'))).toBe(false)
  })

  test('a reader that is not there', async () => {
    const { report, problems } = await fuzz('nobody', 1)
    expect(report).toBeNull()
    expect(problems[0]?.sentence).toMatch(/^Before the first case: .*There is no reader called nobody\./s)
  })
})
