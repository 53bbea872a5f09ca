/** What watch.py prints, put together again; it needs Python alone, no trainer. Where there is none the tests are passed over, by name. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readPrinted } from '#host/engines/printed.ts'
import { hasPython, interpreter } from '../python/interpreter.ts'

const resources = fileURLToPath(new URL('../../../resources/projects/watching', import.meta.url))
const isMissing = !hasPython()

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'turnwise-printed-'))
  writeFileSync(path.join(folder, 'watch.json'), JSON.stringify({ results: 'output', mark: 'ab12' }))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const opening = `
import os, sys
from pathlib import Path
sys.path.insert(0, ${JSON.stringify(resources)})
import watch
own = watch.open_watch(Path(${JSON.stringify('FOLDER')}))
`
const program = (lines: string) => opening.replace('FOLDER', folder) + lines

function printedBy(lines: string): string {
  const { status, stdout, stderr } = spawnSync(interpreter, ['-c', program(lines)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  expect([status, stderr]).toEqual([0, ''])
  return stdout
}

/** In pieces of a few characters, as a pipe may hand it on. */
function heard(output: string, every = 97) {
  const printed = readPrinted(folder, 'ab12')
  const starts = Array.from({ length: Math.ceil(output.length / every) }, (_, i) => i * every)
  const kept = starts.map((at) => printed.take(output.slice(at, at + every))).join('')
  return { kept, events: printed.read() }
}

describe('what a trainer elsewhere prints', () => {
  test('is for people where it only looks like a warning', () => {
    const lines = [
      '@turnwise ab12 warning "one" and "another"\n@turnwise ab12 warning "\\x"\n',
      '@turnwise-warning "one"\n@turnwise warning "one"\n@turnwise ab13 warning "one"\n',
      '@turnwise 0 0/1 00000000 {}\nX @turnwise ab12 warning "one"\n',
    ].join('')
    expect(heard(lines)).toEqual({ kept: lines, events: [] })
    expect(heard('@turnwise ab12 warning "one"\n')).toMatchObject({ kept: '', events: [{ message: 'one' }] })
  })

  test.skipIf(isMissing)(
    'becomes events in their order, and the rest stays for people (skipped without Python)',
    () => {
      const output = printedBy(`
print("loading", end="", flush=True)
own.say("step", step=1, metrics={"reward": 0.5})
own.say("samples", step=1, samples=[{"prompt": "„1 + 1“\\n@turnwise ab12 0 0/1", "completion": "x" * 10_000}])
print("done")
`)
      const { kept, events } = heard(output)
      expect(kept).toBe('loading\ndone\n')
      expect(events).toMatchObject([
        { type: 'step', step: 1, metrics: { reward: 0.5 } },
        {
          type: 'samples',
          samples: [{ prompt: '„1 + 1“\n@turnwise ab12 0 0/1', completion: 'x'.repeat(10_000) }],
        },
      ])
      expect(Math.max(...output.split('\n').map((line) => line.length))).toBeLessThan(4096)
    },
  )

  test.skipIf(isMissing)(
    'is read once, and what did not arrive is missed by name (skipped without Python)',
    () => {
      const output = printedBy('for step in range(1, 5): own.say("step", step=step, text="y" * 9_000)')
      const damaged = output.replace('@turnwise ab12 1 1/3', '@turnwise ab12 1 1/3 damaged')
      const { events } = heard(damaged + output, 1 << 20)
      expect(events.map(({ type, step, message }) => [type, step ?? message])).toEqual([
        ['step', 1],
        ['warning', '1 message of the trainer did not arrive.'],
        ['step', 3],
        ['step', 4],
      ])
    },
  )

  test.skipIf(isMissing)('brings files of checkpoints, and no others (skipped without Python)', () => {
    const output = printedBy(`
import base64
content = bytes(range(256)) * 600
for offset in range(0, len(content), watch.FILE_PART):
    data = base64.b64encode(content[offset:offset + watch.FILE_PART]).decode()
    own.say("file", folder="output/checkpoint-3", name="inner/a.bin", offset=offset, data=data)
own.say("file", folder="output/checkpoint-3", name="../../escaped", offset=0, data="")
`)
    expect(heard(output).events.map(({ type }) => type)).toEqual(['file'])
    const file = readFileSync(path.join(folder, 'output', 'checkpoint-3', 'inner', 'a.bin'))
    expect(file.equals(Buffer.alloc(256 * 600, Buffer.from(Array.from({ length: 256 }, (_, i) => i))))).toBe(
      true,
    )
    expect(existsSync(path.join(folder, 'escaped'))).toBe(false)
  })

  test.skipIf(isMissing)(
    'stops at a word through the pipe, and ends with it (skipped without Python)',
    async () => {
      const waiting =
        'import time\nprint("ready", flush=True)\nwhile not own.is_stop_wanted(): time.sleep(0.01)\n'
      const child = spawn(interpreter, [
        '-c',
        program(`${waiting}print("stopped", flush=True)\ntime.sleep(60)`),
      ])
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
      const printed = (word: string) =>
        new Promise<void>((resolve) =>
          child.stdout.on('data', (text: Buffer) => {
            if (text.toString().includes(word)) resolve()
          }),
        )
      await printed('ready')
      const stopped = printed('stopped')
      child.stdin.write('stop\n')
      await stopped
      child.stdin.end()
      expect(await ended).toBe(70)
    },
  )
})
