/** Imports from folders that are neither that of the code nor the interpreter's: nobody was asked about them. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { consentsFile } from '#host/consents/consents.ts'
import { allowPython, reviewPython } from '#host/python/consent.ts'
import { openPython } from '#host/python/pythonCode.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { scored } from './allowedFolder.ts'
import { hasPython, interpreter } from './interpreter.ts'

const all = temporaryFolder()
afterEach(() => vi.unstubAllEnvs())
const isHere = hasPython()
const without = isHere ? '' : ' (skipped without Python 3.9)'

/** A repository whose code lies in a folder of it; what its function `value` returns is the score. */
function repository(main: string, others: Readonly<Record<string, string>>, file = 'rewards/r.py') {
  const folder = mkdtempSync(path.join(all, 'repository-'))
  const put = (name: string, content: string) => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), content)
  }
  const code = `import os, sys
repository = ${JSON.stringify(folder)}
${main}
def score(completions):
    return [value() for _ in completions]
`
  for (const [name, content] of Object.entries(others)) put(name, content)
  put(file, code)
  const source = { code, language: 'py', file: path.join(folder, file) } as const
  const consents = consentsFile(mkdtempSync(path.join(all, 'machine-')))
  const open = (program = interpreter) => {
    allowPython([reviewPython(source, program, consents)], consents)
    return openPython(source, { interpreter: program, callSeconds: 60, messages: null, form: null, consents })
  }
  return { folder, open }
}

const marks = `open(__file__.split("repository-")[0] + "mark", "w").close()\npoints = 1\n`
const mark = path.join(all, 'mark')

describe.runIf(isHere)(`imports from other folders of the person${without}`, () => {
  test.each([
    ['a module', 'sys.path.insert(0, repository)\nimport shared', { 'shared.py': marks }, 'shared'],
    ['a package', 'sys.path.append("..")\nimport common.x', { 'common/__init__.py': marks }, 'common'],
    [
      'a folder of modules',
      'sys.path.append(repository)\nimport common.x',
      { 'common/x.py': marks },
      'common',
    ],
    [
      'where it works',
      'os.chdir("..")\nsys.path.insert(0, "")\nimport shared',
      { 'shared.py': marks },
      'shared',
    ],
    [
      'through a package that was allowed',
      'import pack\npack.__path__.append(repository)\nimport pack.shared',
      { 'shared.py': marks, 'rewards/pack/__init__.py': '' },
      'pack.shared',
    ],
    [
      'through a folder that is a package without a file of its own',
      'import pack\npack.__path__.append(repository)\nimport pack.shared',
      { 'shared.py': marks, 'rewards/pack/x.py': '' },
      'pack.shared',
    ],
    [
      'through one whose own place was taken out',
      'import pack\npack.__path__ = [repository]\nimport pack.shared',
      { 'shared.py': marks, 'rewards/pack/x.py': '' },
      'pack.shared',
    ],
  ])('are refused with what to do: %s', async (_, main, others, name) => {
    const { folder, open } = repository(`${main}\nvalue = lambda: 1`, others)
    await expect(open()).rejects.toThrow(`“${name}” lies in ${folder}, which is neither`)
    expect(existsSync(mark)).toBe(false)
  })

  test('are refused out of archives, and of modules as programs', async () => {
    const { folder, open } = repository(
      `import runpy
sys.path[:0] = [repository, repository + "/packed.zip"]
def value():
    for run in (__import__, runpy.run_module):
        for name in ("shared", "packed"):
            try:
                run(name)
            except ImportError as error:
                print(error)
    return 1`,
      { 'shared.py': marks, 'shared.txt': marks },
    )
    const pack = 'import sys, zipfile; zipfile.ZipFile(sys.argv[1], "w").write(sys.argv[2], "packed.py")'
    spawnSync(interpreter, ['-c', pack, `${folder}/packed.zip`, `${folder}/shared.txt`])
    expect((await scored(open)).match(/No module named/g)).toHaveLength(4)
    expect(existsSync(mark)).toBe(false)
  })

  test('are refused in processes of multiprocessing too', async () => {
    const { open } = repository(
      `import multiprocessing
sys.path.append(repository)
def value():
    import work
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work.work)`,
      {
        'shared.py': marks,
        'rewards/work.py':
          'def work():\n    try:\n        import shared\n    except ImportError:\n        return 4\n    return 5',
      },
    )
    expect(await scored(open)).toContain('"value":4')
    expect(existsSync(mark)).toBe(false)
  })

  test('take the place of nothing', async () => {
    const packages = mkdtempSync(path.join(all, 'packages-'))
    writeFileSync(path.join(packages, 'shared.py'), 'points = 6')
    vi.stubEnv('PYTHONPATH', packages)
    const { open } = repository(
      'sys.path.insert(0, repository)\nimport shared\nvalue = lambda: shared.points',
      { 'shared.py': marks, 'colorsys.py': marks },
    )
    expect(await scored(open)).toContain('"value":6')
    expect(existsSync(mark)).toBe(false)
  })

  test('are asked about where a file in that folder imports the code', async () => {
    const { open } = repository(
      'from rewards.r import value',
      {
        'common/x.py': 'points = 8',
        'rewards/r.py':
          'import sys\nsys.path.append("..")\nfrom common.x import points\nvalue = lambda: points',
      },
      'all_rewards.py',
    )
    expect(await scored(open)).toContain('"value":8')
  })
})

