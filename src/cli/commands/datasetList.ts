import { listDataSets, type ListedDataSet } from '#host/data/dataSetLibrary.ts'
import { defineCommand } from '../command.ts'
import { tableLines } from '../output.ts'

export const datasetList = defineCommand({
  name: 'dataset list',
  summary: 'List the data sets',
  positionals: [],
  options: {},
  run(_given, { dataDirectory, output }) {
    const listed = listDataSets(dataDirectory)
    output.json({ datasets: listed.map(facts) })
    const header = ['id', 'name', 'rows', 'columns']
    for (const line of tableLines(header, listed.map(row))) output.line(line)
  },
})

function facts(listed: ListedDataSet): unknown {
  if ('problem' in listed) return listed
  const { id, name, rows, sizeBytes, createdAt, columns, problems } = listed.info
  return {
    ...{ id, name, rows, sizeBytes, createdAt, directory: listed.directory },
    columns: columns.map((column) => column.name),
    problems: problems.count,
  }
}

function row(listed: ListedDataSet): string[] {
  if ('problem' in listed) return [listed.id.slice(0, 12), listed.problem, '', '']
  const { id, name, rows, columns } = listed.info
  return [id.slice(0, 12), name, `${rows}`, columns.map((column) => column.name).join(', ')]
}
