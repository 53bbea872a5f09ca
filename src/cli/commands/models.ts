/** Commands about imported models. */
import path from 'node:path'
import { Command, Option } from '@commander-js/extra-typings'
import { commandWord } from '#shared/shownText.ts'
import { keepers } from '#shared/api/models.ts'
import { type AppError, usageError } from '#shared/errors.ts'
import { blockPrecisions, type PrecisionEffect } from '#shared/precision.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { fetchModel, openHubModel, type HubModel } from '#host/hub/hubModel.ts'
import { knownModels } from '#host/api/hubService.ts'
import { modelFolderOf, placeAt } from '#host/hub/hubFetching.ts'
import { families, searchModels } from '#host/hub/searchModels.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import {
  findModel,
  importedName,
  importModel,
  listModels,
  summarizeModel,
  type ListedModel,
  type ModelSummary,
} from '#host/models/modelLibrary.ts'
import { modelNotes } from '#host/models/tokenizerFolder.ts'
import { modelShapes, type ModelShapeName } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { discardUpload } from '#host/transports/uploads.ts'
import {
  listOf,
  maxThreads,
  oneOf,
  real,
  threads,
  whole,
  type CommandContext,
  type Context,
  type OptionsOf,
  group,
} from '../command.ts'
import { fetchingFrom, hubEndpoint, isHubAddress } from '../hub.ts'
import { megabytes, tableLines, type Output } from '../output.ts'

export const models = (context: Context) =>
  group(context, 'model', 'Manage models', [add, list, search, check, random])

const add = (context: Context) =>
  new Command('import')
    .description(
      'Check a model and copy it into the data directory, from a folder, a GGUF file or a hub.\n\nA name of the form owner/name that is not a local folder is downloaded from the hub; the command makes no other requests. Before anything is downloaded its licence and size are shown; the licence is kept with the model. Interrupted downloads resume. Access token: HF_TOKEN, for the hub of --endpoint, HF_ENDPOINT or huggingface.co, or else the one in the settings.',
    )
    .argument(
      '<SOURCE>',
      'Hugging Face folder with config.json and safetensors weights, or a GGUF file; or owner/name[@revision] on a hub, or the URL of its page',
    )
    .option('--name <NAME>', "name for the model (default: the folder's or the hub's)")
    .option('--hub-id <OWNER/NAME>', 'name of the model on a hub, written into exported adapters (optional)')
    .option('--file <NAME>', 'on a hub, download this GGUF file instead of safetensors weights')
    .option(
      '--accept-license <NAME>',
      `accept the model's licence by its name; “${noLicense}” if it states none`,
    )
    .option(...hubEndpoint)
    .action(async (source, options) => {
      const here = context()
      const given = options.name ?? importedName(source)
      const model = isHubAddress(source)
        ? await importFromHub(source, options, here)
        : await importNoted(source, given, here, options.hubId ?? null)
      here.output.json(model)
      here.output.line(`Imported ${model.name}: ${model.architecture}, ${modelSize(model)}.`)
    })

/** Imports a model, and reports anything unusual about it. */
async function importNoted(
  folder: string,
  name: string,
  { dataDirectory, output }: CommandContext,
  hubId: string | null = null,
): Promise<ModelSummary & { readonly notes: readonly string[] }> {
  const notes = modelNotes(openModelFolder(folder))
  const model = await importModel(folder, name, dataDirectory, hubId)
  for (const note of notes) output.note(note)
  return { ...model, notes }
}

const noLicense = 'none'

const importFromHub = (
  address: string,
  { name, endpoint, file: part, acceptLicense }: OptionsOf<typeof add>,
  context: CommandContext,
): Promise<ModelSummary> =>
  fetchingFrom(context, endpoint, async ({ host, access, follow }) => {
    const place = placeAt(address, access, 'model')
    if (acceptLicense === undefined) throw notAccepted(await openHubModel(place, access), context)
    const license = acceptLicense === noLicense ? null : acceptLicense
    const file = part ?? null
    const { uploadId, folder } = modelFolderOf(host, access, place, file)
    context.output.note(`Downloading ${place.repo} from ${access.endpoint}.`)
    await follow(fetchModel(place, { file, license }, folder, access))
    const model = await importNoted(folder, name ?? path.posix.basename(place.repo), context)
    await discardUpload(dataFolders(host.dataDirectory).uploads, uploadId)
    return model
  })

