import { mkdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { pathsInside, pythonEnvironment } from '#host/python/pythonEnvironment.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const folder = temporaryFolder()
const code = path.join(folder, 'real', 'code')
mkdirSync(path.join(code, '..lib'), { recursive: true })
mkdirSync(path.join(folder, 'real', 'code beside'))
symlinkSync(path.join(folder, 'real'), path.join(folder, 'link'))
symlinkSync(path.join(folder, 'real', 'code beside'), path.join(code, 'away'))
symlinkSync(path.join(folder, 'link', 'code', 'later'), path.join(folder, 'ahead'))
symlinkSync(path.join(code, '..lib'), path.join(folder, 'deep'))
symlinkSync(path.join(folder, 'round', 'x'), path.join(folder, 'round'))
afterEach(() => vi.unstubAllEnvs())

test.each([
  ['the folder', code, true],
  ['the folder by a link', path.join(folder, 'link', 'code'), true],
  ['a folder in it whose name begins with dots', path.join(code, '..lib'), true],
  ['a folder beside it', path.join(folder, 'real', 'code beside'), false],
  ['a link in it that leads elsewhere today', path.join(code, 'away'), true],
  ['a folder in it by a link, before there is one', path.join(folder, 'link', 'code', 'build', 'lib'), true],
  ['a link that leads into it, before there is what it leads to', path.join(folder, 'ahead', 'lib'), true],
  ['a link that leads back to itself', path.join(folder, 'round'), false],
  ['what is above it', path.join(folder, 'real'), false],
  ['the folder above where a link leads', `${path.join(folder, 'deep')}/../lib`, true],
])('PYTHONPATH loses what lies in the folder of the code: %s', (_, entry, isInside) => {
  vi.stubEnv('PYTHONPATH', ['relative', entry].join(path.delimiter))
  expect(pathsInside(code)).toEqual(isInside ? [entry] : [])
  expect(pythonEnvironment(code)['PYTHONPATH']).toBe(isInside ? undefined : entry)
})

test.each(['PATH', 'LD_LIBRARY_PATH', 'LD_PRELOAD', 'LD_AUDIT', 'DYLD_INSERT_LIBRARIES'])(
  '%s loses what means the folder that the code works in',
  (name) => {
    vi.stubEnv(name, ['', folder, '.', './relative', 'relative/x', ''].join(path.delimiter))
    expect(pythonEnvironment(code)[name]).toBe(folder)
    vi.stubEnv(name, path.delimiter)
    expect(pythonEnvironment(code)).not.toHaveProperty(name)
  },
)

test.skipIf(process.platform === 'win32')('libraries are loaded from no place that a separator hides', () => {
  vi.stubEnv('LD_LIBRARY_PATH', `${folder};.;`)
  vi.stubEnv('LD_PRELOAD', `${folder}/a.so ./b.so c.so`)
  expect(pythonEnvironment(code)).toMatchObject({
    LD_LIBRARY_PATH: folder,
    LD_PRELOAD: `${folder}/a.so:c.so`,
  })
})

test.each([
  ...[
    'LD_LIBRARY_PATH',
    'LD_PRELOAD',
    'LD_AUDIT',
    'GCONV_PATH',
    'DYLD_LIBRARY_PATH',
    'DYLD_INSERT_LIBRARIES',
  ],
  ...['OPENSSL_CONF', 'OPENSSL_CONF_INCLUDE', 'OPENSSL_MODULES', 'OPENSSL_ENGINES'],
  ...['PYTHONHOME', 'PYTHONUSERBASE', 'PYTHONEXECUTABLE', '__PYVENV_LAUNCHER__'],
])('%s names nothing in the folder of the code, from which nobody was asked about libraries', (name) => {
  for (const inside of [code, path.join(folder, 'link', 'code', 'lib'), path.join(code, 'away', 'a.so')]) {
    vi.stubEnv(name, inside)
    expect(pythonEnvironment(code)).not.toHaveProperty(name)
    expect(pythonEnvironment(null)).toHaveProperty(name, inside)
  }
})

test.each([
  ...['PYTHONSTARTUP', 'PYTHONPLATLIBDIR', 'PYTHON_PRESITE'],
  ...['RAY_ADDRESS', 'RAY_API_SERVER_ADDRESS'],
])('Python never gets %s', (name) => {
  vi.stubEnv(name, folder)
  expect(pythonEnvironment(code)).not.toHaveProperty(name)
  expect(pythonEnvironment(null)).not.toHaveProperty(name)
})

test.skipIf(process.platform !== 'linux').each(['PATH', 'PYTHONPATH', 'LD_LIBRARY_PATH', 'PYTHONHOME'])(
  '%s names nothing that is another place in each process',
  (name) => {
    const link = path.join(folder, `cwd of ${name}`)
    symlinkSync('/proc/self/cwd', link)
    for (const place of [
      '/proc/self/cwd',
      '/tmp/../proc/1/root/x',
      '/dev/fd/3',
      '/DEV/fd/3',
      path.join(link, 'x'),
    ]) {
      vi.stubEnv(name, place)
      expect(pythonEnvironment(code)).not.toHaveProperty(name)
      expect(pythonEnvironment(null)).not.toHaveProperty(name)
      expect(pathsInside(code)).toEqual([])
    }
  },
)

test.skipIf(process.platform === 'win32')('the loader completes no name of a library’s folder', () => {
  vi.stubEnv('LD_LIBRARY_PATH', `${folder}:${folder}/$PLATFORM:${folder}/\${LIB}`)
  expect(pythonEnvironment(code)['LD_LIBRARY_PATH']).toBe(folder)
})

test('programs of an environment beside the code stay on PATH', () => {
  vi.stubEnv('PATH', path.join(code, '.venv', 'bin'))
  expect(pythonEnvironment(code)['PATH']).toBe(path.join(code, '.venv', 'bin'))
})

test.each(['PYTHONHOME', 'PYTHONEXECUTABLE', 'OPENSSL_CONF'])(
  '%s is absolute, or Python does not get it',
  (name) => {
    vi.stubEnv(name, 'relative')
    expect(pythonEnvironment(code)).not.toHaveProperty(name)
    vi.stubEnv(name, folder)
    expect(pythonEnvironment(code)).toHaveProperty(name, folder)
  },
)

test('no compiled code is read from the folder', () => {
  vi.stubEnv('PYTHONPYCACHEPREFIX', path.join(code, 'cache'))
  expect(pythonEnvironment(code)).not.toHaveProperty('PYTHONPYCACHEPREFIX')
  vi.stubEnv('PYTHONPYCACHEPREFIX', path.join(folder, 'cache'))
  expect(pythonEnvironment(code)).toHaveProperty('PYTHONPYCACHEPREFIX', path.join(folder, 'cache'))
})
