/**
 * What a trainer of Turnwise starts with, each time that it starts: nothing but what was allowed as it is now. The packages of the trainer
 * are stand-ins that write down what they find and wait to be stopped.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { allowPython } from '#host/python/consent.ts'
import { reviewEngine } from '#host/engines/engineCode.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { trainerCheckpoint } from '#host/models/checkpoints.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { hasPython, interpreter } from '../python/interpreter.ts'
import { until } from '../runs/runFixture.ts'
import { engineRuns } from './engineRuns.ts'

const all = temporaryFolder()
const packages = ['torch', 'transformers', 'trl', 'accelerate', 'peft', 'datasets']
const venv = path.join(all, 'venv')
const program = path.join(venv, 'bin', 'python')
const log = path.join(all, 'log.jsonl')

/** Checkpoint that the trainer saves when it is asked to stop; absent: none. */
const saved = path.join(all, 'saved')

/** Tells of one start, then waits as a trainer does until it is asked to stop. */
const standIn = `import importlib, json, os, shutil, sys, time
found = {}
for name in ("planted", "callback", "watch", "bridge", "colorsys"):
    try:
        module = importlib.import_module(name)
        found[name] = getattr(module, "origin", "planted" if hasattr(module, "planted") else "own")
    except ImportError:
        found[name] = None
with open("watch.json") as file:
    words = json.load(file)["arguments"]
with open(${JSON.stringify(log)}, "a") as file:
    here = os.path.dirname(sys.modules["watch"].__file__)
    file.write(json.dumps({"found": found, "place": os.path.dirname(here), "words": words, "files": sorted(os.listdir("."))}) + "\\n")
while not os.path.exists("stop"):
    time.sleep(0.05)
if os.path.exists(${JSON.stringify(saved)}) and "--resume_from_checkpoint" not in words:
    shutil.copytree(${JSON.stringify(saved)}, "output/checkpoint-1")
    news = {"at": 1, "type": "saved", "step": 1, "updates": 1, "tokens": 1, "folder": "output/checkpoint-1", "probe": []}
    with open("events.jsonl", "a") as file:
        file.write(json.dumps(news) + "\\n")
sys.exit(0)
`
const launch = `import json, runpy, sys
words = sys.argv[1:]
with open(words[words.index("--config_file") + 1]) as file:
    text = file.read()
with open(${JSON.stringify(log)}, "a") as file:
    file.write(json.dumps({"config": text}) + "\\n")
sys.argv = words[next(i for i, word in enumerate(words) if word.endswith(".py")):]
runpy.run_path(sys.argv[0], run_name="__main__")
`
const torch = `class backends:
    class mps:
        is_available = staticmethod(lambda: False)
class cuda:
    is_available = staticmethod(lambda: False)
`
const accelerator = `class Accelerator:
    class state:
        is_main_process, num_processes = True, 1
        class distributed_type: value = "NO"
        class device: type = "cpu"
`

