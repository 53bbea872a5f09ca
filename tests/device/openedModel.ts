/** Scores, learns and generates with a model on the software GPU, then prints what it weighs and what this process keeps beside JavaScript’s values: `WIDTH`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { randomStream } from '#shared/random.ts'
import { memoryUse } from '#engine/runtime/memory.ts'
import {
  completionsOf,
  openTiny,
  randomCoefficients,
  randomSequence,
  tinySource,
  unfiltered,
} from '../engine/runtime/tinyModel.ts'

const width = Number(process.argv[2])
const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-opened-'))
try {
  // Buffers below 4 MB are rounded up to powers of two by the driver's layer: these are powers of two.
  const shape = {
    layers: 8,
    hiddenSize: width,
    intermediateSize: 4 * width,
    headDim: width / 8,
    maxPositions: 64,
  }
  const source = await tinySource(folder, { ...shape, heads: 8, kvHeads: 2 })
  using policy = await openTiny(source, { device: { kind: 'webgpu', threads: 1, deviceId: 0 } })
  const sequence = randomSequence(source.config.vocabSize, 3, 1)
  const requests = [{ promptIds: sequence.ids.subarray(0, 1), streams: [randomStream(1)] }]
  await policy.score([sequence], { role: 'actor', temperature: 1 })
  await policy.accumulate([sequence], { temperature: 1, entropyGradient: false }, () =>
    randomCoefficients([sequence], 3, false),
  )
  await completionsOf(policy, requests, { role: 'actor', sampling: { ...unfiltered, maxNewTokens: 2 } })
  gc?.()
  const weights = [...source.tensors.values()].reduce((sum, { byteLength }) => sum + byteLength, 0)
  const { heapTotal, external } = process.memoryUsage()
  console.log(JSON.stringify({ weights, used: memoryUse().anonymousBytes - heapTotal - external }))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit()
