import { listModels, type ListedModel } from '#host/models/modelLibrary.ts'
import { defineCommand } from '../command.ts'
import { tableLines } from '../output.ts'

export const modelList = defineCommand({
  name: 'model list',
  summary: 'List the models that have a name here',
  positionals: [],
  options: {},
  run(_given, { dataDirectory, output }) {
    const models = listModels(dataDirectory)
    output.json({ models })
    const header = ['name', 'architecture', 'size', 'context']
    for (const line of tableLines(header, models.map(row))) output.line(line)
  },
})

function row(model: ListedModel): string[] {
  if ('problem' in model) return [model.name, model.problem, '', '']
  return [model.name, model.architecture, modelSize(model), `${model.contextLength}`]
}

/** `0.5 B parameters`, `3.2 M parameters`. */
export function modelSize({ parameters }: { readonly parameters: number }): string {
  const [divisor, letter] = parameters >= 1e9 ? [1e9, 'B'] : parameters >= 1e6 ? [1e6, 'M'] : [1e3, 'K']
  return `${(parameters / divisor).toFixed(1)} ${letter} parameters`
}
