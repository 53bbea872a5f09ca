/** Commands about imported models. */
import path from 'node:path'
import { Command, Option } from '@commander-js/extra-typings'
import { keepers } from '#shared/api/models.ts'
import { blockPrecisions, type PrecisionEffect } from '#shared/precision.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { fetchModel } from '#host/hub/fetchFiles.ts'
import { fetchFolder, placeAt } from '#host/hub/hubFetching.ts'
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
import { modelShapes, type ModelShapeName } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { discardUpload } from '#host/transports/uploads.ts'
import {
  listOf,
  maxThreads,
  oneOf,
  threads,
  whole,
  type CommandContext,
  type Context,
  type OptionsOf,
} from '../command.ts'
import { fetchingFrom, hubEndpoint, isHubAddress } from '../hub.ts'
import { tableLines } from '../output.ts'

export const models = (context: Context) =>
  new Command('model')
    .description('Manage models')
    .addCommand(add(context))
    .addCommand(list(context))
    .addCommand(check(context))
    .addCommand(random(context))

const add = (context: Context) =>
  new Command('import')
    .description(
      'Check a model and copy it into the data directory, from a folder, a GGUF file or a hub.\n\nA name of the form owner/name that is not a local folder is downloaded from the hub; the command makes no other requests. Interrupted downloads resume. Access token: HF_TOKEN, or else the one in the settings.',
    )
    .argument(
      '<SOURCE>',
      'Hugging Face folder with config.json and safetensors weights, or a GGUF file; or owner/name[@revision] on a hub, or the URL of its page',
    )
    .option('--name <NAME>', "name for the model (default: the folder's or the hub's)")
    .option('--hub-id <OWNER/NAME>', 'name of the model on a hub, written into exported adapters (optional)')
    .option(...hubEndpoint)
    .action(async (source, options) => {
      const here = context()
      const given = options.name ?? importedName(source)
      const model = isHubAddress(source)
        ? await importFromHub(source, options, here)
        : await importModel(source, given, here.dataDirectory, options.hubId ?? null)
      here.output.json(model)
      here.output.line(`Imported ${model.name}: ${model.architecture}, ${modelSize(model)}.`)
    })

const importFromHub = (
  address: string,
  { name, endpoint }: OptionsOf<typeof add>,
  context: CommandContext,
): Promise<ModelSummary> =>
  fetchingFrom(context, endpoint, async ({ host, access, follow }) => {
    const place = placeAt(address, access, 'model')
    const { uploadId, folder } = fetchFolder(host, access, [place.repo, place.revision])
    context.output.note(`Downloading ${place.repo} from ${access.endpoint}.`)
    await follow(fetchModel(place, folder, access))
    const model = await importModel(folder, name ?? path.posix.basename(place.repo), host.dataDirectory)
    await discardUpload(dataFolders(host.dataDirectory).uploads, uploadId)
    return model
  })

const list = (context: Context) =>
  new Command('list')
    .description(
      'List the available models, with those that Hugging Face’s cache, LM Studio and Ollama keep on this machine.\n\nfits: the most exact form of the weights that this machine’s memory holds for training. TURNWISE_FOUND_MODELS=0 leaves out those of other programs.',
    )
    .action(() => {
      const { dataDirectory, output } = context()
      const listed = listModels(dataDirectory)
      output.json({ models: listed })
      const header = ['name', 'architecture', 'size', 'context', 'fits', 'kept by']
      for (const line of tableLines(header, listed.map(row))) output.line(line)
    })

function row(model: ListedModel): string[] {
  const keeper = model.origin === null ? '' : keepers[model.origin]
  if ('problem' in model) return [model.name, model.problem, '', '', '', keeper]
  const { name, architecture, contextLength, fits } = model
  return [name, architecture, modelSize(model), `${contextLength}`, fits ?? 'no', keeper]
}

/** `0.5 B parameters`, `3.2 M parameters`. */
function modelSize({ parameters }: { readonly parameters: number }): string {
  const [divisor, letter] = parameters >= 1e9 ? [1e9, 'B'] : parameters >= 1e6 ? [1e6, 'M'] : [1e3, 'K']
  return `${(parameters / divisor).toFixed(1)} ${letter} parameters`
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
