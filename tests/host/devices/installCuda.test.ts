import { execFile } from 'node:child_process'
import { createHash, createHmac } from 'node:crypto'
import {
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  cudaManifestFile,
  manifestId,
  packedFiles,
  parseCudaManifest,
  type CudaManifest,
} from '#host/devices/cudaManifest.ts'
import { installCuda, planCuda, type CudaProgress } from '#host/devices/installCuda.ts'
import { cudaPaths, installedCuda, lockCuda, removeCuda, runtimeFolder } from '#host/devices/installedCuda.ts'
import { readIndex } from '#host/devices/packageIndex.ts'
import { runtimeVersions } from '#host/dataDirectory.ts'
import { makeManifest } from '../../../scripts/cuda/makeManifest.ts'
import { recipe } from '../../../scripts/cuda/recipe.ts'
import { canMount, onSmallDisk, smallDiskCommand } from '../files/smallDisk.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { honest, startIndex, tinyFiles, tinyRecipe, type LoopbackIndex } from './loopbackIndex.ts'

const root = temporaryFolder()
let server: LoopbackIndex
let manifest: CudaManifest
let dataDirectory: string
let folders = 0

beforeAll(async () => {
  server = await startIndex()
  manifest = await makeManifest(tinyRecipe, server.index)
})
afterAll(() => server[Symbol.asyncDispose]())
beforeEach(() => {
  Object.assign(server.fault, { ...honest(), asked: server.fault.asked })
  server.fault.asked.length = 0
  dataDirectory = path.join(root, `home-${++folders}`)
})

async function install(signal = new AbortController().signal, list = manifest): Promise<CudaProgress[]> {
  const access = { index: server.index, onRequest: () => undefined, signal }
  const told: CudaProgress[] = []
  for await (const progress of installCuda({ dataDirectory, manifest: list, access })) told.push(progress)
  return told
}

const filesAsked = () => server.fault.asked.filter((line) => line.startsWith('files'))
const inside = (name: string) => path.join(cudaPaths(dataDirectory).folder, name)

/** What a seal of ours is made of. */
function sealedText(directory: string, content: string): string {
  const { ino, birthtimeNs } = statSync(directory, { bigint: true })
  return JSON.stringify(['cuda', { id: `${ino}`, bornAt: `${birthtimeNs}` }, content])
}

function expectInstalled(): void {
  expect(installedCuda(dataDirectory, manifest)).toBe(cudaPaths(dataDirectory).folder)
  for (const [name, content] of Object.entries(tinyFiles)) expect(readFileSync(inside(name))).toEqual(content)
  expect(existsSync(inside('onnxruntime_binding.node'))).toBe(true)
  expect(readdirSync(cudaPaths(dataDirectory).libraries)).toEqual(['cuda'])
}

