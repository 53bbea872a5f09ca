/** An interpreter that anybody but the administrator could exchange is asked about by its content, and what says where its library is too. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { consentsFile } from '#host/consents/consents.ts'
import { allowPython, requireConsent, reviewPython } from '#host/python/consent.ts'
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
  return { folder, put, program, isAllowed, allow, review, source, consents }
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

  test('lets no config name what marks its library, and no code import it', () => {
    const { put, program, allow, review, source, consents } = placed('my-env/bin/python', programAt)
    const code = 'def renames(old, new): ...\n'
    const file = put('lib/python3.11/os.py', code)
    allow()
    expect(review().files.map((each) => each.path)).toContain(`interpreter:${file}`)
    expect(() => requireConsent({ code, language: 'py', file }, program, consents)).toThrow(
      'not been allowed',
    )
    const { modules } = requireConsent(source, program, consents)
    expect(Object.keys(modules)).toEqual([source.file])
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
    const own = path.join(path.dirname(elsewhere), 'lib', 'python3.11')
    mkdirSync(own, { recursive: true })
    writeFileSync(path.join(own, 'os.py'), '')
    expect(review(elsewhere).files.map((file) => file.path)).not.toContain(
      `interpreter:${path.join(own, 'os.py')}`,
    )
  })
})

describe.skipIf(process.platform === 'win32')('consent to an interpreter elsewhere', () => {
  const repository = () => placed('bin/python', (program) => symlinkSync(elsewhere, program))
  const codeBeside = ({ folder, put, program }: ReturnType<typeof placed>) => {
    const code = 'x = 1\n'
    const source = { code, language: 'py', file: put('rewards/r.py', code) } as const
    const consents = consentsFile(mkdtempSync(path.join(all, 'machine-')))
    const review = (name = program) => reviewPython(source, name, consents)
    const isAllowed = (name?: string) => review(name).files.every((file) => file.isAllowed)
    const allow = (name?: string) => allowPython([review(name)], consents)
    return { folder, put, program, review, isAllowed, allow }
  }

  test('names where its links lead', () => {
    const { program, review } = codeBeside(repository())
    expect(
      review()
        .files.map((file) => file.path)
        .slice(0, 3),
    ).toEqual([review().files[0]?.path, `interpreter:${program}`, `interpreter:${elsewhere}`])
  })

  test.each<[string, (program: string) => void]>([
    [
      'another program takes its place',
      (program) => {
        rmSync(program)
        programAt(program)
      },
    ],
    [
      'its link leads elsewhere',
      (program) => {
        rmSync(program)
        symlinkSync(other, program)
      },
    ],
    [
      'the folder that it lies in becomes a link',
      (program) => {
        const programs = mkdtempSync(path.join(all, 'programs-'))
        programAt(path.join(programs, 'python'))
        rmSync(path.dirname(program), { recursive: true })
        symlinkSync(programs, path.dirname(program))
      },
    ],
    ['a file makes it an environment', (program) => writeFileSync(path.join(program, '../pyvenv.cfg'), '')],
    [
      'a file further up makes it an environment',
      (program) => writeFileSync(path.join(program, '../../pyvenv.cfg'), ''),
    ],
    ['a file gives it other paths', (program) => writeFileSync(`${program}._pth`, '')],
  ])('ends when %s', (_, change) => {
    const { program, allow, isAllowed } = codeBeside(repository())
    allow()
    expect(isAllowed()).toBe(true)
    change(program)
    expect(isAllowed()).toBe(false)
  })

  test('ends when what its links lead to changes, through a folder that is a link too', () => {
    const { folder, allow, isAllowed } = codeBeside(repository())
    const programs = mkdtempSync(path.join(all, 'programs-'))
    programAt(path.join(programs, 'python3.11'))
    symlinkSync('python3.11', path.join(programs, 'python'))
    symlinkSync(programs, path.join(folder, 'rewards', 'd'))
    const program = path.join(folder, 'rewards', 'd', 'python')
    allow(program)
    expect(isAllowed(program)).toBe(true)
    writeFileSync(path.join(programs, 'python3.11'), '#!/bin/sh\nexit 2\n')
    expect(isAllowed(program)).toBe(false)
  })

  test.each(['gymnasium:CartPole-v1', 'engine:trl'])('is to its content for %s as well', (file) => {
    const program = path.join(mkdtempSync(path.join(all, 'programs-')), 'python')
    programAt(program)
    const consents = consentsFile(mkdtempSync(path.join(all, 'machine-')))
    const parts = file === 'engine:trl' ? { parts: { 'turnwise:train.py': '' } } : {}
    const review = () => reviewPython({ code: 'x', language: 'py', file, ...parts }, program, consents)
    allowPython([review()], consents)
    expect(review().files.every((each) => each.isAllowed)).toBe(true)
    writeFileSync(program, '#!/bin/sh\nexit 2\n')
    expect(
      review()
        .files.filter((each) => !each.isAllowed)
        .map((each) => each.path),
    ).toEqual([`interpreter:${program}`])
  })

  test.skipIf(process.getuid?.() === 0)(
    'is to its place alone where only the administrator could exchange it (skipped as root)',
    () => {
      const { review } = codeBeside(repository())
      expect(review('/usr/bin/env').files).toHaveLength(2)
    },
  )
})
