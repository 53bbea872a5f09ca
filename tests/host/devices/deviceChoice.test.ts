/** What `auto` means: from what checks of devices found, and where a run computes that begins or goes on. */
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { deviceKinds, type DeviceKind, type DeviceSpeed } from '#shared/device.ts'
import type { RunEvent } from '#shared/events.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { createRunFolder, runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import type { BasePrecision } from '#shared/precision.ts'
import { autoDevice } from '#host/devices/deviceChoice.ts'
import { plannedConfig } from '#host/devices/devicePlan.ts'
import { readCheck, readProof, rememberProof, rememberSpeeds } from '#host/devices/deviceRecords.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { starterConfig } from '../runs/runFixture.ts'

const root = temporaryFolder()
const cacheDirectory = path.join(root, 'cache')
const passed = { name: 'operators/Add', passed: true, measured: 0, limit: 1, sentence: '' }
const failed = { ...passed, name: 'operators/Mul', passed: false, measured: NaN }
const place = (kind: DeviceKind) => ({ kind, deviceId: 0 })

function remember(
  kind: DeviceKind,
  speeds: readonly DeviceSpeed[],
  {
    findings = [passed],
    memoryBytes = null,
  }: { findings?: (typeof passed)[]; memoryBytes?: number | null } = {},
): void {
  rememberProof(place(kind), cacheDirectory, { findings, seconds: 1 })
  rememberSpeeds(place(kind), cacheDirectory, { speeds, memoryBytes, problem: null })
}

/** 1.6 million parameters. */
const { config: model } = openModelFolder(path.join(resourcesDirectory, 'starter'))
const auto = (base: BasePrecision = 'f32') => autoDevice({ model, base, deviceId: 0, cacheDirectory })

beforeEach(() => rmSync(cacheDirectory, { recursive: true, force: true }))
afterEach(() => vi.unstubAllEnvs())

describe('what is kept of a check', () => {
  test('is read as it was found, and failures that are no number too', () => {
    remember('webgpu', [{ parameters: 1e6, ratio: 2 }], { findings: [passed, failed] })
    expect(readCheck(place('webgpu'), cacheDirectory)).toMatchObject({
      with: expect.stringMatching(/^ONNX Runtime \d+\.\d+\.\d+/) as string,
      checks: 2,
      failures: [{ name: 'operators/Mul', measured: null, limit: 1 }],
      problem: null,
      speeds: [{ parameters: 1e6, ratio: 2 }],
    })
    expect(readCheck(place('cuda'), cacheDirectory)).toBeNull()
    expect(readCheck({ kind: 'webgpu', deviceId: 1 }, cacheDirectory)).toBeNull()
  })

  test('in TF32 is another check than in f32', () => {
    remember('cuda', [])
    const tf32 = { kind: 'cuda', deviceId: 0, tf32: true } as const
    expect(readProof(tf32, cacheDirectory)).toBeNull()
    rememberProof(tf32, cacheDirectory, { findings: [failed], seconds: 1 })
    expect(readProof(tf32, cacheDirectory)?.failures).toHaveLength(1)
    expect(readProof(place('cuda'), cacheDirectory)?.failures).toEqual([])
  })

  test('counts as never asked with another driver, and where the file tells nothing', () => {
    remember('webgpu', [{ parameters: 1e6, ratio: 2 }])
    vi.stubEnv('VK_ICD_FILENAMES', '/another/driver.json')
    expect(readProof(place('webgpu'), cacheDirectory)).toBeNull()
    expect(auto().kind).toBe('cpu')
    vi.unstubAllEnvs()
    expect(auto().kind).toBe('webgpu')
    writeFileSync(path.join(cacheDirectory, 'devices', 'webgpu-0.json'), '{')
    expect(auto().kind).toBe('cpu')
  })
})

