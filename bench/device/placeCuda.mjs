/**
 * Makes a CUDA library that the program accepts from the provider alone and NVIDIA's libraries of an installed PyTorch:
 *   node bench/device/placeCuda.mjs PROVIDER_FOLDER DATA_FOLDER NVIDIA_FOLDER
 * The committed list is cut down to the provider's package (DATA/provider.json, for TURNWISE_CUDA_MANIFEST), the provider is
 * put where a download would have left it, and `device install` finishes it without asking a network.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  cudaManifestFile,
  manifestId,
  packedFiles,
  parseCudaManifest,
} from '../../src/host/devices/cudaManifest.ts'
import { cudaPaths } from '../../src/host/devices/installedCuda.ts'

const [provider, data, nvidia] = process.argv.slice(2)
if (provider === undefined || data === undefined)
  throw new Error('Name the provider’s folder, the data folder and the folder of NVIDIA’s libraries.')

const whole = parseCudaManifest(readFileSync(cudaManifestFile('linux-x64'), 'utf8'))
const isOfRuntime = ({ package: name }) => name.startsWith('onnxruntime')
const alone = { ...whole, wheels: whole.wheels.filter(isOfRuntime) }
const needed = packedFiles({ wheels: whole.wheels.filter((wheel) => !isOfRuntime(wheel)) })
const { folder, unfinished } = cudaPaths(resolve(data))

rmSync(unfinished, { recursive: true, force: true })
mkdirSync(unfinished, { recursive: true })
for (const { name } of packedFiles(alone)) cpSync(join(provider, name), join(unfinished, name))
const list = join(data, 'provider.json')
writeFileSync(list, JSON.stringify(alone))
writeFileSync(join(unfinished, 'list'), manifestId(alone))
const { status } = spawnSync(
  process.execPath,
  [
    join(import.meta.dirname, '../../bin/turnwise.mjs'),
    'device',
    'install',
    'cuda',
    '--yes',
    '--data-dir',
    data,
  ],
  { env: { ...process.env, TURNWISE_CUDA_MANIFEST: list }, stdio: 'inherit' },
)
if (status !== 0) throw new Error('The CUDA library could not be installed.')

/** Every file below a folder, by name; of two with one name the first. */
function filesBelow(place) {
  const files = readdirSync(place, { withFileTypes: true, recursive: true }).filter(
    (entry) => !entry.isDirectory(),
  )
  return new Map(files.toReversed().map(({ name, parentPath }) => [name, join(parentPath, name)]))
}

const there = nvidia ? filesBelow(nvidia) : new Map()
const missing = needed.filter(({ name }) => !there.has(name)).map(({ name }) => name)
for (const { name } of needed) {
  const file = there.get(name)
  if (file === undefined) continue
  rmSync(join(folder, name), { force: true })
  symlinkSync(resolve(file), join(folder, name))
}
console.log(
  `Linked ${needed.length - missing.length} of NVIDIA’s ${needed.length} libraries from ${nvidia || 'nowhere'}.`,
)
if (missing.length > 0) console.log(`Missing: ${missing.join(', ')}.`)
