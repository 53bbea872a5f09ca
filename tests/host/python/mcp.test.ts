/** MCP servers as an environment, against a real server made with the official SDK, over pipes and at an address. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import type { ChatMessage } from '#shared/messages.ts'
import type { EnvironmentTurn } from '#rl/rollout/environment.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { allowKeys } from '#host/consents/keys.ts'
import { keysOfConfig, reviewConfig } from '#host/code/rewardCode.ts'
import { requireWorkingEnvironment, resolveEnvironment } from '#host/code/resolveEnvironment.ts'
import { requestsByPurpose } from '#host/outboundRequests.ts'
import { allowPython, withdrawPython } from '#host/python/consent.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { eventually } from '../../eventually.ts'
import { hasPython, interpreter } from './interpreter.ts'

const script = fileURLToPath(new URL('server/mcpServerProcess.ts', import.meta.url))
const row = { prompt: 'What is 2 + 3?', answer: '5' }
const step = { row, seed: 1, action: '', state: { calls: 0, errors: 0 } }
const call = (name: string, given: object = {}) => ({ name, arguments: JSON.stringify(given) })
const program = (words: readonly string[] = [], env: object = {}) => ({
  command: process.execPath,
  args: [script, ...words],
  env,
})

/** A config whose environment is these servers, in a data directory of its own; `isAllowed`: the person allowed them. */
function place(mcpServers: object, { settings = {}, rewards = [] as object[], isAllowed = true } = {}) {
  const home = temporaryFolder()
  const file = path.join(home, 'tools.json')
  writeFileSync(file, JSON.stringify({ mcpServers }))
  const config = parseRunConfig({
    model: 'none',
    data: { train: 'none', prompt: { column: 'prompt' } },
    algorithm: { id: 'grpo' },
    environment: { function: file, settings },
    rewards,
  })
  const consents = consentsFile(home)
  if (isAllowed) allowPython(reviewConfig(config, null, home), consents)
  const open = () => resolveEnvironment(config, home, { consents, cacheDirectory: home, onRequest: () => {} })
  return { home, file, config, consents, open, review: () => reviewConfig(config, null, home) }
}

async function opened(servers: object, options: Parameters<typeof place>[1] = {}) {
  const { environment, ...world } = await place(servers, options).open()
  if (environment === null) throw new Error('Expected an environment.')
  const turn = async (...calls: ReturnType<typeof call>[]) => {
    const [answer] = await environment.step([{ ...step, calls }])
    return answer
  }
  return { ...world, environment, turn }
}

const contents = (turn: unknown): unknown[] =>
  ((turn as EnvironmentTurn).observation as readonly ChatMessage[]).map(({ content }) => content)