/** Lists the available files and the licence, which must be accepted. */
function notAccepted({ commit, license, choices }: HubModel, { output }: CommandContext): AppError {
  const { repo } = commit.place
  for (const { file, sizeBytes } of choices)
    output.note(`${megabytes(sizeBytes).padStart(11)}  ${file ?? 'safetensors weights'}`)
  const where = license?.link ?? `${commit.access.endpoint}/${repo}`
  output.note(
    license === null
      ? `The card of ${repo} states no licence: ${where}`
      : `${repo} is under the licence ${license.name}: ${where}`,
  )
  return usageError(
    'Nothing was downloaded.',
    `Read the terms, then accept them with --accept-license ${commandWord(license?.name ?? noLicense)}.`,
  )
}

const list = (context: Context) =>
  new Command('list')
    .description(
      'List the available models, with those that Hugging Face’s cache, LM Studio and Ollama keep on this machine.\n\nfits: the most exact form of the weights that this machine’s memory holds for training. TURNWISE_FOUND_MODELS=0 leaves out those of other programs.',
    )
    .option(
      '--known',
      'list recommended models that a hub has, with what they need and how fast they are here',
      false,
    )
    .action(({ known }) => {
      const { dataDirectory, output } = context()
      if (known) {
        listKnown(dataDirectory, output)
        return
      }
      const listed = listModels(dataDirectory)
      output.json({ models: listed })
      const header = ['name', 'architecture', 'size', 'context', 'fits', 'kept by']
      for (const line of tableLines(header, listed.map(row))) output.line(line)
      for (const { name, notes = [] } of listed) for (const note of notes) output.note(`${name}: ${note}`)
    })

function row(model: ListedModel): string[] {
  const keeper = model.origin === null ? '' : keepers[model.origin]
  if ('problem' in model) return [model.name, model.problem, '', '', '', keeper]
  const { name, architecture, contextLength, fits } = model
  return [name, architecture, modelSize(model), `${contextLength}`, fits ?? 'no', keeper]
}

function listKnown(dataDirectory: string, output: Output): void {
  const models = knownModels(dataDirectory)
  output.json({ models })
  const header = ['hub id', 'size', 'disk', 'context', 'fits', 'memory', 'writes', 'learns', 'licence']
  for (const line of tableLines(header, models.map(knownRow))) output.line(line)
  const speed = models.find((model) => model.speed !== null)?.speed ?? null
  output.line('')
  output.line(
    speed === null
      ? 'Speeds are unknown until this machine is measured: turnwise device measure'
      : `Tokens per second, estimated from a model of ${millions(speed.parameters)} measured here on ${new Date(speed.measuredAt).toISOString().slice(0, 10)}.`,
  )
}

