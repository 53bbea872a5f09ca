import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { driverProblem } from '#engine/runtime/cudaLibrary.ts'
import { cudaFolderVariable } from '#shared/device.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'

const folder = path.join(temporaryFolder(), 'cuda')
const isLinux = process.platform === 'linux'

/** The package's own binaries, as they are copied beside the library. */
function fillFolder(): void {
  mkdirSync(folder)
  const entry = createRequire(import.meta.url).resolve('onnxruntime-node/package.json')
  const own = path.join(path.dirname(entry), 'bin/napi-v6', process.platform, process.arch)
  for (const name of readdirSync(own)) copyFileSync(path.join(own, name), path.join(folder, name))
  for (const name of ['libonnxruntime_providers_cuda.so', 'libcudart.so.13'])
    writeFileSync(path.join(folder, name), 'no library')
}

const script = `
  const { availableDevices, defaultDevice, requireDevice } = await import('#engine/runtime/device.ts')
  await requireDevice(defaultDevice())
  const cuda = (await availableDevices()).find(({ kind }) => kind === 'cuda')
  const { readFileSync } = await import('node:fs')
  const maps = process.platform === 'linux' ? readFileSync('/proc/self/maps', 'utf8') : ''
  const loaded = [...new Set(maps.match(/\\/\\S*libonnxruntime[.]so[.]\\d+/g))]
  process.stdout.write(JSON.stringify({ cuda, loaded }))`

const inProcess = (environment: Readonly<Record<string, string>>) => {
  const options = {
    env: { ...process.env, ...environment },
    encoding: 'utf8',
    cwd: import.meta.dirname,
  } as const
  const out = execFileSync(process.execPath, ['--input-type=module-typescript', '-e', script], options)
  return JSON.parse(out) as {
    cuda: { available: boolean; reason?: string; hint?: string; command?: string }
    loaded: string[]
  }
}

describe('the folder of the CUDA library', () => {
  test('is where a process that is told of it loads ONNX Runtime from, and no other', () => {
    fillFolder()
    const told = inProcess({ [cudaFolderVariable]: folder })
    const usual = inProcess({ [cudaFolderVariable]: '' })
    const gone = inProcess({ [cudaFolderVariable]: path.join(folder, 'gone') })
    expect(gone).toEqual(usual)
    if (!isLinux) return
    expect(told.loaded).toEqual([path.join(folder, 'libonnxruntime.so.1')])
    expect(usual.loaded).toHaveLength(1)
    expect(usual.loaded[0]).toContain('node_modules/onnxruntime-node')
    if (process.arch !== 'x64') return
    expect(usual.cuda.reason).toContain('Its library is not installed.')
    expect(usual.cuda.command).toContain('turnwise device install cuda')
    // Whichever comes first on this machine: no driver, or a library that is none.
    expect(told.cuda.reason).toMatch(
      /No NVIDIA driver is installed here|libcudart\.so\.13 of the CUDA library cannot be loaded/,
    )
  })
})

describe('what the runtime says of the driver', () => {
  const said = (code: number, text: string) =>
    `/onnxruntime_src/cuda_call.cc:154 CUDA failure ${code}: ${text} ; GPU=-1 ; hostname=vm ; file=/x.cc ; line=352 ; expr=cudaSetDevice(info_.device_id); `

  test.each([
    [
      35,
      'CUDA driver version is insufficient for CUDA runtime version',
      'The NVIDIA driver is older than CUDA 13 needs.',
    ],
    [100, 'no CUDA-capable device is detected', 'The NVIDIA driver finds no usable GPU.'],
    [101, 'invalid device ordinal', 'There is no NVIDIA GPU with that number.'],
    [
      36,
      'API call is not supported in the installed CUDA driver',
      'The NVIDIA driver refused: API call is not supported in the installed CUDA driver (CUDA failure 36).',
    ],
  ])('is told in a sentence (CUDA failure %i)', (code, text, reason) => {
    expect(driverProblem(said(code, text))?.reason).toBe(reason)
  })

  test('is left as it is where it is about something else', () => {
    expect(driverProblem('Failed to load shared library')).toBeNull()
  })
})
