/**
 * Commands that run a model: generate, score and grad. They open it in their own process; for the API, the host starts
 * a job instead.
 */
import { Command, Option } from '@commander-js/extra-typings'
import { deviceOptions } from '#shared/device.ts'
import { usageError } from '#shared/errors.ts'
import { heldPrecisions, rolloutPrecisions } from '#shared/precision.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { writeUserFile } from '#host/files/atomic.ts'
import { readMessages, type AnsweredCompletion, type Question } from '#host/models/completing.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import type { OpenModelRequest } from '#host/models/openModel.ts'
import { maxThreads, real, threads, whole, type Context } from '../command.ts'

/** Creates a command with the options of every command that opens a model. */
export const modelCommand = (name: string) =>
  new Command(name)
    .requiredOption('--model <MODEL>', 'model folder, or a name from model list')
    .addOption(
      new Option(
        '--base <PRECISION>',
        'precision of its matrices (default: as the adapter was trained, or f32)',
      ).choices(heldPrecisions),
    )
    .addOption(
      new Option(
        '--device <KIND>',
        'device to compute on; auto: the fastest that passed its check (default cpu)',
      ).choices(deviceOptions),
    )
    .option(
      '--context <N>',
      'maximum length of prompt plus completion (default: the model’s)',
      whole(2, 1 << 24),
    )
    .option(...threads, whole(1, maxThreads))

export const adapter = ['--adapter <DIR>', 'PEFT adapter folder, or the folder of a checkpoint'] as const

type ModelOptions = ReturnType<ReturnType<typeof modelCommand>['opts']> & {
  readonly adapter?: string | undefined
}

/** Request to `openModel` for exact weights. */
export function openRequest(options: ModelOptions, dataDirectory: string): OpenModelRequest {
  return {
    directory: findModel(options.model, dataDirectory),
    adapter: options.adapter ?? null,
    contextLength: options.context ?? null,
    device: { kind: options.device ?? null, threads: options.threads ?? null },
    precision: 'f32',
    base: options.base ?? null,
    maxRows: 1,
    cacheDirectory: dataFolders(dataDirectory).cache,
  }
}

export const generate = (context: Context) =>
  modelCommand('generate')
    .description('Complete a text or answer messages with a model')
    .option(...adapter)
    .option('--prompt <TEXT>', 'text to continue')
    .option('--messages <F>', 'JSON file with a list of {"role", "content"}, for the chat template')
    .option('--greedy', 'always take the most probable token', false)
    .option('--max-new-tokens, --max-tokens <N>', 'longest completion', whole(1), 256)
    .option('--samples <G>', 'number of completions', whole(1, 4096), 1)
    .option('--seed <S>', 'seed of the samples', whole(0), 42)
    .option('--temperature <T>', 'above 1 more varied, below 1 more certain', real(1e-3), 1)
    .option('--top-k <K>', 'only the K most likely tokens; 0 is off', whole(0), 0)
    .option(
      '--top-p <P>',
      'only the most likely tokens up to this total probability; 1 is off',
      real(1e-6, 1),
      1,
    )
    .option('--min-p <P>', 'only tokens with this share of the highest probability', real(0, 1), 0)
    .option('--repetition-penalty <R>', 'above 1 makes tokens already seen less likely', real(1e-3), 1)
    .option('--stop <TEXT>', 'end a completion at this text')
    .addOption(
      new Option('--precision <PRECISION>', 'weights: exact, or rounded and faster')
        .choices(rolloutPrecisions)
        .default('f32' as const),
    )
    .action(async (options) => {
      const { dataDirectory, output } = context()
      const { samples, seed, precision, maxTokens: maxNewTokens, stop } = options
      const question = questionOf(options.prompt, options.messages)
      const { openModel } = await import('#host/models/openModel.ts')
      const { complete, openText } = await import('#host/models/completing.ts')
      const sampling = { ...options, minNewTokens: 0, maxNewTokens, stopStrings: [stop ?? []].flat() }
      const size = { precision, maxRows: Math.min(samples, 64), newTokens: maxNewTokens }
      using model = await openModel({ ...openRequest(options, dataDirectory), ...size })
      // A single completion is streamed; several would mix, and a stop text is known only when it is complete.
      const isStreamed = samples === 1 && stop === undefined
      const write = output.stream()
      const onText = (_sample: number, piece: string) => write(piece)
      const asked = { question, samples, seed, sampling, ...(isStreamed ? { onText } : {}) }
      const completions: AnsweredCompletion[] = []
      for await (const completion of complete(model, openText(model.folder), asked)) {
        completions.push(completion)
        if (samples > 1) output.line(`— ${completion.sample + 1} —`)
        if (samples > 1) output.text(completion.text)
        else if (!isStreamed) write(completion.text)
        if (samples === 1) output.line('')
      }
      output.json({ completions })
    })

function questionOf(prompt: string | undefined, messages: string | undefined): Question {
  if ((prompt === undefined) === (messages === undefined)) {
    throw usageError('Give either --prompt TEXT or --messages F.', 'See turnwise generate --help.')
  }
  return prompt === undefined ? { messages: readMessages(messages ?? '') } : { text: prompt }
}

export const score = (context: Context) =>
  modelCommand('score')
    .description(
      'Compute the log-probability of every token of given sequences.\n\nEntry t is the prediction of token t+1; natural logarithm. A sequence of L tokens has L-1 entries.',
    )
    .option(...adapter)
    .requiredOption('--input <F>', '{"sequences": [[ids…]…], "temperature": 1}')
    .requiredOption('--output <F>', 'gets {"logprobs": [[…]…], "entropy": [[…]…]}')
    .action(async (options) => {
      const { dataDirectory, output } = context()
      const request = openRequest(options, dataDirectory)
      const { readScoreInput, scoreSequences } = await import('#host/models/scoring.ts')
      const input = readScoreInput(options.input, limitsOf(request))
      const { openModel } = await import('#host/models/openModel.ts')
      using model = await openModel(request)
      const scores = await scoreSequences(model, input)
      writeUserFile(options.output, `${JSON.stringify(scores)}\n`, { overwrite: true })
      output.json({ output: options.output, sequences: input.sequences.length })
      output.line(`Wrote the scores of ${input.sequences.length} sequences to ${options.output}.`)
    })

/** Checks limits before any weights are read. */
function limitsOf({ directory, contextLength: requested = null }: OpenModelRequest) {
  const { vocabSize, contextLength } = openModelFolder(directory, { contextLength: requested }).config
  return { vocabSize, contextLength }
}

export const grad = (context: Context) =>
  modelCommand('grad')
    .description(
      'Compute an adapter’s gradients for given loss coefficients.\n\nCoefficient t is ∂loss/∂log-probability of token t+1; a sequence of L tokens has L-1 of them.',
    )
    .requiredOption(...adapter)
    .requiredOption('--input <F>', '{"sequences": [[ids…]…], "coefficients": [[…]…], "temperature": 1}')
    .requiredOption('--output <DIR>', 'folder for gradients.safetensors, which uses PEFT’s names')
    .action(async (options) => {
      const { dataDirectory, output } = context()
      const request = openRequest(options, dataDirectory)
      const { adapterGradients, readGradInput, writeGradients } = await import('#host/models/scoring.ts')
      const input = readGradInput(options.input, limitsOf(request))
      const { openModel } = await import('#host/models/openModel.ts')
      using model = await openModel(request)
      const gradients = await adapterGradients(model, input)
      const file = await writeGradients(options.output, gradients)
      output.json({ output: file, tensors: gradients.length })
      output.line(`Wrote ${gradients.length} gradients to ${file}.`)
    })
