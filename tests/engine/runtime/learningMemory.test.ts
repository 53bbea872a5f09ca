/** How much learning saves of a token, against the programs themselves. */
import { expect, test } from 'vitest'
import { weight } from '#engine/graph/value.ts'
import { linearNames, type ModelConfig } from '#engine/models/config.ts'
import { layerPrograms } from '#engine/models/learningGraphs.ts'
import { loraInputs } from '#engine/models/lora.ts'
import { layerTensors } from '#engine/models/source.ts'
import { activationBytes } from '#engine/runtime/learningMemory.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { configOfShape } from '#host/models/randomModel.ts'

const nowhere = { file: '/nowhere/m.safetensors', offset: 0, byteLength: 0 }

/** Numbers of a token that the program of a layer returns to be saved, and what the next layer reads. */
function savedNumbers(config: ModelConfig, layer: number): number {
  const adapter = loraInputs(config, { rank: 4, alpha: 8, rsLora: false, targets: linearNames }, layer)
  const shapes = new Map(layerTensors(config, layer).map(({ name, shape }) => [name, shape]))
  const stored = (path: string) => weight(path, { ...nowhere, shape: shapes.get(path)! })
  const trained = [...adapter.values()].flatMap(({ a, b }) => [a, b])
  const parameters = { adapter, trained, weight: stored, matrix: stored }
  const { forwardSaving } = layerPrograms(config, parameters, { layer })
  return Object.values(forwardSaving).reduce((sum, { shape }) => sum + Number(shape.at(-1)), 0)
}

const tiny = Object.entries(modelShapes).filter(([name]) => name.startsWith('tiny-'))

test.each(tiny)('of %s: what the estimate counts is what its programs save', (_, shape) => {
  const config = configOfShape(shape)
  const numbers = config.mixers.map((_, layer) => savedNumbers(config, layer))
  expect(activationBytes(config)).toBe(4 * numbers.reduce((sum, each) => sum + each, 0))
})
