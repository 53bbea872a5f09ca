/**
 * The offline run of Weights & Biases in a run's folder, written while it trains: numbers, and tables of samples. Nothing is sent:
 * `wandb sync` uploads it for whoever calls that. Records and their fields are those of wandb's `wandb_internal.proto`.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '#shared/attempt.ts'
import type { JsonObject } from '#shared/config/paths.ts'
import type { RunEvent } from '#shared/events.ts'
import { ProtobufWriter } from '#shared/protobuf.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { writing } from '#host/files/fileErrors.ts'
import { appendToOwn, makeOwnFolder } from '#host/files/ownFiles.ts'
import { understand, type KnownEvent } from '#host/store/loggedEvents.ts'
import { readEvents } from '#host/workFolder/eventLog.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { mostTexts, numbersOf, type EventSink } from './eventSink.ts'
import { openWandbLog } from './wandbLog.ts'

/**
 * Writes the history of a run so far, without the steps that a resume gave up, into a new folder in the place of the former one, and
 * goes on with it. A second folder would not do: `wandb sync` writes every log of a run over the one before, from the first line on.
 * Errors: AppError 'file/unwritable'.
 */
export function openWandb(runDirectory: string, config: Partial<RunConfig>, now = Date.now): EventSink {
  const past = readEvents(runPaths(runDirectory).events, ['status', 'step', 'evaluation', 'samples'])
  const run = new OfflineRun(runDirectory, config, past[0]?.at ?? now())
  for (const logged of past) {
    // The log may have come from elsewhere.
    const event = understand(logged)
    if (event !== null) run.add(event, logged.at)
  }
  return {
    take(event) {
      run.add(event, now())
      if (event.type === 'status' && (event.phase === 'finished' || event.phase === 'stopped')) run.end(now())
    },
    [Symbol.dispose]: () => run[Symbol.dispose](),
  }
}

/** Report on a step so far. */
interface Row {
  readonly step: number
  readonly at: number
  readonly values: JsonObject
}

class OfflineRun implements Disposable {
  readonly #files: string
  readonly #log: ReturnType<typeof openWandbLog>
  /** Epoch milliseconds. */
  readonly #start: number
  #records = 0
  /** Written when a later step or phase begins: W&B wants one record of a step. */
  #row: Row | null = null

  constructor(runDirectory: string, config: Partial<RunConfig>, start: number) {
    const id = path.basename(runDirectory)
    const folder = newFolder(runPaths(runDirectory).wandb, stampOf(start), id)
    // Without it `wandb sync` could not write its summary.
    this.#files = path.join(folder, 'files')
    makeOwnFolder(this.#files)
    this.#log = openWandbLog(path.join(folder, `run-${id}.wandb`))
    this.#start = start
    this.#append(17, (run) =>
      run
        .string(1, id)
        .string(3, 'turnwise')
        .message(4, (message) => writeItems(message, config))
        .string(8, config.name ?? '')
        .message(17, (time) => time.integer(1, Math.floor(start / 1000)).integer(2, (start % 1000) * 1e6)),
    )
  }

  add(event: RunEvent | KnownEvent, at: number): void {
    const isOfStep = event.type === 'step' || event.type === 'evaluation' || event.type === 'samples'
    if (event.type === 'status' || (isOfStep && event.step !== this.#row?.step)) this.#writeRow()
    if (!isOfStep) return
    const { step } = event
    // Others are not in the run's log either.
    const numbers = numbersOf(event).filter(([, value]) => Number.isFinite(value))
    const table = event.type === 'samples' ? this.#table(event) : {}
    this.#row = { step, at, values: { ...this.#row?.values, ...Object.fromEntries(numbers), ...table } }
  }

  /** Ends the run well; `wandb sync` counts one without this record as failed. */
  end(at: number): void {
    this.#append(18, (exit) => exit.integer(1, 0).integer(2, Math.round((at - this.#start) / 1000)))
  }

  #writeRow(): void {
    if (this.#row === null) return
    const { step, at, values } = this.#row
    this.#row = null
    const row = { ...values, _step: step, _timestamp: at / 1000, _runtime: (at - this.#start) / 1000 }
    this.#append(2, (history) => {
      writeItems(history, row)
      history.message(2, (place) => place.integer(1, step))
    })
    // W&B makes no summary of the history by itself.
    this.#append(3, (summary) => writeItems(summary, row))
  }

  /** A file of samples, announced for the upload; returns the value that stands for it. */
  #table({ step, source, samples }: SamplesOfStep): JsonObject {
    const data = samples
      .slice(0, mostTexts)
      .map(({ prompt, completion, reward }) => [prompt, completion, reward])
    const columns = ['prompt', 'completion', 'reward']
    const text = JSON.stringify({ columns, data })
    const sha256 = createHash('sha256').update(text).digest('hex')
    const folder = 'media/table'
    const file = `${folder}/${step}_${sha256.slice(0, 20)}.table.json`
    makeOwnFolder(path.join(this.#files, folder), this.#files)
    const place = path.join(this.#files, file)
    // Rollout and evaluation of a step may have the same samples.
    if (!existsSync(place)) appendToOwn(place, text)
    this.#append(6, (files) => files.message(1, (item) => item.string(1, file)))
    const size = Buffer.byteLength(text)
    const value = { _type: 'table-file', path: file, sha256, size, ncols: columns.length, nrows: data.length }
    return { [`samples/${source}`]: value }
  }

  #append(kind: number, fill: (message: ProtobufWriter) => void): void {
    this.#log.append(new ProtobufWriter().integer(1, ++this.#records).message(kind, fill).finish())
  }

  [Symbol.dispose](): void {
    // What ended the run is said; the row is in its log, too.
    attempt(() => this.#writeRow(), null)
    this.#log[Symbol.dispose]()
  }
}

type SamplesOfStep = Extract<RunEvent | KnownEvent, { readonly type: 'samples' }>

/** Items of a history, a summary or a config: a name and its value as JSON. */
function writeItems(message: ProtobufWriter, values: JsonObject): void {
  for (const [name, value] of Object.entries(values))
    if (value !== undefined)
      message.message(1, (item) => item.string(1, name).string(16, JSON.stringify(value)))
}

/** Makes the folder of a run in place of those that it had. */
function newFolder(parent: string, stamp: string, id: string): string {
  makeOwnFolder(parent)
  const beginning = 'offline-run-'
  writing(parent, () => {
    for (const entry of readdirSync(parent))
      if (entry.startsWith(beginning) && entry.endsWith(`-${id}`))
        rmSync(path.join(parent, entry), { recursive: true })
  })
  const folder = path.join(parent, `${beginning}${stamp}-${id}`)
  makeOwnFolder(folder)
  return folder
}

/** UTC, as in 20261128_214210. */
const stampOf = (at: number): string =>
  new Date(at).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '_')
