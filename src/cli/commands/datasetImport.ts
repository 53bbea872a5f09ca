import { plural } from '#shared/plural.ts'
import { type DataFiles, inspectDataFile } from '#host/data/dataFiles.ts'
import { importDataSet, type ImportedDataSet } from '#host/data/importDataSet.ts'
import { problemText } from '#host/data/dataFile.ts'
import type { DataSetInfo } from '#host/data/dataSetVersion.ts'
import { openHubData, readFetched } from '#host/hub/fetchData.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { placeAt, splitFetch } from '#host/hub/hubFetching.ts'
import { discardUpload } from '#host/transports/uploads.ts'
import { defineCommand, type CommandContext } from '../command.ts'
import { fetchingFrom, hubOptions, isHubAddress, toMegabytes } from '../hub.ts'
import { watchInterrupts } from '../interrupt.ts'
import { flag, text, usageError } from '../options.ts'
import { createProgress } from '../progress.ts'

const shownProblems = 10

export const datasetImport = defineCommand({
  name: 'dataset import',
  summary: 'Add a data set from a file (jsonl, json, csv, tsv, parquet) or from a hub',
  positionals: [
    {
      name: 'SOURCE',
      description: 'The file with the rows; or owner/name[@revision] of a hub, or the address of its page',
    },
  ],
  options: {
    name: text('NAME', 'what the data set is called; by default as the file'),
    remap: flag('bring the columns to the usual names, as dataset show proposes'),
    config: text('NAME', 'of a hub: which of its tables; by default the usual one'),
    split: text('NAME', 'of a hub: which part of the table; by default train'),
    ...hubOptions,
  },
  notes: () => [
    'What is not on this disk and has the form owner/name is fetched from the hub: the only requests this command',
    'makes. An interrupted fetch goes on where it ended; loading scripts are never run. Access token: HF_TOKEN, else',
    'the one of the settings.',
  ],
  async run({ options, positionals: [source = ''] }, context) {
    const { output } = context
    if (!isHubAddress(source) && (options.config ?? options.split) !== undefined) {
      throw usageError(
        'Options --config and --split are for data sets of a hub.',
        'Say owner/name; a file has no parts.',
      )
    }
    const { version, isNew } = isHubAddress(source)
      ? await importFromHub(source, options, context)
      : await importFiles(source, options, context)
    const { info, directory } = version
    const { columns: _columns, ...facts } = info
    output.json({ ...facts, directory, isNew, columns: info.columns.map(({ name }) => name) })
    for (const line of importWords(info, isNew)) output.line(line)
  },
})

interface ImportChoice {
  readonly name: string | undefined
  readonly remap: boolean
}

interface HubChoice extends ImportChoice {
  readonly config: string | undefined
  readonly split: string | undefined
  readonly endpoint: string | undefined
}

const importFromHub = (
  address: string,
  choice: HubChoice,
  context: CommandContext,
): Promise<ImportedDataSet> =>
  fetchingFrom(context, choice.endpoint, async ({ host, access, follow }) => {
    const place = placeAt(address, access, 'dataset')
    context.output.note(`Fetching ${place.repo} from ${access.endpoint}.`)
    const data = await openHubData(place, access)
    const fetching = splitFetch(host, data, choice)
    await follow(fetching.run())
    const fetched = readFetched(fetching.folder)
    if (fetched === null) throw new Error('Expected the fetched folder to say what it holds.')
    const { name = fetching.name, remap } = choice
    const imported = await importFiles(fetched.files, { name, remap }, context, fetched.origin)
    await discardUpload(dataFolders(host.dataDirectory).uploads, fetching.uploadId)
    return imported
  })

async function importFiles(
  files: DataFiles,
  { name, remap }: ImportChoice,
  { dataDirectory, json, output }: CommandContext,
  origin?: string,
): Promise<ImportedDataSet> {
  const mapping = remap ? (await inspectDataFile(files)).shape.mapping : []
  const progress = createProgress(output, json)
  const stopping = () => progress.note('Stopping; nothing is added.')
  using interrupt = watchInterrupts(stopping, stopping)
  return await importDataSet(files, {
    folder: dataFolders(dataDirectory).datasets,
    ...(name === undefined ? {} : { name }),
    ...(origin === undefined ? {} : { origin }),
    mapping,
    signal: interrupt.gently,
    onProgress: (read, total) =>
      progress.update({ done: toMegabytes(read), total: toMegabytes(total), unit: 'MB', facts: [] }),
  }).finally(() => progress.end())
}

function importWords({ id, name, rows, problems }: DataSetInfo, isNew: boolean): string[] {
  const first = problems.listed.slice(0, shownProblems).map((problem) => `  ${problemText(problem)}`)
  const others = problems.count - first.length
  return [
    `${isNew ? 'Added' : 'Was there already:'} “${name}”, ${plural(rows, 'row')}, id ${id.slice(0, 12)}.`,
    ...(problems.count === 0 ? [] : [`Left out ${plural(problems.count, 'row')}:`]),
    ...first,
    ...(others > 0 ? [`  and ${others} more`] : []),
    `turnwise dataset show ${id.slice(0, 12)} tells more.`,
  ]
}