describe('a program', () => {
  let world: Awaited<ReturnType<typeof opened>>
  beforeAll(async () => {
    world = await opened({ sums: program() }, { settings: { maxCalls: 4, resultCharacters: 300 } })
  })
  afterAll(() => world[Symbol.asyncDispose]())

  test('offers its tools, and their results come back as messages', async () => {
    const [begun] = await world.environment.reset([{ row, seed: 1 }])
    expect(begun).toMatchObject({ observation: row.prompt, reward: null })
    const { tools = [] } = begun as EnvironmentTurn
    expect(tools).toContainEqual({
      type: 'function',
      function: {
        name: 'add',
        description: 'Adds two numbers.',
        parameters: expect.objectContaining({ required: ['a', 'b'] }) as object,
      },
    })
    expect(await world.turn(call('add', { a: 2, b: 3 }), call('picture'))).toMatchObject({
      observation: [
        { role: 'tool', name: 'add', tool_call_id: 'call00001', content: '5' },
        { role: 'tool', name: 'picture', tool_call_id: 'call00002', content: '[image, image/png]' },
      ],
      state: { calls: 2, errors: 0 },
      terminated: false,
      truncated: false,
    })
  })

  test('a turn without a call ends the episode, and is right where it says the answer; reward functions take its place', async () => {
    const said = await world.environment.step([
      { ...step, action: 'It is 5.' },
      { ...step, action: 'It is 15.' },
      { ...step, row: { prompt: 'Hello' }, action: 'Hello' },
    ])
    expect(said).toMatchObject([
      { reward: 1, terminated: true, metrics: { correct: 1 } },
      { reward: 0, terminated: true },
      { failure: { message: expect.stringContaining('no column “answer”') as string } },
    ])
    await using scored = await opened({ sums: program() }, { rewards: [{ function: 'exact-match' }] })
    expect(await scored.turn()).toMatchObject({ reward: null, terminated: true })
  })

  test('what goes wrong in a tool is told to the policy, and long results and too many calls are cut', async () => {
    const turn = await world.turn(
      call('fail'),
      call('add', { a: 'x' }),
      call('none'),
      call('long'),
      call('long'),
    )
    const [failed, wrong, none, long] = contents(turn)
    expect(failed).toContain('no such thing')
    expect(wrong).toContain('Invalid arguments')
    expect(none).toBe('Error: there is no tool "none".')
    expect(long).toBe(`${'x'.repeat(300)}…`)
    expect(turn).toMatchObject({ truncated: true, metrics: { 'tool calls': 4, 'tool errors': 3 } })
  })

  test('one that dies, falls silent or floods loses its row alone, and is started anew', async () => {
    const [pid] = contents(await world.turn(call('pid')))
    expect(await world.turn(call('die'))).toEqual({
      failure: {
        message: 'The MCP server “sums” gave no answer: it ended (exit code 3). Its last output: I am going.',
      },
    })
    const [other] = contents(await world.turn(call('pid')))
    expect(other).not.toBe(pid)
    expect(await world.turn(call('flood'))).toMatchObject({
      failure: { message: expect.stringContaining('gave no answer') as string },
    })
    expect(contents(await world.turn(call('add', { a: 1, b: 1 })))).toEqual(['2'])
    await using hasty = await opened({ sums: program() }, { settings: { callSeconds: 2 } })
    expect(await hasty.turn(call('wait'))).toEqual({
      failure: { message: 'The MCP server “sums” gave no answer: it was silent for 2 s' },
    })
  })

  test('one that ended is started anew only while it is allowed as it is then', async () => {
    const { open, review, consents } = place({ sums: program() })
    await using opened = await open()
    const turn = async (name: string) =>
      (await opened.environment?.step([{ ...step, calls: [call(name)] }]))?.[0]
    await turn('die')
    withdrawPython(null, consents)
    expect(await turn('pid')).toEqual({
      failure: { message: expect.stringContaining('not been allowed') as string },
    })
    allowPython(review(), consents)
    expect(contents(await turn('pid'))).toHaveLength(1)
  })

  test('ends with the environment', async () => {
    const ending = await opened({ sums: program() })
    const [pid] = contents(await ending.turn(call('pid')))
    await ending[Symbol.asyncDispose]()
    await eventually(() => {
      expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH')
    })
  })

  test('gets its own variables and those that say where things are, and no others; a value that it repeats is hidden', async () => {
    process.env['TURNWISE_TEST_TOKEN'] = 'a-token-of-mine'
    process.env['TURNWISE_TEST_OTHER'] = 'another-token'
    const env = { TOKEN: 'Bearer ${TURNWISE_TEST_TOKEN}', MODE: 'test' }
    await using own = await opened({ sums: program(['--x'], env) }, { settings: { resultCharacters: 1e6 } })
    const [text] = contents(await own.turn(call('environment')))
    const got = JSON.parse(String(text)) as Record<string, unknown>
    expect(got).toMatchObject({ MODE: 'test', TOKEN: '•••', words: ['--x'] })
    expect(text).not.toContain('another-token')
    expect(got['PATH']).toBeDefined()
  })

  test('a value of several lines is hidden in the last lines that it prints, and in JSON', async () => {
    const line = (at: number) => `MIIEvQIBADANBgkqhkiG9w0BAQEFAASC${String(at)}`
    process.env['TURNWISE_TEST_PEM'] = `${Array.from({ length: 9 }, (_, at) => line(at)).join('\n')}\n`
    for (const told of ['process.env.PEM', 'JSON.stringify({ key: process.env.PEM })']) {
      const code = `process.stderr.write(${told}); process.exitCode = 1`
      const server = { command: process.execPath, args: ['-e', code], env: { PEM: '${TURNWISE_TEST_PEM}' } }
      const failed = await place({ a: server })
        .open()
        .catch((error: unknown) => (error instanceof Error ? error.message : ''))
      expect(failed).toContain('•••')
      expect(failed).not.toContain('MIIE')
    }
  })

  test('a relative word of its command is meant from the folder of the file; settings choose tools', async () => {
    const { file, config, home, consents } = place({}, { isAllowed: false })
    writeFileSync(path.join(home, 'server.mjs'), `import ${JSON.stringify(script)}`)
    const server = { command: process.execPath, args: ['./server.mjs'] }
    writeFileSync(file, JSON.stringify({ mcpServers: { a: server, b: server } }))
    const review = reviewConfig(config, null, home)
    expect(review[0]?.files.map((each) => each.path)).toContain(`mcp:${path.join(home, 'server.mjs')}`)
    allowPython(review, consents)
    const chosen = { ...config, environment: { ...config.environment!, settings: { tools: 'b_add' } } }
    const own = { consents, cacheDirectory: home, onRequest: () => {} }
    await using world = await resolveEnvironment(chosen, home, own)
    const [begun] = (await world.environment?.reset([{ row, seed: 1 }])) ?? []
    expect(begun).toMatchObject({ tools: [{ function: { name: 'b_add' } }] })
    const wrong = { ...config, environment: { ...config.environment!, settings: { tools: 'sub' } } }
    await expect(resolveEnvironment(wrong, home, own)).rejects.toThrow('no MCP server offers “sub”')
  })
})

