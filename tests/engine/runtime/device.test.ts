import { InferenceSession, listSupportedBackends } from '#engine/runtime/onnxRuntime.ts'
import { cpus } from 'node:os'
import { describe, expect, test, vi } from 'vitest'
import { physicalCores, processorFeatures } from '#engine/processor.ts'
import {
  availableDevices,
  defaultDevice,
  int8Form,
  requireDevice,
  sessionOptions,
} from '#engine/runtime/device.ts'
import { deviceKinds, deviceTitles, type Device, type DeviceKind } from '#shared/device.ts'

const device = (kind: DeviceKind): Device => ({ kind, threads: 1, deviceId: 0 })

describe('devices', () => {
  test('the CPU works', async () => {
    await requireDevice(defaultDevice())
  })

  test('every kind either works or says what is missing and what to do; nothing falls back', async () => {
    const reports = await availableDevices()
    expect(reports.map(({ kind }) => kind)).toEqual([...deviceKinds])
    for (const report of reports) {
      if (report.available) {
        await requireDevice(device(report.kind))
        continue
      }
      expect(report.reason.length).toBeGreaterThan(10)
      expect(report.reason).not.toMatch(/onnxruntime_src|\.cc:\d/)
      expect(report.hint.length).toBeGreaterThan(20)
      await expect(requireDevice(device(report.kind))).rejects.toMatchObject({
        code: 'device/unavailable',
        message: `The device ${deviceTitles[report.kind]} is not available. ${report.reason}`,
      })
    }
  })

  test('a kind this build does not have is unavailable', async () => {
    const built = new Set(listSupportedBackends().map(({ name }) => name))
    const absent = deviceKinds.filter((kind) => !built.has(kind))
    expect(absent.length).toBeGreaterThan(0) // no platform has both DirectML and Core ML
    for (const kind of absent) {
      await expect(requireDevice(device(kind))).rejects.toMatchObject({ code: 'device/unavailable' })
    }
  })

  test('a GPU that does not exist is unavailable, even where its kind is', async () => {
    await expect(requireDevice({ kind: 'cuda', threads: 1, deviceId: 99 })).rejects.toMatchObject({
      code: 'device/unavailable',
    })
  })
})

describe('8-bit matrices', () => {
  test('have a scale for each row only where the processor has a unit for bytes', () => {
    for (const kind of deviceKinds.filter((kind) => kind !== 'cpu'))
      expect(int8Form(device(kind))).toBe('blocks')
    const features = processorFeatures()
    const hasUnit = features.has('amx_int8') || features.has('avx512_vnni')
    expect(int8Form(device('cpu'))).toBe(hasUnit ? 'rows' : 'blocks')
  })

  test.runIf(process.platform === 'linux' && process.arch === 'x64')(
    'the system tells what a processor can do',
    () => {
      expect([...processorFeatures()]).toEqual(expect.arrayContaining(['sse2', 'fpu']))
    },
  )
})

describe('session options', () => {
  test('keep no block for the largest shape, give up their threads and flush denormals', () => {
    for (const purpose of ['learn', 'learn-stored', 'learn-packed', 'generate', 'weights'] as const) {
      expect(sessionOptions(device('cpu'), purpose)).toMatchObject({
        enableMemPattern: false,
        intraOpNumThreads: 1,
        extra: { session: { set_denormal_as_zero: '1', force_spinning_stop: '1' } },
      })
    }
  })

  test('learning packs weights only where asked to; only turning weights to f32 runs unoptimised', () => {
    const unpacked = { extra: { session: { disable_prepacking: '1' } } }
    for (const purpose of ['learn', 'learn-stored'] as const) {
      expect(sessionOptions(device('cpu'), purpose)).toMatchObject({
        ...unpacked,
        graphOptimizationLevel: 'all',
      })
    }
    expect(sessionOptions(device('cpu'), 'weights')).toMatchObject({
      ...unpacked,
      graphOptimizationLevel: 'disabled',
    })
    for (const purpose of ['learn-packed', 'generate'] as const)
      expect(sessionOptions(device('cpu'), purpose).extra).not.toMatchObject(unpacked.extra)
    const { optimization } = sessionOptions(device('cpu'), 'learn-stored').extra as Record<string, unknown>
    expect(optimization).toBeDefined()
    expect(sessionOptions(device('cpu'), 'learn-packed').extra).toMatchObject({ optimization })
  })

  test('name the device first and leave the rest to the CPU', () => {
    const providers = (kind: DeviceKind) =>
      sessionOptions({ ...device(kind), deviceId: 1 }, 'learn').executionProviders
    expect(providers('cpu')).toEqual(['cpu'])
    expect(providers('cuda')).toEqual([{ name: 'cuda', deviceId: 1 }, 'cpu'])
    expect(providers('webgpu')).toEqual(['webgpu', 'cpu'])
  })

  test.each([
    { kind: 'cpu', threads: 0, deviceId: 0 },
    { kind: 'cpu', threads: 1.5, deviceId: 0 },
    { kind: 'cuda', threads: 1, deviceId: -1 },
  ] as const)('refuse $threads threads on device $deviceId', (impossible) => {
    expect(() => sessionOptions(impossible, 'learn')).toThrow(/^Expected/)
  })
})

test('physical cores are at least one and no more than the logical processors', () => {
  expect(physicalCores()).toBeGreaterThanOrEqual(1)
  expect(physicalCores()).toBeLessThanOrEqual(cpus().length)
})

test('threads are one per physical core, or fewer where OMP_NUM_THREADS says so', () => {
  const threadsFor = (wanted: string) => {
    vi.stubEnv('OMP_NUM_THREADS', wanted)
    return defaultDevice().threads
  }
  expect(threadsFor('1')).toBe(1)
  expect(threadsFor(' 1,4')).toBe(1)
  for (const wanted of ['', '0', '-1', 'many', '1000000']) expect(threadsFor(wanted)).toBe(physicalCores())
  vi.unstubAllEnvs()
})

test('an unusable model is an ordinary exception, not a crash', async () => {
  const options = sessionOptions(defaultDevice(), 'learn')
  await expect(InferenceSession.create(Uint8Array.from([1, 2, 3]), options)).rejects.toThrow()
})
