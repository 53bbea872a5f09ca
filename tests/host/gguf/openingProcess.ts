/** Opens a GGUF file in 8-bit blocks and prints the bytes of the blocks and the peak of own memory: `FILE CACHE`. */
import { watchMemory } from '#engine/runtime/memory.ts'
import { openModel } from '#host/models/openModel.ts'

const [file = '', cacheDirectory = ''] = process.argv.slice(2)
const watch = watchMemory(1)
using opened = await openModel({
  directory: file,
  adapter: null,
  device: { kind: 'cpu', threads: 1 },
  precision: 'f32',
  base: 'int8',
  maxRows: 1,
  cacheDirectory,
})
const { anonymousBytes } = watch.stop()
const { layers, hiddenSize, intermediateSize, heads, kvHeads, headDim } = opened.folder.config
const matrices = hiddenSize * (2 * heads * headDim + 2 * kvHeads * headDim + 3 * intermediateSize)
console.log(JSON.stringify({ blocks: layers * matrices, peak: anonymousBytes }))
process.exit()