test('a server on another machine is asked as the config is checked, which is counted', async () => {
  const { config, home } = place({ a: { url: 'https://far.invalid/mcp' } })
  await expect(requireWorkingEnvironment(config, home)).rejects.toThrow()
  expect(requestsByPurpose(home).search).toBeGreaterThan(0)
})

/** A server in a few lines, which answers with what `answers` says by the name of the method. */
const tiny = (answers: string) => ({
  command: process.execPath,
  args: [
    '-e',
    `const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
     const tools = { tools: [{ name: 't', inputSchema: { type: 'object' } }] }
     const greeting = ({ params }) => ({ capabilities: { tools: {} }, serverInfo: { name: 't', version: '1' }, protocolVersion: params.protocolVersion })
     const answers = { initialize: greeting, 'tools/list': () => tools, ${answers} }
     require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
       const asked = JSON.parse(line)
       const result = answers[asked.method]?.(asked)
       if (result) say({ id: asked.id, result })
     })`,
  ],
})

describe('a program that means harm', () => {
  test('starts in no folder that others fill, so words and modules that lie beside it are not found', async () => {
    const server = { command: './node', args: ['server.cjs'] }
    const here = place({ a: server }, { isAllowed: false })
    symlinkSync(process.execPath, path.join(here.home, 'node'))
    const mark = path.join(here.home, 'mark')
    writeFileSync(
      path.join(here.home, 'server.cjs'),
      `require('node:fs').writeFileSync(${JSON.stringify(mark)}, '')`,
    )
    allowPython(here.review(), here.consents)
    await expect(here.open()).rejects.toThrow('lists no tools')
    expect(existsSync(mark)).toBe(false)
  })

  test('is asked about again where a file after a sign, or of a variable, has changed', async () => {
    const folder = temporaryFolder()
    const settings = path.join(folder, 'settings.json')
    const hook = path.join(folder, 'hook.cjs')
    const world = () => {
      for (const file of [settings, hook]) writeFileSync(file, '')
      return place({ a: program([`--config=${settings}`], { NODE_OPTIONS: `--require ${hook}` }) })
    }
    for (const file of [settings, hook]) {
      const here = world()
      await using _ = await here.open()
      writeFileSync(file, '// changed')
      await expect(here.open()).rejects.toMatchObject({ code: 'python/not-allowed' })
    }
  })

  describe('is asked about again where what it would load has changed:', () => {
    // “@/” is the folder of the server.
    test.each<[string, string, string, Record<string, string>?]>([
      ['a module beside a Python script that is not called one', 'helper.py', 'python3 @/app'],
      ['one compiled, without a source', 'json.pyc', 'python3 @/app.py'],
      ['one in a package that calls itself a virtual environment', 'venv/helper.py', 'python3 @/app.py'],
      ['what runs of a folder, compiled', '__main__.pyc', 'python3 @/'],
      ['an archive of modules', 'm.zip', 'python3 -m app', { PYTHONPATH: '@/m.zip' }],
      ['a module beside a Node script', 'lib/helper.cjs', 'node @/app'],
      ['a file without its ending', 'main.js', 'node @/main'],
      ['a file that Node takes before another', 'lib/helper', 'node @/app'],
      ['a file in quotes', 'hook.cjs', 'node @/app', { NODE_OPTIONS: '-r "@/hook.cjs"' }],
      ['a file whose name has a sign', 'a,b.cjs', 'node --require=@/a,b.cjs -e 1'],
      ['a file with a URL', 'app.mjs', 'node --import file://@/app.mjs -e 1'],
      ['a file with a URL that begins otherwise', 'app.mjs', 'node --import file:@/app.mjs -e 1'],
      ['a file of a database with settings', 'app', 'server --db file:@/app?mode=ro'],
      ['a file behind another sign', 'data', 'server @@/data'],
      ['a file behind two signs', 'data', 'server --data=@@/data'],
      ['a file in a list', 'hook.jar', 'node -cp @/app.py:@/hook.jar'],
    ])('%s', (_, changing, line, variables = {}) => {
      const [command = '', ...words] = line.split(' ')
      const folder = temporaryFolder()
      const programs = temporaryFolder()
      symlinkSync(process.execPath, path.join(programs, command))
      const file = (name: string) => path.join(folder, name)
      for (const each of ['venv/helper.py', 'lib/helper.cjs', 'app', 'app.py', 'app.mjs', changing]) {
        mkdirSync(path.dirname(file(each)), { recursive: true })
        writeFileSync(file(each), '')
      }
      writeFileSync(file('venv/pyvenv.cfg'), '')
      const whole = (word: string) => word.replaceAll('@/', `${folder}/`)
      const env = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, whole(value)]))
      const server = { command: path.join(programs, command), args: words.map(whole), env }
      const here = place({ a: server })
      const changed = () => here.review().flatMap(({ files }) => files.filter((each) => !each.isAllowed))
      expect(changed()).toEqual([])
      writeFileSync(file(changing), 'changed')
      expect(changed().map((each) => each.path)).toEqual([`mcp:${file(changing)}`])
    })
  })

  test.each([
    'LD_PRELOAD',
    'DYLD_INSERT_LIBRARIES',
    'PYTHONUSERBASE',
    'PYTHONSTARTUP',
    'NODE_PATH',
    'NODE_COMPILE_CACHE',
    'PERLLIB',
    'PYENV_HOOK_PATH',
    'BASH_ENV',
  ])('may not set %s, by which it would load what nothing shows', (name) => {
    const sentence = 'so nothing shows which code it runs'
    expect(() => place({ a: program([], { [name]: '/x' }) })).toThrow(sentence)
    for (const args of [
      [`${name}=/x`, 'server'],
      ['sh', '-c', `${name}=/x server`],
    ])
      expect(() => place({ a: { command: 'env', args } })).toThrow(sentence)
  })

  test.each([
    ['-E'],
    ['-sI'],
    ['-X', 'pycache_prefix=/x'],
    ['-bX', 'dev', '-E'],
    ['-Wignore', '-E'],
    ['-W', 'a\nb', '-E'],
    ['--check-hash-based-pycs', 'default', '-E'],
  ])('may not start Python with %s %s %s', (...words) => {
    const started =
      (command: string, ...args: string[]) =>
      () =>
        place({ a: { command, args } }, { isAllowed: false }).review()
    const sentence = 'would read code that was compiled earlier'
    const link = path.join(temporaryFolder(), 'serve')
    const python = path.join(temporaryFolder(), 'python3')
    writeFileSync(python, '')
    symlinkSync(python, link)
    expect(started('env', 'python3', ...words, '/x/main.py')).toThrow(sentence)
    expect(started('env', 'PYTHONUTF8=1', 'python3', ...words, '/x/main.py')).toThrow(sentence)
    for (const line of [[link], ['env', link]])
      expect(started(...(line as [string]), ...words, '/x/main.py')).toThrow(sentence)
    for (const main of [['/x/python_server.py'], ['-m', 'server'], ['-c', 'pass']])
      expect(started('env', 'python3', '-W', '-E', ...main, ...words)).not.toThrow()
  })

  test.skipIf(process.platform === 'win32')(
    'may not name a pipe, which gives each reader something else',
    () => {
      const pipe = path.join(temporaryFolder(), 'server.py')
      execFileSync('mkfifo', [pipe])
      expect(() => place({ a: { command: 'python3', args: [pipe] } })).toThrow(
        'nothing shows which file it is',
      )
    },
  )

  test('may give Python many options', () => {
    const args = ['python3', ...Array<string>(200).fill('--check-hash-based-pycs')]
    expect(() => place({ a: { command: 'env', args } })).not.toThrow()
  })

  test('may not take its modules from a folder that a variable names', () => {
    const env = { PYTHONPATH: '${APPROOT}/lib' }
    for (const own of [env, { PYTHONPATH: 'lib' }])
      expect(() => place({ a: program([], own) })).toThrow('sets PYTHONPATH to other than whole paths')
  })

  test.skipIf(!hasPython())(
    'runs the sources that were shown, not what was compiled beside them (skipped without Python 3.9)',
    async () => {
      const folder = temporaryFolder()
      const mark = path.join(folder, 'mark')
      const script = path.join(folder, 'server.py')
      writeFileSync(script, 'import helper\n')
      writeFileSync(path.join(folder, 'helper.py'), '')
      const plant = `
import os, sys
from importlib._bootstrap_external import _code_to_hash_pyc as packed
from importlib.util import cache_from_source
file = cache_from_source(sys.argv[1])
os.makedirs(os.path.dirname(file))
code = compile(f"open({sys.argv[2]!r}, 'w')", "helper.py", "exec")
open(file, "wb").write(packed(code, b"0" * 8, False))`
      execFileSync(interpreter, ['-c', plant, path.join(folder, 'helper.py'), mark])
      const run = () => execFileSync(interpreter, [script])
      run()
      expect(existsSync(mark)).toBe(true) // Python itself takes it
      rmSync(mark)
      const here = place({ a: { command: interpreter, args: [script] } })
      await expect(here.open()).rejects.toThrow('lists no tools')
      expect(existsSync(mark)).toBe(false)
    },
  )

  test('is asked about again where a module that its Python imports has changed', async () => {
    const folder = temporaryFolder()
    const real = path.join(folder, 'real')
    mkdirSync(real)
    const [script, helper, link] = ['__main__.py', 'helper.py', '../link'].map((name) =>
      path.join(real, name),
    ) as [string, string, string]
    writeFileSync(script, '#!/usr/bin/env python3\nimport helper\n')
    chmodSync(script, 0o755)
    symlinkSync(script, link)
    for (const server of [
      { command: link, args: [] },
      { command: process.execPath, args: [real] },
      { command: process.execPath, args: [link] },
      { command: process.execPath, args: ['-m', 'helper'], env: { PYTHONPATH: real } },
    ]) {
      writeFileSync(helper, '')
      const here = place({ a: server })
      const changed = () => here.review().flatMap(({ files }) => files.filter((each) => !each.isAllowed))
      expect(changed()).toEqual([])
      writeFileSync(helper, 'changed = True')
      expect(changed().map((each) => each.path)).toEqual([`mcp:${helper}`])
    }
  })

  test('gets no password of a proxy, and no value that is no variable', async () => {
    vi.stubEnv('HTTPS_PROXY', 'http://me:a-word-of-mine@proxy.example:8080')
    vi.stubEnv('HTTP_PROXY', 'http://proxy.example:8080')
    await using own = await opened({ sums: program() }, { settings: { resultCharacters: 1e6 } })
    const [text] = contents(await own.turn(call('environment')))
    expect(text).not.toContain('a-word-of-mine')
    expect(text).toContain('http://proxy.example:8080')
    await expect(place({ sums: program([], { X: '${constructor}' }) }).open()).rejects.toThrow(
      'there is none',
    )
    vi.unstubAllEnvs()
  })

  test('is refused its questions: for completions, folders, or what the person types', async () => {
    const methods = ['sampling/createMessage', 'roots/list', 'elicitation/create']
    const asks = `'tools/call': (asked) => {
      const heard = []
      process.stdin.on('data', (text) => {
        heard.push(...String(text).trim().split('\\n'))
        if (heard.length === 3) say({ id: asked.id, result: { content: [{ type: 'text', text: heard.join() }] } })
      })
      for (const method of ${JSON.stringify(methods)}) say({ id: method, method, params: {} })
      say({ method: 'notifications/tools/list_changed' })
    }`
    await using own = await opened({ a: tiny(asks) }, { settings: { resultCharacters: 1e6 } })
    const [text] = contents(await own.turn(call('t')))
    for (const method of methods) expect(text).toContain(`"id":"${method}","error":{"code":-32601`)
  })

  test('lists tools too deep to be read, which is a sentence', async () => {
    const deep = `'tools/list': ({ id }) => {
      const nested = '{"a":'.repeat(2e5) + '1' + '}'.repeat(2e5)
      process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"x":' + nested + '}}}]}}\\n')
    }`
    await expect(place({ a: tiny(deep) }).open()).rejects.toMatchObject({ code: 'sandbox/failed' })
  })

  test('is killed where it asks without end and reads no answer', async () => {
    const asks = `'tools/call': () => {
      process.stdin.pause()
      const many = (JSON.stringify({ jsonrpc: '2.0', id: 'p'.repeat(5000), method: 'ping' }) + '\\n').repeat(100)
      const ask = () => { while (process.stdout.write(many)); process.stdout.once('drain', ask) }
      ask()
    }`
    await using own = await opened({ a: tiny(asks) })
    expect(await own.turn(call('t'))).toMatchObject({
      failure: { message: expect.stringContaining('it ended (SIGKILL)') as string },
    })
  })
})

