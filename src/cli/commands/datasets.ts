/** Commands about data sets. */
import path from 'node:path'
import { Argument, Command } from '@commander-js/extra-typings'
import { dataSetOfLabels } from '#shared/api/labels.ts'
import { usageError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { createHost } from '#host/createHost.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { ColumnStatistics } from '#host/data/columnStatistics.ts'
import { problemText, type DataRow } from '#host/data/dataFile.ts'
import { inspectDataFile, type DataFileInspection, type DataFiles } from '#host/data/dataFiles.ts'
import { findDataSet, listDataSets, type ListedDataSet } from '#host/data/dataSetLibrary.ts'
import type { DataSetInfo } from '#host/data/dataSetVersion.ts'
import { importDataSet, type ImportedDataSet } from '#host/data/importDataSet.ts'
import { importLabels } from '#host/data/labelRows.ts'
import { oddValues } from '#host/data/oddValues.ts'
import { previewPrompts, promptLengths, type LengthHistogram, type PreviewModel } from '#host/data/preview.ts'
import { detectShape, type DetectedShape } from '#host/data/shapes.ts'
import { tellingRowsOf } from '#host/data/tellingRows.ts'
import { scratchFolder } from '#host/files/scratch.ts'
import { openHubData, readFetched } from '#host/hub/fetchData.ts'
import { placeAt, splitFetch } from '#host/hub/hubFetching.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { reviewPython } from '#host/python/consent.ts'
import { pythonRows, type PythonRows, rowsSource, writePythonRows } from '#host/code/pythonRows.ts'
import { discardUpload } from '#host/transports/uploads.ts'
import {
  repeated,
  trustPython,
  whole,
  type CommandContext,
  type Context,
  type OptionsOf,
  group,
} from '../command.ts'
import { trusting } from './python.ts'
import { answer } from './answers.ts'
import { fetchingFrom, hubEndpoint, isHubAddress, toMegabytes } from '../hub.ts'
import { watchInterrupts } from '../interrupt.ts'
import { tableLines } from '../output.ts'
import { createProgress } from '../progress.ts'

export const datasets = (context: Context) =>
  group(context, 'dataset', 'Manage data sets', [add, list, show, answer, labels])

const shownProblems = 10

const add = (context: Context) =>
  new Command('import')
    .description(
      'Add a data set from a file (jsonl, json, csv, tsv, parquet), from a hub, or from Python.\n\nA name of the form owner/name that is not a local file is downloaded from the hub; the command makes no other requests. Interrupted downloads resume; loading scripts are never run. Access token: HF_TOKEN, for the hub of --endpoint, HF_ENDPOINT or huggingface.co, or else the one in the settings.\n\nfile.py#function is a Python function that returns or yields rows, reasoning-gym:NAME a data set of ReasoningGym; --set gives them arguments, such as --set size=1000.',
    )
    .argument(
      '<SOURCE>',
      'file with the rows; owner/name[@revision] on a hub, or the URL of its page; file.py#function; reasoning-gym:NAME',
    )
    .option('--name <NAME>', 'name of the data set (default: the file’s)')
    .option('--remap', 'map the columns to those that runs read, as the import proposes', false)
    .option('--config <NAME>', 'on a hub: configuration (default: the data set’s own default)')
    .option('--split <NAME>', 'on a hub: split (default: train); of a JSON file: the list with the rows')
    .option('--set <NAME=VALUE>', 'of Python: an argument of the function; may be repeated', repeated, [])
    .option(...trustPython)
    .option(...hubEndpoint)
    .action(async (source, options) => {
      const here = context()
      const written = pythonRows(source)
      requireMeaningful(source, options, written !== null)
      const { version, isNew, name, found } = await (written !== null
        ? importFromPython(written, options, here)
        : isHubAddress(source)
          ? importFromHub(source, options, here)
          : importFiles(source, options, here))
      const { info, directory } = version
      const { columns: _columns, ...facts } = info
      const { notes, shape } = found
      const columns = info.columns.map((column) => column.name)
      here.output.json({ ...facts, directory, isNew, columns, notes, shape })
      for (const line of [
        ...readAs(found),
        ...importWords(info, isNew ? null : name),
        ...oddValues(info.columns, shape, plural(info.rows, 'row')),
        ...proposalWords(found, options.remap, version),
      ])
        here.output.line(line)
    })

type ImportOptions = OptionsOf<typeof add>

/** Errors: a usage error for an option that does not apply to such a source. */
function requireMeaningful(source: string, options: ImportOptions, isPython: boolean): void {
  if (!isPython && (options.set.length > 0 || options.trustPython !== undefined))
    throw usageError(
      'Options --set and --trust-python are only for data sets in Python.',
      'Give file.py#function or reasoning-gym:NAME.',
    )
  if (isHubAddress(source)) return
  if (options.config !== undefined)
    throw usageError('Option --config is only for data sets on a hub.', 'Give owner/name.')
  if (options.split !== undefined && !/\.json(?:\.\w+)?$/i.test(source))
    throw usageError(
      'Option --split is only for data sets on a hub and JSON files with several lists.',
      'Leave it out: other files are one table.',
    )
}

type Imported = ImportedDataSet & { readonly found: DataFileInspection }

const importFromHub = (address: string, choice: ImportOptions, context: CommandContext): Promise<Imported> =>
  fetchingFrom(context, choice.endpoint, async ({ host, access, follow }) => {
    const place = placeAt(address, access, 'dataset')
    context.output.note(`Downloading ${place.repo} from ${access.endpoint}.`)
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

/** Errors: AppError 'python/not-allowed', 'sandbox/failed' for code that fails. */
async function importFromPython(
  rows: PythonRows,
  { name = rows.name, remap, set, trustPython: trusted }: ImportOptions,
  context: CommandContext,
): Promise<Imported> {
  const interpreter = typeof trusted === 'string' ? trusted : null
  const consents = consentsFile(context.dataDirectory)
  if (trusted !== undefined) trusting(context)([reviewPython(rowsSource(rows), interpreter, consents)])
  using scratch = scratchFolder(context.dataDirectory)
  const file = path.join(scratch.folder, 'rows.jsonl')
  const settings = { ...rows.settings, ...Object.fromEntries(set.map(settingOf)) }
  await writePythonRows(rows, settings, file, { interpreter, consents })
  const said = Object.entries(settings).map(([key, value]) => ` ${key}=${value}`)
  return await importFiles(file, { name, remap }, context, `${rows.origin}${said.join('')}`)
}

/** Parses numbers, true and false; anything else stays text. */
function settingOf(given: string): [string, string | number | boolean] {
  const [, name, text = ''] = /^(\w+)=(.*)$/s.exec(given) ?? []
  if (name === undefined) throw usageError(`“${given}” is not NAME=VALUE.`, 'Such as --set size=1000.')
  if (text === 'true' || text === 'false') return [name, text === 'true']
  return [name, text !== '' && Number.isFinite(Number(text)) ? Number(text) : text]
}

async function importFiles(
  files: DataFiles,
  { name, remap, split }: Pick<ImportOptions, 'name' | 'remap'> & { readonly split?: string | undefined },
  { dataDirectory, json, output }: CommandContext,
  origin?: string,
): Promise<Imported> {
  const progress = createProgress(output, json)
  const stopping = () => progress.note('Stopping; nothing was added.')
  using interrupt = watchInterrupts(stopping, stopping)
  const looking = { count: sampledRows, split, maxBytes: Infinity, signal: interrupt.gently }
  const found = await inspectDataFile(files, looking)
  const imported = await importDataSet(files, {
    folder: dataFolders(dataDirectory).datasets,
    ...(name === undefined ? {} : { name }),
    ...(origin === undefined ? {} : { origin }),
    ...(split === undefined ? {} : { split }),
    mapping: remap ? found.shape.mapping : [],
    signal: interrupt.gently,
    onProgress: (read, total) =>
      progress.update({ done: toMegabytes(read), total: toMegabytes(total), unit: 'MB', facts: [] }),
  }).finally(() => progress.end())
  return { ...imported, found }
}

/** Names the detected shape of the file, and the columns that show it. */
const readAs = ({ format, shape, notes }: DataFileInspection): string[] => [
  shape.id === 'unknown'
    ? `Read as ${format.title}. No known kind of data set has these columns: ${shape.evidence}.`
    : `Read as ${format.title}: ${shape.title}, by ${shape.evidence}.`,
  ...notes,
]

const previewedRows = 3

/** Describes what a run would read of the rows, and what it would ignore. */
function proposalWords(
  { shape }: DataFileInspection,
  isMapped: boolean,
  version: ImportedDataSet['version'],
): string[] {
  const { prompt, mapping, leftAside, doubts } = shape
  const said = [...leftAside.map(({ text }) => text), ...doubts]
  if (prompt === null) return [...said, ...templateWords(shape)]
  if (!isMapped && mapping.length > 0)
    return [
      ...said,
      'The columns were kept as they are. Import the data with --remap to get the columns that a run reads.',
    ]
  const shown = previewPrompts(version.rows(0, previewedRows), prompt, null)
  return [
    ...said,
    `Proposed data.prompt: ${JSON.stringify(prompt)}`,
    ...shown.map((each) => `  row ${each.row + 1}: ${'text' in each ? onOneLine(each.text) : each.problem}`),
  ]
}

/** Explains how a config builds prompts from columns that no rule recognizes. */
const templateWords = ({ template }: DetectedShape): string[] => [
  template === null
    ? 'No column of texts could be a prompt.'
    : `No column is recognised as the prompt. Say in the run’s config what it is made of, such as "data": {"prompt": {"template": ${JSON.stringify(template)}}}.`,
]

const longestPreview = 160

function onOneLine(text: string): string {
  const line = text.replaceAll(/\s*\n\s*/g, ' ⏎ ')
  return line.length > longestPreview ? `${line.slice(0, longestPreview)}…` : line
}

/** Describes the import; `again`: name under which the same rows were imported before; null: new rows. */
function importWords({ id, name, rows, problems }: DataSetInfo, again: string | null): string[] {
  const first = problems.listed.slice(0, shownProblems).map((problem) => `  ${problemText(problem)}`)
  const others = problems.count - first.length
  return [
    `${again === null ? 'Added' : 'Already imported:'} “${name}”, ${plural(rows, 'row')}, id ${id.slice(0, 12)}.`,
    ...(again === null || again === name ? [] : [`“${again}” is now another name for it.`]),
    ...(problems.count === 0 ? [] : [`Left out ${plural(problems.count, 'row')}:`]),
    ...first,
    ...(others > 0 ? [`  and ${others} more`] : []),
    `For details: turnwise dataset show ${id.slice(0, 12)}`,
  ]
}

const list = (context: Context) =>
  new Command('list').description('List the data sets').action(() => {
    const { dataDirectory, output } = context()
    const listed = listDataSets(dataDirectory)
    output.json({ datasets: listed.map(facts) })
    const header = ['id', 'name', 'rows', 'columns']
    for (const line of tableLines(header, listed.map(row))) output.line(line)
  })

function facts(listed: ListedDataSet): unknown {
  if ('problem' in listed) return listed
  const { id, name, otherNames, rows, sizeBytes, createdAt, columns, problems } = listed.info
  return {
    id,
    name,
    otherNames,
    rows,
    sizeBytes,
    createdAt,
    directory: listed.directory,
    columns: columns.map((column) => column.name),
    problems: problems.count,
  }
}

function row(listed: ListedDataSet): string[] {
  if ('problem' in listed) return [listed.id.slice(0, 12), listed.problem, '', '']
  const { id, name, otherNames = {}, rows, columns } = listed.info
  return [
    id.slice(0, 12),
    [name, ...Object.keys(otherNames)].join(', '),
    `${rows}`,
    columns.map((column) => column.name).join(', '),
  ]
}

const sampledRows = 200

const show = (context: Context) =>
  new Command('show')
    .description('Show the contents of a data set')
    .argument('<DATASET>', 'name, or the beginning of the id')
    .option('--rows <N>', 'number of rows to show', whole(0), 3)
    .option('--model <MODEL>', 'measure prompts in tokens of this model instead of characters')
    .action(async (wanted, options) => {
      const { dataDirectory, output } = context()
      const version = findDataSet(wanted, dataDirectory)
      const { info, directory } = version
      const model =
        options.model === undefined ? null : loadTokenizer(findModel(options.model, dataDirectory))
      const shape = detectShape(await tellingRowsOf(version))
      const lengths = await lengthsOf(version, shape, model)
      const rows = version.rows(0, options.rows)
      output.json({ ...info, directory, shape, promptLengths: lengths, firstRows: rows })
      const lines = [
        `${info.name}  ${info.id}`,
        `${plural(info.rows, 'row')} from ${info.source.path}`,
        '',
        ...tableLines(['column', 'kinds', 'different', 'length'], info.columns.map(columnRow)),
        '',
        ...shapeLines(shape),
        ...(lengths === null ? [] : histogramLines(lengths, model === null ? 'characters' : 'tokens')),
        ...problemLines(info.problems),
        ...rows.flatMap((each, index) => ['', `Row ${index + 1}`, ...rowLines(each)]),
      ]
      for (const line of lines) output.line(line)
    })

/** Returns prompt lengths if the columns are as runs expect them; others need a remap first. */
function lengthsOf(
  version: ReturnType<typeof findDataSet>,
  { prompt, mapping }: DetectedShape,
  model: PreviewModel | null,
): Promise<LengthHistogram | null> | null {
  const needsRemap = mapping.some(({ kind }) => kind !== 'column')
  return prompt === null || needsRemap ? null : promptLengths(version.batches(), prompt, model)
}

function columnRow({ name, kinds, missing, unique, length }: ColumnStatistics): string[] {
  const counted = Object.entries(kinds).map(([kind, count]) => `${kind} ${count}`)
  const words = [...counted, ...(missing === 0 ? [] : [`missing ${missing}`])].join(', ')
  const spread = length === null ? '' : `${length.min}–${length.max}, ${length.mean.toFixed(1)} on average`
  return [name, words, unique === null ? 'more than 10000' : `${unique}`, spread]
}

function shapeLines(shape: DetectedShape): string[] {
  const { id, title, evidence, prompt, mapping, answer, leftAside, doubts } = shape
  return [
    id === 'unknown'
      ? `No known kind of data set has these columns: ${evidence}`
      : `Looks like: ${title}, by ${evidence}`,
    ...leftAside.map(({ text }) => text),
    ...doubts,
    ...(mapping.length === 0 ? [] : [`Proposed remap (dataset import --remap): ${JSON.stringify(mapping)}`]),
    ...(prompt === null ? templateWords(shape) : [`Proposed data.prompt: ${JSON.stringify(prompt)}`]),
    ...(answer === null ? [] : [`Column to compare with: ${answer}`]),
  ]
}

const barWidth = 40

function histogramLines({ bins, median, p95, max, problems }: LengthHistogram, unit: string): string[] {
  const most = Math.max(...bins.map(({ count }) => count))
  const width = `${max}`.length
  const bars = bins.map(({ from, to, count }) => {
    const bar = '█'.repeat(Math.round((barWidth * count) / most))
    return `  ${`${from}`.padStart(width)}–${`${to - 1}`.padStart(width)} ${bar} ${count}`
  })
  return [
    '',
    `Prompt length in ${unit}: median ${median}, 95 % are at most ${p95}, longest ${max}`,
    ...bars,
    ...(problems === 0 ? [] : [`  ${plural(problems, 'row gives', 'rows give')} no prompt`]),
  ]
}

function problemLines({ count, listed }: ReturnType<typeof findDataSet>['info']['problems']): string[] {
  if (count === 0) return []
  const shown = listed.slice(0, shownProblems).map((problem) => `  ${problemText(problem)}`)
  return [
    '',
    `${plural(count, 'row of the file was', 'rows of the file were')} left out:`,
    ...shown,
    ...(count > shown.length ? ['  …'] : []),
  ]
}

const longestValue = 300

const rowLines = (row: DataRow): string[] =>
  Object.entries(row).map(([name, value]) => {
    const written = typeof value === 'string' ? value : JSON.stringify(value)
    return `  ${name}: ${written.length > longestValue ? `${written.slice(0, longestValue)}…` : written}`
  })

const labels = (context: Context) =>
  new Command('labels')
    .description(
      'Make a data set of the labels that answers were given in the window.\n\nratings: one answer per row, with label true or false, for kto; the text that replaced an edited answer counts as good. pairs: prompt, chosen and rejected, for dpo, orpo and simpo; the preferred answer is paired with each of the others, and the text of an edit with the answer that it replaced. Truncated answers are never used as good or chosen. If a data set of that name exists, it gets a new version.',
    )
    .addArgument(new Argument('<KIND>', 'ratings or pairs').choices(dataSetOfLabels.shape.kind.options))
    .option('--from <ID>', 'only those of this run or conversation (full id), or of blind votes: vote')
    .option('--name <NAME>', 'name of the data set (default: labels-KIND)')
    .action(async (kind, { from, name = `labels-${kind}` }) => {
      const { dataDirectory, output } = context()
      const asked = dataSetOfLabels.safeParse({ kind, scope: from, name })
      if (!asked.success)
        throw usageError(
          'Option --from is the full id of a run or conversation, or vote.',
          'Ids: turnwise runs list.',
        )
      await using host = createHost({ dataDirectory, servesQueue: false })
      const { versionId: id, directory, rows } = await importLabels(host, asked.data)
      output.json({ id, name, rows, directory })
      output.line(`“${name}” has ${plural(rows, 'row')}, id ${id.slice(0, 12)}.`)
    })
