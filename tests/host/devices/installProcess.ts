/** Installs the CUDA library of a list into a data directory, and says how it went: `installProcess.ts DIRECTORY LIST INDEX`. */
import { readFileSync } from 'node:fs'
import { parseCudaManifest } from '#host/devices/cudaManifest.ts'
import { installCuda } from '#host/devices/installCuda.ts'
import { installedCuda } from '#host/devices/installedCuda.ts'

const [dataDirectory = '', list = '', index = ''] = process.argv.slice(2)
const manifest = parseCudaManifest(readFileSync(list, 'utf8'))
const access = { index, onRequest: () => undefined, signal: new AbortController().signal }
let failure: object | null = null
try {
  for await (const _ of installCuda({ dataDirectory, manifest, access }));
} catch (error) {
  const { code, message, hint } = error as { code?: string; message: string; hint?: string }
  failure = { code, message, hint }
}
process.stdout.write(JSON.stringify({ failure, installed: installedCuda(dataDirectory, manifest) !== null }))