describe('consent', () => {
  test('nothing starts without it, nor with one for another command, content or place', async () => {
    const here = place({ sums: program() }, { isAllowed: false })
    await expect(here.open()).rejects.toMatchObject({
      code: 'python/not-allowed',
      message: expect.stringContaining('names the MCP server “sums”, which is not sandboxed') as string,
      command: expect.stringContaining('turnwise python allow') as string,
    })
    allowPython(here.review(), here.consents)
    await using _ = await here.open()
    for (const other of [program(['--more']), program([], { NODE_OPTIONS: '--import=x' })]) {
      const changed = place({ sums: other }, { isAllowed: false })
      allowPython(here.review(), changed.consents)
      await expect(changed.open()).rejects.toMatchObject({ code: 'python/not-allowed' })
    }
    const own = path.join(here.home, 'server.mjs')
    writeFileSync(own, `import ${JSON.stringify(script)}`)
    const world = place({ sums: { command: process.execPath, args: [own] } })
    writeFileSync(own, 'process.exit(1)')
    await expect(world.open()).rejects.toMatchObject({ code: 'python/not-allowed' })
    withdrawPython(null, here.consents)
    await expect(here.open()).rejects.toMatchObject({ code: 'python/not-allowed' })
  })

  test.each([
    ['{}', 'names no MCP servers'],
    ['{"mcpServers": {"a": {"url": "ftp://x"}}}', 'names no MCP servers'],
    ['{"mcpServers": {"a": {"url": "http://127.0.0.1:1", "type": "sse"}}}', 'names no MCP servers'],
    [
      '{"mcpServers": {"a": {"command": "no-such-program-here"}}}',
      'There is no program “no-such-program-here”',
    ],
  ])('refuses %s in a sentence', async (text, sentence) => {
    const { file, open } = place({}, { isAllowed: false })
    writeFileSync(file, text)
    await expect(open()).rejects.toThrow(sentence)
  })

  test('a program that is no server is refused, and so is a file of servers as a reward', async () => {
    const none = { command: process.execPath, args: ['-e', 'console.error("I am no server")'] }
    await expect(place({ none }).open()).rejects.toMatchObject({
      code: 'sandbox/failed',
      message: expect.stringMatching(
        /“none” lists no tools: it ended \(exit code 0\).*I am no server/,
      ) as string,
    })
    const { file, config, home } = place({ sums: program() })
    const { requireKnownRewards } = await import('#host/code/resolveRewards.ts')
    const rewards = [{ function: file, weight: 1, settings: {} }]
    await expect(requireKnownRewards({ ...config, rewards }, consentsFile(home))).rejects.toThrow(
      'a file of MCP servers can only be the environment of a run',
    )
  })
})

