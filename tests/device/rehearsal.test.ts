import { createHash } from 'node:crypto'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { missingSoftwareGpu, softwareGpu } from './softwareDriver.ts'
import { isWhole, wholeTitle } from '../sweeps.ts'

const root = path.resolve(import.meta.dirname, '../..')
const device = (name: string) => path.join(root, 'bench/device', name)

/** In a network without a way out, and without this machine's Node or packages. */
const alone = (command: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  spawnSync('unshare', ['--net', ...command], {
    env: { HOME: '/nowhere', PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...softwareGpu, ...env },
    encoding: 'utf8',
  })

const whyNot =
  missingSoftwareGpu ??
  (process.platform === 'linux' && alone(['true']).status === 0
    ? null
    : 'no network namespaces for this user')
const where = whyNot === null ? '' : ` (skipped: ${whyNot})`

/** A list like the committed one whose files are a few bytes, and the provider's: enough to be accepted, not to be loaded. */
function emptyProvider(folder: string): { readonly provider: string; readonly list: string } {
  const committed = JSON.parse(
    readFileSync(path.join(root, 'resources/libraries/cuda-linux-x64.json'), 'utf8'),
  ) as { readonly wheels: readonly { readonly files: readonly { readonly name: string }[] }[] }
  const wheels = committed.wheels.map((wheel) => ({
    ...wheel,
    files: wheel.files.map((file) => {
      const sha256 = createHash('sha256').update(file.name).digest('hex')
      return { ...file, sizeBytes: file.name.length, sha256 }
    }),
  }))
  const [provider, list] = [path.join(folder, 'provider'), path.join(folder, 'list.json')]
  mkdirSync(provider)
  for (const { name } of wheels[0]?.files ?? []) writeFileSync(path.join(provider, name), name)
  writeFileSync(list, JSON.stringify({ ...committed, wheels }))
  return { provider, list }
}

const place = mkdtempSync(path.join(tmpdir(), 'turnwise-rehearsal-'))
afterAll(() => {
  rmSync(place, { recursive: true })
})

describe.skipIf(whyNot !== null)(`the day with a card${where}`, () => {
  // In every run deviceKit.test.ts has each of its scripts.
  const day = 'is packed in parts, unpacked where there is nothing, measured, and leaves what a failure needs'
  test.runIf(isWhole)(wholeTitle(day), () => {
    const [parts, target, out] = ['parts', 'there', 'out'].map((name) => path.join(place, name)) as [
      string,
      string,
      string,
    ]
    const { provider, list } = emptyProvider(place)
    execFileSync(device('pack.sh'), [parts, '--part', '30M', '--cuda', provider], {
      env: { ...process.env, COMPRESS: 'cat', TURNWISE_CUDA_MANIFEST: list },
    })
    const packed = readdirSync(parts).filter((name) => name !== 'ORDER')
    expect(packed.toSorted().slice(0, 2)).toEqual(['SHA256SUMS', 'base.00'])
    for (const name of packed) expect(statSync(path.join(parts, name)).size).toBeLessThanOrEqual(30 * 2 ** 20)
    const order = readFileSync(path.join(parts, 'ORDER'), 'utf8').split('\n')
    expect(order.filter((line) => packed.includes(line))).toEqual(packed.toSorted())

    const nvidia = path.join(place, 'nvidia')
    mkdirSync(nvidia)
    writeFileSync(path.join(nvidia, 'libcudart.so.13'), 'a library')
    const unpacked = alone([device('unpack.sh'), parts, target], {
      NVIDIA_LIBRARIES: nvidia,
      TURNWISE_CUDA_MANIFEST: list,
    })
    expect(unpacked.status, unpacked.stderr).toBe(0)
    expect(unpacked.stdout).toContain('Linked 1 of NVIDIA’s 15 libraries')

    const given = [
      '--shape',
      'tiny-llama',
      '--minutes',
      '90',
      '--parts',
      'parity',
      '--only',
      'webgpu,cuda,bf16',
    ]
    const measured = alone([path.join(target, 'bench/device/measure.sh'), out, ...given])
    const tables = readFileSync(path.join(out, 'tables.txt'), 'utf8')
    expect(measured.status, measured.stderr).toBe(1) // there is no driver for CUDA here
    expect(tables).toContain('128 of 128 greedy tokens equal')
    expect(tables).toMatch(/\| matmul, GFLOP\/s \| [\d.]+ \|/)
    expect(tables).toMatch(/parity failed: .*The device CUDA is not available\. No NVIDIA driver/)
    expect(tables).not.toContain('## bf16')
    expect(existsSync(path.join(out, 'cuda-parity.log.gz'))).toBe(true)
  })
})
