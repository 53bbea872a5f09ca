import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeManifest } from '../../../scripts/cuda/makeManifest.ts'
import { eventually } from '../../eventually.ts'
import { startIndex, tinyRecipe, type LoopbackIndex } from './loopbackIndex.ts'
import { collect, createHostFixture } from '../api/hostFixture.ts'

const fixture = createHostFixture()
const { client, host } = fixture
let server: LoopbackIndex

beforeAll(async () => {
  server = await startIndex()
  const list = fixture.write('list.json', JSON.stringify(await makeManifest(tinyRecipe, server.index)))
  process.env['TURNWISE_CUDA_MANIFEST'] = list
})
afterAll(async () => {
  delete process.env['TURNWISE_CUDA_MANIFEST']
  await fixture[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const cudaReason = async () => {
  const { devices } = await client.call('system.info')
  const cuda = devices.find(({ kind }) => kind === 'cuda')
  return cuda?.available === false ? cuda.reason : ''
}
const isOffered = process.platform === 'linux' && process.arch === 'x64'

describe('the CUDA library in a host', () => {
  test('is fetched from the index of the settings, which must be one that can be asked', async () => {
    await client.call('settings.set', { key: 'packages.index', value: 'http://mirror.example/simple' })
    await expect(collect(client.stream('libraries.installCuda'))).rejects.toMatchObject({
      code: 'usage/invalid',
    })
    if (isOffered) expect(await cudaReason()).toContain('Its library is not installed.')

    await client.call('settings.set', { key: 'packages.index', value: server.index })
    const items = await collect(client.stream('libraries.installCuda'))
    const { done, total } = items.at(-1)?.progress ?? { done: 0, total: 1 }
    expect(done).toBe(total)
    expect(await client.call('libraries.cuda')).toMatchObject({ isInstalled: true, downloadBytes: 0 })
    expect((await client.call('system.load')).outboundRequests).toBe(0)
    const stored = await client.call('system.storage')
    expect(stored.find(({ folder }) => path.basename(folder) === 'libraries')?.sizeBytes).toBeGreaterThan(
      500_000,
    )
  })

  test('is where processes that compute load the runtime from, and stays while one trains', async () => {
    if (isOffered)
      expect(await cudaReason()).toMatch(
        /No NVIDIA driver is installed here|of the CUDA library cannot be loaded/,
      )
    const runId = await fixture.start()
    if (process.platform === 'linux')
      await eventually(() => {
        const { pid } = host.supervisor.status(runId) ?? { pid: null }
        const maps = readFileSync(`/proc/${String(pid)}/maps`, 'utf8')
        expect(maps).toContain(path.join(fixture.directory, 'libraries/cuda/libonnxruntime.so.1'))
        expect(maps).not.toContain('node_modules/onnxruntime-node/bin')
      })
    await expect(client.call('libraries.removeCuda')).rejects.toMatchObject({ code: 'run/busy' })
    expect((await fixture.reached(runId, 'finished', 'failed')).status).toBe('finished')
    await fixture.left()
    expect((await client.call('libraries.removeCuda')).freedBytes).toBeGreaterThan(500_000)
    if (isOffered) expect(await cudaReason()).toContain('Its library is not installed.')
    // What loads the runtime is no process of the host's own.
    if (process.platform === 'linux')
      expect(readFileSync('/proc/self/maps', 'utf8')).not.toContain('onnxruntime')
  })

  test('is not offered where there is no list for the system', async () => {
    process.env['TURNWISE_CUDA_MANIFEST'] = path.join(fixture.directory, 'none.json')
    expect(await client.call('libraries.cuda')).toBeNull()
    await expect(collect(client.stream('libraries.installCuda'))).rejects.toMatchObject({
      code: 'device/unavailable',
    })
  })
})
