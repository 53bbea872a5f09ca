import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { engineSection } from '#shared/config/engine.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import {
  engineSource,
  engineSourceById,
  requireAllowedEngine,
  reviewEngine,
} from '#host/engines/engineCode.ts'
import { readyEnvironment } from '#host/engines/environment.ts'
import { requireFittingEngine } from '#host/engines/fitting.ts'
import { askedProcesses, launchers, resultsOf } from '#host/engines/launch.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { allowKeys } from '#host/consents/keys.ts'
import { allowPython } from '#host/python/consent.ts'
import { starterConfig } from '../runs/runFixture.ts'
import { hasPython } from '../python/interpreter.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'turnwise-engines-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const engineOf = (given: object) => engineSection.parse({ kind: 'trl', ...given })
const configOf = (engine: object, changes: object = {}) =>
  parseRunConfig({ ...starterConfig, engine: { kind: 'trl', ...engine }, ...changes })

function wordsOf(given: object, settings: string | null = null): readonly string[] | string {
  const engine = engineOf(given)
  const words = launchers[engine.launcher]({ script: 'train.py', engine, settings })
  return 'args' in words ? words.args : words.shell("/home/o'hara/python")
}

describe('how the processes of a trainer are started', () => {
  test('one process is the interpreter itself, several are torchrun', () => {
    expect(wordsOf({})).toEqual(['train.py'])
    expect(wordsOf({ processes: 2 })).toEqual(
      expect.arrayContaining([
        expect.stringContaining('run_module("torch.distributed.run"'),
        ...['--nproc_per_node', '2', 'train.py'],
      ]),
    )
  })

  test('accelerate is told to start several on CPUs too, unless a file of its own says how', () => {
    expect(wordsOf({ launcher: 'accelerate', processes: 2 })).toEqual(
      expect.arrayContaining(['accelerate.yaml', '--num_processes', '2', '--multi_gpu', 'train.py']),
    )
    const own = wordsOf({ launcher: 'accelerate', accelerateConfig: '/mine.yaml' }, '/ds.yaml')
    expect(own).toEqual(expect.arrayContaining(['--config_file', '/ds.yaml']))
    expect(own).not.toContain('--multi_gpu')
    expect(own).not.toContain('--num_processes')
  })

  test('a Ray cluster is given the job by the client of its own, and answers in what that prints', () => {
    expect(wordsOf({ launcher: 'ray', processes: 4, runtimeEnv: '/mine.yaml' }, '/env.yaml').toString()).toBe(
      'ray_submit.py,train,--address,http://127.0.0.1:8265,--patience,300,--runtime-env,/env.yaml,--processes,4',
    )
    expect(resultsOf(engineOf({ launcher: 'ray' }))).toBe('output')
    expect(resultsOf(engineOf({ launcher: 'ray', results: 'folder' }))).toBe('folder')
    expect(resultsOf(engineOf({ launcher: 'command' }))).toBe('folder')
  })

  test.skipIf(process.platform === 'win32')('a command gets its words quoted for the shell', () => {
    const line = wordsOf({ launcher: 'command', processes: 3, command: 'echo {processes} {python} {script}' })
    const { stdout } = spawnSync('sh', ['-c', String(line)], { encoding: 'utf8' })
    expect(stdout).toBe("3 /home/o'hara/python train.py\n")
  })

  test.skipIf(process.platform === 'win32')('a command takes a path as it is, whatever stands in it', () => {
    const engine = engineOf({ launcher: 'command', command: 'printf %s {python}' })
    const words = launchers.command({ script: 'train.py', engine, settings: null })
    for (const python of ['/a$&b', "/a$'b$`", '/$$/{script}', '/{processes}']) {
      const line = 'shell' in words ? words.shell(python) : ''
      expect(spawnSync('sh', ['-c', line], { encoding: 'utf8' }).stdout).toBe(python)
    }
  })

  test('a file that asks accelerate for several processes on CPUs is refused: it would start one', () => {
    const file = path.join(folder, 'accelerate.yaml')
    const write = (type: string, useCpu: boolean) =>
      writeFileSync(file, `distributed_type: ${type}\nnum_processes: 2\nuse_cpu: ${useCpu}\n`)
    const asked = () => askedProcesses(engineOf({ launcher: 'accelerate', accelerateConfig: file }))
    write('MULTI_CPU', true)
    expect(asked).toThrow('asks for 2 processes on CPUs, of which accelerate starts only one')
    write('MULTI_GPU', false)
    expect(asked()).toBe(2)
    writeFileSync(file, '- no config\n')
    expect(asked).toThrow('is no config of accelerate')
  })
})