describe('an address', () => {
  let heard = ''
  const origin = () => heard.slice(0, heard.indexOf('\n'))
  beforeEach(async () => {
    heard = ''
    const server = spawn(process.execPath, [script, '--http'], { stdio: ['ignore', 'pipe', 'inherit'] })
    server.stdout.setEncoding('utf8').on('data', (text: string) => (heard += text))
    while (!heard.includes('\n')) await once(server.stdout, 'data')
    return () => server.kill()
  })

  test('needs consent, its key consent of its own, and is called like a program', async () => {
    process.env['TURNWISE_TEST_KEY'] = 'the-key-of-the-server'
    const servers = { far: { url: `${origin()}/mcp`, headers: { 'x-key': '${TURNWISE_TEST_KEY}' } } }
    const here = place(servers, { isAllowed: false })
    await expect(here.open()).rejects.toMatchObject({ code: 'python/not-allowed' })
    allowPython(here.review(), here.consents)
    await expect(here.open()).rejects.toMatchObject({ code: 'key/not-allowed' })
    expect(heard).not.toContain('POST')
    const keys = keysOfConfig(here.config, null)
    expect(keys).toEqual([{ variable: 'TURNWISE_TEST_KEY', origin: origin() }])
    allowKeys(keys, here.consents)
    await using world = await here.open()
    const [turn] = (await world.environment?.step([{ ...step, calls: [call('add', { a: 2, b: 3 })] }])) ?? []
    expect(contents(turn)).toEqual(['5'])
    expect(heard).toContain('POST /mcp the-key-of-the-server')
  })

  test.each(['Basic ', ''])(
    'a short key that it repeats is hidden as its header had it (%s)',
    async (kind) => {
      process.env['TURNWISE_TEST_KEY'] = 'abc1234'
      const headers = { 'x-key': `${kind}\${TURNWISE_TEST_KEY}` }
      const here = place({ far: { url: `${origin()}/mcp`, headers } })
      allowKeys(keysOfConfig(here.config, null), here.consents)
      await using world = await here.open()
      const [turn] = (await world.environment?.step([{ ...step, calls: [call('headers')] }])) ?? []
      expect(heard).toContain(`POST /mcp ${kind}abc1234\n`)
      expect(JSON.parse(String(contents(turn)[0]))).toMatchObject({ 'x-key': '•••' })
    },
  )

  test('a redirect is not followed, and a server that is not there is a sentence', async () => {
    await expect(place({ far: { url: `${origin()}/elsewhere` } }).open()).rejects.toMatchObject({
      message: expect.stringContaining('“far” lists no tools: fetch failed: unexpected redirect') as string,
    })
    await expect(place({ far: { url: 'http://127.0.0.1:9/mcp' } }).open()).rejects.toThrow(
      '“far” lists no tools',
    )
  })
})