describe('the CUDA library', () => {
  test('is installed from the list that the script makes, in parts, and removed again', async () => {
    const plan = planCuda(dataDirectory, manifest)
    const told = await install()
    expectInstalled()
    expect(existsSync(inside('libnvblas.so.13'))).toBe(false)
    expect(told.at(-1)).toEqual({ doneBytes: plan.downloadBytes, totalBytes: plan.downloadBytes })
    expect(told.every(({ doneBytes }, i) => doneBytes >= (told[i - 1]?.doneBytes ?? 0))).toBe(true)
    expect(filesAsked()).toHaveLength(3)
    expect(filesAsked().every((line) => /bytes=[1-9]\d*-\d+$/.test(line))).toBe(true)
    const onDisk = readdirSync(inside('.')).reduce((sum, name) => sum + statSync(inside(name)).size, 0)
    expect(Math.abs(onDisk - plan.installedBytes)).toBeLessThan(5_000)

    server.fault.asked.length = 0
    await install()
    expect(server.fault.asked).toEqual([])
    expect(planCuda(dataDirectory, manifest)).toMatchObject({
      isInstalled: true,
      downloadBytes: 0,
      presentBytes: onDisk,
    })
    expect(removeCuda(dataDirectory)).toEqual({ freedBytes: onDisk })
    expect(readdirSync(cudaPaths(dataDirectory).libraries)).toEqual([])
    expect(installedCuda(dataDirectory, manifest)).toBeNull()
  })

  test('goes on where a connection was lost', async () => {
    server.fault.cutAfter = 150_000
    await expect(install()).rejects.toMatchObject({ code: 'server/unreachable' })
    expect(installedCuda(dataDirectory, manifest)).toBeNull()
    const { downloadBytes } = planCuda(dataDirectory, manifest)
    server.fault.asked.length = 0
    await install()
    expectInstalled()
    const from = Number(/bytes=(\d+)-/.exec(filesAsked()[0] ?? '')?.[1])
    expect(from).toBe(manifest.wheels[0].files[0].offset + 150_000)
    expect(downloadBytes).toBe(planCuda(path.join(root, 'none'), manifest).downloadBytes - 150_000)
  })

  test('comes from servers that know no ranges, and from pages of links', async () => {
    Object.assign(server.fault, { ignoresRanges: true, hasHtmlOnly: true, cutAfter: 150_000 })
    await expect(install()).rejects.toMatchObject({ code: 'server/unreachable' })
    await install()
    expectInstalled()
  })

  test('with other bytes than the list says is refused, and nothing is installed', async () => {
    server.fault.lies = true
    await expect(install()).rejects.toMatchObject({
      code: 'server/unsuitable',
      message: expect.stringContaining('libonnxruntime_providers_cuda.so of runtime_gpu-1.0') as string,
    })
    expect(installedCuda(dataDirectory, manifest)).toBeNull()
    expect(readdirSync(cudaPaths(dataDirectory).unfinished)).toEqual(['list'])
    server.fault.lies = false
    await install()
    expectInstalled()
  })

  test('is not even fetched where the index says that it has other wheels, or has none', async () => {
    server.fault.statesOthers = true
    await expect(install()).rejects.toMatchObject({ code: 'server/unsuitable' })
    expect(filesAsked()).toEqual([])
    server.fault.statesOthers = false
    const [first, ...others] = manifest.wheels
    const unknown = {
      ...manifest,
      wheels: [{ ...first, package: 'nobody' }, ...others] as typeof manifest.wheels,
    }
    await expect(install(undefined, unknown)).rejects.toMatchObject({
      message: expect.stringContaining('has no nobody') as string,
    })
  })

  test('is kept as far as it came when a person stops it', async () => {
    server.fault.pauseMs = 5
    const stopping = new AbortController()
    const access = { index: server.index, onRequest: () => undefined, signal: stopping.signal }
    const following = async () => {
      for await (const { doneBytes } of installCuda({ dataDirectory, manifest, access }))
        if (doneBytes > 50_000) stopping.abort()
    }
    await expect(following()).rejects.toMatchObject({ code: 'api/cancelled' })
    expect(planCuda(dataDirectory, manifest).presentBytes).toBeGreaterThan(50_000)
    await install()
    expectInstalled()
  })

  test('that lost a file, or is of another version, does not count, and is replaced', async () => {
    await install()
    truncateSync(inside('libblas.so.13'), 10)
    expect(installedCuda(dataDirectory, manifest)).toBeNull()
    await install()
    expectInstalled()
    const later = { ...manifest, runtime: '1.31.0' }
    expect(installedCuda(dataDirectory, later)).toBeNull()
    expect(planCuda(dataDirectory, later)).toMatchObject({
      downloadBytes: planCuda(dataDirectory, manifest).totalBytes,
    })
  })

  test('counts by the digests of the list, whatever its folder says and wherever it was copied from', async () => {
    const { folder, record } = cudaPaths(dataDirectory)
    mkdirSync(folder, { recursive: true })
    writeFileSync(record, JSON.stringify({ id: manifestId(manifest), files: [] }))
    writeFileSync(inside('onnxruntime_binding.node'), 'foreign')
    expect(installedCuda(dataDirectory, manifest)).toBeNull()
    rmSync(folder, { recursive: true })
    await install()

    const copied = async (change: () => void | Promise<void>) => {
      const original = dataDirectory
      dataDirectory = path.join(root, `home-${++folders}`)
      cpSync(original, dataDirectory, { recursive: true, preserveTimestamps: true })
      await change()
      const found = installedCuda(dataDirectory, manifest)
      dataDirectory = original
      return found
    }
    const foreign = (name: string) => () => {
      const { atime, mtime, size } = statSync(inside(name))
      writeFileSync(inside(name), Buffer.alloc(size, 7))
      utimesSync(inside(name), atime, mtime)
    }
    const library = 'libonnxruntime_providers_cuda.so'
    expect(await copied(() => undefined)).not.toBeNull()
    expect(await copied(foreign(library))).toBeNull()
    expect(await copied(foreign('onnxruntime_binding.node'))).toBeNull()
    expect(await copied(() => writeFileSync(inside('libstdc++.so.6'), 'beside'))).toBeNull()
    expect(
      await copied(() => {
        renameSync(inside(library), path.join(dataDirectory, 'elsewhere'))
        symlinkSync(path.join(dataDirectory, 'elsewhere'), inside(library))
      }),
    ).toBeNull()
    expectInstalled()
    foreign(library)()
    expect(installedCuda(dataDirectory, manifest)).toBeNull()
    await install()
    expectInstalled()
  })

  test('counts by no seal that whoever made the folder can compute, nor by one that was copied', async () => {
    await install()
    const { folder, record } = cudaPaths(dataDirectory)
    const { seal } = JSON.parse(readFileSync(record, 'utf8')) as { seal: string }
    const binding = inside('onnxruntime_binding.node')
    writeFileSync(binding, Buffer.alloc(statSync(binding).size, 7))
    const own = readdirSync(runtimeFolder())
    const packed = packedFiles(manifest).map(({ name }) => name)
    const names = [...packed.filter((name) => !own.includes(name)), ...own]
    const marks = names.map((name) => {
      const { ino, birthtimeNs, ctimeNs, mtimeNs } = lstatSync(inside(name), { bigint: true })
      return [name, ino, birthtimeNs, ctimeNs, mtimeNs].join(' ')
    })
    const texts = [marks.map((line) => `${line}\n`).join(''), [folder, ...marks].join('\n')]
    const seals = texts.flatMap((text) => [
      createHash('sha256').update(text).digest('hex'),
      // As on a machine that can keep no key of its own.
      createHmac('sha256', '').update(sealedText(dataDirectory, text)).digest('hex'),
    ])
    for (const said of [seal, ...seals]) {
      writeFileSync(record, JSON.stringify({ id: manifestId(manifest), seal: said }))
      expect(installedCuda(dataDirectory, manifest)).toBeNull()
    }
    vi.stubEnv('HOME', path.join(root, 'no', 'such', 'home'))
    writeFileSync(record, JSON.stringify({ id: manifestId(manifest), seal: seals.at(-1) }))
    expect(installedCuda(dataDirectory, manifest)).toBeNull()
    vi.unstubAllEnvs()
  })

  const asRoot = process.getuid?.() === 0
  test.skipIf(!asRoot)('counts with no file of another user’s (as root)', async () => {
    await install()
    chownSync(inside('onnxruntime_binding.node'), 65_534, 65_534)
    expect(installedCuda(dataDirectory, manifest)).toBeNull()
    await install()
    expectInstalled()
  })

  test('takes up no foreign file, and clears no foreign folder', async () => {
    const { libraries, unfinished } = cudaPaths(dataDirectory)
    const elsewhere = path.join(dataDirectory, 'elsewhere')
    mkdirSync(elsewhere, { recursive: true })
    writeFileSync(path.join(elsewhere, 'mine'), 'mine')
    mkdirSync(libraries)
    symlinkSync(elsewhere, unfinished)
    await install()
    expectInstalled()
    expect(readdirSync(elsewhere)).toEqual(['mine'])

    removeCuda(dataDirectory)
    mkdirSync(unfinished)
    writeFileSync(path.join(unfinished, 'list'), manifestId(manifest))
    const [planted, linked] = manifest.wheels.flatMap(({ files }) => files)
    writeFileSync(path.join(unfinished, planted!.name), Buffer.alloc(planted!.sizeBytes, 7))
    symlinkSync(path.join(elsewhere, 'mine'), path.join(unfinished, `${linked!.name}.part`))
    await install()
    expectInstalled()
    expect(readFileSync(path.join(elsewhere, 'mine'), 'utf8')).toBe('mine')
  })

  test('of which another version was half fetched begins anew: files of one name may differ', async () => {
    server.fault.cutAfter = 150_000
    await expect(install(undefined, { ...manifest, runtime: '1.29.0' })).rejects.toMatchObject({
      code: 'server/unreachable',
    })
    expect(planCuda(dataDirectory, manifest)).toMatchObject({
      downloadBytes: planCuda(dataDirectory, manifest).totalBytes,
    })
    server.fault.asked.length = 0
    await install()
    expectInstalled()
    expect(filesAsked()[0]).toContain(`bytes=${manifest.wheels[0].files[0].offset}-`)
  })

  test('is installed by one process at a time', async () => {
    mkdirSync(cudaPaths(dataDirectory).libraries, { recursive: true })
    const lock = lockCuda(dataDirectory)
    await expect(install()).rejects.toMatchObject({ code: 'store/busy' })
    expect(() => removeCuda(dataDirectory)).toThrow(
      'Another process is installing or removing the CUDA library.',
    )
    lock[Symbol.dispose]()
    await install()
    expectInstalled()
  })

  test.each([
    [
      'too small for it',
      '8m',
      { code: 'file/unwritable', message: expect.stringContaining('The CUDA library needs') as string },
    ],
    [
      'that fills up',
      '2g,nr_inodes=7',
      { code: 'file/unwritable', message: expect.stringContaining('the disk is full') as string },
    ],
  ])(onSmallDisk('on a disk %s: told, and nothing is installed'), async (_, size, failure) => {
    if (!canMount) return
    mkdirSync(dataDirectory, { recursive: true })
    const list = path.join(root, 'list.json')
    writeFileSync(list, JSON.stringify(manifest))
    const script = fileURLToPath(new URL('installProcess.ts', import.meta.url))
    const command = smallDiskCommand(size, dataDirectory, [
      process.execPath,
      script,
      dataDirectory,
      list,
      server.index,
    ])
    const { stdout } = await promisify(execFile)(...command)
    expect(JSON.parse(stdout)).toEqual({
      failure: expect.objectContaining(failure) as object,
      installed: false,
    })
  })
})

