/** Python that the code starts itself, or that packages start for it, imports from the folder what was allowed. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { type AllowedFolder, allowedFolder, scored } from './allowedFolder.ts'
import { hasPython, interpreter } from './interpreter.ts'

const all = temporaryFolder()
afterEach(() => vi.unstubAllEnvs())
const isHere = hasPython()
const without = isHere ? '' : ' (skipped without Python 3.9)'

/** Puts compiled code beside an allowed source, that Python takes without a look at the source. */
function poison({ folder, put, evil }: AllowedFolder, name: string): void {
  put('poison.py', evil)
  const code = `import importlib.util, os, py_compile, sys
os.chdir(sys.argv[1])
py_compile.compile("poison.py", importlib.util.cache_from_source(sys.argv[2] + ".py"), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)`
  spawnSync(interpreter, ['-c', code, folder, name])
  rmSync(path.join(folder, 'poison.py'))
  expect(existsSync(path.join(folder, '__pycache__'))).toBe(true)
}

/** Starts Python and prints what it printed. */
const starts = (words: string) => `import os, subprocess, sys
def value():
    done = subprocess.run([sys.executable, ${words}], capture_output=True, text=True)
    print(done.stdout, done.stderr)
    return 1`

/** Packages on the interpreter's path, by the files in them. */
function packages(files: Readonly<Record<string, string>>): void {
  const folder = mkdtempSync(path.join(all, 'packages-'))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), content)
  }
  vi.stubEnv('PYTHONPATH', folder)
}

const loads = 'import helper; print("points:", helper.points)'

