/** bench/device, on the CPU: the folder is run as on a bare machine. */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../host/files/temporaryFolder.ts'
import { eachOf, isWhole, wholeTitle } from '../sweeps.ts'

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
  expect(stdout).toContain('Compared with the CPU in f32: 128 of 128 greedy tokens equal')
  expect(stdout).toContain('PyTorch in bf16: spawn no-such-python ENOENT')
})

const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, [path.join(root, 'bench/device/run.mjs'), ...args], {
    encoding: 'utf8',
    env: { ...process.env, NVIDIA_TF32_OVERRIDE: '0', TORCH_ALLOW_TF32_CUBLAS_OVERRIDE: '1' },
  })

const weights = 'makes the weights that PyTorch needs, and leaves its numbers to it'
test.runIf(isWhole)(wholeTitle(weights), () => {
  const [python, out, data] = ['python', 'torch.json', 'new data'].map((name) => path.join(folder, name)) as [
    string,
    string,
    string,
  ]
  const seen = '\\"seen\\": \\"$NVIDIA_TF32_OVERRIDE$TORCH_ALLOW_TF32_CUBLAS_OVERRIDE\\"'
  writeFileSync(python, `#!/bin/sh\necho "{${seen}, \\"card\\": \\"stand-in\\", \\"logprobs\\": [0]}"\n`, {
    mode: 0o755,
  })
  const given = ['--device', 'cpu', '--shape', 'tiny-llama', '--only', 'torch', '--lengths', '2x64']
  const { status, stdout } = run(...given, '--python', python, '--out', out, '--data', data)
  expect(status).toBe(0)
  expect(stdout).toMatch(/PyTorch in f32 on stand-in: log-probabilities [\d.e+-]+ from ours/)
  expect(existsSync(path.join(data, 'cache/bench/tiny-llama/config.json'))).toBe(true)
  const { parts } = JSON.parse(readFileSync(out, 'utf8')) as {
    parts: { torch: Readonly<Record<'f32' | 'tf32' | 'bf16', { seen: string }>> }
  }
  const { f32, tf32, bf16 } = parts.torch
  expect([f32, tf32, bf16].map((each) => each.seen)).toEqual(['', '', ''])
})

test('says whose shape has no weights', () => {
  const out = path.join(folder, 'no-shape.json')
  const given = ['--device', 'cpu', '--shape', 'large', '--only', 'torch', '--stop', '--data', folder]
  const { status, stdout } = run(...given, '--out', out)
  expect(status).toBe(1)
  expect(stdout).toMatch(/torch failed: The weights of large could not be made: There is no model shape/)
})

const refused: readonly (readonly [readonly string[], RegExp])[] = [
  [[], /^Usage: node bench\/device\/run\.mjs/],
  [['--only', 'gpu'], /^run\.mjs: --only: there is no “gpu”\. There are selftest,/],
  [['--torch', 'selftest'], /^run\.mjs: --torch: there is no “selftest”/],
  [['--seconds', 'abc'], /^run\.mjs: --seconds takes a whole number/],
  [['--lengths', 'x'], /^run\.mjs: --lengths takes ROWSxTOKENS/],
  [['--fast'], /^run\.mjs: Unknown option '--fast'/],
  [['--shape'], /^run\.mjs: Option '--shape <value>' argument missing/],
  [['--out', '/dev/null/results.json'], /^run\.mjs: A folder could not be made: E/],
]
const isAlways = ([given]: (typeof refused)[number]) => ['--only', '--seconds'].includes(given[0] ?? '')

eachOf(test, { rows: refused, isAlways }, 'refuses %j with a sentence', (given, sentence) => {
  const { status, stderr } = run(...given)
  expect(stderr).toMatch(sentence)
  expect(stderr).not.toMatch(/^ +at /m)
  expect(status).toBe(2)
})

/** A list of two packages: the runtime's provider and one library of NVIDIA's, with the files that it lists. */
function smallLibrary(): { readonly list: string; readonly provider: string } {
  const provider = path.join(folder, 'provider')
  mkdirSync(provider)
  const whole = JSON.parse(
    readFileSync(path.join(root, 'resources/libraries/cuda-linux-x64.json'), 'utf8'),
  ) as { wheels: { files: { name: string }[] }[] }
  const [runtime, nvidia] = whole.wheels.map(({ files, ...wheel }) => ({
    ...wheel,
    files: files.map((file) => {
      const text = `what ${file.name} has`
      return { ...file, sizeBytes: text.length, sha256: createHash('sha256').update(text).digest('hex') }
    }),
  }))
  for (const { name } of runtime?.files ?? []) writeFileSync(path.join(provider, name), `what ${name} has`)
  const list = path.join(folder, 'list.json')
  writeFileSync(list, JSON.stringify({ ...whole, wheels: [runtime, nvidia] }))
  return { list, provider }
}

test.skipIf(process.platform !== 'linux')(
  'makes a CUDA library that the program accepts, and links what comes later',
  () => {
    const { list, provider } = smallLibrary()
    const data = path.join(folder, "cuda's data")
    const nvidia = path.join(folder, 'nvidia/lib')
    const place = (from: string) =>
      spawnSync(process.execPath, [path.join(root, 'bench/device/placeCuda.mjs'), provider, data, from], {
        encoding: 'utf8',
        env: { ...process.env, TURNWISE_CUDA_MANIFEST: list },
      })
    const [changed = ''] = readdirSync(provider)
    writeFileSync(path.join(provider, changed), 'another build')
    expect(place('').stderr).toContain(
      `${changed} is not the file that the list has. Pack the provider anew.`,
    )
    writeFileSync(path.join(provider, changed), `what ${changed} has`)
    const first = place('')
    expect(first.status, first.stderr).toBe(0)
    expect(first.stdout).toMatch(/Linked 0 of NVIDIA’s \d+ libraries from nowhere/)
    const [, missing = ''] = /Missing: ([^,\n]+?)[,.]*(?: |$)/m.exec(first.stdout) ?? []
    mkdirSync(nvidia, { recursive: true })
    writeFileSync(path.join(nvidia, missing), 'a library')
    const second = place(path.dirname(nvidia))
    expect(second.status, second.stderr).toBe(0)
    expect(second.stdout).toMatch(/Linked 1 of NVIDIA’s/)
    expect(readdirSync(path.join(data, 'nvidia'))).toEqual([missing])
    expect(readdirSync(path.join(data, 'libraries/cuda'))).not.toContain(missing)
  },
)
