import { describe, expect, test } from 'vitest'
import { commands } from '#cli/commands/registry.ts'
import { kebabCase } from '#cli/command.ts'
import { answer, createWorkplace } from './turnwise.ts'

describe('help', () => {
  test('lists every command', async () => {
    for (const word of ['--help', '-h', 'help']) {
      const { status, stdout, stderr } = await answer(word)
      expect([status, stderr]).toEqual([0, ''])
      const lines = stdout.split('\n')
      for (const { name, summary } of commands) {
        expect(lines.some((line) => line.startsWith(`  ${name} `) && line.endsWith(` ${summary}`))).toBe(true)
      }
    }
  })

  test.each(commands.map((command) => [command.name, command] as const))(
    '%s explains itself',
    async (name, command) => {
      const { status, stdout } = await answer(...name.split(' '), '--help')
      expect(status).toBe(0)
      expect(stdout).toContain(`Usage: turnwise ${name}`)
      for (const option of [...Object.keys(command.options), 'json', 'dataDir']) {
        expect(stdout).toContain(`--${kebabCase(option)}`)
      }
      for (const positional of command.positionals) expect(stdout).toContain(positional.name)
      expect(await answer('help', ...name.split(' '))).toEqual({ status, stdout, stderr: '' })
    },
  )

  test('train tells every key of a config', async () => {
    const { stdout } = await answer('help', 'train')
    for (const key of ['rollout.temperature', 'data.train', 'rewards[].weight', 'checkpoints.keepLast']) {
      expect(stdout).toMatch(new RegExp(`^  ${key.replaceAll(/[[\].]/g, '\\$&')} +\\S`, 'm'))
    }
  })
})

describe('wrong usage is status 2 with one sentence and a hint, and nothing on stdout', () => {
  test.each([
    [[], 'turnwise: No command was given.\n  turnwise --help lists the commands.\n'],
    [['trian'], 'turnwise: There is no command “trian”.\n  Did you mean train?\n'],
    [['score', '--modle', 'x'], 'turnwise: Command score has no option --modle.\n  Did you mean --model?\n'],
    [
      ['train'],
      'turnwise: Command train needs CONFIG.json: run config; paths in it are relative to it.\n  See turnwise train --help.\n',
    ],
    [
      ['score', '--model', '.', '--input', 'x'],
      'turnwise: Option --output is missing.\n  Write --output F.\n',
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
      ['model', 'random', '--shape', 'tiny-lama', '--out', 'x'],
      'turnwise: There is no shape “tiny-lama”.\n  Did you mean tiny-llama?\n',
    ],
    [
      ['export', 'r', '--format', 'safetensors', '--out', 'x'],
      'turnwise: The format “safetensors” cannot be written.\n  There are peft, merged, gguf, onnx.\n',
    ],
  ])('%j', async (args, sentence) => {
    expect(await answer(...args)).toEqual({ status: 2, stdout: '', stderr: sentence })
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
  expect(await place.run('--version')).toEqual({
    status: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string,
    stderr: '',
  })
  expect((await place.run('frobnicate')).status).toBe(2)
  expect(await place.run('runs', 'list', '--json')).toEqual({
    status: 0,
    stdout: '{"runs":[],"unreadable":[]}\n',
    stderr: '',
  })
})
