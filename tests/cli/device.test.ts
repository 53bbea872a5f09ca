import { existsSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { deviceKinds } from '#shared/device.ts'
import { makeManifest } from '../../scripts/cuda/makeManifest.ts'
import { eventually } from '../eventually.ts'
import { honest, startIndex, tinyRecipe, type LoopbackIndex } from '../host/devices/loopbackIndex.ts'
import { answer, createWorkplace, killGroup, linesOf } from './turnwise.ts'

const place = createWorkplace()
const libraries = place.path('home/libraries')
let server: LoopbackIndex

beforeAll(async () => {
  server = await startIndex()
  process.env['TURNWISE_CUDA_MANIFEST'] = place.write(
    'list.json',
    await makeManifest(tinyRecipe, server.index),
  )
})
afterAll(async () => {
  delete process.env['TURNWISE_CUDA_MANIFEST']
  await server[Symbol.asyncDispose]()
  place[Symbol.dispose]()
})
beforeEach(() => {
  Object.assign(server.fault, { ...honest(), asked: server.fault.asked })
  server.fault.asked.length = 0
})

const install = (...more: readonly string[]) => [
  'device',
  'install',
  'cuda',
  '--index',
  server.index,
  ...more,
]

describe('device install cuda', () => {
  test('tells sizes, and without --yes asks nobody', async () => {
    const done = await place.run(...install())
    expect([done.status, server.fault.asked]).toEqual([2, []])
    expect(done.stderr).toContain(`0.5 MB to download from ${server.index}`)
    expect(done.stderr).toContain('580.65.06 or newer')
    expect(done.stderr).toContain('Add --yes')
  })

  test('goes on after it was killed; meanwhile a second one is told', async () => {
    server.fault.pauseMs = Infinity
    const first = place.start(...install('--yes'))
    const part = path.join(libraries, 'cuda-unfinished', 'libonnxruntime_providers_cuda.so.part')
    await eventually(() => expect(statSync(part).size).toBeGreaterThan(19_000))
    const second = await place.run(...install('--yes'))
    expect(second.status).toBe(1)
    expect(second.stderr).toMatch(/Another process is installing or removing the CUDA library/)
    killGroup(first)
    await first.finished
    expect(existsSync(path.join(libraries, 'cuda'))).toBe(false)
    server.fault.pauseMs = 0
    server.fault.asked.length = 0
    const third = await place.run(...install('--yes', '--json'))
    expect([third.status, linesOf(third.stdout)]).toEqual([
      0,
      [
        expect.objectContaining({
          isInstalled: true,
          index: server.index,
          device: expect.objectContaining({ kind: 'cuda', available: false }) as object,
        }),
      ],
    ])
    const [, from, to] = /runtime_gpu.* bytes=(\d+)-(\d+)/.exec(server.fault.asked.join('\n')) ?? []
    expect(Number(to) - Number(from)).toBeLessThan(300_000 - 19_000)
    expect(readdirSync(libraries)).toEqual(['cuda'])
  })

  test('is removed, and what it took up is told', async () => {
    const done = await place.run('device', 'remove', 'cuda')
    expect([done.status, done.stdout]).toEqual([0, expect.stringMatching(/Removed .* freed \d+ MB/)])
    expect(readdirSync(libraries)).toEqual([])
    expect((await place.run('device', 'remove', 'cuda')).stdout).toContain('not installed')
  })

  test('is for CUDA alone', async () => {
    const others = await Promise.all(['webgpu', 'tpu'].map((device) => answer('device', 'install', device)))
    expect(others.map(({ status, stderr }) => [status, stderr.split('\n')[0]])).toEqual([
      [
        2,
        "turnwise: command-argument value 'webgpu' is invalid for argument 'DEVICE'. Allowed choices are cuda.",
      ],
      [
        2,
        "turnwise: command-argument value 'tpu' is invalid for argument 'DEVICE'. Allowed choices are cuda.",
      ],
    ])
  })
})

describe('device plan', () => {
  const plan = (...words: readonly string[]) => answer('device', 'plan', '--shape', 'qwen2.5-7b', ...words)

  test('says what a card takes in the unit of all its numbers', async () => {
    const { status, stdout } = await plan('--memory', '24', '--base', 'int4')
    expect(status).toBe(0)
    const [, total] = /^Total, .* (\S+) GB$/m.exec(stdout) ?? []
    expect(Number(total)).toBeGreaterThan(24)
    expect(stdout).toMatch(/^It fits 24 GiB, which are 25\.77 GB\.$/m)
    expect((await plan('--memory', '8')).stdout).toMatch(/^It does not fit 8 GiB, which are 8\.59 GB\.$/m)
  })

  test('plans the sequences asked for, and refuses what a run refuses', async () => {
    expect((await plan('--tokens', '16384')).stdout).toContain('Learning from 16384 tokens')
    const [long, base] = [await plan('--tokens', '40000'), await plan('--base', 'bf16', '--device', 'webgpu')]
    expect([long.status, long.stdout, base.status, base.stdout]).toEqual([1, '', 1, ''])
    expect(long.stderr).toContain('A context of 40000 tokens exceeds the 32768 that qwen2.5-7b allows.')
    expect(base.stderr).toContain('WebGPU does not multiply in bf16: a base in it needs CUDA.')
  })

  test('without --tokens takes no more than the model reads', async () => {
    const starter = path.resolve(import.meta.dirname, '../../resources/starter')
    const { stdout } = await answer('device', 'plan', '--shape', starter, '--json')
    expect(linesOf(stdout)).toEqual([expect.objectContaining({ length: 128, fits: true })])
  })
})

describe('device list and check', () => {
  const isOffered = process.platform === 'linux' && process.arch === 'x64'

  test('say of every device what it is and what is missing, with the size of what can be fetched', async () => {
    const { stdout } = await place.run('device', 'list')
    for (const kind of deviceKinds) expect(stdout).toMatch(new RegExp(`^${kind} +\\S`, 'm'))
    expect(
      stdout.match(/Experimental: (?:run by us on one card, an NVIDIA H100|never run on a card by us)\./g),
    ).toHaveLength(deviceKinds.length - 1)
    expect(stdout).toMatch(/^cuda(?:.*\n +)+.*NVIDIA_TF32_OVERRIDE=0/m)
    if (!isOffered) return
    expect(stdout).toMatch(
      /^cuda +Not available\. Its library is not installed\.\n.*\n +The library: 0\.5 MB to download, 46\.\d MB on disk/m,
    )
  })

  test('a check is kept, and listed', async () => {
    const done = await place.run('device', 'check', 'cpu')
    expect([done.status, done.stdout]).toEqual([
      0,
      expect.stringMatching(/CPU: All \d+ checks passed on \d{4}-/),
    ])
    const [listed] = linesOf((await place.run('device', 'list', '--json')).stdout) as [{ devices: object[] }]
    expect(listed.devices[0]).toMatchObject({
      kind: 'cpu',
      available: true,
      check: { failures: [], problem: null },
    })
    expect(listed).toHaveProperty('cudaLibrary')
  })

  test('a device that is not there is refused in a sentence', async () => {
    const absent = process.platform === 'darwin' ? 'dml' : 'coreml'
    const done = await place.run('device', 'check', absent)
    expect([done.status, done.stderr]).toEqual([
      1,
      expect.stringMatching(/is not available\. ONNX Runtime supports it only on \w+\./),
    ])
  })
})

test('device plan compares the memory in the units of its lines', async () => {
  const plan = (base: string) =>
    answer('device', 'plan', '--shape', 'qwen2.5-7b', '--memory', '24', '--base', base)
  const fitting = await plan('int4')
  expect(fitting.status).toBe(0)
  expect(fitting.stdout).toMatch(/Total, with what is set aside +25\.\d\d GB/)
  expect(fitting.stdout).toContain('It fits 24 GiB, which are 25.77 GB.')
  expect((await plan('f32')).stdout).toContain('It does not fit 24 GiB')
})
