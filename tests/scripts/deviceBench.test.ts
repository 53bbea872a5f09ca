/** bench/device, on the CPU: the folder is run as on a bare machine. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../host/files/temporaryFolder.ts'

const root = path.join(import.meta.dirname, '../..')
const folder = temporaryFolder()

test('writes one JSON and one table, and a part that fails does not end the others', async () => {
  const out = path.join(folder, 'results.json')
  const { stdout } = await promisify(execFile)(process.execPath, [
    path.join(root, 'bench/device/run.mjs'),
    ...['--device', 'cpu', '--shape', 'tiny-llama', '--only', 'parity,step,torch', '--steps', '1'],
    ...['--python', 'no-such-python', '--out', out, '--data', path.join(folder, 'data')],
  ])
  const { parts } = JSON.parse(readFileSync(out, 'utf8')) as {
    parts: { step: { step: { seconds: number } }; parity: { parity: { sameTokens: number } } }
  }
  expect(parts.step.step.seconds).toBeGreaterThan(0)
  expect(parts.parity.parity.sameTokens).toBe(128)
  expect(stdout).toContain('| tiny-llama on cpu | turnwise f32 | PyTorch f32 | PyTorch tf32 | PyTorch bf16 |')
  expect(stdout).toMatch(/^\| GRPO step, s \| [\d.]+ \| {2}\| {2}\| {2}\|$/m)
  expect(stdout).toContain('Compared with the CPU: 128 of 128 greedy tokens equal')
  expect(stdout).toContain('PyTorch in bf16: spawn no-such-python ENOENT')
})