describe('what a trainer cannot do', () => {
  const refusal = (engine: object, changes: object) => () => requireFittingEngine(configOf(engine, changes))

  test('is refused before anything is started', () => {
    expect(refusal({}, {})).not.toThrow()
    expect(refusal({}, { algorithm: { id: 'remax' } })).toThrow('TRL 1.16.0 has no equivalent of remax')
    expect(refusal({}, { stages: [{ steps: 1 }, { steps: 1 }] })).toThrow('2 stages')
    expect(refusal({}, { rewards: [{ function: '/r.py#f', name: 'r', weight: 1 }] })).toThrow('in Python')
    expect(refusal({ launcher: 'command' }, {})).toThrow('there is none')
    expect(refusal({ accelerateConfig: '/a.yaml' }, {})).toThrow('only the launcher accelerate reads it')
    expect(refusal({ address: 'http://head:8265' }, {})).toThrow('only the launcher ray reads it')
  })

  test('is refused of AgileRL in its own words', () => {
    const agilerl = (engine: object, changes: object = {}) => refusal({ kind: 'agilerl', ...engine }, changes)
    for (const id of ['grpo', 'gspo', 'cispo', 'ppo', 'reinforce'])
      expect(agilerl({}, { algorithm: { id } }), id).not.toThrow()
    expect(agilerl({}, { algorithm: { id: 'sapo' } })).toThrow('AgileRL 2.58.0 has no equivalent of sapo')
    expect(agilerl({ launcher: 'ray' })).toThrow(
      'AgileRL is not started by ray: what places processes on a cluster is Ray Train, which here starts TRL alone. It is started by python, accelerate, command.',
    )
    expect(agilerl({ processes: 3 }, { rollout: { promptsPerStep: 4 } })).toThrow(
      '3 processes of AgileRL cannot share 4 prompts per step evenly',
    )
    const file = path.join(folder, 'fsdp.yaml')
    writeFileSync(file, 'distributed_type: FSDP\nnum_processes: 2\n')
    expect(agilerl({ launcher: 'accelerate', accelerateConfig: file })).toThrow(
      'fsdp.yaml asks for FSDP, but AgileRL takes from accelerate only how many processes there are',
    )
    expect(agilerl({}, { algorithm: { id: 'sft' }, optimization: { minibatchSize: 2 } })).toThrow(
      'sft learns from given answers',
    )
  })
})

