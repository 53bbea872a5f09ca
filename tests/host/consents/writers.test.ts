/** Consents that several processes change at the same time. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { consentsFile, readConsents } from '#host/consents/consents.ts'
import { allowKeys, missingKeys, withdrawKeys } from '#host/consents/keys.ts'
import { allowPython } from '#host/python/consent.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const all = temporaryFolder()
const machine = () => consentsFile(mkdtempSync(path.join(all, 'machine-')))
const use = { variable: 'KEY', origin: 'https://judge.example' }
const review = (name: string) => ({
  interpreter: '/usr/bin/python3',
  files: [{ path: name, sha256: '0'.repeat(64), isAllowed: false }],
})

/** Allows one file after the other until it is killed. */
function writer(consents: string): ChildProcess {
  const script = `
    import { allowPython } from '#host/python/consent.ts'
    for (let i = 0; ; i++) {
      const files = [{ path: '/code/' + i, sha256: '0'.repeat(64), isAllowed: false }]
      allowPython([{ interpreter: '/usr/bin/python3', files }], ${JSON.stringify(consents)})
    }`
  return spawn(process.execPath, ['--input-type=module-typescript', '-e', script], { stdio: 'ignore' })
}

test(
  'none brings back what another withdrew, nor loses what another allowed',
  { timeout: 60_000 },
  async () => {
    const consents = machine()
    const writers = [writer(consents), writer(consents)]
    try {
      await expect.poll(() => readConsents(consents).python.length, { timeout: 30_000 }).toBeGreaterThan(3)
      for (let i = 0; i < 40; i++) {
        allowKeys([use], consents)
        expect(missingKeys([use], consents)).toEqual([])
        withdrawKeys([use], consents)
        await new Promise((resolve) => setTimeout(resolve, 10))
        expect(missingKeys([use], consents)).toEqual([use])
      }
    } finally {
      for (const each of writers) each.kill('SIGKILL')
    }
    for (const each of writers) if (each.signalCode === null) await once(each, 'exit')
    const names = readConsents(consents).python.map((each) => each.path)
    expect(names).toEqual(names.map((_, i) => `/code/${i}`))
    // The lock of a process that was killed holds nobody up.
    allowKeys([use], consents)
    expect(missingKeys([use], consents)).toEqual([])
  },
)

test('what is allowed already is not written again', () => {
  const consents = machine()
  allowKeys([use], consents)
  allowPython([review('/a')], consents)
  const before = readConsents(consents)
  const { ino } = statSync(consents)
  allowKeys([use], consents)
  allowPython([review('/a')], consents)
  withdrawKeys([{ ...use, variable: 'OTHER' }], consents)
  expect(readConsents(consents)).toEqual(before)
  expect(statSync(consents).ino).toBe(ino)
  expect(readdirSync(path.dirname(consents))).toEqual([
    path.basename(consents),
    `${path.basename(consents)}.turn`,
  ])
})

/** Prints a line once it has its turn, and keeps it until it is killed. */
function holder(consents: string): ChildProcess {
  const script = `
    import { takeTurn } from '#host/files/turns.ts'
    const turn = takeTurn(${JSON.stringify(`${consents}.turn`)})
    setInterval(() => turn, 1000)
    console.log('held')`
  return spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

test('who holds the turn keeps it whatever files say of processes, and nobody does once it is killed', async () => {
  const consents = machine()
  const holding = holder(consents)
  try {
    if (holding.stdout !== null) await once(holding.stdout, 'data')
    writeFileSync(`${consents}.lock`, '999999999 1')
    expect(() => allowKeys([use], consents)).toThrow('for ten seconds')
    expect(missingKeys([use], consents)).toEqual([use])
  } finally {
    holding.kill('SIGKILL')
  }
  if (holding.signalCode === null) await once(holding, 'exit')
  allowKeys([use], consents)
  expect(missingKeys([use], consents)).toEqual([])
})

test.skipIf(process.platform === 'win32')('a link counts as nothing, even to a file of this user', () => {
  const consents = machine()
  allowPython([review('/code/mine.py')], consents)
  expect(readConsents(consents).python).toHaveLength(1)
  const kept = `${consents}.kept`
  renameSync(consents, kept)
  symlinkSync(kept, consents)
  expect(readConsents(consents).python).toEqual([])
})

test('what is unpacked over the data directory allows nothing', () => {
  const consents = machine()
  allowPython([review('/code/mine.py')], consents)
  const archived = readFileSync(consents)
  rmSync(consents)
  writeFileSync(consents, archived)
  expect(readConsents(consents).python).toEqual([])
})
