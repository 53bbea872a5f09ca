/**
 * Writes resources/libraries/cuda-linux-x64.json, the list of what `turnwise device install cuda` fetches:
 *
 *   node scripts/cuda/manifest.ts [--index URL]     about 1.4 GB are fetched, a minute on a fast line
 *
 * The versions are those of recipe.ts. Digests of wheels are the index's; those of files are of what was fetched.
 */
import path from 'node:path'
import { parseArgs } from 'node:util'
import { makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { cudaManifestFile } from '#host/devices/cudaManifest.ts'
import { makeManifest } from './makeManifest.ts'
import { recipe } from './recipe.ts'

const { values } = parseArgs({ options: { index: { type: 'string', default: 'https://pypi.org/simple' } } })
const manifest = await makeManifest(recipe, values.index)
const file = cudaManifestFile(manifest.platform)
makeFolder(path.dirname(file))
writeFileAtomic(file, `${JSON.stringify(manifest, null, 2)}\n`)
const bytes = manifest.wheels.flatMap(({ files }) => files.map(({ packedBytes }) => packedBytes))
process.stdout.write(
  `${file}: ${bytes.length} files, ${bytes.reduce((sum, each) => sum + each, 0)} bytes to fetch\n`,
)
