/**
 * Learning cut into segments of layers gives the gradients of the whole program: for families that are far from each other, and for
 * every one in the long run. That a first and a last segment have those of transformers is said of every family in reference.test.ts.
 */
import { expect, test } from 'vitest'
import { onlyOnCpu } from '#engine/models/programSupport.ts'
import { modelShapes, type ModelShape } from '#host/models/modelShapes.ts'
import { configOfShape } from '#host/models/randomModel.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { eachOf, isLong } from '../../sweeps.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { relativeError } from './differences.ts'
import { flatGradient, openTiny, randomCoefficients, randomSequence, tinySource } from './tinyModel.ts'

const folder = temporaryFolder()
/** Separate linears; fused ones with learned positions; soft caps and windows; convolutions between layers of attention. */
const apart = ['tiny-llama', 'tiny-gpt2', 'tiny-gemma2', 'tiny-lfm2']
const families = Object.entries<ModelShape>(modelShapes).filter(
  ([name, shape]) =>
    name.startsWith('tiny-') && onlyOnCpu(configOfShape(shape)) === null && (isLong || apart.includes(name)),
)
const sequences = [5, 17, 9].map((length, index) => randomSequence(258, length, index))
const coefficients = randomCoefficients(sequences, 3, true)

const isFirst = ([name]: (typeof families)[number]) => name === families[0]?.[0]

eachOf(test, { rows: families, isAlways: isFirst }, '%s', async (name, shape) => {
  const source = await asFloat32Source(await tinySource(folder, { ...shape, layers: 3 }), folder)
  const gradient = async (segmentLayers: number) => {
    using policy = await openTiny(source, { programs: { form: 'resident', segmentLayers } })
    await policy.accumulate(sequences, { temperature: 0.9, entropyGradient: true }, () => coefficients)
    return await flatGradient(policy)
  }
  const whole = await gradient(3)
  // Three segments of one layer: a first, a last and one between. Two layers beside one: of one family, or of all in the long run.
  for (const layers of isLong || name === families[0]?.[0] ? [1, 2] : [1])
    expect(relativeError(await gradient(layers), whole)).toBeLessThan(1e-6)
})
