import { rolloutPrecisions } from '#shared/precision.ts'
import { readMessages, type AnsweredCompletion, type Question } from '#host/models/completing.ts'
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
    maxTokens: integer('N', 'longest completion', { minimum: 1, default: 256 }),
    samples: integer('G', 'completions of the same prompt', { minimum: 1, maximum: 4096, default: 1 }),
    seed: integer('S', 'seed of the samples', { minimum: 0, default: 42 }),
    temperature: number('T', 'above 1 more varied, below 1 more certain', { minimum: 1e-3, default: 1 }),
    topK: integer('K', 'only the K likeliest tokens; 0 is off', { minimum: 0, default: 0 }),
    topP: number('P', 'only the likeliest tokens up to this total probability; 1 is off', {
      minimum: 1e-6,
      maximum: 1,
      default: 1,
    }),
    minP: number('P', 'only tokens this likely relative to the likeliest', {
      minimum: 0,
      maximum: 1,
      default: 0,
    }),
    repetitionPenalty: number('R', 'above 1 makes tokens already seen less likely', {
      minimum: 1e-3,
      default: 1,
    }),
    stop: text('TEXT', 'end a completion at this text'),
    precision: choice(rolloutPrecisions, 'weights: exact, or rounded and faster', 'f32'),
  },
  async run({ options }, context) {
    const question = questionOf(options.prompt, options.messages)
    const { samples, seed, precision } = options
    const { openModel } = await import('#host/models/openModel.ts')
    const { complete, openText } = await import('#host/models/completing.ts')
    const request = openRequest(options, context.dataDirectory)
    const sampling = samplingOf(options)
    using model = await openModel({
      ...request,
      precision,
      maxRows: Math.min(samples, 64),
      newTokens: sampling.maxNewTokens,
    })
    const { output } = context
    // One completion is shown while it grows; several would mix, and a stop text is known only when it is complete.
    const isStreamed = samples === 1 && sampling.stopStrings.length === 0
    const onText = (_sample: number, piece: string) => output.write(piece)
    const asked = { question, samples, seed, sampling, ...(isStreamed ? { onText } : {}) }
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
  readonly maxTokens: number
  readonly temperature: number
  readonly topK: number
  readonly topP: number
  readonly minP: number
  readonly repetitionPenalty: number
  readonly stop: string | undefined
}

const samplingOf = ({
  greedy,
  temperature,
  topK,
  topP,
  minP,
  repetitionPenalty,
  maxTokens,
  stop,
}: SamplingValues) => ({
  greedy,
  temperature,
  topK,
  topP,
  minP,
  repetitionPenalty,
  minNewTokens: 0,
  maxNewTokens: maxTokens,
  stopStrings: stop === undefined ? [] : [stop],
})
