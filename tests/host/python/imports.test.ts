/** What Python imports from the folder of the code is what was allowed, by its content, and nothing else. */
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { allowPython, reviewPython } from '#host/python/consent.ts'
import { askProgram } from '#host/python/program.ts'
import { isInside } from '#host/python/pythonEnvironment.ts'
import { openPython } from '#host/python/pythonCode.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { allowedFolder, putCompiled, scored } from './allowedFolder.ts'
import { hasPython, interpreter } from './interpreter.ts'

const all = temporaryFolder()
afterEach(() => vi.unstubAllEnvs())

const isHere = hasPython()
const without = isHere ? '' : ' (skipped without Python 3.9)'

const allowed = (main: string, beside?: Readonly<Record<string, string>>, link?: string) =>
  allowedFolder(all, main, beside, link)

describe.runIf(isHere)(`imports${without}`, () => {
  test('of modules, packages and folders of packages that were allowed', async () => {
    const { folder, open, review } = allowed(
      'import helper, pack.deep, pack, names.inner\nvalue = lambda: helper.x + pack.y + pack.deep.z + names.inner.w',
      {
        'helper.py': 'x = 1',
        'pack/__init__.py': 'y = 20',
        'pack/deep.py': 'z = 300',
        'names/inner.py': 'w = 4000',
      },
    )
    const inFolder = review().files.filter((file) => isInside(file.path, folder))
    expect(inFolder).toHaveLength(5)
    expect(await scored(open)).toContain('"value":4321')
  })

  test('not of a package that calls itself a virtual environment', async () => {
    const { put, evil, open, ran } = allowed('import helper\nvalue = lambda: helper.points', {
      'helper/__init__.py': 'points = 3',
    })
    put('helper/pyvenv.cfg', '')
    put('helper/__init__.py', evil)
    await expect(open()).rejects.toThrow(/“helper” lies beside the code.*nobody is asked about it/)
    expect(ran()).toBe(false)
  })

  test('not in place of what Python brings along', async () => {
    const { put, evil, open, ran } = allowed('import colorsys\nvalue = lambda: colorsys.ONE_THIRD')
    put('colorsys/pyvenv.cfg', '')
    put('colorsys/__init__.py', evil)
    expect(await scored(open)).toContain('"value":0.333')
    expect(ran()).toBe(false)
  })

  test('not of what changed, or came, after Python was started', async () => {
    const { put, evil, open, ran } = allowed(
      `def value():
    import importlib
    for name in ("helper", "late"):
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(error)
    return 1`,
      { 'helper.py': 'points = 3' },
    )
    const planted = () => {
      put('helper.py', evil)
      put('late.py', evil)
    }
    expect(await scored(open, planted)).toMatch(
      /helper\.py changed after it was allowed.*No module named 'late'/,
    )
    expect(ran()).toBe(false)
  })

  test('not by the real path of a folder that is a link, by a folder nobody asks about, or out of an archive', async () => {
    const { folder, put, evil, open, ran } = allowed(
      `import os, sys
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.realpath(here), os.path.join(here, "my-lib"), os.path.join(here, "packed.zip"), "."]
value = lambda: 1
for name in ("one", "two", "three"):
    try:
        __import__(name)
    except ImportError as error:
        print(error)`,
      {},
      'link',
    )
    put('my-lib/two.py', evil)
    put('three.py', evil)
    const pack = 'import zipfile, sys; zipfile.ZipFile(sys.argv[1], "w").write(sys.argv[2], "three.py")'
    spawnSync(interpreter, ['-c', pack, path.join(folder, 'packed.zip'), path.join(folder, 'three.py')])
    rmSync(path.join(folder, 'three.py'))
    const running = open()
    // After it was asked about, before it is imported.
    put('one.py', evil)
    await using _ = await running.catch(() => null)
    expect(existsSync(path.join(folder, 'packed.zip'))).toBe(true)
    expect(ran()).toBe(false)
  })

  test('not of compiled code beside an allowed source, whatever loads it', async () => {
    const { folder, put, evil, open, ran } = allowed(
      `import importlib.util, os
def value():
    where = os.path.join(os.path.dirname(os.path.abspath(__file__)), "helper.py")
    spec = importlib.util.spec_from_file_location("elsewhere", where)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.points`,
      { 'helper.py': 'points = 3' },
    )
    put('poison.py', evil)
    const compile = `import py_compile, sys
py_compile.compile(sys.argv[1], sys.argv[2], invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)`
    const tag = 'import sys; print(sys.implementation.cache_tag)'
    const name = spawnSync(interpreter, ['-c', tag], { encoding: 'utf8' }).stdout.trim()
    const target = path.join(folder, '__pycache__', `helper.${name}.pyc`)
    spawnSync(interpreter, ['-c', compile, path.join(folder, 'poison.py'), target])
    rmSync(path.join(folder, 'poison.py'))
    expect(existsSync(target)).toBe(true)
    expect(await scored(open)).toContain('"value":3')
    expect(ran()).toBe(false)
  })

  test('in processes that multiprocessing starts afresh by the same rule', async () => {
    const { put, evil, open, ran } = allowed(
      `import multiprocessing
def value():
    import helper
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for name in ("other", "late", "changed"):
            try:
                print(name, pool.apply(helper.work, (name,)))
            except ImportError as error:
                print(error)
    return 1`,
      {
        'helper.py': 'import importlib\ndef work(name):\n    return importlib.import_module(name).points',
        'other.py': 'points = 3',
        'changed.py': 'points = 4',
      },
    )
    await using code = await open()
    for (const name of ['late.py', 'changed.py']) put(name, evil)
    put('signal/pyvenv.cfg', '')
    put('signal/__init__.py', evil)
    const [answer] = await code.score([{ prompt: '', completion: 'x', row: {}, step: 0 }], 'score')
    expect(JSON.stringify(answer)).toMatch(/other 3.*No module named 'late'.*changed after it was allowed/)
    expect(ran()).toBe(false)
  })

  test.each(['os.getcwd()', 'os.path.dirname(os.path.realpath(__file__))'])(
    'not of a folder whose link came to lead elsewhere while code of it runs, by %s',
    async (here) => {
      const { folder, evil, open, ran } = allowed(
        `import os, sys\nsys.path.append(${here})\ndef value():\n    import late\n    return late.points`,
        {},
        'current',
      )
      await using code = await open()
      const before = readlinkSync(folder)
      writeFileSync(path.join(before, 'late.py'), evil)
      rmSync(folder)
      symlinkSync(mkdtempSync(path.join(all, 'next-')), folder)
      const [answer] = await code.score([{ prompt: '', completion: 'x', row: {}, step: 0 }], 'score')
      expect(JSON.stringify(answer)).toContain('was not there when the code was allowed')
      expect(ran()).toBe(false)
    },
  )

  test.each(['""', 'os.getcwd()'])(
    'not of a folder that was moved while code of it runs, by %s',
    async (here) => {
      const { folder, evil, open, ran } = allowed(
        `import os, sys\ndef value():\n    sys.path.insert(0, ${here})\n    import late\n    return late.points`,
      )
      await using code = await open()
      renameSync(folder, `${folder}-old`)
      mkdirSync(folder)
      writeFileSync(path.join(`${folder}-old`, 'late.py'), evil)
      const [answer] = await code.score([{ prompt: '', completion: 'x', row: {}, step: 0 }], 'score')
      expect(JSON.stringify(answer)).toContain('was not there when the code was allowed')
      expect(ran()).toBe(false)
    },
  )

  test('not out of an archive that the code opens itself', async () => {
    const { folder, put, evil, open, ran } = allowed(
      `import os, zipimport
value = lambda: zipimport.zipimporter(os.path.join(os.path.dirname(__file__), "packed.zip")).load_module("late")`,
    )
    put('late.txt', evil)
    const pack = 'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "w").write(sys.argv[2], "late.py")'
    spawnSync(interpreter, ['-c', pack, path.join(folder, 'packed.zip'), path.join(folder, 'late.txt')])
    expect(await scored(open)).toContain('nobody is asked about archives')
    expect(ran()).toBe(false)
  })

  test('not of what a .pth file in the folder says, where the code adds that to the places of packages', async () => {
    const { put, evil, open, ran } = allowed(
      'import os, site\nsite.addsitedir(os.path.dirname(os.path.abspath(__file__)))\nvalue = lambda: 1',
    )
    put('more.pth', `import os; exec(${JSON.stringify(evil)})\n`)
    expect(await scored(open)).toContain('"value":1')
    expect(ran()).toBe(false)
  })

  test('of a folder that was on the path as Python started as of any other', async () => {
    const { folder, put, evil, open, ran } = allowed(
      'def value():\n    import helper\n    return helper.points',
      { 'src/helper.py': 'points = 3' },
    )
    vi.stubEnv('PYTHONPATH', path.join(folder, 'src'))
    expect(await scored(open)).toContain('"value":3')
    await using code = await open()
    put('src/helper.py', evil)
    const [answer] = await code.score([{ prompt: '', completion: 'x', row: {}, step: 0 }], 'score')
    expect(JSON.stringify(answer)).toContain('changed after it was allowed')
    expect(ran()).toBe(false)
  })

  test('not as Python starts, where its path has an empty entry', async () => {
    vi.stubEnv('PYTHONPATH', path.delimiter)
    const { put, evil, open, ran } = allowed('value = lambda: 1')
    put('sitecustomize/pyvenv.cfg', '')
    put('sitecustomize/__init__.py', evil)
    expect(await scored(open)).toContain('"value":1')
    expect(ran()).toBe(false)
  })

  test.each(['', '.'])(
    'not in processes of their own by a path that means where they start: “%s”',
    async (entry) => {
      vi.stubEnv('PYTHONPATH', [entry, 'relative'].join(path.delimiter))
      const code = allowed(
        `import multiprocessing, os, subprocess, sys
def value():
    import helper
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(helper.work)
    subprocess.run([sys.executable, "-c", ""], check=True)
    return 1`,
        { 'helper.py': 'def work():\n    return 1' },
      )
      for (const name of ['sitecustomize', 'signal', 'usercustomize']) putCompiled(code, name)
      expect(await scored(code.open)).toContain('"value":1')
      expect(code.ran()).toBe(false)
    },
  )

  test('not as Python starts whose program lies in the folder', async () => {
    vi.stubEnv('PYTHONPATH', path.delimiter)
    const code = allowed('value = lambda: 1')
    const real = spawnSync(interpreter, ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' })
    const program = path.join(code.folder, 'python')
    symlinkSync(real.stdout.trim(), program)
    for (const name of ['sitecustomize', 'json', 'encodings']) putCompiled(code, name)
    const { source, consents } = code
    allowPython([reviewPython(source, program, consents)], consents)
    const options = { interpreter: program, callSeconds: 60, messages: null, form: null, consents }
    expect(await scored(() => openPython(source, options))).toContain('"value":1')
    expect(code.ran()).toBe(false)
  })

  test.runIf(hasPython('venv'))(
    'not out of the environment of its interpreter, but of what is installed there',
    async () => {
      const code = allowed(
        'import tool\ndef value():\n    try:\n        import env.extra\n    except ImportError as error:\n        print(error)\n    return tool.points',
      )
      const venv = path.join(code.folder, 'env')
      spawnSync(interpreter, ['-m', 'venv', '--without-pip', venv])
      const program = path.join(venv, 'bin', 'python')
      const site = spawnSync(program, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'], {
        encoding: 'utf8',
      })
      writeFileSync(path.join(site.stdout.trim(), 'tool.py'), 'points = 3\n')
      code.put('env/extra.py', code.evil)
      const { source, consents } = code
      allowPython([reviewPython(source, program, consents)], consents)
      const options = { interpreter: program, callSeconds: 60, messages: null, form: null, consents }
      expect(await scored(() => openPython(source, options))).toContain('"value":3')
      expect(code.ran()).toBe(false)
    },
  )

  test.skipIf(process.platform === 'win32')(
    'not by a server of forks, which would import ahead',
    async () => {
      const code = allowed(
        `import multiprocessing
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["late", "helper"])
def value():
    import helper
    with context.Pool(1) as pool:
        return pool.apply(helper.work)`,
        { 'helper.py': 'def work():\n    return 4' },
      )
      code.put('late/pyvenv.cfg', '')
      code.put('late/__init__.py', code.evil)
      putCompiled(code, 'signal')
      expect(await scored(code.open)).toContain('"value":4')
      expect(code.ran()).toBe(false)
    },
  )

  test('of compiled modules that were allowed, and of no other', async () => {
    const find = `import glob, sysconfig
print("\\n".join(glob.glob(sysconfig.get_path("platstdlib") + "/lib-dynload/_lsprof*.so")))`
    const [library = ''] = spawnSync(interpreter, ['-c', find], { encoding: 'utf8' }).stdout.split('\n')
    if (library === '') return
    const { folder, open, review, allow, put } = allowed(
      'import pack\ndef value():\n    from pack import _lsprof\n    return int(bool(_lsprof.Profiler))',
      { 'pack/__init__.py': '' },
    )
    cpSync(library, path.join(folder, 'pack', path.basename(library)))
    await expect(open()).rejects.toMatchObject({ code: 'python/not-allowed' })
    const name = path.basename(library)
    expect(review().files.map(({ path: file }) => path.basename(file))).toContain(name)
    allow()
    expect(await scored(open)).toContain('"value":1')
    await using code = await open()
    put(`pack/${name}`, 'other bytes')
    const [answer] = await code.score([{ prompt: '', completion: 'x', row: {}, step: 0 }], 'score')
    expect(JSON.stringify(answer)).toContain('changed after it was allowed')
  })
})

test.runIf(isHere)(`links that lead in a circle are looked at once${without}`, () => {
  const { folder, review } = allowed('value = lambda: 1', { 'helper.py': 'points = 3', 'pack/deep.py': '' })
  symlinkSync('..', path.join(folder, 'pack', 'up'))
  symlinkSync('itself', path.join(folder, 'itself'))
  const inFolder = review().files.filter((file) => isInside(file.path, folder))
  const files = inFolder.map(({ path: where }) => path.relative(folder, where))
  expect(files).toEqual(['rewards.py', 'helper.py', path.join('pack', 'deep.py')])
})

test.runIf(isHere)(
  `looking into an interpreter imports nothing from where the host was started${without}`,
  async () => {
    const { folder, put, evil, ran, interpreterAllowed } = allowed('value = lambda: 1')
    const allowedProgram = interpreterAllowed()
    put('json.py', evil)
    const before = process.cwd()
    process.chdir(folder)
    try {
      expect(await askProgram(allowedProgram, 'import json; print(json.dumps([1]))')).toBe('[1]')
    } finally {
      process.chdir(before)
    }
    expect(ran()).toBe(false)
  },
)