describe.runIf(isHere)(`the interpreter's own imports${without}`, () => {
  test('come from its path, folders in that, and where packages keep what they fetch', async () => {
    const packages = mkdtempSync(path.join(all, 'packages-'))
    const cache = mkdtempSync(path.join(all, 'cache-'))
    mkdirSync(path.join(packages, 'vendored'))
    mkdirSync(path.join(cache, 'modules'))
    writeFileSync(path.join(packages, 'vendored', 'deep.py'), 'points = 20')
    writeFileSync(path.join(cache, 'modules', 'fetched.py'), 'points = 300')
    writeFileSync(
      path.join(packages, 'tool.py'),
      `import os, sys
sys.path.append(os.path.join(os.path.dirname(__file__), "vendored"))
sys.path.append(os.path.join(os.environ["XDG_CACHE_HOME"], "modules"))
import deep, fetched
points = deep.points + fetched.points`,
    )
    vi.stubEnv('PYTHONPATH', packages)
    vi.stubEnv('XDG_CACHE_HOME', cache)
    const { open } = repository('import tool\nvalue = lambda: tool.points', {})
    expect(await scored(open)).toContain('"value":320')
  })

  test.runIf(hasPython('venv')).each(['path', 'finder'])(
    'come from projects that are installed there to be edited: by a %s',
    async (way) => {
      const { folder, open } = repository('import tool.deep\nvalue = lambda: tool.deep.points', {})
      const venv = `${folder}-venv`
      const project = mkdtempSync(path.join(all, 'edited-'))
      mkdirSync(path.join(project, 'tool'))
      writeFileSync(path.join(project, 'tool', '__init__.py'), '')
      writeFileSync(path.join(project, 'tool', 'deep.py'), 'points = 9')
      spawnSync(interpreter, ['-m', 'venv', '--without-pip', venv])
      const parts = process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']
      const program = path.join(venv, ...parts)
      const asked = spawnSync(program, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'])
      const put = (name: string, text: string) =>
        writeFileSync(path.join(String(asked.stdout).trim(), name), text)
      if (way === 'path') put('tool.pth', `${project}\n`)
      else {
        put('tool.pth', 'import tool_finder\n')
        put(
          'tool_finder.py',
          `import importlib.util, os, sys
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name == "tool":
            return importlib.util.spec_from_file_location(name, os.path.join(${JSON.stringify(project)}, "tool", "__init__.py"))
sys.meta_path.append(Finder)
`,
        )
      }
      expect(await scored(() => open(program))).toContain('"value":9')
    },
  )
})
