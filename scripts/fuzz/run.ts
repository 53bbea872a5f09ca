/**
 * Feeds every reader of foreign files broken and hostile ones, each reader in a process of its own:
 * `node scripts/fuzz/run.ts [--cases 100000] [--reader gguf] [--seed 1]`. A reader may read a file or refuse it in one
 * sentence; any other exception, a crash, a hang or an allocation out of proportion to the file is a problem, and the file
 * is kept in out/fuzz.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import type { FuzzCase, FuzzNews, FuzzProblem, FuzzReport } from './probe.ts'
import { fuzzReaders } from './readers.ts'

export interface FuzzRequest {
  readonly reader: string
  readonly cases: number
  readonly seed: number
  /** Folder for files that were not survived. */
  readonly keep: string
  /** Module with `fuzzReaders`; the project's own by default. */
  readonly readers?: string
  /** A process that says nothing for so long hangs. */
  readonly silenceMs?: number
  readonly onProgress?: (done: number) => void
}

export interface FuzzResult {
  /** null: its process did not end by itself. */
  readonly report: FuzzReport | null
  readonly problems: readonly FuzzProblem[]
}

const defaultSilenceMs = 30_000
const startMs = 300_000
/** For files of up to a mebibyte: a reader that fills it with objects dies, which is a problem found. */
const heapMegabytes = 256

/** Runs one reader's cases in a process of its own. */
export async function fuzzReader(request: FuzzRequest): Promise<FuzzResult> {
  const folder = mkdtempSync(path.join(tmpdir(), `turnwise-fuzz-${request.reader}-`))
  try {
    return await followProbe(request, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function startProbe({ reader, readers, cases, seed, keep }: FuzzRequest, folder: string): ChildProcess {
  const options = {
    reader,
    cases: String(cases),
    seed: String(seed),
    keep,
    folder,
    ...(readers && { readers }),
  }
  const list = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
  const script = path.join(import.meta.dirname, 'probe.ts')
  const heap = `--max-old-space-size=${String(heapMegabytes)}`
  return spawn(process.execPath, [heap, script, ...list], { stdio: ['ignore', 'pipe', 'pipe'] })
}

async function followProbe(request: FuzzRequest, folder: string): Promise<FuzzResult> {
  const child = startProbe(request, folder)
  const { stdout, stderr } = child
  if (!stdout || !stderr) throw new Error('Expected pipes to the process.')
  let complaints = ''
  stderr.on('data', (text: Buffer) => (complaints = (complaints + text.toString()).slice(-2_000)))
  const ended = new Promise<string>((resolve) => {
    child.once('close', (code, signal) => resolve(signal ?? String(code)))
  })
  const stop = (): unknown => child.kill('SIGKILL')
  const silenceMs = request.silenceMs ?? defaultSilenceMs
  // A process that starts may be silent for longer.
  let silence = setTimeout(stop, startMs)
  let latest: FuzzCase | null = null
  let report: FuzzReport | null = null
  const problems: FuzzProblem[] = []
  for await (const line of createInterface({ input: stdout })) {
    clearTimeout(silence)
    silence = setTimeout(stop, silenceMs)
    const news = JSON.parse(line) as FuzzNews
    if (news.type === 'problem') problems.push(news.problem)
    else if (news.type === 'report') report = news.report
    else {
      latest = news
      request.onProgress?.(news.number)
    }
  }
  const end = await ended
  clearTimeout(silence)
  if (end === '0' && report !== null) return { report, problems }
  return { report: null, problems: [...problems, deathOf(request, latest, describeEnd(end, complaints))] }
}

const describeEnd = (end: string, complaints: string): string =>
  end === 'SIGKILL' ? 'It hung.' : `Its process ended with ${end}: ${complaints.trim()}`

/** The case that a process did not survive, its variant kept from where it was read. */
function deathOf(
  { reader, seed, keep }: FuzzRequest,
  latest: FuzzCase | null,
  sentence: string,
): FuzzProblem {
  if (latest === null)
    return { reader, target: '', number: 0, sentence: `Before the first case: ${sentence}`, file: '' }
  const { target, number } = latest
  const file = path.join(keep, `${reader}-${String(seed)}-${String(number)}`)
  mkdirSync(keep, { recursive: true })
  if (existsSync(latest.file)) copyFileSync(latest.file, file)
  return { reader, target, number, sentence, file }
}

const keptIn = path.resolve(import.meta.dirname, '../../out/fuzz')

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      cases: { type: 'string', default: '100000' },
      seed: { type: 'string', default: '1' },
      reader: { type: 'string' },
    },
  })
  const names = fuzzReaders.map(({ name }) => name).filter((name) => name === (values.reader ?? name))
  if (names.length === 0) {
    console.error(
      `There is no reader called ${String(values.reader)}: choose ${fuzzReaders.map(({ name }) => name).join(', ')}.`,
    )
    process.exitCode = 2
    return
  }
  let failures = 0
  for (const reader of names) {
    const cases = Number(values.cases)
    const start = performance.now()
    const onProgress = progressLine(reader, cases, start)
    const { report, problems } = await fuzzReader({
      reader,
      cases,
      seed: Number(values.seed),
      keep: keptIn,
      onProgress,
    })
    failures += problems.length
    if (process.stdout.isTTY) process.stdout.write('\r\x1b[K')
    console.log(resultLine(reader, report, (performance.now() - start) / 1_000))
    for (const { target, number, sentence, file } of problems) {
      console.log(`  case ${String(number)} of ${target}: ${sentence} ${file}`)
    }
  }
  console.log(failures === 0 ? 'No problem was found.' : `${String(failures)} problems were found.`)
  process.exitCode = failures === 0 ? 0 : 1
}

/** On a terminal a line that is written over, with what is left to wait. */
function progressLine(reader: string, cases: number, start: number): (done: number) => void {
  return (done) => {
    if (!process.stdout.isTTY || done === 0 || done % 500 !== 0) return
    const left = (((performance.now() - start) / done) * (cases - done)) / 1_000
    process.stdout.write(`\r\x1b[K${reader}: ${String(done)} of ${String(cases)}, ${left.toFixed(0)} s left`)
  }
}

function resultLine(reader: string, report: FuzzReport | null, seconds: number): string {
  if (report === null) return `${reader.padEnd(12)} did not end`
  const { cases, read, refused, slowestMs, largestBytes, largestShare } = report
  const parts = [
    `${String(cases)} files`,
    `${String(read)} read`,
    `${String(refused)} refused`,
    `slowest ${slowestMs.toFixed(0)} ms`,
    `largest allocation ${(largestBytes / 1e6).toFixed(1)} MB (${(100 * largestShare).toFixed(0)} % of the limit)`,
    `${seconds.toFixed(0)} s`,
  ]
  return `${reader.padEnd(12)} ${parts.join(', ')}`
}

if (import.meta.main) await main()
