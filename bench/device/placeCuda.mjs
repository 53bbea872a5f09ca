/**
 * Makes a CUDA library that the program accepts from the provider alone, and links NVIDIA's libraries of an installed PyTorch:
 *   node bench/device/placeCuda.mjs PROVIDER_FOLDER DATA_FOLDER [NVIDIA_FOLDER]
 * The committed list (or the one that TURNWISE_CUDA_MANIFEST names) is cut down to the provider's package (DATA/provider.json), the
 * provider is put where a download would have left it, and `device install` finishes it without asking a network. The links are in
 * DATA/nvidia, for LD_LIBRARY_PATH: the program accepts no library with files beside it that its list does not have. Called again,
 * it leaves a library that is there as it is and makes the links that are missing.
 */
import { spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import {
  cudaManifestFile,
  manifestId,
  packedFiles,
  parseCudaManifest,
} from '../../src/host/devices/cudaManifest.ts'
import { sha256Of } from '../../src/host/files/contentHash.ts'
import { cudaPaths, installedCuda } from '../../src/host/devices/installedCuda.ts'

function fail(sentence) {
  console.error(`placeCuda.mjs: ${sentence}`)
  process.exit(2)
}

const [provider, data, nvidia] = process.argv.slice(2)
if (!provider || !data)
  fail('Usage: node bench/device/placeCuda.mjs PROVIDER_FOLDER DATA_FOLDER [NVIDIA_FOLDER]')

const list = resolve(data, 'provider.json')
const { TURNWISE_CUDA_MANIFEST: other } = process.env
const isOwn = !other || resolve(other) === list // environment.sh of an earlier call was read
const whole = parseCudaManifest(readFileSync(isOwn ? cudaManifestFile('linux-x64') : other, 'utf8'))
const isOfRuntime = ({ package: name }) => name.startsWith('onnxruntime')
const alone = { ...whole, wheels: whole.wheels.filter(isOfRuntime) }
const needed = packedFiles({ wheels: whole.wheels.filter((wheel) => !isOfRuntime(wheel)) })

/** Puts the provider where a download would have left it, and has the program finish it. */
async function place() {
  const { unfinished } = cudaPaths(resolve(data))
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true })
  for (const { name, sha256 } of packedFiles(alone)) {
    const file = join(provider, name)
    if (!existsSync(file)) fail(`${provider} has no ${name}.`)
    if (sha256Of(file) !== sha256) fail(`${file} is not the file that the list has. Pack the provider anew.`)
    cpSync(file, join(unfinished, name))
  }
  writeFileSync(list, JSON.stringify(alone))
  writeFileSync(join(unfinished, 'list'), manifestId(alone))
  const turnwise = join(import.meta.dirname, '../../bin/turnwise.mjs')
  const child = spawn(
    process.execPath,
    [turnwise, 'device', 'install', 'cuda', '--yes', '--data-dir', data],
    { env: { ...process.env, TURNWISE_CUDA_MANIFEST: list }, stdio: 'inherit' },
  )
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'])
    process.once(signal, () => {
      child.kill('SIGKILL')
      fail(`It was ended by ${signal}; called again, it begins anew.`)
    })
  const [status] = await once(child, 'close')
  if (status !== 0) fail('The CUDA library could not be installed: its own words are above.')
}

/** Every file below a folder, by name; of two with one name the first. */
function filesBelow(folder) {
  const files = readdirSync(folder, { withFileTypes: true, recursive: true }).filter(
    (entry) => !entry.isDirectory(),
  )
  return new Map(files.toReversed().map(({ name, parentPath }) => [name, join(parentPath, name)]))
}

/** Links what is in NVIDIA's folder, keeps links that lead somewhere, and says what is missing. */
function link() {
  const links = join(data, 'nvidia')
  mkdirSync(links, { recursive: true })
  const there = nvidia && existsSync(nvidia) ? filesBelow(nvidia) : new Map()
  for (const { name } of needed) {
    const file = there.get(name)
    if (file === undefined) continue
    rmSync(join(links, name), { force: true })
    symlinkSync(resolve(file), join(links, name))
  }
  const missing = needed.filter(({ name }) => !existsSync(join(links, name))).map(({ name }) => name)
  console.log(
    `Linked ${needed.length - missing.length} of NVIDIA’s ${needed.length} libraries from ${nvidia || 'nowhere'}.`,
  )
  if (missing.length === 0) return
  console.log(`Missing: ${missing.join(', ')}.`)
  console.log(
    'Name their folder in NVIDIA_LIBRARIES, or the Python that has PyTorch in PYTHON, and call it again.',
  )
}

try {
  if (installedCuda(resolve(data), alone) === null) await place()
  link()
} catch (error) {
  fail(`It could not be finished: ${error.message}`)
}
if (installedCuda(resolve(data), alone) === null)
  fail(`The program does not accept the library in ${data}: remove that folder, and call it again.`)
