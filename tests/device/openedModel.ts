/** Scores, then learns and generates with a model on the software GPU; prints what it weighs and what this process has allocated: `WIDTH [BASE]`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { randomStream } from '#shared/random.ts'
import { DeviceMemory } from '#engine/models/deviceMemory.ts'
import { memoryUse } from '#engine/runtime/memory.ts'
import { asRoundedBase } from '#host/models/baseCache.ts'
import { roundedPrecisions } from '#shared/precision.ts'
import {
  completionsOf,
  openTiny,
  randomCoefficients,
  randomSequence,
  tinyLora,
  tinySource,
  unfiltered,
} from '../engine/runtime/tinyModel.ts'

const [width, base = 'f32'] = [Number(process.argv[2]), process.argv[3]]

/** Bytes allocated, once the collector is through. */
async function used(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    gc?.()
    await setTimeout(50)
  }
  return memoryUse().anonymousBytes
}

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-opened-'))
try {
  // Buffers below 4 MB are rounded up to powers of two by the driver's layer: these are powers of two.
  const shape = { layers: 8, hiddenSize: width, intermediateSize: 4 * width, headDim: width / 8 }
  const exact = await tinySource(folder, { ...shape, maxPositions: 64, heads: 8, kvHeads: 2 })
  const precision = roundedPrecisions.find((known) => known === base)
  const source = precision ? await asRoundedBase(exact, precision, folder) : exact
  using policy = await openTiny(source, { device: { kind: 'webgpu', threads: 1, deviceId: 0 } })
  const sequence = randomSequence(source.config.vocabSize, 3, 1)
  const requests = [{ promptIds: sequence.ids.subarray(0, 1), streams: [randomStream(1)] }]
  await policy.score([sequence], { role: 'actor', temperature: 1 })
  const scored = await used()
  await policy.accumulate([sequence], { temperature: 1, entropyGradient: false }, () =>
    randomCoefficients([sequence], 3, false),
  )
  await completionsOf(policy, requests, { role: 'actor', sampling: { ...unfiltered, maxNewTokens: 2 } })
  const weights = new DeviceMemory({
    config: source.config,
    lora: tinyLora,
    kind: 'webgpu',
    base: precision ?? 'f32',
  }).weightBytes
  console.log(JSON.stringify({ weights, scored, all: await used() }))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit()
