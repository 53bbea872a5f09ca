/**
 * Looks at data files and run configs as people bring them and says what each was taken for:
 *
 *   node scripts/field/table.ts [FOLDER] > tests/fixtures/field/table.txt
 *
 * FOLDER has `data` and `runs` (tests/fixtures/field by default). A run on `r-NAME-jsonl` reads NAME.jsonl imported with its columns
 * mapped. Nothing is trained: a run is checked as it is before it starts.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { AppError, problemSentence } from '#shared/errors.ts'
import { createHost } from '#host/createHost.ts'
import { dataFolders, resourcesDirectory } from '#host/dataDirectory.ts'
import { inspectDataFile } from '#host/data/dataFiles.ts'
import { importDataSet } from '#host/data/importDataSet.ts'
import { previewPrompts } from '#host/data/preview.ts'
import { formatNamed } from '#host/data/table.ts'
import { checkRunConfig } from '#host/runs/runVerdict.ts'

/** The table of a folder, a file or a run a line, what is said about it below. */
export async function fieldTable(folder: string): Promise<string[]> {
  const home = mkdtempSync(path.join(tmpdir(), 'turnwise-field-'))
  try {
    const files = listed(path.join(folder, 'data')).filter((file) => formatNamed(file) !== undefined)
    const lines: string[] = []
    for (const file of files)
      lines.push(...(await saying(file, () => dataLines(path.join(folder, 'data', file)))))
    await using host = createHost({ dataDirectory: home, servesQueue: false })
    for (const file of listed(path.join(folder, 'runs')))
      lines.push(
        ...(await saying(file, async () => {
          const config = await configAt(path.join(folder, 'runs', file), home)
          const { warnings, rows } = await checkRunConfig(config, home, host.askText)
          return ['ready', `  rows ${rows}`, ...warnings.map((warning) => `  ! ${problemSentence(warning)}`)]
        })),
      )
    return lines.map((line) => line.replaceAll(`${folder}/`, '').replaceAll(home, 'HOME'))
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

const listed = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.\w+$/.test(name))
    .sort()

async function saying(file: string, look: () => Promise<string[]>): Promise<string[]> {
  try {
    const [first = '', ...rest] = await look()
    return [`${file}: ${first}`, ...rest]
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [
      `${file}: refused`,
      `  ${error.message}`,
      ...(error.hint === undefined ? [] : [`  ${error.hint}`]),
    ]
  }
}

async function dataLines(file: string): Promise<string[]> {
  const { shape, notes, oddValues } = await inspectDataFile(file)
  const { rows, problems } = await inspectDataFile(file, { mapping: shape.mapping })
  const [prompt] = shape.prompt === null ? [] : previewPrompts(rows.slice(0, 1), shape.prompt, null)
  const [row = {}] = rows
  return [
    `${shape.title}, by ${shape.evidence}`,
    ...notes.map((note) => `  ${note}`),
    ...[...shape.leftAside.map(({ text }) => text), ...shape.doubts, ...oddValues].map(
      (text) => `  ! ${text}`,
    ),
    ...(prompt === undefined
      ? []
      : [`  prompt ${JSON.stringify('text' in prompt ? prompt.text : prompt.problem)}`]),
    ...[shape.answer ?? '', 'chosen', 'rejected']
      .filter((name) => name in row)
      .map((name) => `  ${name} ${JSON.stringify(row[name])}`),
    ...problems.map(({ number, sentence }) => `  row ${number} left out: ${sentence}`),
  ]
}

async function configAt(file: string, home: string): Promise<unknown> {
  const config = JSON.parse(readFileSync(file, 'utf8')) as { data: { train: string }; model: string }
  const { train } = config.data
  const [, name] = /^r-(.*)-jsonl$/.exec(train) ?? []
  const local = path.join(path.dirname(file), '..', 'data', `${name ?? ''}.jsonl`)
  const data = name === undefined ? placed(train, file) : await imported(local, home)
  return { ...config, model: path.join(resourcesDirectory, 'starter'), data: { ...config.data, train: data } }
}

const placed = (train: string, file: string): string =>
  train.startsWith('../') ? path.resolve(path.dirname(file), train) : train

async function imported(file: string, home: string): Promise<string> {
  const { mapping } = (await inspectDataFile(file)).shape
  return (await importDataSet(file, { folder: dataFolders(home).datasets, mapping })).version.directory
}

if (import.meta.main) {
  const folder = path.resolve(process.argv[2] ?? 'tests/fixtures/field')
  console.log((await fieldTable(folder)).join('\n'))
}
