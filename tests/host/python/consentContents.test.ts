/** What a consent is to: contents for one interpreter, in the folder where they lie, on this machine. */
import { setTimeout as wait } from 'node:timers/promises'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { consentsFile, readConsents } from '#host/consents/consents.ts'
import { allowPython, requireConsent, reviewPython } from '#host/python/consent.ts'
import { createRunFolder } from '#host/workFolder/runFolder.ts'
import { createHostFixture, smallConfig } from '../api/hostFixture.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const all = temporaryFolder()
const program = path.join(all, 'python')
const code = 'def score(completions):\n    return [1.0 for _ in completions]\n'
const source = { code, language: 'py', file: path.join(all, 'project', 'rewards.py') } as const
mkdirSync(path.dirname(source.file))
writeFileSync(source.file, code)
writeFileSync(program, '#!/bin/sh\nexit 1\n')
chmodSync(program, 0o755)

describe('consent', () => {
  const machine = () => consentsFile(mkdtempSync(path.join(all, 'machine-')))
  const here = (text: string, beside: Readonly<Record<string, string>> = {}) => {
    const folder = mkdtempSync(path.join(all, 'code-'))
    for (const [name, content] of Object.entries({ 'mine.py': text, ...beside })) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
      writeFileSync(path.join(folder, name), content)
    }
    return { folder, source: { code: text, language: 'py', file: path.join(folder, 'mine.py') } as const }
  }
  const isOpen = (...asked: Parameters<typeof requireConsent>) => {
    try {
      return requireConsent(...asked).interpreter === program
    } catch (error) {
      expect(error).toMatchObject({ code: 'python/not-allowed' })
      return false
    }
  }

  test.each<[string, (folder: string) => void]>([
    ['a module beside it changes', (folder) => writeFileSync(path.join(folder, 'helper.py'), 'points = 4')],
    ['a module is added', (folder) => writeFileSync(path.join(folder, 'other.py'), '')],
    ['a package changes', (folder) => writeFileSync(path.join(folder, 'pack', 'deep.py'), 'x = 2')],
    ['a compiled module is added', (folder) => writeFileSync(path.join(folder, 'fast.so'), 'elf')],
    [
      'a package appears whose name Python takes',
      (folder) => {
        mkdirSync(path.join(folder, 'a‿b'))
        writeFileSync(path.join(folder, 'a‿b', '__init__.py'), 'x = 2')
      },
    ],
  ])('ends when %s', (_, change) => {
    const { folder, source: own } = here('import helper', {
      'helper.py': 'points = 3',
      'pack/deep.py': 'x = 1',
    })
    const consents = machine()
    allowPython([reviewPython(own, program, consents)], consents)
    expect(isOpen(own, program, consents)).toBe(true)
    change(folder)
    expect(isOpen(own, program, consents)).toBe(false)
    allowPython([reviewPython(own, program, consents)], consents)
    expect(isOpen(own, program, consents)).toBe(true)
  })

  test('lasts while other things beside the code change', () => {
    const { folder, source: own } = here('x = 1', { 'data.json': '{}' })
    const consents = machine()
    allowPython([reviewPython(own, program, consents)], consents)
    for (const name of [
      'data.json',
      '.venv/lib/a.py',
      'env/pyvenv.cfg',
      'env/lib.py',
      '__pycache__/mine.py',
    ]) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
      writeFileSync(path.join(folder, name), 'changed')
    }
    expect(isOpen(own, program, consents)).toBe(true)
  })

  test('is for this content and this interpreter alone, and for this machine', () => {
    const consents = machine()
    allowPython([reviewPython(source, program, consents)], consents)
    const other = path.join(mkdtempSync(path.join(all, 'other-')), 'python')
    writeFileSync(other, '')
    expect(isOpen({ ...source, code: `${code}\n` }, program, consents)).toBe(false)
    expect(isOpen(source, other, consents)).toBe(false)
    // Elsewhere other data may lie beside it.
    expect(isOpen({ ...source, file: path.join(here(code).folder, 'rewards.py') }, program, consents)).toBe(
      false,
    )
    expect(isOpen(source, program, machine())).toBe(false)
    expect(isOpen(source, program, null)).toBe(false)
  })

  test('the sentence names what changed, and for a copy of a run where it lies', () => {
    const { folder, source: own } = here('import helper', { 'helper.py': 'points = 3' })
    const consents = machine()
    allowPython([reviewPython(own, program, consents)], consents)
    const helper = path.join(folder, 'helper.py')
    writeFileSync(helper, 'points = 4')
    const copy = path.join(all, 'run', 'rewards', '0-mine.py')
    expect(() => requireConsent({ ...own, copy }, program, consents)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining(`the content of ${helper} has not been allowed`) as string,
        command: `turnwise python allow ${copy} --as ${own.file} --interpreter ${program}`,
      }) as Error,
    )
  })

  test('a folder full of modules is refused with what to do', () => {
    const many = Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`m${i}.py`, '']))
    const { source: own } = here('x = 1', many)
    expect(() => reviewPython(own, program, null)).toThrow('Too much lies beside')
  })

  test('a damaged file of consents allows nothing', () => {
    const consents = machine()
    allowPython([reviewPython(source, program, consents)], consents)
    const text = readFileSync(consents, 'utf8')
    for (const damaged of ['', '{}', text.slice(0, -9), text.replace('"format": 5', '"format": 6')]) {
      writeFileSync(consents, damaged)
      expect(() => readConsents(consents)).toThrow(
        expect.objectContaining({ code: 'config/invalid' }) as Error,
      )
    }
    rmSync(consents)
    expect(isOpen(source, program, consents)).toBe(false)
  })

  test('over the API it is for what was shown: what changed meanwhile is not allowed', async () => {
    await using fixture = createHostFixture()
    const { source: own, folder } = here('x = 1')
    const asked = { functions: [own.file], interpreter: program }
    const reviewed = await fixture.client.call('python.review', asked)
    writeFileSync(path.join(folder, 'mine.py'), 'x = 2')
    await expect(fixture.client.call('python.allow', { asked, reviewed })).rejects.toMatchObject({
      message: 'The Python code changed while you were looking at it.',
    })
    expect(await fixture.client.call('python.allowed')).toEqual([])
    await fixture.client.call('python.allow', {
      asked,
      reviewed: await fixture.client.call('python.review', asked),
    })
    expect(await fixture.client.call('python.allowed')).toMatchObject([
      { path: own.file, interpreter: program },
      { path: `interpreter:${program}`, interpreter: program },
    ])
    await fixture.client.call('python.withdraw', { paths: [program] })
    expect(await fixture.client.call('python.review', asked)).toMatchObject([
      { interpreter: program, files: [{ isAllowed: false }, { isAllowed: false }] },
    ])
  })

  test('of a run is for every interpreter that it names, each with its own files', async () => {
    await using fixture = createHostFixture()
    const { source: own } = here('x = 1')
    const other = path.join(mkdtempSync(path.join(all, 'other-')), 'python')
    writeFileSync(other, '')
    const config = {
      ...smallConfig,
      python: { interpreter: program },
      rewards: [{ function: own.file }],
      engine: { kind: 'trl' as const, python: other },
    }
    const run = createRunFolder(fixture.directory, parseRunConfig(config))
    fixture.host.history.lookAround()
    fixture.host.history.add(run)
    const asked = { runId: run.id }
    const reviewed = await fixture.client.call('python.review', asked)
    expect(reviewed.map(({ interpreter, files }) => [interpreter, files[0]?.path])).toEqual([
      [program, own.file],
      [other, 'engine:trl'],
    ])
    await expect(
      fixture.client.call('python.allow', { asked, reviewed: reviewed.slice(0, 1) }),
    ).rejects.toMatchObject({ code: 'python/not-allowed' })
    await fixture.client.call('python.allow', { asked, reviewed })
    const consents = consentsFile(fixture.directory)
    expect(isOpen(own, program, consents)).toBe(true)
    // The trainer's interpreter was allowed the trainer alone.
    expect(() => requireConsent(own, other, consents)).toThrow('has not been allowed')
  })

  test('does not come along in a folder from elsewhere, and whoever is asked again hears why', () => {
    const consents = machine()
    allowPython([reviewPython(source, program, consents)], consents)
    expect(isOpen(source, program, consents)).toBe(true)
    const copy = path.join(mkdtempSync(path.join(all, 'copied-')), 'home')
    cpSync(path.dirname(consents), copy, { recursive: true, preserveTimestamps: true })
    expect(isOpen(source, program, consentsFile(copy))).toBe(false)
    expect(() => requireConsent(source, program, consentsFile(copy))).toThrow(
      expect.objectContaining({
        hint: expect.stringContaining('data directory was copied') as string,
      }) as Error,
    )
    // Moved, it is the same folder.
    renameSync(path.dirname(consents), `${copy}-moved`)
    expect(isOpen(source, program, consentsFile(`${copy}-moved`))).toBe(true)
  })

  test('does not come back with a folder that is unpacked in the place of a deleted one', async () => {
    for (let i = 0; i < 20; i++) {
      const consents = machine()
      const folder = path.dirname(consents)
      allowPython([reviewPython(source, program, consents)], consents)
      const { ino } = statSync(folder)
      const text = readFileSync(consents)
      rmSync(folder, { recursive: true })
      await wait(50)
      // As quickly as something unpacks it: in one tick of the clock.
      mkdirSync(folder)
      writeFileSync(consents, text)
      const isAllowed = isOpen(source, program, consents)
      // Whether a file system gives the number again is its own affair.
      if (statSync(folder).ino === ino) expect(isAllowed).toBe(false)
    }
  })

  test.skipIf(process.getuid?.() !== 0)('of another user does not count', () => {
    const consents = machine()
    allowPython([reviewPython(source, program, consents)], consents)
    chownSync(consents, 1234, 1234)
    expect(isOpen(source, program, consents)).toBe(false)
    allowPython([reviewPython(source, program, consents)], consents)
    expect(isOpen(source, program, consents)).toBe(true)
  })

  test('is asked for by all names, up to fifty, and each as it is', () => {
    const names = Array.from({ length: 60 }, (_, i) => [`m${i}.py`, 'x = 1'] as const)
    const { source: own, folder } = here('x = 1', Object.fromEntries(names.slice(0, 40)))
    const asked = () => requireConsent(own, program, null)
    for (const name of ['m0.py', 'm39.py']) expect(asked).toThrow(path.join(folder, name))
    for (const [name, text] of names.slice(40)) writeFileSync(path.join(folder, name), text)
    expect(asked).toThrow('and 12 other files (the command below lists them with --list)')
    const { source: strange } = here('x = 1', { 'evil\u001b[2K\nhidden.py': '', 'x\u202eyp.live.py': '' })
    expect(() => requireConsent(strange, program, null)).toThrow('evil\\u{1b}[2K\\u{a}hidden.py')
    expect(() => requireConsent(strange, program, null)).toThrow('x\\u{202e}yp.live.py')
  })
})
