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

function markBuild(folder: string): void {
  mkdirSync(path.join(folder, 'Modules'))
  writeFileSync(path.join(folder, 'Modules', 'Setup.local'), '')
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

  test.each(['base/bin', 'base/none/bin', 'link/../none', 'link/x/y'])(
    'ends when a library comes above %s, which its environment names',
    (home) => {
      const { folder, put, allow, isAllowed } = placed('.venv/bin/python', (link) =>
        symlinkSync(elsewhere, link),
      )
      put('base/bin/python3', '')
      symlinkSync('base/bin', path.join(folder, 'link'))
      put('.venv/pyvenv.cfg', `version = 3.11\nHome=  ${folder}/${home} \r\n`)
      allow()
      expect(isAllowed()).toBe(true)
      put('base/lib/python3.11/os.py', 'evil')
      expect(isAllowed()).toBe(false)
    },
  )

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

describe.skipIf(process.platform === 'win32')('an interpreter that is another in each process', () => {
  const refused = 'so nothing says which file it means'
  // Leads to what is there, where there is such a folder; for a process that works elsewhere, to something else.
  const here = (place: string) => `/proc/self/cwd${'/..'.repeat(30)}${place}`
  const library = mkdtempSync(path.join(all, 'library-'))
  writeFileSync(path.join(library, 'os.py'), '')

  test.each([
    '/proc/self/root',
    '/proc/thread-self/root',
    '/proc/1/root',
    '/proc/self/cwd',
    '/dev/fd',
    '/dev/stdin',
  ])('is refused by way of %s', (way) => {
    const { review, source } = placed('python', programAt)
    expect(() => review(way + elsewhere)).toThrow(refused)
    const trainer = { code: 'x', language: 'py', file: 'engine:trl', parts: {} } as const
    expect(() => reviewPython(trainer, way + elsewhere, null)).toThrow(refused)
    expect(() => reviewPython({ ...source, file: way + source.file }, elsewhere, null)).toThrow(refused)
  })

  test.each([
    ['the program', '.venv/bin/python3', here(elsewhere)],
    ['the program, which leads nowhere', '.venv/bin/python3', '/proc/self/cwd/none'],
    ['its folder', '.venv/bin', here(path.dirname(elsewhere))],
  ])('is refused where %s is a link to such a place, which another link leads to', (_, name, target) => {
    const { folder, program, review } = placed('python', (link) => symlinkSync('.venv/bin/python3', link))
    mkdirSync(path.join(folder, path.dirname(name)), { recursive: true })
    symlinkSync(target, path.join(folder, name))
    for (const link of [program, path.join(folder, '.venv/bin/python3')])
      expect(() => review(link)).toThrow(refused)
  })

  test.skipIf(process.platform !== 'linux')(
    'is refused where a link leads to a name that is not UTF-8, which is read as another (skipped but on Linux)',
    () => {
      const { folder, program, review } = placed('python', (link) =>
        symlinkSync(Buffer.from(`${path.dirname(link)}/py\xff`, 'latin1'), link),
      )
      programAt(path.join(folder, 'py\ufffd'))
      writeFileSync(Buffer.from(`${folder}/py\xff`, 'latin1'), '')
      expect(() => review(program)).toThrow(refused)
    },
  )

  test.each([
    'my-env/pyvenv.cfg',
    'my-env/bin/pyvenv.cfg',
    'my-env/bin/python._pth',
    'my-env/bin/pybuilddir.txt',
    'my-env/bin/Modules',
    'my-env/lib',
    'lib64/python3.12',
    'lib/python311.zip',
    'my-env/lib/python3.11/os.py',
  ])('is refused where %s is a link to such a place', (name) => {
    for (const target of [library, path.join(library, 'os.py'), '/none'].map(here)) {
      const { folder, review } = placed('my-env/bin/python', programAt)
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
      symlinkSync(target, path.join(folder, name))
      expect(() => review()).toThrow(refused)
    }
  })

  test.each([here(library), 'base/bin', './bin'])('is refused where its environment names %s', (home) => {
    const { put, review } = placed('my-env/bin/python', programAt)
    put('my-env/pyvenv.cfg', `home = ${home}\n`)
    expect(() => review()).toThrow(refused)
    put('my-env/pyvenv.cfg', 'home =\n')
    expect(() => review()).not.toThrow()
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
    ['a file makes it a build', (program) => markBuild(path.dirname(program))],
  ])('ends when %s', (_, change) => {
    const { program, allow, isAllowed } = codeBeside(repository())
    allow()
    expect(isAllowed()).toBe(true)
    change(program)
    expect(isAllowed()).toBe(false)
  })

  test.each<[string, (home: string) => void]>([
    ['makes it a build', markBuild],
    ['makes it another build', (home) => writeFileSync(path.join(home, 'pybuilddir.txt'), 'lib')],
    ['gives it other paths', (home) => writeFileSync(path.join(home, 'python._pth'), '')],
  ])('ends when a file in the home of its environment %s', (_, change) => {
    const { program, allow, isAllowed } = codeBeside(repository())
    const home = mkdtempSync(path.join(all, 'home-'))
    writeFileSync(path.join(program, '../../pyvenv.cfg'), `home = ${home}\n`)
    allow()
    expect(isAllowed()).toBe(true)
    change(home)
    expect(isAllowed()).toBe(false)
  })

  test('ends when a file makes what its links lead to a build', () => {
    const programs = mkdtempSync(path.join(all, 'programs-'))
    programAt(path.join(programs, 'python3'))
    const { allow, isAllowed } = codeBeside(
      placed('bin/python', (program) => symlinkSync(path.join(programs, 'python3'), program)),
    )
    allow()
    expect(isAllowed()).toBe(true)
    markBuild(programs)
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
