/** An environment whose start reads the folder of the code, as one does that the project was installed into to be edited. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { allowPython, reviewPython } from '#host/python/consent.ts'
import { openPython } from '#host/python/pythonCode.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { allowedFolder, putCompiled, scored } from './allowedFolder.ts'
import { hasPython, interpreter } from './interpreter.ts'

const all = temporaryFolder()
afterEach(() => vi.unstubAllEnvs())
const isHere = hasPython('venv')

/** Code with an environment of its own beside it or elsewhere; `install` puts a file into the environment. */
function project(main: string, beside: Readonly<Record<string, string>> = {}, place = 'elsewhere') {
  const code = allowedFolder(all, main, beside)
  const { folder, source, consents } = code
  const venv = place === 'beside' ? path.join(folder, '.venv') : `${folder}-venv`
  spawnSync(interpreter, ['-m', 'venv', '--without-pip', venv])
  const program = path.join(
    venv,
    ...(process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']),
  )
  const asked = spawnSync(program, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'])
  const site = String(asked.stdout).trim()
  const install = (name: string, content: string) => writeFileSync(path.join(site, name), content)
  const allow = () => allowPython([reviewPython(source, program, consents)], consents)
  allow()
  const options = { interpreter: program, callSeconds: 60, messages: null, form: null, consents }
  return { ...code, program, install, allow, open: () => openPython(source, options) }
}

/** As setuptools writes it for a project that is installed to be edited. */
const finder = (mapping: Readonly<Record<string, string>>) => `
import sys
from importlib.util import spec_from_file_location
MAPPING = ${JSON.stringify(mapping)}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return spec_from_file_location(name, MAPPING[name]) if name in MAPPING else None
class Spaces:
    @classmethod
    def find_spec(cls, name, target=None):
        from importlib.machinery import ModuleSpec
        if name != "space":
            return None
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = ["nowhere"]
        return spec
def hook(path):
    if path == "__editable__.space.__path_hook__":
        return Spaces
    raise ImportError
def install():
    sys.meta_path.append(Finder)
    sys.path_hooks.append(hook)
    sys.path.append("__editable__.space.__path_hook__")
`

describe.runIf(isHere)(
  `an environment that leads into the folder${isHere ? '' : ' (skipped without Python 3.9)'}`,
  () => {
    test.each(['elsewhere', 'beside'])('starts nothing that was planted there: %s', async (place) => {
      const code = project(
        'import installed, tool, sys\nvalue = lambda: installed.points + tool.points + (sys.prefix != sys.base_prefix)',
        { 'src/tool.py': 'points = 20' },
        place,
      )
      code.install('installed.py', 'points = 300')
      code.install(
        '__editable__.tool.pth',
        `${code.folder}\n${path.join(code.folder, 'src')}\nimport late_line\n`,
      )
      for (const name of [
        'sitecustomize',
        'usercustomize',
        'late_line',
        'src/sitecustomize',
        'json',
        'signal',
      ])
        putCompiled(code, name)
      code.put('sitecustomize/pyvenv.cfg', '')
      code.put('sitecustomize/__init__.py', code.evil)
      expect(await scored(code.open)).toContain('"value":321')
      expect(code.ran()).toBe(false)
    })

    test('runs what it has itself as it starts, and of the folder what was allowed', async () => {
      const code = project('import builtins\nvalue = lambda: builtins.said', {
        'src/usercustomize.py': 'import builtins\nbuiltins.said += 20',
      })
      vi.stubEnv('PYTHONUSERBASE', path.join(all, 'user'))
      code.install('starting.py', 'import builtins\nbuiltins.said = 1')
      code.install('starting.pth', 'import starting\n')
      code.install(
        'tool.pth',
        `${path.join(code.folder, 'src')}\nimport site; site.ENABLE_USER_SITE = True\n`,
      )
      expect(await scored(code.open)).toContain('"value":21')
    })

    test('finds modules by a finder of its own as they were allowed, and no others', async () => {
      const code = project(
        `def value():
    import space, tool
    for name in ("hidden", "tool"):
        sys.modules.pop(name, None)
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(error)
    return tool.points
import importlib, sys`,
        { 'src/tool.py': 'points = 3' },
      )
      const { folder, install, put, evil } = code
      const mapping = {
        tool: path.join(folder, 'src', 'tool.py'),
        hidden: path.join(folder, 'my-src', 'hidden.py'),
      }
      install('editable_finder.py', finder(mapping))
      install('tool.pth', 'import editable_finder; editable_finder.install()\n')
      put('my-src/hidden.py', evil)
      await using python = await code.open()
      const ask = async () =>
        JSON.stringify(await python.score([{ prompt: '', completion: 'x', row: {}, step: 0 }], 'score'))
      expect(await ask()).toMatch(
        /hidden\.py.*was not allowed.*"value":3|"value":3.*hidden\.py.*was not allowed/,
      )
      put('src/tool.py', evil)
      expect(await ask()).toContain('changed after it was allowed')
      expect(code.ran()).toBe(false)
    })

    test.skipIf(process.platform === 'win32').each(['spawn', 'forkserver'])(
      'starts processes of multiprocessing by the same rule: %s',
      async (method) => {
        const code = project(
          `import multiprocessing, subprocess
def value():
    import work
    with multiprocessing.get_context("${method}").Pool(1) as pool:
        sum = pool.apply(work.work)
    # What else starts Python with the same flags gets all that is installed.
    return sum + ("-S" not in subprocess._args_from_interpreter_flags())`,
          {
            'work.py':
              'import installed, sys\ndef work():\n    return installed.points + (sys.prefix != sys.base_prefix)',
          },
        )
        code.install('installed.py', 'points = 300')
        code.install('tool.pth', `${path.join(code.folder, 'late')}\n`)
        mkdirSync(path.join(code.folder, 'late'))
        for (const name of ['late/sitecustomize', 'late/usercustomize']) putCompiled(code, name)
        expect(await scored(code.open)).toContain('"value":302')
        expect(code.ran()).toBe(false)
      },
    )
  },
)

test.skipIf(process.platform === 'win32' || !hasPython())(
  'a program in the folder is asked about with what says where its library lies (skipped without Python 3.9)',
  async () => {
    const { folder, put, evil, ran, source, consents } = allowedFolder(all, 'value = lambda: 1')
    const asked = spawnSync(interpreter, ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' })
    const program = path.join(folder, 'bin', 'python')
    mkdirSync(path.dirname(program))
    symlinkSync(asked.stdout.trim(), program)
    const review = () => reviewPython(source, program, consents)
    allowPython([review()], consents)
    const options = { interpreter: program, callSeconds: 60, messages: null, form: null, consents }
    const open = () => openPython(source, options)
    expect(await scored(open)).toContain('"value":1')

    for (const name of ['pyvenv.cfg', 'bin/pyvenv.cfg']) {
      put(name, `home = ${path.join(folder, 'my-home', 'bin')}\n`)
      put('my-home/lib/python3/encodings/__init__.py', evil)
      await expect(open()).rejects.toThrow(
        `the content of interpreter:${path.join(folder, name)} has not been allowed`,
      )
      rmSync(path.join(folder, name))
    }
    rmSync(program)
    put('bin/python', '#!/bin/sh\n')
    chmodSync(program, 0o755)
    await expect(open()).rejects.toThrow(`the content of interpreter:${program} has not been allowed`)
    expect(ran()).toBe(false)
  },
)