describe.runIf(isHere)(`Python that the code starts${without}`, () => {
  test.each([
    ['code', `"-c", '${loads}'`],
    ['code, without an environment', `"-S", "-c", '${loads}'`],
    ['a script', '"script.py"'],
    ['a module', '"-m", "script"'],
  ])('takes no compiled code beside the sources: %s', async (_, words) => {
    const code = allowedFolder(all, starts(words), { 'helper.py': 'points = 3', 'script.py': loads })
    poison(code, 'helper')
    expect(await scored(code.open)).toContain('points: 3')
    expect(code.ran()).toBe(false)
  })

  test('imports nothing that changed, or came, after Python was started', async () => {
    const { put, evil, open, ran } = allowedFolder(
      all,
      starts(`"-c", """for name in ("helper", "late"):
    try:
        __import__(name)
    except ImportError as error:
        print(error)"""`),
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

  test('is held to that where a package starts workers and sends them functions', async () => {
    packages({
      'workers/__init__.py': `import pickle, subprocess, sys
def call(function):
    words = [sys.executable, "-m", "workers.one"]
    done = subprocess.run(words, input=pickle.dumps((sys.path, function)), capture_output=True)
    print(done.stderr.decode())
    return pickle.loads(done.stdout)`,
      'workers/one.py': `import pickle, sys
class Early(pickle.Unpickler):
    def find_class(self, module, name):
        sys.path[:] = ["", *sys.path]
        return super().find_class(module, name)
path, function = Early(sys.stdin.buffer).load()
sys.stdout.buffer.write(pickle.dumps(function()))`,
    })
    const code = allowedFolder(
      all,
      'import helper, workers\ndef value():\n    return workers.call(helper.work)',
      { 'helper.py': 'def work():\n    import other\n    return other.points', 'other.py': 'points = 7' },
    )
    for (const name of ['helper', 'other']) poison(code, name)
    code.put('workers/pyvenv.cfg', '')
    code.put('workers/__init__.py', code.evil)
    expect(await scored(code.open)).toContain('"value":7')
    expect(code.ran()).toBe(false)
  })

  test.runIf(hasPython('joblib'))(
    'is held to that by workers of joblib (skipped without joblib)',
    async () => {
      const code = allowedFolder(
        all,
        'import helper\nfrom joblib import Parallel, delayed\ndef value():\n    return sum(Parallel(n_jobs=2)(delayed(helper.work)(i) for i in range(3)))',
        { 'helper.py': 'def work(x):\n    return x' },
      )
      poison(code, 'helper')
      expect(await scored(code.open)).toContain('"value":3')
      expect(code.ran()).toBe(false)
    },
    100_000,
  )

  test.each([null, 'of-mine'])(
    'starts as it would have: with its own packages, their compiled code in %s, and what the environment runs first',
    async (cache) => {
      const prefix = cache === null ? 'None' : path.join(all, cache)
      if (cache !== null) vi.stubEnv('PYTHONPYCACHEPREFIX', prefix)
      vi.stubEnv('PYTHONDONTWRITEBYTECODE', cache === null ? '' : '1')
      packages({ 'sitecustomize.py': 'import sys\nsys.first = "of mine"', 'tool.py': 'points = 5' })
      const own = process.env['PYTHONPATH'] ?? ''
      const { open } = allowedFolder(
        all,
        starts(`"-c", """import sitecustomize, sys, tool
print(sys.first, sitecustomize.__file__, tool.points, sys.pycache_prefix, sys.dont_write_bytecode, "turnwise-python-" in "".join(sys.path))"""`),
      )
      const answer = await scored(open)
      expect(answer).toContain(
        `of mine ${path.join(own, 'sitecustomize.py')} 5 ${prefix} ${cache === null ? 'False' : 'True'} False`,
      )
    },
  )

  test('imports of other folders what it likes, as tests of a completion do', async () => {
    const elsewhere = mkdtempSync(path.join(all, 'written-'))
    writeFileSync(path.join(elsewhere, 'solution.py'), 'def add(a, b):\n    return a + b\n')
    writeFileSync(path.join(elsewhere, 'check.py'), 'import solution\nprint("sum:", solution.add(2, 3))\n')
    const { open } = allowedFolder(all, starts(JSON.stringify(path.join(elsewhere, 'check.py'))))
    expect(await scored(open)).toContain('sum: 5')
  })
})

describe.runIf(isHere)(`caches of packages beside the code${without}`, () => {
  test.each(['__pycache__/helper.f-2.py311.nbi', '__pycache__/helper.f-2.py311.1.nbc', 'cache/helper.nbi'])(
    'are not read: %s',
    async (name) => {
      const { put, open } = allowedFolder(
        all,
        `def value():
    with open(${JSON.stringify(name)}, "rb") as file:
        return len(file.read())`,
      )
      put(name, 'pickled')
      expect(await scored(open)).toContain('nobody is asked about it')
    },
  )

  test('are kept in a folder of the process, which goes with it', async () => {
    vi.stubEnv('TMPDIR', mkdtempSync(path.join(all, 'temporary-')))
    const { folder, open } = allowedFolder(
      all,
      'import os\ndef value():\n    print("cache:", os.environ["NUMBA_CACHE_DIR"])\n    return 1',
    )
    const place = async () => /cache: ([^"]+)/.exec(await scored(open))?.[1] ?? ''
    const first = await place()
    expect(path.isAbsolute(first)).toBe(true)
    expect(await place()).not.toBe(first)
    expect(readdirSync(process.env['TMPDIR'] ?? '')).toEqual([])
    // The person's own is used, unless it lies beside the code.
    vi.stubEnv('NUMBA_CACHE_DIR', path.join(all, 'of-mine'))
    expect(await place()).toBe(path.join(all, 'of-mine'))
    for (const beside of [path.join(folder, 'cache'), 'relative']) {
      vi.stubEnv('NUMBA_CACHE_DIR', beside)
      expect(await place()).not.toContain(beside)
    }
  })

  test.runIf(hasPython('numba'))(
    'run nothing where numba keeps some (skipped without numba)',
    async () => {
      const code = allowedFolder(all, 'import fast\ndef value():\n    return fast.f(1)', {
        'fast.py': 'import numba\n@numba.njit(cache=True)\ndef f(x):\n    return x + 1\n',
      })
      const make = `import glob, os, pickle, sys
os.chdir(sys.argv[1])
sys.path.insert(0, "")
import fast
fast.f(1)
class Evil:
    def __reduce__(self):
        return exec, (sys.argv[2],)
for name in glob.glob("__pycache__/*.nbi"):
    with open(name, "wb") as file:
        pickle.dump(Evil(), file)`
      spawnSync(interpreter, ['-c', make, code.folder, code.evil])
      expect(readdirSync(path.join(code.folder, '__pycache__')).join()).toContain('.nbi')
      expect(await scored(code.open)).toContain('"value":2')
      expect(code.ran()).toBe(false)
    },
    100_000,
  )
})
