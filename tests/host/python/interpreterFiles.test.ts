/** An interpreter that lies in the folder of the code changes with it, and so does what says where its library is. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { consentsFile } from '#host/consents/consents.ts'
import { allowPython, reviewPython } from '#host/python/consent.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const all = temporaryFolder()

function placed(name: string, make: (program: string) => void) {
  const folder = mkdtempSync(path.join(all, 'project-'))
  const put = (file: string, text: string) => {
    const place = path.join(folder, ...file.split('/'))
    mkdirSync(path.dirname(place), { recursive: true })
    writeFileSync(place, text)
    return place
  }
  const code = 'def score(completions):\n    return [1.0 for _ in completions]\n'
  const source = { code, language: 'py', file: put('rewards.py', code) } as const
  const consents = consentsFile(mkdtempSync(path.join(all, 'machine-')))
  const program = path.join(folder, ...name.split('/'))
  mkdirSync(path.dirname(program), { recursive: true })
  make(program)
  const review = (interpreter = program) => reviewPython(source, interpreter, consents)
  const isAllowed = (interpreter?: string) => review(interpreter).files.every((file) => file.isAllowed)
  const allow = (interpreter?: string) => allowPython([review(interpreter)], consents)
  return { folder, put, program, isAllowed, allow, review }
}

function programAt(place: string): void {
  writeFileSync(place, '#!/bin/sh\nexit 1\n')
  chmodSync(place, 0o755)
}

const elsewhere = path.join(mkdtempSync(path.join(all, 'elsewhere-')), 'python3')
programAt(elsewhere)
const other = path.join(mkdtempSync(path.join(all, 'elsewhere-')), 'python3')
programAt(other)

describe.skipIf(process.platform === 'win32')('consent to an interpreter in the folder of the code', () => {
  test.each([
    ['my-env/bin/python._pth', 'paths in place of its own'],
    ['my-env/lib/libpython3.14.so.1._pth', 'paths in place of its own'],
    ['my-env/bin/pyvenv.cfg', 'an environment'],
    ['my-env/pyvenv.cfg', 'an environment'],
    ['my-env/bin/pybuilddir.txt', 'a build'],
    ['my-env/bin/Modules/Setup.local', 'a build'],
    ['my-env/lib/python3.11/os.py', 'a library'],
    ['my-env/lib/python3.11/lib-dynload/math.so', 'compiled modules of a library'],
    ['my-env/lib/python311.zip', 'a library in an archive'],
    ['lib64/python3.12/os.pyc', 'a library further up'],
  ])('ends when %s comes, which makes Python take %s', (file) => {
    const { put, allow, isAllowed } = placed('my-env/bin/python', programAt)
    allow()
    expect(isAllowed()).toBe(true)
    put(file, 'evil')
    expect(isAllowed()).toBe(false)
    allow()
    expect(isAllowed()).toBe(true)
  })

  test('ends when a link of it leads elsewhere, also one in the middle', () => {
    const { folder, program, allow, isAllowed } = placed('.venv/bin/python', (link) => {
      symlinkSync('python3', link)
      symlinkSync(elsewhere, path.join(path.dirname(link), 'python3'))
    })
    allow()
    expect(isAllowed()).toBe(true)
    const middle = path.join(folder, '.venv', 'bin', 'python3')
    rmSync(middle)
    symlinkSync(other, middle)
    expect(isAllowed()).toBe(false)
    rmSync(program)
    symlinkSync(elsewhere, program)
    expect(isAllowed()).toBe(true)
  })

  test('ends when the last of as many links as the system follows leads elsewhere', () => {
    const { folder, allow, isAllowed } = placed('.venv/bin/python', (link) => {
      for (let i = 0; i < 39; i++) symlinkSync(`${link}${i + 1}`, i === 0 ? link : `${link}${i}`)
      symlinkSync(elsewhere, `${link}39`)
    })
    allow()
    const last = path.join(folder, '.venv', 'bin', 'python39')
    rmSync(last)
    symlinkSync(other, last)
    expect(isAllowed()).toBe(false)
  })

  test('ends when a folder above it becomes a link', () => {
    const { folder, allow, isAllowed } = placed('.env/python3', programAt)
    allow()
    rmSync(path.join(folder, '.env'), { recursive: true })
    symlinkSync(path.dirname(other), path.join(folder, '.env'))
    expect(isAllowed()).toBe(false)
  })

  test('looks where links from elsewhere lead, and nowhere else', () => {
    const { put, program, allow, isAllowed, review } = placed('my-env/bin/python', programAt)
    const link = path.join(mkdtempSync(path.join(all, 'link-')), 'python')
    symlinkSync(program, link)
    allow(link)
    expect(isAllowed(link)).toBe(true)
    put('my-env/bin/pybuilddir.txt', 'lib')
    expect(isAllowed(link)).toBe(false)
    writeFileSync(path.join(path.dirname(elsewhere), 'python3._pth'), '.')
    expect(review(elsewhere).files).toHaveLength(1)
  })
})
