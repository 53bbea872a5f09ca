/** NVIDIA's libraries are told once in a process how to multiply f32, before they are loaded. */
import { afterEach, expect, test, vi } from 'vitest'
import { runtimeEnvironment, tf32Override } from '#shared/runtimeEnvironment.ts'
import type { Device } from '#shared/device.ts'
import { chooseDevice } from '#host/models/openModel.ts'
import type * as CudaLibrary from '#engine/runtime/cudaLibrary.ts'

const cuda: Device = { kind: 'cuda', threads: 1, deviceId: 0 }
const place = import.meta.resolve('#engine/runtime/cudaLibrary.ts')

afterEach(() => vi.unstubAllEnvs())

/** As in a process that has opened nothing yet. */
async function fresh(name: string): Promise<typeof CudaLibrary> {
  vi.stubEnv(tf32Override, runtimeEnvironment[tf32Override])
  return (await import(`${place}?${name}`)) as typeof CudaLibrary
}

test('f32 stays f32, and TF32 is refused afterwards', async () => {
  const { settleProducts } = await fresh('f32')
  settleProducts({ ...cuda, kind: 'cpu' })
  settleProducts(cuda)
  expect(process.env[tf32Override]).toBe('0')
  expect(() => settleProducts({ ...cuda, tf32: true })).toThrow(
    'This process multiplies in f32 on CUDA, and a process cannot do both: TF32 was asked for too.',
  )
  expect(process.env[tf32Override]).toBe('0')
})

test('TF32 is allowed where a run chose it, and f32 refused afterwards', async () => {
  const { settleProducts } = await fresh('tf32')
  settleProducts({ ...cuda, tf32: true })
  settleProducts({ ...cuda, tf32: true })
  expect(process.env[tf32Override]).toBeUndefined()
  expect(() => settleProducts(cuda)).toThrow('This process multiplies in TF32 on CUDA')
})

test.each(['cpu', 'webgpu', 'dml', 'coreml'] as const)('%s refuses TF32 in a sentence', async (kind) => {
  await expect(chooseDevice({ kind, threads: 1, tf32: true })).rejects.toThrow(
    / does not multiply in tf32: a base in it needs CUDA\.$/,
  )
})
