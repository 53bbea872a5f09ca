/** Configs that name, in a file that was allowed, what the file does not define, with settings that would leave a mark. */
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { dryRun } from '#host/code/dryRun.ts'
import { playEpisode } from '#host/code/playEpisode.ts'
import { requireWorkingEnvironment } from '#host/code/resolveEnvironment.ts'
import { openPython } from '#host/python/pythonCode.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { allowedFolder } from './allowedFolder.ts'
import { hasPython, interpreter } from './interpreter.ts'
import { eachOf } from '../../sweeps.ts'

const all = temporaryFolder()

const main = `
import functools
import random
import helper
import os as system
from builtins import open as opened
from subprocess import run, Popen
from helper import Told, value as told
from gymnasium_of_ours import ALL, make

class Guess:
    max_turns = 3
    opens = open

    def __init__(self, file=None, mode=None):
        self.told = None

    def reset(self, seed=None, options=None):
        return "Guess", {}

    def step(self, action):
        return "no", 0.0, True, False, {}

class World(Guess):
    pass

started = run
later = functools.partial(Popen, shell=True)
easy = functools.partial(Guess, mode="easy")
writers = [opened]

def value():
    return 1

def yields():
    yield {"prompt": "a"}
`
const helper = `
class Told:
    def reset(self, seed=None, options=None):
        return "Told", {}

    def step(self, action):
        return "no", 0.0, True, False, {}

def value():
    return 1
`

/** A package, as one is installed: nothing of it is beside the code. */
const packages = mkdtempSync(path.join(all, 'packages-'))
writeFileSync(
  path.join(packages, 'gymnasium_of_ours.py'),
  `
def make(file, mode):
    open(file, mode).close()

def writes(completions, file=None, **_):
    open(file, "w").close()
    return [0.0 for _ in completions]

ALL = [writes]
`,
)

function opened() {
  const folder = allowedFolder(all, main, { 'helper.py': helper })
  const mark = path.join(folder.folder, 'it-ran')
  const settings = { file: mark, mode: 'w', args: `touch ${mark}`, command: `touch ${mark}`, shell: true }
  return { ...folder, settings, hasRun: () => existsSync(mark) }
}

type Opened = ReturnType<typeof opened>
const python = ({ consents }: Opened) => ({
  interpreter,
  consents,
  callSeconds: 60,
  messages: null,
  form: null,
})

const doors: Record<string, (own: Opened, name: string) => Promise<unknown>> = {
  'the environment of a config that is checked': ({ source, settings, consents }, name) =>
    requireWorkingEnvironment(
      parseRunConfig({
        model: 'm',
        data: { train: { episodes: 4 } },
        python: { interpreter },
        environment: { function: `${source.file}#${name}`, settings },
      }),
      path.dirname(consents),
    ),
  'an environment that is played': (own, name) =>
    playEpisode({
      environment: { source: own.source, name, options: { python: python(own) } },
      settings: own.settings,
      row: {},
      seed: 1,
      actions: [],
      place: { cacheDirectory: all, onRequest: () => {} },
    }),
  'a reward that is tried': ({ source, settings, ...own }, name) =>
    dryRun(source, [{ prompt: '', completion: '', row: settings }], {
      function: name,
      settings,
      python: python({ source, settings, ...own }),
    }),
  'a reward that is asked for past all checks': async (own, name) => {
    await using code = await openPython(own.source, python(own))
    const [answer] = await code.score(
      [{ prompt: '', completion: '', row: {}, step: 0, settings: own.settings }],
      name,
    )
    if (answer !== undefined && 'failure' in answer) throw new Error(answer.failure.message)
  },
  'rows of a data set': async (own, name) => {
    await using code = await openPython(own.source, python(own))
    await code.writeRows(name, own.settings, path.join(own.folder, 'rows.jsonl'))
  },
}

const foreign = [
  ...['random._os.system', 'helper.value', 'system', 'system.system', 'Guess.opens', 'opened', 'run', 'make'],
  ...['started', 'later', 'writers', 'ALL', '__builtins__', '__class__'],
]

beforeEach(() => vi.stubEnv('PYTHONPATH', packages))
afterEach(() => vi.unstubAllEnvs())

describe.skipIf(!hasPython())('a config names only what a file defines (skipped without Python 3.9)', () => {
  const isAlways = ([door]: [string, unknown]) =>
    ['a reward that is tried', 'rows of a data set'].includes(door)
  eachOf(test, { rows: Object.entries(doors), isAlways }, '%s', async (_, knock) => {
    const own = opened()
    for (const name of foreign) {
      await expect(knock(own, name), name).rejects.toThrow(
        /is not defined in the file|Expected the name of a class or function|has no function called|The file has no|is not a function/,
      )
      expect(own.hasRun(), name).toBe(false)
    }
  })

  test('classes and functions of the file, partial ones, and those of a file that was allowed with it are named', async () => {
    const own = opened()
    await using code = await openPython(own.source, python(own))
    for (const name of ['Guess', 'World', 'easy', 'Told']) {
      const world = await code.environment(name, {})
      expect((await world.reset([{ row: {}, seed: 1 }]))[0]).not.toHaveProperty('failure')
    }
    expect(await code.writeRows('yields', {}, path.join(own.folder, 'rows.jsonl'))).toBe(1)
    expect(code.functions).toEqual(['score'])
  })

  test('a maker that the file imports makes nothing where no name is given', async () => {
    const own = opened()
    await using code = await openPython(own.source, python(own))
    await expect(code.environment(null, own.settings)).rejects.toThrow('Name the class or function')
    expect(own.hasRun()).toBe(false)
  })
})
