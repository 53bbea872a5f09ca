import { plural } from '#shared/plural.ts'
import { problemText, type DataRow } from '#host/data/dataFile.ts'
import type { ColumnStatistics } from '#host/data/columnStatistics.ts'
import { findDataSet } from '#host/data/dataSetLibrary.ts'
import { promptLengths, type LengthHistogram, type PreviewModel } from '#host/data/preview.ts'
import { detectShape, type DetectedShape } from '#host/data/shapes.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { defineCommand } from '../command.ts'
import { integer, text } from '../options.ts'
import { tableLines } from '../output.ts'

const sampledRows = 200
const shownProblems = 10

export const datasetShow = defineCommand({
  name: 'dataset show',
  summary: 'Show what is in a data set',
  positionals: [{ name: 'DATASET', description: 'Its name, or the beginning of its id' }],
  options: {
    rows: integer('N', 'how many of the first rows are shown', { minimum: 0, default: 3 }),
    model: text('MODEL', 'measure prompts in tokens of this model; without it in characters'),
  },
  async run({ options, positionals: [wanted = ''] }, { dataDirectory, output }) {
    const version = findDataSet(wanted, dataDirectory)
    const { info, directory } = version
    const model = options.model === undefined ? null : loadTokenizer(findModel(options.model, dataDirectory))
    const shape = detectShape(version.rows(0, sampledRows))
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
      ...rows.flatMap((row, index) => ['', `Row ${index + 1}`, ...rowLines(row)]),
    ]
    for (const line of lines) output.line(line)
  },
})

/** Only columns that are as the runs want them make prompts; others need a remap first. */
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

function shapeLines({ title, prompt, mapping, answer }: DetectedShape): string[] {
  return [
    `Looks like: ${title}`,
    ...(mapping.length === 0 ? [] : [`Proposed remap (dataset import --remap): ${JSON.stringify(mapping)}`]),
    ...(prompt === null ? [] : [`Proposed data.prompt: ${JSON.stringify(prompt)}`]),
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
    `Length of the prompts in ${unit}: median ${median}, 95 % are at most ${p95}, longest ${max}`,
    ...bars,
    ...(problems === 0 ? [] : [`  ${plural(problems, 'row makes', 'rows make')} no prompt`]),
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
