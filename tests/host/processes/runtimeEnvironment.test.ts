/** What stands in the environment of every process that loads ONNX Runtime, from its start. Read where Linux shows it. */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runtimeEnvironment } from '#shared/runtimeEnvironment.ts'
import { createWorkplace } from '../../cli/turnwise.ts'
import { eachOf, isWhole, wholeTitle } from '../../sweeps.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const launcher = path.join(root, 'bin/turnwise.mjs')
const place = createWorkplace()
afterAll(() => place[Symbol.dispose]())

const isShown = process.platform === 'linux'
const title = isShown ? 'processes' : 'processes (skipped: only Linux shows their environment)'

interface Loader {
  /** The file that Node was started with. */
  readonly script: string
  /** Of the variables that matter. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

const contents = (pid: number, file: string): string => {
  try {
    return readFileSync(`/proc/${String(pid)}/${file}`, 'utf8')
  } catch {
    return '' // it has just ended
  }
}

function descendants(ancestor: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const stat = contents(Number(name), 'stat')
    parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
  }
  const found = [ancestor]
  for (const pid of found) for (const [child, parent] of parents) if (parent === pid) found.push(child)
  return found
}

function loaderOf(pid: number): Loader | null {
  if (!contents(pid, 'maps').includes('onnxruntime')) return null
  const environment = Object.fromEntries(
    contents(pid, 'environ')
      .split('\0')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const)
      .filter(([name]) => name in runtimeEnvironment),
  )
  const [, ...words] = contents(pid, 'cmdline').split('\0')
  const script = words.find((word) => /\.m?[jt]s$/.test(word)) ?? ''
  const name = path.basename(script).replace(/(?<=Process)\.[jt]s$/, '')
  const job = words[words.indexOf(script) + 1] ?? ''
  return { script: name === 'jobProcess' ? `${name} ${job}` : name, environment }
}

/** Runs a program that knows nothing of the variables, and all that it starts, to its end or until it has printed `until`. */
async function loadersOf(
  program: readonly string[],
  {
    until,
    then,
    env: more = {},
  }: {
    readonly until?: RegExp
    readonly then?: (said: string) => Promise<unknown>
    readonly env?: object
  } = {},
): Promise<{ readonly loaders: readonly Loader[]; readonly output: string }> {
  const others = Object.entries(process.env).filter(([name]) => !(name in runtimeEnvironment))
  const env = { ...Object.fromEntries(others), TURNWISE_HOME: place.path('home'), ...more }
  const child = spawn(process.execPath, [...program], {
    cwd: place.folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')))
  const loaders = new Map<number, Loader>()
  const look = () => {
    for (const pid of descendants(child.pid!)) {
      const loader = loaders.has(pid) ? null : loaderOf(pid)
      if (loader !== null) loaders.set(pid, loader)
    }
  }
  const timer = setInterval(look, 50)
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  if (until !== undefined) {
    const said = new Promise<void>((resolve) => {
      child.stdout.on('data', () => until.test(output) && resolve())
    })
    await Promise.race([said, ended])
    await then?.(output)
    look()
    child.kill('SIGTERM')
  }
  await ended
  clearInterval(timer)
  return { loaders: [...loaders.values()], output }
}

const turnwise = (...args: readonly string[]) => loadersOf([launcher, ...args])

describe.skipIf(!isShown)(title, () => {
  beforeAll(() => {
    const demo = JSON.parse(readFileSync(path.join(root, 'resources/demo/run.json'), 'utf8')) as Record<
      'data' | 'rollout',
      object
    >
    const file = (name: string) => path.join(root, 'resources/demo', name)
    place.write('run.json', {
      ...demo,
      model: path.join(root, 'resources/starter'),
      data: { ...demo.data, train: file('train.jsonl'), heldOut: file('heldout.jsonl') },
      rollout: { ...demo.rollout, promptsPerStep: 2, groupSize: 2 },
      steps: 1,
      evaluation: { every: 0, rows: 2 },
      device: { kind: 'cpu', threads: 1 },
    })
  })

  const evaluation = [
    ...['evaluate', '--model', 'starter', '--data', path.join(root, 'resources/demo/heldout.jsonl')],
    ...['--prompt', '{prompt}', '--reward', 'starter-correct', '--limit', '2', '--max-tokens', '2'],
  ]

  const commands: readonly (readonly [string, readonly string[], string])[] = [
    ['a run', ['train', 'run.json'], 'jobProcess training'],
    ['the check of a run', ['train', 'run.json', '--check'], 'jobProcess check'],
    ['an evaluation', evaluation, 'jobProcess evaluation'],
    ['the check of a device', ['device', 'check', 'cpu'], 'jobProcess device test'],
    ['the self-test', ['selftest', '--only', 'operators'], 'turnwise.mjs'],
  ]
  const isAlways = ([name]: (typeof commands)[number]) => ['a run', 'the self-test'].includes(name)
  eachOf(test, { rows: commands, isAlways }, '%s', async (_, words, script) => {
    const { loaders, output } = await turnwise(...words)
    expect(loaders, output).toContainEqual(expect.objectContaining({ script }))
    for (const { environment } of loaders) expect(environment).toEqual(runtimeEnvironment)
  })

  test.runIf(isWhole)(wholeTitle('a served model'), async () => {
    const { loaders, output } = await loadersOf(
      [launcher, 'serve', '--openai', '--model', 'starter', '--threads', '1', '--json'],
      { until: /"key"/, then: complete },
    )
    expect(loaders, output).not.toEqual([])
    for (const { environment } of loaders) expect(environment).toEqual(runtimeEnvironment)
  })

  // It loads the runtime itself, so that its start shows nothing: what native code finds there tells.
  test.runIf(isWhole)(wholeTitle('a program with the library'), async () => {
    const library = path.join(root, 'src/library/turnwise.ts')
    const program = place.write(
      'program.mjs',
      `import { openPolicy } from ${JSON.stringify(library)}
       await using policy = await openPolicy({ model: 'starter' }, { threads: 1 })
       const { environmentVariables } = process.report.getReport()
       console.log(JSON.stringify(environmentVariables))`,
    )
    const { output } = await loadersOf([program])
    expect(output).toContain('"NVIDIA_TF32_OVERRIDE":"0"')
    expect(output).toContain('"ORT_DISABLE_TELEMETRY":"1"')
  })
})

describe('a worker thread with the library', () => {
  const importing = (file: string) => `await import(${JSON.stringify(path.join(root, file))})`
  /** Loads the runtime in a thread, opens CUDA’s products there, and prints what native code finds. */
  const started = async (
    name: string,
    {
      env = {},
      first = '',
      options = '',
    }: Readonly<Partial<Record<'first' | 'options', string>>> & { readonly env?: object } = {},
  ): Promise<string> => {
    const program = place.write(
      `${name}.mjs`,
      `import { Worker, isMainThread, SHARE_ENV } from 'node:worker_threads'
       if (isMainThread) {
         ${first}
         const thread = new Worker(new URL(import.meta.url), { ${options} })
         thread.on('error', ({ message }) => console.log(message))
       } else {
         ${importing('src/library/turnwise.ts')}
         const { settleProducts } = ${importing('src/engine/runtime/cudaLibrary.ts')}
         const { NVIDIA_TF32_OVERRIDE, ORT_DISABLE_TELEMETRY } = process.report.getReport().environmentVariables
         console.log(NVIDIA_TF32_OVERRIDE, ORT_DISABLE_TELEMETRY)
         settleProducts({ kind: 'cuda', threads: 1, deviceId: 0 })
         console.log('opened')
       }`,
    )
    return (await loadersOf([program], { env })).output
  }

  test('does not load the runtime where it cannot set what that reads, and says what to set', async () => {
    expect(await started('refused', { env: { NVIDIA_TF32_OVERRIDE: '1' } })).toBe(
      'ONNX Runtime was not loaded: it reads the environment of the process, which a worker thread cannot change. Start the program with ORT_DISABLE_TELEMETRY=1 and NVIDIA_TF32_OVERRIDE=0 in its environment, or import turnwise in the main thread first.\n',
    )
  })

  const ways: readonly (readonly [string, object])[] = [
    ['started so', { env: runtimeEnvironment }],
    ['that shares the environment', { options: 'env: SHARE_ENV', env: { NVIDIA_TF32_OVERRIDE: '1' } }],
    ['after the main thread', { first: importing('src/library/turnwise.ts') }],
  ]
  const isAlways = ([name]: (typeof ways)[number]) => name === 'started so'
  eachOf(test, { rows: ways, isAlways }, 'loads it %s', async (name, how) => {
    expect(await started(name.replaceAll(' ', '-'), how)).toBe('0 1\nopened\n')
  })

  test.runIf(isWhole)(wholeTitle('does not open CUDA where NVIDIA’s libraries would read TF32'), async () => {
    const env = { ...runtimeEnvironment, NVIDIA_TF32_OVERRIDE: '1' }
    const output = await started('tf32', { env })
    expect(output).toContain(
      'which a worker thread cannot change: it is 1 there, and a base in f32 needs it at 0.',
    )
    expect(output).not.toContain('opened')
  })
})

async function complete(said: string): Promise<void> {
  const { address, key } = JSON.parse(said.split('\n')[0]!) as {
    readonly address: string
    readonly key: string
  }
  const answer = await fetch(`${address}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'starter', max_tokens: 2, messages: [{ role: 'user', content: '1+1=' }] }),
  })
  expect(answer.status).toBe(200)
}