test('the committed list is of the runtime that is used, and what the recipe names', () => {
  const committed = parseCudaManifest(readFileSync(cudaManifestFile('linux-x64'), 'utf8'))
  expect(committed.runtime).toBe(runtimeVersions()['onnxruntime-node'])
  expect(committed).toMatchObject({
    runtime: recipe.runtime,
    platform: recipe.platform,
  })
  expect(committed.wheels.map(({ package: name, version }) => [name, version])).toEqual(
    recipe.wheels.map(({ package: name, version }) => [name, version]),
  )
  for (const [i, { files, file }] of committed.wheels.entries()) {
    const { takes, tag } = recipe.wheels[i] ?? { takes: /^$/, tag: /^$/ }
    expect(file).toMatch(tag)
    for (const { name } of files) expect(`x/${name}`).toMatch(takes)
  }
  const names = committed.wheels.flatMap(({ files }) => files.map(({ name }) => name))
  expect(new Set(names).size).toBe(names.length)
  expect(names).toEqual(
    expect.arrayContaining(['libonnxruntime_providers_cuda.so', 'libcublasLt.so.13', 'libcudnn.so.9']),
  )
})

test('an index is asked over https, or on this machine', () => {
  expect(readIndex(null)).toBe('https://pypi.org/simple')
  expect(readIndex('https://mirror.example/simple/')).toBe('https://mirror.example/simple')
  expect(readIndex('http://127.0.0.1:1/simple')).toBe('http://127.0.0.1:1/simple')
  for (const given of [
    'http://mirror.example/simple',
    'ftp://x',
    'nonsense',
    'https://me:secret@mirror.example/',
    'https://:secret@mirror.example/',
    7,
  ])
    expect(() => readIndex(given)).toThrow('cannot be used')
})
