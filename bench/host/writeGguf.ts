/**
 * Gives llama.cpp a model whose family convert.py does not know, as an export of it would.
 *
 *   node bench/host/writeGguf.ts MODEL_DIR OUT_DIR
 *
 * writes OUT_DIR/{f32,q8_0}.gguf.
 */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { dataFolders, resolveDataDirectory } from '#host/dataDirectory.ts'
import { mergedGguf } from '#host/export/ggufMerged.ts'
import { describeOrigin } from '#host/export/provenance.ts'
import { writeGguf } from '#host/gguf/gguf.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { noAdapter } from '#host/models/openModel.ts'

const [from = '', to = ''] = process.argv.slice(2)
const base = openModelFolder(from)
const adapter = { config: noAdapter, baseModel: null, tensors: [] }
const cacheDirectory = dataFolders(resolveDataDirectory(undefined)).cache
const origin = await describeOrigin({ base, adapter, step: 0, cacheDirectory, onProgress: () => {} })
mkdirSync(to, { recursive: true })
for (const mix of ['F32', 'Q8_0'] as const) {
  const whole = mergedGguf({ base, adapter, mix, name: path.basename(from), license: null, origin })
  writeGguf(path.join(to, `${mix.toLowerCase()}.gguf`), whole)
}
