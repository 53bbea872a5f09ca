import { execFileSync, spawnSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { createProgram, leavesOf, nameOf, summaryOf } from '#cli/main.ts'
import { answer, createWorkplace } from './turnwise.ts'

const commands = leavesOf(createProgram(process, [])).map((command) => [nameOf(command), command] as const)
const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ')

// Which library it loads depends on the data directory, which a command names: what is loaded before stays.
test('no command is made with ONNX Runtime loaded', () => {
  const main = path.resolve(import.meta.dirname, '../../src/cli/main.ts')
  const loaded = `Object.keys(require.cache).filter((file) => file.includes('onnxruntime'))`
  const code = (more: string) =>
    `import(${JSON.stringify(main)}).then(async () => { ${more}; console.log(JSON.stringify(${loaded})) })`
  const said = (more = '') =>
    JSON.parse(execFileSync(process.execPath, ['-e', code(more)], { encoding: 'utf8' })) as string[]
  const runtime = path.resolve(import.meta.dirname, '../../src/engine/runtime/onnxRuntime.ts')
  expect(said(`await import(${JSON.stringify(runtime)})`)).not.toEqual([])
  expect(said()).toEqual([])
})

describe('help', () => {
  test('lists every command', async () => {
    expect(commands.length).toBeGreaterThan(30)
    for (const word of ['--help', '-h', 'help']) {
      const { status, stdout, stderr } = await answer(word)
      expect([status, stderr]).toEqual([0, ''])
      for (const [name, command] of commands) {
        expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
        expect(oneLine(stdout)).toContain(` ${summaryOf(command)} `)
        expect(summaryOf(command)).not.toMatch(/\.$/)
      }
    }
  })

  test.each(commands)('%s explains itself', async (name, command) => {
    const { status, stdout } = await answer(...name.split(' '), '--help')
    expect(status).toBe(0)
    expect(stdout).toContain(`Usage: turnwise ${name}`)
    expect(oneLine(stdout)).toContain(oneLine(command.description()))
    for (const flags of [...command.options.map((option) => option.flags), '--json', '--data-dir <DIR>']) {
      expect(stdout).toMatch(new RegExp(`^  ${flags.replaceAll(/[|[\]]/g, '\\$&')} +\\S`, 'm'))
    }
    for (const argument of command.registeredArguments) expect(stdout).toContain(argument.name())
    expect(await answer('help', ...name.split(' '))).toEqual({ status, stdout, stderr: '' })
  })

  test('train tells every key of a config', async () => {
    const { stdout } = await answer('help', 'train')
    for (const key of ['rollout.temperature', 'data.train', 'rewards[].weight', 'checkpoints.keepLast']) {
      expect(stdout).toMatch(new RegExp(`^  ${key.replaceAll(/[[\].]/g, '\\$&')} +\\S`, 'm'))
    }
  })
})

const more = '  Add --help for usage.\n'

describe('wrong usage is status 2 with one sentence and a hint, and nothing on stdout', () => {
  test.each([
    [['trian'], `turnwise: unknown command 'trian'\n  (Did you mean train?)\n${more}`],
    [['quantum'], `turnwise: unknown command 'quantum'\n${more}`],
    [
      ['check'],
      `turnwise: unknown command 'check'\n  (Did you mean one of loss check, workflow check, model check, device check?)\n${more}`,
    ],
    [
      ['--data-dir', 'home', 'check'],
      `turnwise: unknown command 'check'\n  (Did you mean one of loss check, workflow check, model check, device check?)\n${more}`,
    ],
    [['model', 'lst'], `turnwise: unknown command 'lst'\n  (Did you mean list?)\n${more}`],
    [['score', '--modle', 'x'], `turnwise: unknown option '--modle'\n  (Did you mean --model?)\n${more}`],
    [['train'], `turnwise: missing required argument 'CONFIG.json'\n${more}`],
    [
      ['score', '--model', '.', '--input', 'x'],
      `turnwise: required option '--output <F>' not specified\n${more}`,
    ],
    [
      ['generate', '--model', '.'],
      'turnwise: Give either --prompt TEXT or --messages F.\n  See turnwise generate --help.\n',
    ],
    [
      ['bench', '--lengths', '8'],
      'turnwise: Option --lengths takes ROWSxTOKENS or ROWSxFROM-TO, not “8”.\n  For example 8x256 or 16x32-512.\n',
    ],
    [['bench', '--model', 'a', '--shape', 'b'], 'turnwise: Give either --model or --shape, not both.\n'],
    [
      ['export', 'r', '--format', 'safetensors', '--out', 'x'],
      `turnwise: option '--format <FORMAT>' argument 'safetensors' is invalid. Allowed choices are peft, merged, gguf, gguf-model, onnx.\n${more}`,
    ],
  ])('%j', async (args, sentence) => {
    expect(await answer(...args)).toEqual({ status: 2, stdout: '', stderr: sentence })
  })

  const launcher = path.resolve(import.meta.dirname, '../../bin/turnwise.mjs')
  const refused = (what: string, name: string) =>
    `turnwise: The ${what} is not UTF-8, or has the sign U+FFFD, which stands for what is not: ${name}\n  Nothing was done. Rename the file or folder so that nothing else can be meant.\n`

  test.skipIf(process.platform !== 'linux').each([
    ['"$0" "$1" python allow "$name/tools.json"', 'argument 3', '\\u{fffd}/tools.json'],
    ['mkdir "$name" && cd "$name" && "$0" "$1" python allow tools.json', 'working folder', '\\u{fffd}'],
    ['TURNWISE_HOME="$name" "$0" "$1" python list', 'variable TURNWISE_HOME', '\\u{fffd}'],
  ])(
    'names are not UTF-8, which would be read as those of other files (skipped but on Linux): %s',
    (line, what, name) => {
      using place = createWorkplace()
      const words = ['-c', `name=$(printf '\\377'); ${line}`, process.execPath, launcher]
      const { status, stdout, stderr } = spawnSync('sh', words, { cwd: place.folder, encoding: 'utf8' })
      const whole = what === 'working folder' ? `${realpathSync(place.folder)}/${name}` : name
      expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: refused(what, whole) })
    },
  )

  test('without a command the help says which there are', async () => {
    for (const [args, line] of [
      [[], '  runs list '],
      [['model'], '  model random '],
      [['model', '--json'], '  model list '],
    ] as const) {
      const { status, stdout, stderr } = await answer(...args)
      expect([status, stdout]).toEqual([2, ''])
      expect(stderr).toContain(line)
    }
  })

  test('an unknown shape lists those there are', async () => {
    const { status, stderr } = await answer('model', 'random', '--shape', 'tiny-lama', '--out', 'x')
    expect(status).toBe(2)
    expect(stderr).toMatch(/argument 'tiny-lama' is invalid\. Allowed choices are .*tiny-llama/)
  })
})

test('a failure is status 1, with --json too', async () => {
  const expected = {
    status: 1,
    stdout: '',
    stderr: expect.stringMatching(/^turnwise: There is no run “nope”\.\n {2}`turnwise runs list`/) as string,
  }
  expect(await answer('runs', 'show', 'nope', '--data-dir', '/nonexistent')).toEqual(expected)
  expect(await answer('runs', 'show', 'nope', '--data-dir', '/nonexistent', '--json')).toEqual(expected)
})

test('from a shell: version, status and data directory', async () => {
  using place = createWorkplace()
  expect(await place.start('--version').finished).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string,
    stderr: '',
  })
  expect((await place.start('frobnicate').finished).status).toBe(2)
  expect(await place.start('runs', 'list', '--json').finished).toEqual({
    status: 0,
    stdout: '{"runs":[],"families":[],"unreadable":[]}\n',
    stderr: '',
  })
})
