/** From a recipe and a package index to the list that installations trust. */
import { createHash } from 'node:crypto'
import { posix } from 'node:path'
import { inflateRawSync } from 'node:zlib'
import { z } from 'zod'
import { parseCudaManifest, type CudaManifest } from '#host/devices/cudaManifest.ts'
import { readZip } from './zipDirectory.ts'
import type { CudaRecipe } from './recipe.ts'

const page = z.object({
  files: z.array(
    z.object({
      filename: z.string(),
      url: z.string(),
      size: z.int(),
      hashes: z.object({ sha256: z.string() }),
    }),
  ),
})

type ListedFile = z.output<typeof page>['files'][number]
type WantedWheel = CudaRecipe['wheels'][number]

/** Errors: whatever the index lacks. */
export async function makeManifest(recipe: CudaRecipe, index: string): Promise<CudaManifest> {
  const { runtime, platform } = recipe
  const wheels = []
  for (const wanted of recipe.wheels) wheels.push(await readWheel(wanted, index))
  return parseCudaManifest(JSON.stringify({ format: 1, runtime, platform, wheels }))
}

async function readWheel(wanted: WantedWheel, index: string) {
  const { file, url } = await findWheel(wanted, index)
  const content = Buffer.from(await (await fetched(url)).arrayBuffer())
  const sha256 = sha(content)
  if (sha256 !== file.hashes.sha256) throw new Error(`${file.filename} is not what the index states.`)
  const files = readZip(content)
    .filter(({ name }) => wanted.takes.test(name))
    .map(({ name, offset, packedBytes, sizeBytes }) => {
      const unpacked = inflateRawSync(content.subarray(offset, offset + packedBytes))
      if (unpacked.length !== sizeBytes) throw new Error(`${name} is not as long as its wheel says.`)
      return { name: posix.basename(name), offset, packedBytes, sizeBytes, sha256: sha(unpacked) }
    })
  return {
    package: wanted.package,
    version: wanted.version,
    file: file.filename,
    sizeBytes: content.length,
    sha256,
    files,
  }
}

async function findWheel(wanted: WantedWheel, index: string): Promise<{ file: ListedFile; url: string }> {
  const response = await fetched(`${index}/${wanted.package}/`)
  const { files } = page.parse(await response.json())
  const file = files.findLast(
    ({ filename }) => filename.split('-')[1] === wanted.version && wanted.tag.test(filename),
  )
  if (file === undefined) throw new Error(`${index} has no wheel of ${wanted.package} ${wanted.version}.`)
  return { file, url: new URL(file.url, response.url).href }
}

async function fetched(url: string): Promise<Response> {
  const response = await fetch(url, { headers: { accept: 'application/vnd.pypi.simple.v1+json, */*;q=0.1' } })
  if (!response.ok) throw new Error(`${url} answered with status ${response.status}.`)
  return response
}

const sha = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex')