function makeEnvironment(): void {
  spawnSync(interpreter, ['-m', 'venv', '--without-pip', venv])
  const asked = spawnSync(program, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'])
  const site = String(asked.stdout).trim()
  const put = (name: string, text: string) => {
    mkdirSync(path.dirname(path.join(site, name)), { recursive: true })
    writeFileSync(path.join(site, name), text)
  }
  for (const name of packages)
    put(`${name}-1.0.dist-info/METADATA`, `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n`)
  put('yaml.py', 'safe_load = lambda text: {}\n')
  put('torch/__init__.py', torch)
  put('trl/__init__.py', standIn)
  put('accelerate/__init__.py', accelerator)
  put('accelerate/commands/__init__.py', '')
  put('accelerate/commands/launch.py', launch)
}

const said = (): { found?: object; words?: string[]; place?: string; config?: string; files?: string[] }[] =>
  existsSync(log)
    ? readFileSync(log, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as object)
    : []

/** Older ones do not read the script of TRL. */
const isHere =
  hasPython('venv') &&
  spawnSync(interpreter, ['-c', 'import sys; assert sys.version_info >= (3, 10)']).status === 0

describe.skipIf(!isHere)('a trainer (skipped without Python 3.10)', () => {
  const settings = path.join(all, 'accelerate.yaml')
  const runs = engineRuns({
    kind: 'trl',
    python: program,
    launcher: 'accelerate',
    accelerateConfig: settings,
  })
  const consents = consentsFile(runs.home.directory)
  beforeAll(makeEnvironment)
  afterAll(() => {
    vi.unstubAllEnvs()
    runs.home[Symbol.dispose]()
  })

  /** A run that trains, and its second start after what happens while it pauses. */
  async function pausedRun(meanwhile: (engine: string, run: ReturnType<typeof runs.createRun>) => void) {
    writeFileSync(settings, 'num_processes: 1\n# allowed\n')
    const before = said().length
    const made = runs.createRun({ steps: 4, evaluation: { every: 0, rows: 2 } })
    const { run } = made
    const supervisor = runs.supervise()
    const ended = supervisor.start(run, { resumeFrom: null })
    const isDead = ended.then(() => true)
    const starts = () =>
      said()
        .slice(before)
        .filter(({ found }) => found !== undefined)
    await Promise.race([isDead, until(() => starts().length === 1)])
    expect(starts()).toHaveLength(1)
    supervisor.pause(run.id)
    await until(() => supervisor.status(run.id)?.activity === 'paused')
    meanwhile(path.join(run.directory, 'engine'), made)
    supervisor.unpause(run.id)
    await Promise.race([isDead, until(() => starts().length === 2)])
    if (starts().length === 2) await supervisor.stop(run.id)
    return { ...(await ended), directory: run.directory, said: said().slice(before), starts: starts() }
  }

  test('goes on from the checkpoint that it saved, but not from one that changed while it paused', async () => {
    const { run } = runs.createRun({ engine: { kind: 'local' }, steps: 1 })
    await runs.supervise().start(run, { resumeFrom: null })
    cpSync(path.join(trainerCheckpoint(run.directory, 1), '..', 'actor'), saved, { recursive: true })
    writeFileSync(path.join(saved, 'optimizer.pt'), 'own')
    const optimizer = (directory: string) => path.join(trainerCheckpoint(directory, 1), 'optimizer.pt')
    try {
      const again = await pausedRun((_, made) =>
        expect(readFileSync(optimizer(made.run.directory), 'utf8')).toBe('own'),
      )
      expect(again.error).toBeNull()
      expect(again.starts[1]?.words).toContain('--resume_from_checkpoint')
      const changed = await pausedRun((_, made) => writeFileSync(optimizer(made.run.directory), 'evil'))
      expect(changed.error).toMatchObject({ code: 'python/not-allowed' })
      expect(changed.error?.message).toContain('checkpoint of step 1 was not written in this data directory')
      expect(changed.starts).toHaveLength(1)
    } finally {
      rmSync(saved, { recursive: true })
    }
  })

  test('is not started again by a config that changed while it paused', async () => {
    const changed = await pausedRun(() => writeFileSync(settings, 'num_processes: 1\n# changed\n'))
    expect(changed.error).toMatchObject({ code: 'python/not-allowed' })
    expect(changed.error?.message).toContain(settings)
    expect(changed.starts).toHaveLength(1)
    expect(JSON.stringify(changed.said)).not.toContain('# changed')
  })

  test('reads a copy of what was allowed, in which it is started', async () => {
    const again = await pausedRun((_, { config }) => {
      writeFileSync(settings, 'num_processes: 1\n# allowed later\n')
      allowPython(reviewEngine(config, runs.home.directory), consents)
    })
    expect(again.error).toBeNull()
    expect(
      again.said.flatMap(({ config }) => config ?? []).filter((text) => text.includes('later')),
    ).toHaveLength(1)
    expect(again.starts[1]?.files).toContain('settings.yaml')
  })

  test('finds nothing that was put into its folder', async () => {
    const evil = `planted = True\nopen(${JSON.stringify(path.join(all, 'mark'))}, "w").close()\n`
    const poison = mkdtempSync(path.join(all, 'poison-'))
    const again = await pausedRun((engine) => {
      for (const name of [
        'trl/json.py',
        'trl/planted.py',
        'watching/colorsys.py',
        'rewards/planted.py',
        'trl/callback.py',
      ])
        writeFileSync(path.join(engine, ...name.split('/')), evil)
      writeFileSync(path.join(poison, 'watch.py'), evil)
      const compile = `import py_compile, sys
py_compile.compile(sys.argv[1], invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)`
      spawnSync(program, ['-c', compile, path.join(poison, 'watch.py')])
      cpSync(path.join(poison, '__pycache__'), path.join(engine, 'watching', '__pycache__'), {
        recursive: true,
      })
      for (const name of ['rewards/bridge.mjs', 'trl/config.yaml', 'trl/accelerate.yaml', 'trl/train.py'])
        writeFileSync(path.join(engine, ...name.split('/')), 'planted')
    })
    expect(again.error).toBeNull()
    const found = { planted: null, callback: 'own', watch: 'own', bridge: 'own', colorsys: 'own' }
    expect(again.starts.map((each) => each.found)).toEqual([found, found])
    expect(again.starts[1]?.files).toEqual(again.starts[0]?.files)
    expect(existsSync(path.join(all, 'mark'))).toBe(false)

    // A job on a cluster has a copy of the folder.
    const copy = path.join(realpathSync(all), 'copy')
    cpSync(path.join(again.directory, 'engine'), copy, { recursive: true })
    writeFileSync(path.join(copy, 'trl', 'planted.py'), evil)
    writeFileSync(path.join(copy, 'trl', 'stop'), '')
    // The end of its standard input would end it.
    await once(
      spawn(program, ['train.py'], { cwd: path.join(copy, 'trl'), stdio: ['pipe', 'ignore', 'ignore'] }),
      'exit',
    )
    expect(said().at(-1)).toMatchObject({ found, place: copy })
    expect(existsSync(path.join(all, 'mark'))).toBe(false)
  })
})
