import { readGradInput } from '#host/models/scoring.ts'
import { defineCommand } from '../command.ts'
import { modelOptions, openRequest } from '../modelOptions.ts'
import { requiredText } from '../options.ts'
import { limitsOf } from './score.ts'

export const grad = defineCommand({
  name: 'grad',
  summary: "Compute an adapter's gradients for given loss coefficients",
  positionals: [],
  options: {
    ...modelOptions,
    adapter: requiredText('DIR', 'PEFT adapter folder, or the folder of a checkpoint'),
    input: requiredText('F', '{"sequences": [[ids…]…], "coefficients": [[…]…], "temperature": 1}'),
    output: requiredText('DIR', 'gets gradients.safetensors, under the names PEFT gives the adapter'),
  },
  notes: () => [
    'Coefficient t is ∂loss/∂log-probability of token t+1; a sequence of L tokens has L-1 of them.',
  ],
  async run({ options }, { dataDirectory, output }) {
    const request = openRequest(options, dataDirectory)
    const input = readGradInput(options.input, limitsOf(request.directory, request.contextLength))
    const { openModel } = await import('#host/models/openModel.ts')
    const { adapterGradients, writeGradients } = await import('#host/models/scoring.ts')
    using model = await openModel(request)
    const gradients = await adapterGradients(model, input)
    const file = await writeGradients(options.output, gradients)
    output.json({ output: file, tensors: gradients.length })
    output.line(`Wrote ${gradients.length} gradients to ${file}.`)
  },
})
