import { importDataSet } from '#host/artifacts/data/importDataSet.ts'
import { inspectDataFile } from '#host/artifacts/data/inspectDataFile.ts'
import { problemText } from '#host/artifacts/data/dataFile.ts'
import type { DataSetInfo } from '#host/artifacts/data/dataSetVersion.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { defineCommand } from '../command.ts'
import { watchInterrupts } from '../interrupt.ts'
import { flag, text } from '../options.ts'
import { createProgress } from '../progress.ts'

const shownProblems = 10

export const datasetImport = defineCommand({
  name: 'dataset import',
  summary: 'Add a data set from a file (jsonl, json, csv, tsv, parquet)',
  positionals: [{ name: 'FILE', description: 'The file with the rows' }],
  options: {
    name: text('NAME', 'what the data set is called; by default as the file'),
    remap: flag('bring the columns to the usual names, as dataset show proposes'),
  },
  async run({ options, positionals: [file = ''] }, { dataDirectory, json, output }) {
    const mapping = options.remap ? (await inspectDataFile(file)).shape.mapping : []
    const progress = createProgress(output, json)
    const stopping = () => progress.note('Stopping; nothing is added.')
    using interrupt = watchInterrupts(stopping, stopping)
    const { version, isNew } = await importDataSet(file, {
      folder: dataFolders(dataDirectory).datasets,
      ...(options.name === undefined ? {} : { name: options.name }),
      mapping,
      signal: interrupt.gently,
      onProgress: (read, total) =>
        progress.update({ done: toMegabytes(read), total: toMegabytes(total), unit: 'MB', facts: [] }),
    }).finally(() => progress.end())
    const { info, directory } = version
    const { columns: _columns, ...facts } = info
    output.json({ ...facts, directory, isNew, columns: info.columns.map(({ name }) => name) })
    for (const line of importWords(info, isNew)) output.line(line)
  },
})

const toMegabytes = (bytes: number): number => Math.ceil(bytes / 1e6)

function importWords({ id, name, rows, problems }: DataSetInfo, isNew: boolean): string[] {
  const first = problems.listed.slice(0, shownProblems).map((problem) => `  ${problemText(problem)}`)
  const others = problems.count - first.length
  return [
    `${isNew ? 'Added' : 'Was there already:'} «${name}», ${rows} rows, id ${id.slice(0, 12)}.`,
    ...(problems.count === 0 ? [] : [`Left out ${problems.count} rows:`]),
    ...first,
    ...(others > 0 ? [`  and ${others} more`] : []),
    `turnwise dataset show ${id.slice(0, 12)} tells more.`,
  ]
}
