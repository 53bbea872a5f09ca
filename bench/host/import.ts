/**
 * Speed and memory of importing data: JSON Lines, JSON, CSV and Parquet of the sizes given, made of chat-like rows.
 * `node bench/host/import.ts [MEGABYTES]` (500 by default); every import runs in a process of its own, so that its
 * peak of memory is its own.
 */
import { execFileSync } from 'node:child_process'
import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { once } from 'node:events'
import { parquetWriteFile } from 'hyparquet-writer'
import Papa from 'papaparse'
import { importDataSet } from '#host/data/importDataSet.ts'
import { SequentialRandom, randomStream } from '#shared/random.ts'

const words =
  'the model reads a question, thinks in steps — then answers: “42”, or says why not;\nÜbung macht den Meister'.split(
    ' ',
  )

interface Row {
  readonly prompt: string
  readonly answer: string
  readonly level: number
}

function* rows(): Generator<Row> {
  const random = new SequentialRandom(randomStream(7))
  const text = (length: number) =>
    Array.from({ length }, () => words[random.integer(words.length)] ?? '').join(' ')
  for (;;)
    yield {
      prompt: text(20 + random.integer(120)),
      answer: text(1 + random.integer(8)),
      level: random.integer(10),
    }
}

const textFormats = {
  jsonl: { before: '', write: (row: Row) => `${JSON.stringify(row)}\n`, after: '' },
  json: {
    before: '[{"prompt":"","answer":"","level":0}\n',
    write: (row: Row) => `,${JSON.stringify(row)}\n`,
    after: ']',
  },
  csv: {
    before: 'prompt,answer,level\n',
    write: ({ prompt, answer, level }: Row) => `${Papa.unparse([[prompt, answer, level]])}\n`,
    after: '',
  },
}

async function writeText(file: string, format: keyof typeof textFormats, bytes: number): Promise<void> {
  const { before, write, after } = textFormats[format]
  const stream = createWriteStream(file)
  stream.write(before)
  let written = 0
  for (const row of rows()) {
    const text = write(row)
    written += Buffer.byteLength(text)
    if (!stream.write(text)) await once(stream, 'drain')
    if (written >= bytes) break
  }
  stream.end(after)
  await once(stream, 'finish')
}

/** At most 100 MB, since the writer wants all rows at once; row groups of 10,000 rows. */
function writeParquet(filename: string, bytes: number): void {
  const count = Math.round(Math.min(bytes, 100e6) / 500)
  const content = rows().take(count).toArray()
  parquetWriteFile({
    filename,
    rowGroupSize: 10_000,
    columnData: [
      { name: 'prompt', data: content.map(({ prompt }) => prompt), type: 'STRING' },
      { name: 'answer', data: content.map(({ answer }) => answer), type: 'STRING' },
      { name: 'level', data: content.map(({ level }) => level), type: 'INT32' },
    ],
  })
}

async function importOne(file: string): Promise<void> {
  const idle = process.resourceUsage().maxRSS
  const [start, cpuBefore] = [performance.now(), process.cpuUsage()]
  const { version } = await importDataSet(file, { folder: `${file}-imported` })
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpuBefore)
  const megabytes = statSync(file).size / 1e6
  const page = performance.now()
  version.rows(version.info.rows - 100, 100)
  const figures = {
    file: path.basename(file),
    megabytes: Math.round(megabytes),
    rows: version.info.rows,
    problems: version.info.problems.count,
    seconds: Number(seconds.toFixed(2)),
    megabytesPerSecond: Math.round(megabytes / seconds),
    megabytesPerCpuSecond: Math.round(megabytes / ((user + system) / 1e6)),
    peakMemoryMb: Math.round(process.resourceUsage().maxRSS / 1e3),
    memoryBeforeMb: Math.round(idle / 1e3),
    pageMs: Number((performance.now() - page).toFixed(2)),
  }
  console.log(JSON.stringify(figures))
}

async function main(bytes: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-bench-'))
  try {
    for (const format of ['jsonl', 'json', 'csv', 'parquet'] as const) {
      const file = path.join(folder, `rows.${format}`)
      if (format === 'parquet') writeParquet(file, bytes)
      else await writeText(file, format, bytes)
      process.stdout.write(execFileSync(process.execPath, [import.meta.filename, '--import', file]))
      rmSync(file)
      rmSync(`${file}-imported`, { recursive: true, force: true })
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const [first, file] = process.argv.slice(2)
if (first === '--import' && file !== undefined) await importOne(file)
else await main(Number(first ?? 500) * 1e6)