function knownRow(model: ReturnType<typeof knownModels>[number]): string[] {
  const { id, sizeBytes, contextLength, fits, trainingBytes, speed, license, isGated } = model
  const rate = (value: number | undefined) => (value === undefined ? '' : value.toPrecision(2))
  return [
    ...[id, modelSize(model), gigabytes(sizeBytes), `${contextLength}`, fits ?? 'no'],
    ...[gigabytes(trainingBytes), rate(speed?.generating), rate(speed?.learning)],
    `${license}${isGated ? ' (account needed)' : ''}`,
  ]
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`
const millions = (parameters: number): string => `${(parameters / 1e6).toFixed(0)} M parameters`

const search = (context: Context) =>
  new Command('search')
    .description(
      'Search a hub for models, most downloads first, and say which of them can be opened.\n\nThe command sends one request to the hub. Access token: HF_TOKEN, for the hub of --endpoint, HF_ENDPOINT or huggingface.co, or else the one in the settings.',
    )
    .argument('<WORDS...>', 'words of the name')
    .addOption(new Option('--family <TYPE>', 'only this model_type').choices(families))
    .option('--license <NAME>', 'only under this licence, such as apache-2.0')
    .option('--max-parameters <BILLIONS>', 'only models up to this size', real(0))
    .option('--usable', 'leave out what cannot be opened', false)
    .option(...hubEndpoint)
    .action((words, { family, license, maxParameters, usable, endpoint }) =>
      fetchingFrom(context(), endpoint, async ({ access }) => {
        const { output } = context()
        const answer = await searchModels(
          {
            words: words.join(' '),
            onlyUsable: usable,
            ...(family === undefined ? {} : { family }),
            ...(license === undefined ? {} : { license }),
            ...(maxParameters === undefined ? {} : { maxParameters: maxParameters * 1e9 }),
          },
          access,
        )
        output.json(answer)
        const header = ['hub id', 'size', 'downloads', 'licence', 'weights', 'opens']
        for (const line of tableLines(header, answer.models.map(foundRow))) output.line(line)
        if (answer.models.length === 0) output.line('The hub has no such model.')
        else if (answer.hasMore) output.line('The hub has more: give more words.')
      }),
    )

const foundRow = (model: Awaited<ReturnType<typeof searchModels>>['models'][number]): string[] => [
  model.id,
  model.parameters === null ? '' : modelSize({ parameters: model.parameters }),
  `${model.downloads}`,
  model.license ?? 'not stated',
  model.forms.join(', '),
  'problem' in model.verdict ? `No. ${model.verdict.problem}` : model.verdict.family,
]

interface SizedModel {
  readonly parameters: number
  readonly activeParameters?: number
}

/** Formats `0.5 B parameters`, `1.3 B parameters (0.4 active)`. */
function modelSize({ parameters, activeParameters = parameters }: SizedModel): string {
  const [divisor, letter] = parameters >= 1e9 ? [1e9, 'B'] : parameters >= 1e6 ? [1e6, 'M'] : [1e3, 'K']
  const active = activeParameters < parameters ? ` (${(activeParameters / divisor).toFixed(1)} active)` : ''
  return `${(parameters / divisor).toFixed(1)} ${letter} parameters${active}`
}

const check = (context: Context) =>
  new Command('check')
    .description(
      'Measure how quantising a model’s matrices changes its log-probabilities.\n\nNats per token. mean and largest: |exact − quantised| on the texts; loss: its increase on them; KL: of the quantised model from the exact one, on its own samples; sampler: gap between generation and learning.',
    )
    .argument('<MODEL>', 'model folder, or a name from model list')
    .option(
      '--precision <PRECISIONS>',
      'precisions to measure, comma-separated',
      listOf(oneOf(blockPrecisions)),
      blockPrecisions,
    )
    .option('--texts <F>', 'UTF-8 file with one text per line (default: eight short texts of several kinds)')
    .option(...threads, whole(1, maxThreads))
    .action(async (model, options) => {
      const { dataDirectory, output } = context()
      const { readTexts } = await import('#host/checks/precisionTexts.ts')
      const { checkPrecision } = await import('#host/checks/precisionCheck.ts')
      const { openText } = await import('#host/models/completing.ts')
      const { chooseDevice } = await import('#host/models/openModel.ts')
      const folder = openModelFolder(findModel(model, dataDirectory))
      const subject = {
        model: folder,
        tokenizer: openText(folder).tokenizer,
        texts: options.texts === undefined ? null : readTexts(options.texts),
        device: await chooseDevice({ kind: null, threads: options.threads ?? null }),
        cacheDirectory: dataFolders(dataDirectory).cache,
      }
      const effects: PrecisionEffect[] = []
      for (const precision of options.precision) {
        output.note(`${precision}: quantising and scoring`)
        effects.push(await checkPrecision({ ...subject, precision }))
      }
      output.json({ effects })
      const header = ['base', 'matrices', 'mean', 'largest', 'loss', 'KL', 'sampler']
      for (const line of tableLines(header, effects.map(effectRow))) output.line(line)
    })

const effectRow = ({ precision, roundedBytes, exactBytes, ...effect }: PrecisionEffect): string[] => [
  precision,
  `${(roundedBytes / 1e6).toFixed(1)} MB of ${(exactBytes / 1e6).toFixed(1)}`,
  ...[effect.mean, effect.largest, effect.loss, effect.divergence, effect.samplerGap].map((value) =>
    value.toFixed(5),
  ),
]

const shapeNames = Object.keys(modelShapes) as ModelShapeName[]
const dtypes = { f32: 'F32', bf16: 'BF16' } as const

const random = (context: Context) =>
  new Command('random')
    .description('Write a model folder with random weights, for tests and benchmarks')
    .addOption(new Option('--shape <NAME>', 'shape of the model').choices(shapeNames).makeOptionMandatory())
    .requiredOption('--out <DIR>', 'output folder; new or empty')
    .option('--seed <N>', 'seed of the weights', whole(0), 1)
    .addOption(
      new Option('--dtype <TYPE>', 'data type of the weights')
        .choices(['f32', 'bf16'])
        .default('f32' as const),
    )
    .action(async ({ shape, out, seed, dtype }) => {
      const { output } = context()
      await writeRandomModel(out, modelShapes[shape], seed, dtypes[dtype])
      const model = summarizeModel(shape, openModelFolder(out))
      output.json(model)
      output.line(`Wrote ${modelSize(model)} of shape ${shape} to ${model.directory}.`)
    })
