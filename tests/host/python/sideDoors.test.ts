/** Files beside allowed code that Python, or what is installed, would run or look up without the code naming them. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { allowedFolder, scored } from './allowedFolder.ts'
import { hasPython } from './interpreter.ts'

const all = temporaryFolder()
afterEach(() => vi.unstubAllEnvs())
const isHere = hasPython()

/** Code that runs what entry points name, as packages with plug-ins do, by the library of Python or an older one. */
const plugIns = `import glob, importlib.metadata, os, sys
here = os.path.dirname(os.path.abspath(__file__))
def load():
    sys.path.insert(0, here)
    sys.path.append(os.path.join(here, "late.zip"))
    points = [each for found in importlib.metadata.distributions() for each in found.entry_points]
    points += [each for found in importlib.metadata.distributions(path=[here]) for each in found.entry_points]
    for each in points:
        if each.group == "planted":
            each.load()()
    try:
        import pkg_resources
        for each in pkg_resources.WorkingSet([here]).iter_entry_points("planted"):
            each.load()()
        for each in pkg_resources.iter_entry_points("planted"):
            each.load()()
    except ImportError:
        pass
    for name in glob.glob(os.path.join(here, "*", "entry_points.txt")):
        try:
            open(name).close()
        except OSError as error:
            print(error)
        else:
            os.system("echo > it-ran")
def value():
    load()
    return 1`

const entryPoints = '[planted]\nx = tool:leave_a_mark\n'
const tool = 'def leave_a_mark():\n    open("it-ran", "w").close()\n'

