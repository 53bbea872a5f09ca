import path from 'node:path'
import { fetchModel } from '#host/hub/fetchFiles.ts'
import { importModel, type ModelSummary } from '#host/models/modelLibrary.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { fetchFolder, placeAt } from '#host/hub/hubFetching.ts'
import { discardUpload } from '#host/transports/uploads.ts'
import { defineCommand, type CommandContext } from '../command.ts'
import { fetchingFrom, hubOptions, isHubAddress } from '../hub.ts'
import { text } from '../options.ts'
import { modelSize } from './modelList.ts'

export const modelImport = defineCommand({
  name: 'model import',
  summary: 'Check a model and copy it into the data directory; from a folder, or from a hub',
  positionals: [
    {
      name: 'SOURCE',
      description:
        'Hugging Face folder with config.json and safetensors weights; or owner/name[@revision] of a hub, or the address of its page',
    },
  ],
  options: {
    name: text('NAME', "what to call it here (default: the folder's or the hub's name)"),
    'hub-id': text(
      'OWNER/NAME',
      'what the model is called on a hub, told to who gets its adapters (optional)',
    ),
    ...hubOptions,
  },
  notes: () => [
    'What is not on this disk and has the form owner/name is fetched from the hub: the only requests this command',
    'makes. An interrupted fetch goes on where it ended. Access token: HF_TOKEN, else the one of the settings.',
  ],
  async run({ options, positionals: [source = ''] }, context) {
    const { dataDirectory, output } = context
    const model = isHubAddress(source)
      ? await importFromHub(source, options, context)
      : await importModel(
          source,
          options.name ?? path.basename(path.resolve(source)),
          dataDirectory,
          options['hub-id'] ?? null,
        )
    output.json(model)
    output.line(`Imported ${model.name}: ${model.architecture}, ${modelSize(model)}.`)
  },
})

interface HubChoice {
  readonly name: string | undefined
  readonly endpoint: string | undefined
}

const importFromHub = (
  address: string,
  { name, endpoint }: HubChoice,
  context: CommandContext,
): Promise<ModelSummary> =>
  fetchingFrom(context, endpoint, async ({ host, access, follow }) => {
    const place = placeAt(address, access, 'model')
    const { uploadId, folder } = fetchFolder(host, access, [place.repo, place.revision])
    context.output.note(`Fetching ${place.repo} from ${access.endpoint}.`)
    await follow(fetchModel(place, folder, access))
    const model = await importModel(folder, name ?? path.posix.basename(place.repo), host.dataDirectory)
    await discardUpload(dataFolders(host.dataDirectory).uploads, uploadId)
    return model
  })
