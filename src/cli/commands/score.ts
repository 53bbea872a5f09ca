import { openModelFolder } from '#host/models/modelFolder.ts'
import { writeUserFile } from '#host/files/atomic.ts'
import { readScoreInput } from '#host/models/scoring.ts'
import { defineCommand } from '../command.ts'
import { modelOptions, openRequest } from '../modelOptions.ts'
import { requiredText } from '../options.ts'

export const score = defineCommand({
  name: 'score',
  summary: 'Compute the log-probability of every token of given sequences',
  positionals: [],
  options: {
    ...modelOptions,
    input: requiredText('F', '{"sequences": [[ids…]…], "temperature": 1}'),
    output: requiredText('F', 'gets {"logprobs": [[…]…], "entropy": [[…]…]}'),
  },
  notes: () => [
    'Entry t is the prediction of token t+1; natural logarithm. A sequence of L tokens has L-1 entries.',
  ],
  async run({ options }, { dataDirectory, output }) {
    const request = openRequest(options, dataDirectory)
    const input = readScoreInput(options.input, limitsOf(request.directory, request.contextLength))
    const { openModel } = await import('#host/models/openModel.ts')
    const { scoreSequences } = await import('#host/models/scoring.ts')
    using model = await openModel(request)
    const scores = await scoreSequences(model, input)
    writeUserFile(options.output, `${JSON.stringify(scores)}\n`, { overwrite: true })
    output.json({ output: options.output, sequences: input.sequences.length })
    output.line(`Scored ${input.sequences.length} sequences into ${options.output}.`)
  },
})

/** Checked before weights are touched. */
export function limitsOf(
  directory: string,
  wished: number | null = null,
): { vocabSize: number; contextLength: number } {
  const { vocabSize, contextLength } = openModelFolder(directory, { contextLength: wished }).config
  return { vocabSize, contextLength }
}
