/** Places that a program of an MCP server may not name, and may not lie at, since what is compared would not be what it loads. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { reviewServers } from '#host/python/mcpServers.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const file = path.join(temporaryFolder(), 'tools.json')
const review = (server: object) =>
  reviewServers({ code: JSON.stringify({ mcpServers: { a: server } }), language: 'json', file }, null)

describe('a program may not name what programs read in different ways:', () => {
  /**
   * “@/” is a folder with `app/server.js`, `app.js`, `t.mjs` and `link`, which leads to `real/deep`; there is `real/app/server.js` too, and
   * `l.js` and `real/index.js` lead each process elsewhere.
   */
  const reviewed = (line: string, env: Readonly<Record<string, string>> = {}) => {
    const folder = temporaryFolder()
    for (const each of ['app/server.js', 'app.js', 't.mjs', 'a.db', 'real/app/server.js', 'real/deep/x']) {
      mkdirSync(path.dirname(path.join(folder, each)), { recursive: true })
      writeFileSync(path.join(folder, each), '')
    }
    symlinkSync(path.join(folder, 'real/deep'), path.join(folder, 'link'))
    symlinkSync(`/proc/self/root${folder}/app.js`, path.join(folder, 'l.js'))
    symlinkSync('/proc/self/cwd/none', path.join(folder, 'real/index.js'))
    const whole = (word: string) => word.replaceAll('@/', `${folder}/`)
    const values = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, whole(value)]))
    const args = line.split(' ').map(whole)
    return () => review({ command: 'env', args, env: values })
  }

  test.each<[string, Readonly<Record<string, string>>?]>([
    ['node @/link/../app/server.js'],
    ['node @/app/server.js/'],
    ['node @/app.js/.'],
    ['node @/t.mjs/'],
    ['node @/real/../app/'],
    ['node @/none/../app/server.js'],
    ['node --config=@/none/../app/server.js'],
    ['node @/app//server.js'],
    ['python @/link/../app'],
    ['sh -c', { SCRIPT: 'exec node @/link/../app/server.js' }],
    ['python -m server', { PYTHONPATH: '@/link/../app' }],
    ['node --import @/t.mjs?v=1 -e 1'],
    ['node --import=@/%74.mjs -e 1'],
    ['node --experimental-loader file://@/t.mjs#1 -e 1'],
    ['node -e 1', { NODE_OPTIONS: '--import @/%74.mjs' }],
  ])('%s %o', (line, env) => {
    expect(reviewed(line, env)).toThrow('which programs read in different ways')
  })

  test
    .skipIf(process.platform === 'win32')
    .each<[string, Readonly<Record<string, string>>?]>([
      ['node /proc/self/root@/app.js'],
      ['node /proc/self/cwd/none/server.js'],
      ['node @/l.js'],
      ['node @/l'],
      ['node @/real'],
      ['node --import=file:///proc/self/cwd/x.mjs -e 1'],
      ['server --config=/dev/fd/3'],
      ['server +/dev/stdin'],
      ['python -m server', { PYTHONPATH: '/proc/thread-self/cwd' }],
    ])('nor in different processes: %s %o', (line, env) => {
    expect(reviewed(line, env)).toThrow('which programs read in different ways')
  })

  test.each<[string, Readonly<Record<string, string>>?]>([
    ['npx -y @scope/server-filesystem @/ @/app/'],
    ['uvx server-sqlite --db-path @/a.db --url sqlite:///@/a.db'],
    ['server file:@/a.db?mode=ro https://server.example//a/../b?c=%20#d'],
    ['uv --directory @/app/ run server.py'],
    [
      'docker run -i --rm -v @/app/:/data:ro --mount type=bind,src=@/app,dst=/x -e ENV=prod --env HOME=/ image',
    ],
    ['node @/app/server.js ../x 100% --query=a?b'],
    ['node --import tsx @/app/server.js', { API: 'https://server.example/v1/', DATA: '@/app/' }],
    ['python -c', { CODE: 'print(1 // 2) # 5%' }],
    ['docker run -i -v /proc:/host/proc:ro --tmpfs=/proc image', { LOG: '/dev/stderr' }],
  ])('but may name the usual: %s %o', (line, env) => {
    expect(reviewed(line, env)).not.toThrow()
  })
})

test.skipIf(process.platform === 'win32')(
  'a program may not be named by a path that leads it elsewhere (skipped on Windows)',
  () => {
    const link = path.join(temporaryFolder(), 'serve')
    symlinkSync(`/proc/self/root${process.execPath}`, link)
    for (const command of [`/proc/self/root${process.execPath}`, '/dev/fd/3', link])
      expect(() => review({ command, args: ['server.js'] })).toThrow('leads each process elsewhere')
  },
)

describe('a variable that is filled', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  const reviewed = (value: string) => {
    const folder = temporaryFolder()
    writeFileSync(path.join(folder, 'plugin.js'), '')
    vi.stubEnv('TURNWISE_TEST_FOLDER', folder)
    vi.stubEnv('TURNWISE_TEST_FILE', path.join(folder, 'plugin.js'))
    vi.stubEnv('TURNWISE_TEST_CWD', '/proc/self/cwd')
    return () => review({ command: 'env', env: { PLUGIN: value } })
  }

  test.each([
    '${TURNWISE_TEST_FILE}',
    '${TURNWISE_TEST_FOLDER}/plugin.js',
    '${TURNWISE_TEST_FOLDER}/./plugin.js',
    '--require ${TURNWISE_TEST_FOLDER}/plugin',
    '@${TURNWISE_TEST_FILE}',
    ...(process.platform === 'win32' ? [] : ['${TURNWISE_TEST_CWD}/x']),
  ])('may not hide a file from the comparison: %s', (value) => {
    expect(reviewed(value)).toThrow(`sets PLUGIN to ${value}, which is the path of a file`)
  })

  test.each(['${TURNWISE_TEST_FOLDER}', 'Bearer ${TURNWISE_TEST_FOLDER}/none', '${TURNWISE_TEST_NONE}'])(
    'may name no file: %s',
    (value) => {
      expect(reviewed(value)).not.toThrow()
    },
  )
})

test.skipIf(process.platform === 'win32').each(['', './', '../'])(
  'a relative path is meant from the root folder, where the program starts (skipped on Windows): %j',
  (leading) => {
    const script = path.join(temporaryFolder(), 'server.py')
    writeFileSync(script, '')
    const relative = leading + script.slice(1)
    const listed = (server: object) =>
      review({ command: 'env', ...server }).flatMap(({ files }) => files.map((each) => each.path))
    for (const server of [{ args: [`--config=${relative}`] }, { env: { PLUGIN: relative } }])
      expect(listed(server)).toContain(`mcp:${script}`)
    expect(listed({ args: ['python3', script.slice(1)] })).toContain(`mcp:${script}`)
    expect(() => listed({ args: ['proc/self/cwd/server.py'] })).toThrow('read in different ways')
    expect(() => listed({ args: ['.', '..', 'x'], env: { EMPTY: '' } })).not.toThrow()
  },
)
