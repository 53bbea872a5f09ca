import path from 'node:path'
import { importModel } from '#host/artifacts/modelLibrary.ts'
import { defineCommand } from '../command.ts'
import { text } from '../options.ts'
import { modelSize } from './modelList.ts'

export const modelImport = defineCommand({
  name: 'model import',
  summary: 'Check a model folder and copy it into the data directory',
  positionals: [
    { name: 'FOLDER', description: 'Hugging Face folder with config.json and safetensors weights' },
  ],
  options: {
    name: text('NAME', "what to call it here (default: the folder's name)"),
  },
  async run({ options, positionals: [source = ''] }, { dataDirectory, output }) {
    const name = options.name ?? path.basename(path.resolve(source))
    const model = await importModel(source, name, dataDirectory)
    output.json(model)
    output.line(`Imported ${model.name}: ${model.architecture}, ${modelSize(model)}.`)
  },
})