describe('consent to a trainer', () => {
  test('is to its code and the command that starts it', () => {
    const consents = consentsFile(folder)
    const allowed = configOf({
      python: process.execPath,
      launcher: 'command',
      command: 'nice {python} {script}',
    })
    expect(() => requireAllowedEngine(allowed, consents)).toThrow('have not been allowed on this machine')
    allowPython(reviewEngine(allowed, folder), consents)
    expect(requireAllowedEngine(allowed, consents)?.interpreter).toBe(process.execPath)
    const other = configOf({ python: process.execPath, launcher: 'command', command: 'rm -r /' })
    expect(() => requireAllowedEngine(other, consents)).toThrow('engine:trl {"command":"rm -r /"}')
    const cluster = configOf({ python: process.execPath, launcher: 'ray', address: 'http://head:8265' })
    expect(() => requireAllowedEngine(cluster, consents)).toThrow('engine:trl {"address":"http://head:8265"}')
    // An address is no line for the shell, whatever it says.
    allowPython(reviewEngine(cluster, folder), consents)
    for (const command of [
      '@http://head:8265',
      'http://head:8265',
      'ray job submit --address http://head:8265',
    ])
      expect(() =>
        requireAllowedEngine(configOf({ python: process.execPath, launcher: 'command', command }), consents),
      ).toThrow('has not been allowed')
  })

  test.runIf(isWhole)(wholeTitle('is to the files that say what runs as well'), () => {
    const consents = consentsFile(mkdtempSync(path.join(folder, 'machine-')))
    const file = path.join(folder, 'settings.yaml')
    for (const named of [
      { launcher: 'ray', address: 'http://head:8265', runtimeEnv: file },
      { launcher: 'accelerate', accelerateConfig: file },
    ]) {
      writeFileSync(file, 'env_vars: {}\n')
      const config = configOf({ python: process.execPath, ...named })
      expect(() => requireAllowedEngine(config, consents)).toThrow(JSON.stringify(file))
      const source = engineSource(config.engine)
      expect(engineSourceById(source?.file ?? '')).toEqual(source)
      allowPython(reviewEngine(config, folder), consents)
      expect(requireAllowedEngine(config, consents)).toMatchObject({
        interpreter: process.execPath,
        settings: 'env_vars: {}\n',
      })
      writeFileSync(file, 'py_executable: sh -c evil\n')
      expect(() => requireAllowedEngine(config, consents)).toThrow('has not been allowed')
      // What cannot be looked at as a whole is not taken for an empty file.
      writeFileSync(file, '')
      allowPython(reviewEngine(config, folder), consents)
      writeFileSync(file, `# ${'x'.repeat(1 << 20)}\npy_executable: sh -c evil\n`)
      expect(() => requireAllowedEngine(config, consents)).toThrow(`${file} is larger than`)
      rmSync(file)
      expect(() => requireAllowedEngine(config, consents)).toThrow(file)
      expect(() => engineSourceById(source?.file ?? '')).toThrow(file)
    }
  })

  test('is to one way of starting alone, whatever its words look like', () => {
    const file = path.join(folder, 'x; id')
    writeFileSync(file, `with ${file}`)
    const ways = [
      engineOf({ launcher: 'accelerate', accelerateConfig: file }),
      ...[`with ${file}`, JSON.stringify({ accelerateConfig: file }), `@http://head ${file}`].map((command) =>
        engineOf({ launcher: 'command', command }),
      ),
      engineOf({ launcher: 'ray', address: 'http://head/with' }),
      engineOf({ launcher: 'ray', address: 'http://head', runtimeEnv: file }),
    ]
    const sources = ways.map((engine) => engineSource(engine))
    expect(new Set(sources.map((source) => source?.file)).size).toBe(ways.length)
    expect(new Set(sources.map((source) => source?.code)).size).toBe(ways.length)
    for (const source of sources) expect(engineSourceById(source?.file ?? '')).toEqual(source)
  })

  test('names each file that runs there', () => {
    const [review] = reviewEngine(configOf({ python: process.execPath, launcher: 'ray' }), folder)
    const files = review?.files
      .map((each) => each.path)
      .filter((name) => !path.isAbsolute(name) && !name.startsWith('interpreter:'))
    expect(files).toEqual([
      'engine:trl {"address":"http://127.0.0.1:8265"}',
      ...['trl/train.py', 'trl/callback.py', 'watching/listed.py', 'watching/recording.py'].map(
        (name) => `turnwise:${name}`,
      ),
      ...['watching/watch.py', 'rewards/bridge.py', 'trl/ray_submit.py', 'trl/ray_start.py'].map(
        (name) => `turnwise:${name}`,
      ),
    ])
  })

  test('can be given by the id that the refusal names', () => {
    const command = engineOf({ launcher: 'command', command: 'a b' })
    for (const engine of [engineOf({}), command, engineOf({ launcher: 'ray' })]) {
      const source = engineSource(engine)
      expect(source).not.toBeNull()
      expect(engineSourceById(source?.file ?? '')).toEqual(source)
    }
    const other = engineOf({ kind: 'agilerl' })
    expect(engineSource(other)?.file).toBe('engine:agilerl')
    expect(engineSource(other)?.code).not.toBe(engineSource(engineOf({}))?.code)
    expect(engineSourceById('engine:agilerl')).toEqual(engineSource(other))
    expect(engineSourceById('engine:other')).toBeNull()
    expect(engineSourceById('rewards.py')).toBeNull()
  })

  test.skipIf(!hasPython())('Ray’s token goes only to a cluster for which it was allowed', () => {
    const consents = consentsFile(folder)
    const at = (address: string) => configOf({ launcher: 'ray', address })
    const start = (address: string) => {
      allowPython(reviewEngine(at(address), folder), consents)
      return requireAllowedEngine(at(address), consents)
    }
    expect(start('http://stranger:8265')).not.toBeNull()
    vi.stubEnv('RAY_AUTH_MODE', 'token')
    for (const address of ['http://stranger:8265', 'http://stranger:8265/x'])
      expect(() => start(address)).toThrow(
        expect.objectContaining({
          code: 'key/not-allowed',
          command: 'turnwise key allow RAY_AUTH_TOKEN@http://stranger:8265',
        }),
      )
    allowKeys([{ variable: 'RAY_AUTH_TOKEN', origin: 'http://head:8265' }], consents)
    expect(start('http://head:8265')).not.toBeNull()
    expect(() => start('https://head:8265')).toThrow(expect.objectContaining({ code: 'key/not-allowed' }))
    for (const other of ['ray://head:10001', 'head:8265'])
      expect(() => start(other)).toThrow('begins with http')
    vi.unstubAllEnvs()
  })

  test.skipIf(!hasPython('venv'))(
    'an interpreter without the packages is refused with the command that installs them (skipped without Python)',
    async () => {
      const bare = path.join(folder, 'bare')
      spawnSync(process.env['TURNWISE_PYTHON'] ?? 'python3', ['-m', 'venv', '--without-pip', bare])
      const config = configOf({ python: path.join(bare, 'bin', 'python') })
      allowPython(reviewEngine(config, folder), consentsFile(folder))
      await expect(readyEnvironment(config, consentsFile(folder))).rejects.toMatchObject({
        code: 'engine/unsuitable',
        message: expect.stringContaining(
          'torch, transformers, trl, accelerate, peft, datasets are not installed',
        ) as string,
        command: expect.stringMatching(
          /bin\/python -m pip install torch transformers==\S+ trl==1\.16\.0 /,
        ) as string,
      })
    },
  )
})
