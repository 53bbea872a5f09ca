import { readMessages, type AnsweredCompletion, type Question } from '#host/workers/completing.ts'
import { rolloutPrecisions } from '#host/workers/benchReport.ts'
import { defineCommand } from '../command.ts'
import { modelOptions, openRequest } from '../modelOptions.ts'
import { choice, flag, integer, number, text, usageError } from '../options.ts'

export const generate = defineCommand({
  name: 'generate',
  summary: 'Let a model complete a text or answer messages',
  positionals: [],
  options: {
    ...modelOptions,
    prompt: text('TEXT', 'text to go on with'),
    messages: text('F', 'JSON file with a list of {"role", "content"}, for the chat template'),
    greedy: flag('always take the most probable token'),
    maxTokens: integer('N', 'longest completion (default 256)', { minimum: 1 }),
    samples: integer('G', 'completions of the same prompt (default 1)', { minimum: 1, maximum: 4096 }),
    seed: integer('S', 'seed of the samples (default 42)', { minimum: 0 }),
    temperature: number('T', 'above 1 more varied, below 1 more certain (default 1)', { minimum: 1e-3 }),
    topK: integer('K', 'only the K likeliest tokens; 0 is off (default 0)', { minimum: 0 }),
    topP: number('P', 'only the likeliest tokens up to this total probability (default 1)', { minimum: 1e-6, maximum: 1 }),
    minP: number('P', 'only tokens this likely relative to the likeliest (default 0)', { minimum: 0, maximum: 1 }),
    repetitionPenalty: number('R', 'above 1 makes tokens already seen less likely (default 1)', { minimum: 1e-3 }),
    stop: text('TEXT', 'end a completion at this text'),
    precision: choice(rolloutPrecisions, 'weights: exact, or rounded and faster (default f32)'),
  },
  async run({ options }, context) {
    const question = questionOf(options.prompt, options.messages)
    const samples = options.samples ?? 1
    const { openModel } = await import('#host/workers/model.ts')
    const { complete, openText } = await import('#host/workers/completing.ts')
    const request = openRequest(options, context.dataDirectory)
    using model = await openModel({
      ...request,
      precision: options.precision ?? 'f32',
      maxRows: Math.min(samples, 64),
    })
    const { output } = context
    const sampling = samplingOf(options)
    // One completion is shown while it grows; several would mix, and a stop text is known only when it is complete.
    const isStreamed = samples === 1 && sampling.stopStrings.length === 0
    const onText = (_sample: number, piece: string) => output.write(piece)
    const asked = { question, samples, seed: options.seed ?? 42, sampling, ...(isStreamed ? { onText } : {}) }
    const completions: AnsweredCompletion[] = []
    for await (const completion of complete(model, openText(model.folder), asked)) {
      completions.push(completion)
      if (samples > 1) output.line(`${completion.sample === 0 ? '' : '\n'}— ${completion.sample + 1} —`)
      output.line(isStreamed ? '' : completion.text)
    }
    output.json({ completions })
  },
})

function questionOf(prompt: string | undefined, messages: string | undefined): Question {
  if ((prompt === undefined) === (messages === undefined)) {
    throw usageError('Give either --prompt TEXT or --messages F.', 'See turnwise generate --help.')
  }
  return prompt === undefined ? { messages: readMessages(messages ?? '') } : { text: prompt }
}

interface SamplingValues {
  readonly greedy: boolean
  readonly maxTokens: number | undefined
  readonly temperature: number | undefined
  readonly topK: number | undefined
  readonly topP: number | undefined
  readonly minP: number | undefined
  readonly repetitionPenalty: number | undefined
  readonly stop: string | undefined
}

const samplingOf = (options: SamplingValues) => ({
  greedy: options.greedy,
  temperature: options.temperature ?? 1,
  topK: options.topK ?? 0,
  topP: options.topP ?? 1,
  minP: options.minP ?? 0,
  repetitionPenalty: options.repetitionPenalty ?? 1,
  minNewTokens: 0,
  maxNewTokens: options.maxTokens ?? 256,
  stopStrings: options.stop === undefined ? [] : [options.stop],
})
