import { isModelShapeName, modelShapes } from '#host/models/modelShapes.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { summarizeModel } from '#host/models/modelLibrary.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { defineCommand } from '../command.ts'
import { choice, integer, requiredText, usageError } from '../options.ts'
import { suggest } from '../suggest.ts'
import { modelSize } from './modelList.ts'

const shapeNames = Object.keys(modelShapes)
const dtypes = { f32: 'F32', bf16: 'BF16' } as const

export const modelRandom = defineCommand({
  name: 'model random',
  summary: 'Write a model folder with random weights, for tests and benchmarks',
  positionals: [],
  options: {
    shape: requiredText('NAME', 'sizes of the model'),
    out: requiredText('DIR', 'new or empty folder'),
    seed: integer('N', 'seed of the weights', { minimum: 0, default: 1 }),
    dtype: choice(['f32', 'bf16'], 'type of the weights', 'f32'),
  },
  notes: () => [`Shapes: ${shapeNames.join(', ')}.`],
  async run({ options }, { output }) {
    const { shape } = options
    if (!isModelShapeName(shape)) {
      const near = suggest(shape, shapeNames)
      throw usageError(
        `There is no shape “${shape}”.`,
        near === undefined ? `Shapes: ${shapeNames.join(', ')}.` : `Did you mean ${near}?`,
      )
    }
    await writeRandomModel(options.out, modelShapes[shape], options.seed, dtypes[options.dtype])
    const model = summarizeModel(shape, openModelFolder(options.out))
    output.json(model)
    output.line(`Wrote ${modelSize(model)} of shape ${shape} to ${model.directory}.`)
  },
})