describe.runIf(isHere)(`side doors${isHere ? '' : ' (skipped without Python 3.9)'}`, () => {
  test.each(['x-1.0.dist-info', 'x.egg-info'])('entry points of %s are not there', async (name) => {
    const { put, open, ran } = allowedFolder(all, plugIns, { 'tool.py': tool })
    put(`${name}/${name.startsWith('x-') ? 'METADATA' : 'PKG-INFO'}`, 'Name: x\nVersion: 1.0\n')
    put(`${name}/entry_points.txt`, entryPoints)
    expect(await scored(open)).toMatch(
      /nobody is asked about it.*"value":1|"value":1.*nobody is asked about it/,
    )
    expect(ran()).toBe(false)
  })

  test.skipIf(process.platform === 'win32')('nor in processes that multiprocessing starts', async () => {
    const { put, open, ran } = allowedFolder(
      all,
      `import multiprocessing
def value():
    import work
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(work.load)
    return 1`,
      { 'work.py': plugIns, 'tool.py': tool },
    )
    put('x-1.0.dist-info/METADATA', 'Name: x\nVersion: 1.0\n')
    put('x-1.0.dist-info/entry_points.txt', entryPoints)
    expect(await scored(open)).toContain('"value":1')
    expect(ran()).toBe(false)
  })

  test('a debugger reads no .pdbrc of the folder', async () => {
    const { put, open, ran } = allowedFolder(
      all,
      `import pdb
def value():
    pdb.set_trace()
    return 1`,
    )
    put('.pdbrc', `!open("it-ran", "w").close()\n`)
    expect(await scored(open)).toContain('BdbQuit')
    expect(ran()).toBe(false)
  })

  test('a package that is in several places gets none from a .pkg file of the folder', async () => {
    const packages = mkdtempSync(path.join(all, 'packages-'))
    mkdirSync(path.join(packages, 'spread'))
    writeFileSync(
      path.join(packages, 'spread', '__init__.py'),
      '__path__ = __import__("pkgutil").extend_path(__path__, __name__)\n',
    )
    const elsewhere = mkdtempSync(path.join(all, 'elsewhere-'))
    const { put, evil, open, ran } = allowedFolder(
      all,
      `def value():
    try:
        import spread.planted
    except ImportError as error:
        print(error)
    return 1`,
    )
    writeFileSync(path.join(elsewhere, 'planted.py'), evil)
    put('spread.pkg', `${elsewhere}\n`)
    vi.stubEnv('PYTHONPATH', packages)
    expect(await scored(open)).toContain('"value":1')
    expect(ran()).toBe(false)
  })

  /** A package that reads settings of the working folder, as some do when they are imported and others later. */
  function readingPackage(name: string) {
    const packages = mkdtempSync(path.join(all, 'packages-'))
    const text = `import os
def load():
    if os.path.exists(${JSON.stringify(name)}):
        with open(${JSON.stringify(name)}) as file:
            exec(file.read())
`
    mkdirSync(path.join(packages, 'settled'))
    writeFileSync(path.join(packages, 'settled', '__init__.py'), 'from . import config\n')
    writeFileSync(path.join(packages, 'settled', 'config.py'), `${text}load()\n`)
    writeFileSync(path.join(packages, 'later.py'), text)
    vi.stubEnv('PYTHONPATH', packages)
  }

  test.each(['matplotlibrc', '.numba_config.yaml', 'setup.cfg', '.env', 'settings/any.toml'])(
    'a package reads no %s of the folder as it is imported',
    async (name) => {
      const { put, evil, open, ran } = allowedFolder(all, 'def value():\n    import settled\n    return 1')
      put(name, evil)
      readingPackage(name)
      expect(await scored(open)).toContain('so it was not read')
      expect(ran()).toBe(false)
    },
  )

  test.each(['matplotlibrc', '.numba_config.yaml', 'setup.cfg'])(
    'nor %s later, which it would run',
    async (name) => {
      const { put, evil, open, ran } = allowedFolder(
        all,
        'def value():\n    import later\n    later.load()\n    return 1',
      )
      put(name, evil)
      readingPackage(name)
      expect(await scored(open)).toContain('so it was not read')
      expect(ran()).toBe(false)
    },
  )

  test.each<[string, string]>([
    ['a thread', 'thread = threading.Thread(target=load)\nthread.start()\nthread.join()'],
    ['a thread of a thread', 'threads(lambda: threads(load))'],
    ['a pool', 'with futures.ThreadPoolExecutor(1) as pool:\n    pool.submit(load).result()'],
    ['asyncio', 'asyncio.run(to_thread())'],
  ])('nor does %s that a package starts as it is imported', async (_, begin) => {
    const { put, evil, open, ran } = allowedFolder(all, 'def value():\n    import settled\n    return 1')
    put('.env', evil)
    const packages = mkdtempSync(path.join(all, 'packages-'))
    const text = `import asyncio, threading
from concurrent import futures
said = []
def load():
    try:
        with open(".env") as file:
            exec(file.read())
    except PermissionError as error:
        said.append(error)
def threads(target):
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
async def to_thread():
    await asyncio.get_running_loop().run_in_executor(None, load)
${begin}
raise said[0]
`
    writeFileSync(path.join(packages, 'settled.py'), text)
    vi.stubEnv('PYTHONPATH', packages)
    expect(await scored(open)).toContain('so it was not read')
    expect(ran()).toBe(false)
  })

  test('threads of the code read its data while a package is imported, and those of a package afterwards', async () => {
    const { put, open } = allowedFolder(
      all,
      `from concurrent import futures
import helper
pool = futures.ThreadPoolExecutor(1)
pool.submit(int).result()
def value():
    helper.read = pool.submit
    import settled
    return int(settled.text) + int(settled.pool.submit(settled.load).result())`,
      { 'helper.py': 'read = None\n' },
    )
    const packages = mkdtempSync(path.join(all, 'packages-'))
    const text = `import pathlib, sys
from concurrent import futures
def load():
    return pathlib.Path("data.txt").read_text()
text = sys.modules["helper"].read(load).result()
pool = futures.ThreadPoolExecutor(1)
pool.submit(int).result()
`
    writeFileSync(path.join(packages, 'settled.py'), text)
    put('data.txt', '7')
    vi.stubEnv('PYTHONPATH', packages)
    expect(await scored(open)).toContain('"value":14')
  })

  test('files that the code has a package read are read, as both are imported too', async () => {
    const { put, open } = allowedFolder(
      all,
      'import helper, later\nlater.load()\ndef value():\n    return int(helper.text) + later.points',
      { 'helper.py': 'import pathlib\ntext = pathlib.Path("data.txt").read_text()\n' },
    )
    put('data.txt', '7')
    put('.env', 'global points\npoints = 8\n')
    readingPackage('.env')
    expect(await scored(open)).toContain('"value":15')
  })

  test('a loader that reads by itself gets what was allowed, and nothing that was not', async () => {
    const folder = allowedFolder(
      all,
      `import importlib.machinery, importlib.util, os, sys
class Loader(importlib.machinery.SourceFileLoader):
    def get_data(self, path):
        with open(path, "rb") as file:
            return file.read()
def value():
    for name in ("helper", "planted"):
        path = os.path.join(os.path.dirname(__file__), name + ".py")
        spec = importlib.util.spec_from_file_location(name, path, loader=Loader(name, path))
        try:
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
        except ImportError as error:
            print(error, file=sys.stderr)
    return 1`,
      { 'helper.py': 'points = 1\n' },
    )
    const planted = () => ['helper.py', 'planted.py'].forEach((name) => folder.put(name, folder.evil))
    expect(await scored(folder.open, planted)).toContain('"value":1')
    expect(folder.ran()).toBe(false)
  })

  test('data, packages and what is installed are found as before', async () => {
    const { put, open } = allowedFolder(
      all,
      `import importlib.metadata, json, os, pkgutil, plugins
names = [each.name for each in pkgutil.iter_modules(plugins.__path__)]
here = os.path.dirname(os.path.abspath(__file__))
def value():
    assert names == ["one"], names
    assert importlib.metadata.version("installed") == "2.5"
    assert "data" in os.listdir(here)
    with open(os.path.join(here, "data", "x.json")) as one, open("data/x.json") as other:
        return json.load(one) + json.load(other)`,
      { 'plugins/__init__.py': '', 'plugins/one.py': '' },
    )
    const packages = mkdtempSync(path.join(all, 'packages-'))
    mkdirSync(path.join(packages, 'installed-2.5.dist-info'))
    writeFileSync(
      path.join(packages, 'installed-2.5.dist-info', 'METADATA'),
      'Name: installed\nVersion: 2.5\n',
    )
    put('data/x.json', '7')
    vi.stubEnv('PYTHONPATH', packages)
    expect(await scored(open)).toContain('"value":14')
  })
})