describe('auto', () => {
  test('is CUDA for TF32, whatever is faster', () => {
    remember('webgpu', [{ parameters: 1e6, ratio: 30 }])
    expect(auto('tf32').kind).toBe('cpu')
    remember('cuda', [{ parameters: 1e6, ratio: 3 }])
    expect([auto('tf32').kind, auto().kind]).toEqual(['cuda', 'webgpu'])
  })

  test('is the CPU where nothing is known, and no device of which no record says that it has the base', () => {
    expect(auto()).toEqual({ kind: 'cpu', reason: 'No other device has passed its check on this machine.' })
    remember('webgpu', [{ parameters: 1e6, ratio: 30 }])
    expect(auto('int4').kind).toBe('webgpu')
    expect(auto('f16')).toEqual({
      kind: 'cpu',
      reason: 'No other device that passed its check on this machine supports a base in f16.',
    })
    expect(auto()).toEqual({
      kind: 'webgpu',
      reason: 'For models of this size it is 30 times as fast as the CPU here.',
    })
    remember('cuda', [{ parameters: 1e6, ratio: 20 }])
    expect(auto('f16').kind).toBe('cuda')
    expect(auto('bf16').kind).toBe('cuda')
    expect(auto().kind).toBe('webgpu')
  })

  test('goes by the largest model measured that is no larger than the one that is trained', () => {
    remember('cuda', [
      { parameters: 1e6, ratio: 0.5 },
      { parameters: 30e6, ratio: 20 },
    ])
    expect(auto()).toEqual({
      kind: 'cpu',
      reason: 'CUDA is not faster for models of this size here.',
    })
    const larger = autoDevice({ model: { ...model, layers: 400 }, base: 'f32', deviceId: 0, cacheDirectory })
    expect(larger.kind).toBe('cuda')
  })

  test('is no card whose memory is known to be too small for the weights', () => {
    remember('webgpu', [{ parameters: 1e6, ratio: 9 }], { memoryBytes: 8e6 })
    expect(auto()).toEqual({
      kind: 'cpu',
      reason: 'The model is too large for the memory of WebGPU here.',
    })
    remember('dml', [{ parameters: 1e6, ratio: 2 }], { memoryBytes: 2e9 })
    expect(auto().kind).toBe('dml')
  })

  test('counts what the base is held in: 7 billion parameters fit 24 GB in 4 and in 16 bits', () => {
    remember('cuda', [{ parameters: 1e6, ratio: 9 }], { memoryBytes: 24 * 2 ** 30 })
    const config = plannedConfig('qwen2.5-7b')
    const chosen = (['f32', 'bf16', 'int4'] as const).map(
      (base) => autoDevice({ model: config, base, deviceId: 0, cacheDirectory }).kind,
    )
    expect(chosen).toEqual(['cpu', 'cuda', 'cuda'])
  })

  test('is never a device that failed, was given up or is slower, and else the fastest', () => {
    const random = new SequentialRandom(randomStream(3))
    const others = deviceKinds.filter((kind) => kind !== 'cpu')
    const chosen = new Set<DeviceKind>()
    for (let round = 0; round < 60; round++) {
      rmSync(cacheDirectory, { recursive: true, force: true })
      const sound = new Map<DeviceKind, number>([['cpu', 1]])
      for (const kind of others) {
        const [isChecked, isRight, isWhole, isGivenUp] = [0.8, 0.7, 0.8, 0.2].map((p) => random.uniform() < p)
        const ratio = isGivenUp ? null : 4 * random.uniform()
        if (!isChecked) continue
        const problem = isWhole ? null : 'It died.'
        rememberProof(place(kind), cacheDirectory, {
          findings: [isRight ? passed : failed],
          seconds: 1,
          problem,
        })
        rememberSpeeds(place(kind), cacheDirectory, {
          speeds: [{ parameters: 1e6, ratio }],
          memoryBytes: null,
          problem: null,
        })
        if (isRight && isWhole && ratio !== null) sound.set(kind, ratio)
      }
      const [[fastest]] = [...sound].toSorted(([, a], [, b]) => b - a) as [[DeviceKind, number]]
      expect(auto().kind).toBe(fastest)
      chosen.add(fastest)
    }
    expect(chosen.size).toBe(deviceKinds.length)
  })
})

describe('a run', () => {
  const config = {
    ...starterConfig,
    evaluation: { every: 0, rows: 1 },
    checkpoints: { every: 1, keepLast: 5 },
    device: { threads: 1 },
    steps: 1,
  }
  let missing: DeviceKind
  beforeAll(() => {
    missing = process.platform === 'win32' ? 'coreml' : 'dml'
  })

  async function trainRun({ directory }: RunFolder, resumeFrom: string | null = null): Promise<RunEvent[]> {
    const events: RunEvent[] = []
    const request = { runDirectory: directory, cacheDirectory, resumeFrom }
    for await (const event of runTraining(request, createControl())) events.push(event)
    return events
  }
  const saidBy = (events: readonly RunEvent[]) => events.filter((event) => event.type === 'device')
  const newest = (run: RunFolder) => resolveResume(root, run.id).checkpoint?.directory ?? null

  test('of auto takes the CPU where the chosen device is gone, and says both', async () => {
    remember(missing, [{ parameters: 1e6, ratio: 9 }])
    const events = await trainRun(createRunFolder(root, config))
    expect(saidBy(events)).toEqual([
      {
        type: 'device',
        step: 0,
        device: { kind: 'cpu', threads: 1, deviceId: 0 },
        reason: expect.stringMatching(
          / is not available\. ONNX Runtime supports it only on \w+\.$/,
        ) as string,
      },
    ])
    expect(events.filter(({ type }) => type === 'step')).toHaveLength(1)
  })

  test('goes on where it began, whatever would be faster by then, and says so only once', async () => {
    const run = createRunFolder(root, config)
    expect(saidBy(await trainRun(run))).toHaveLength(1)
    remember(missing, [{ parameters: 1e6, ratio: 9 }])
    expect(saidBy(await trainRun(run, newest(run)))).toEqual([])
  })

  test('that began on a device that is gone does not go on elsewhere', async () => {
    const run = createRunFolder(root, config)
    await trainRun(run)
    const { events } = runPaths(run.directory)
    const told = readFileSync(events, 'utf8').replace('"kind":"cpu"', `"kind":"${missing}"`)
    writeFileSync(events, '')
    appendFileSync(events, told)
    await expect(trainRun(run, newest(run))).rejects.toMatchObject({
      code: 'device/unavailable',
      hint: expect.stringMatching(/^The run started on \w+.* can only continue there.*fork it/) as string,
    })
  })

  test('of a device that is named ends where that cannot be had', async () => {
    const run = createRunFolder(root, { ...config, device: { kind: missing } })
    await expect(trainRun(run)).rejects.toMatchObject({ code: 'device/unavailable' })
  })
})
