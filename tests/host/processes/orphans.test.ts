import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ownScript } from '#host/processes/childProcess.ts'
import { eventually } from '../../eventually.ts'
import { eachOf } from '../../sweeps.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-orphans-'))
const model = path.join(folder, 'model')

beforeAll(() => {
  cpSync('resources/starter', model, { recursive: true })
  const file = path.join(model, 'tokenizer.json')
  const json = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
  const pattern = { Regex: '[a-z]*[a-y]*[a-x]*[a-w]*[a-v]*[a-u]*!' }
  const split = { type: 'Split', pattern, behavior: 'Isolated', invert: false }
  const bytes = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }
  json['pre_tokenizer'] = { type: 'Sequence', pretokenizers: [split, bytes] }
  writeFileSync(file, JSON.stringify(json))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const isRunning = (pid: number): boolean => {
  try {
    // What has ended and was not waited for yet is still listed.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

eachOf(
  test.runIf(process.platform === 'linux'),
  { rows: ['text', 'question', 'sandbox'], isAlways: (kind) => kind === 'sandbox' },
  'a %s process that never comes to an end ends with a host that is killed',
  async (kind) => {
    const script = ownScript(path.join(import.meta.dirname, 'busyProcess.ts'))
    const host = spawn(process.execPath, [script, kind, model], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [said] = (await once(host.stdout, 'data')) as [Buffer]
    const [pid = 0] = said.toString('utf8').trim().split('\n').map(Number)
    try {
      expect(isRunning(pid)).toBe(true)
      host.kill('SIGKILL')
      await once(host, 'exit')
      await eventually(() => expect(isRunning(pid)).toBe(false))
    } finally {
      if (isRunning(pid)) process.kill(pid, 'SIGKILL')
    }
  },
)
