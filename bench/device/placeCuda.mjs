/**
 * Makes a CUDA library that the program accepts from the provider alone and NVIDIA's libraries of an installed PyTorch:
 *   node bench/device/placeCuda.mjs PROVIDER_FOLDER DATA_FOLDER NVIDIA_FOLDER
 * The program loads nothing whose digest no list has. So a list is written of the files that are here (DATA/provider.json, for
 * TURNWISE_CUDA_MANIFEST), they are put where a download would have left them, and `device install` finishes it without asking a
 * network. Files of the provider with another digest than the committed list has are named.
 */
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import {
  cudaManifestFile,
  manifestId,
  packedFiles,
  parseCudaManifest,
} from '../../src/host/devices/cudaManifest.ts'
import { cudaPaths } from '../../src/host/devices/installedCuda.ts'
import { sha256Of } from '../../src/host/files/contentHash.ts'

const [provider, data, nvidia] = process.argv.slice(2)
if (provider === undefined || data === undefined)
  throw new Error('Name the provider’s folder, the data folder and the folder of NVIDIA’s libraries.')

const whole = parseCudaManifest(readFileSync(cudaManifestFile('linux-x64'), 'utf8'))
const isOfRuntime = ({ package: name }) => name.startsWith('onnxruntime')
const provided = whole.wheels.filter(isOfRuntime)
const needed = packedFiles({ wheels: whole.wheels.filter((wheel) => !isOfRuntime(wheel)) })
const there = nvidia ? filesBelow(nvidia) : new Map()
const { unfinished } = cudaPaths(resolve(data))

rmSync(unfinished, { recursive: true, force: true })
mkdirSync(unfinished, { recursive: true })
for (const { name } of packedFiles({ wheels: provided })) cpSync(join(provider, name), join(unfinished, name))
for (const { name } of needed) if (there.has(name)) place(there.get(name), join(unfinished, name))

const asHere = (wheel) => ({
  ...wheel,
  files: wheel.files.filter(({ name }) => isOfRuntime(wheel) || there.has(name)).map(fileHere),
})
const alone = { ...whole, wheels: whole.wheels.map(asHere).filter(({ files }) => files.length > 0) }
const others = packedFiles({ wheels: alone.wheels.filter(isOfRuntime) }).filter(({ name, sha256 }) =>
  packedFiles({ wheels: provided }).some((file) => file.name === name && file.sha256 !== sha256),
)
if (others.length > 0)
  console.log(`Not the provider that the committed list names: ${others.map(({ name }) => name).join(', ')}.`)
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

function fileHere(file) {
  const path = join(unfinished, file.name)
  return { ...file, sizeBytes: statSync(path).size, sha256: sha256Of(path) }
}

/** The program follows no link to a library: the file itself, once more under another name, or a copy on another disk. */
function place(from, to) {
  try {
    linkSync(realpathSync(from), to)
  } catch {
    copyFileSync(from, to)
  }
}

/** Every file below a folder, by name; of two with one name the first. */
function filesBelow(place) {
  const files = readdirSync(place, { withFileTypes: true, recursive: true }).filter(
    (entry) => !entry.isDirectory(),
  )
  return new Map(files.toReversed().map(({ name, parentPath }) => [name, resolve(parentPath, name)]))
}

const missing = needed.filter(({ name }) => !there.has(name)).map(({ name }) => name)
console.log(
  `Linked ${needed.length - missing.length} of NVIDIA’s ${needed.length} libraries from ${nvidia || 'nowhere'}.`,
)
if (missing.length > 0) console.log(`Missing: ${missing.join(', ')}.`)
