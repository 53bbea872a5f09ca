/** What graphics cards tell of themselves: NVIDIA's by its program, AMD's by files; nothing where it may be another's. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { CardMeter, nvidiaCards } from '#host/processes/cardLoad.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const folder = temporaryFolder()
let made = 0

/** A folder such as /sys/class/drm. */
function drm(...cards: readonly Readonly<Record<string, string>>[]): string {
  const root = path.join(folder, `drm${String(made++)}`)
  mkdirSync(root, { recursive: true })
  mkdirSync(path.join(root, 'card0-HDMI-A-1'))
  for (const [index, files] of cards.entries()) {
    const device = path.join(root, `card${String(index)}`, 'device')
    mkdirSync(device, { recursive: true })
    for (const [name, text] of Object.entries(files)) writeFileSync(path.join(device, name), `${text}\n`)
  }
  return root
}

/** A program of that name that says it, the only one on the path. */
function nvidiaSmi(says: string): void {
  const bin = path.join(folder, `bin${String(made++)}`)
  mkdirSync(bin)
  const file = path.join(bin, 'nvidia-smi')
  writeFileSync(file, `#!/bin/sh\nprintf '${says}'\n`)
  chmodSync(file, 0o755)
  vi.stubEnv('PATH', bin)
}

const amd = {
  vendor: '0x1002',
  mem_info_vram_used: '1000',
  mem_info_vram_total: '8000',
  gpu_busy_percent: '37',
}
const intel = { vendor: '0x8086' }
const nvidia = { vendor: '0x10de' }

async function read(meter: CardMeter, kind: 'cuda' | 'webgpu' | 'cpu') {
  await meter.refresh()
  return meter.read(kind)
}

afterEach(() => vi.unstubAllEnvs())

test('lines of nvidia-smi are read, and what it does not know is nothing', () => {
  expect(nvidiaCards('1311, 24564, 57\n')).toEqual([
    { usedBytes: 1311 * 2 ** 20, totalBytes: 24564 * 2 ** 20, share: 0.57 },
  ])
  expect(nvidiaCards('1311, 24564, [N/A]')).toMatchObject([{ share: null }])
  expect(nvidiaCards('[N/A], [N/A], 3\nNo devices were found\n\n')).toEqual([])
})

describe.skipIf(process.platform !== 'linux')('on Linux', () => {
  test('the only card tells, of NVIDIA or of AMD', async () => {
    nvidiaSmi('100, 1000, 5')
    const withNvidia = new CardMeter(drm(nvidia))
    expect(await read(withNvidia, 'cuda')).toMatchObject({ share: 0.05 })
    expect(await read(withNvidia, 'webgpu')).toMatchObject({ share: 0.05 })
    expect(await read(withNvidia, 'cpu')).toBeNull()
    vi.stubEnv('PATH', folder)
    expect(await read(new CardMeter(drm(amd)), 'webgpu')).toEqual({
      usedBytes: 1000,
      totalBytes: 8000,
      share: 0.37,
    })
  })

  test('nothing is said where it may be another card, or none', async () => {
    nvidiaSmi('100, 1000, 5')
    expect(await read(new CardMeter(drm(nvidia, intel)), 'webgpu')).toBeNull()
    expect(await read(new CardMeter(drm(nvidia, amd)), 'webgpu')).toBeNull()
    expect(await read(new CardMeter(drm(nvidia, amd)), 'cuda')).not.toBeNull()
    nvidiaSmi('100, 1000, 5\\n200, 1000, 6')
    expect(await read(new CardMeter(drm(nvidia, nvidia)), 'cuda')).toBeNull()
    vi.stubEnv('PATH', folder)
    expect(await read(new CardMeter(drm(intel)), 'webgpu')).toBeNull()
    expect(await read(new CardMeter(path.join(folder, 'none')), 'webgpu')).toBeNull()
    vi.stubEnv('VK_ICD_FILENAMES', '/a/software/gpu.json')
    expect(await read(new CardMeter(drm(amd)), 'webgpu')).toBeNull()
  })
})
