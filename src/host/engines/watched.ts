/** A project that a trainer is started in, `engine/` in the run's folder, and what the trainer says: recording.py writes it down. */
import { randomBytes } from 'node:crypto'
import { existsSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { count } from '#shared/api/common.ts'
import type { EngineEvent, RunEvent } from '#shared/events.ts'
import { checkpointsSection } from '#shared/config/sections.ts'
import { findDeclaration, type Metrics } from '#shared/metrics.ts'
import { unpackFloats, unpackInts } from '#shared/packedArray.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { TokenSequence } from '#engine/policy.ts'
import { writeProject } from '#host/exchange/project/project.ts'
import { makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import { openLogTail, type LoggedEvent } from '#host/workFolder/eventLog.ts'
import { copyFolder } from '#host/workFolder/runFolder.ts'
import type { AllowedEngine } from './engineCode.ts'
import { engines, type OtherEngine, resultsOf } from './launch.ts'
import { readPrinted } from './printed.ts'

export interface WatchedProject {
  /** Holds the script. */
  readonly folder: string
  readonly script: string
  /** Hears what the trainer prints; returns what of it is for people. */
  readonly hear: (text: string) => string
  /** Asks the trainer to stop after its current step, with a checkpoint. */
  askToStop(): void
  /** Returns the news since the last call. Malformed lines are left out. Errors: those of `readPrinted`. */
  read(): TrainerNews[]
}

/** Options handed to a trainer; recording.py reads them. */
export interface WatchOptions {
  /** Arguments after those of the project's settings. */
  readonly arguments: readonly string[]
  /** The trainer's checkpoint to go on from; null: the beginning. */
  readonly resumeFrom: string | null
  readonly steps: number
  readonly updatesPerStep: number
  /** Intervals, in steps, at which an adapter is saved; 0: none by that. */
  readonly saveEvery: readonly number[]
  readonly until?: number | undefined
  readonly shown: number
}

/** Log-probabilities of completions under the adapter that was saved. */
interface Probe {
  readonly sequence: TokenSequence
  /** Log-probabilities of the completion's tokens. */
  readonly logprobs: Float32Array
}

export interface SavedNews {
  readonly type: 'saved'
  readonly step: number
  readonly updates: number
  readonly tokens: number
  /** The trainer's own checkpoint, with what it needs to go on. */
  readonly directory: string
  /** The adapter in it, in PEFT's format. */
  readonly adapter: string
  readonly probes: readonly Probe[]
}

/** Warning about the connection to the trainer. */
export interface WarningNews {
  readonly type: 'warning'
  readonly message: string
}

export type TrainerNews =
  SavedNews | WarningNews | Extract<RunEvent, { readonly type: 'step' | 'samples' }> | EngineEvent

/**
 * Writes the project of a run from scratch for one start: nothing that was put into its folder, or changed there, is
 * left. Its Python comes last, by `writeCode`. Errors: those of `writeProject`.
 */
export async function prepareProject(
  config: RunConfig,
  {
    kind,
    directory,
    runDirectory,
  }: { readonly kind: OtherEngine; readonly directory: string; readonly runDirectory: string },
  options: WatchOptions,
): Promise<WatchedProject & { readonly notes: readonly string[] }> {
  const { tool, script } = engines[kind]
  const isFirst = !existsSync(directory)
  const job = jobOf(path.join(directory, tool))
  rmSync(directory, { recursive: true, force: true })
  const whole = { config: trainedThere(config), tool, out: directory, checkpoint: null, runDirectory }
  const { notes } = await writeProject(whole)
  const folder = path.join(directory, tool)
  const events = path.join(folder, 'events.jsonl')
  const stop = path.join(folder, 'stop')
  makeFolder(path.join(folder, 'output'))
  if (job !== null) writeFileAtomic(path.join(folder, jobFile), job)
  const mark = randomBytes(12).toString('hex')
  writeFileAtomic(path.join(folder, 'watch.json'), watchText(config, folder, { ...options, mark }))
  const tail = openLogTail(events, 'beginning')
  const printed = readPrinted(folder, mark)
  return {
    folder,
    script,
    notes: isFirst ? notes : [],
    hear: (text) => printed.take(text),
    askToStop() {
      writeFileAtomic(stop, '')
    },
    read: () => [...tail.read(), ...printed.read()].flatMap((line) => understand(line, folder, kind)),
  }
}

/** Names a job of a Ray cluster that may still run after this machine lost its power; ray_submit.py ends it. */
const jobFile = 'ray_job'

/** Reads the job of a folder; null where there is none. */
function jobOf(folder: string): string | null {
  const file = path.join(folder, jobFile)
  if (!existsSync(file)) return null
  return /^turnwise-[\da-f]+$/.exec(Buffer.from(readSmallFile(file, 100)).toString('utf8'))?.[0] ?? null
}

/**
 * Writes the Python of the project, as it was allowed, and the file of settings; returns the path of the latter, null
 * if there is none. The script that Python starts with contains the texts of the others, and imports those alone from
 * the project. Errors: AppError 'file/unwritable'.
 */
export function writeCode({ folder }: WatchedProject, { code, settings }: AllowedEngine): string | null {
  const { [listed]: opening = '', ...files } = code
  const placed = Object.entries(files)
    .map(([place, text]) => ({ place, file: path.join(folder, '..', ...place.split('/')), text }))
    // Without rewards there is no folder for those.
    .filter(({ file }) => existsSync(path.dirname(file)))
  const modules = Object.fromEntries(placed.map(({ place, text }) => [path.parse(place).name, [place, text]]))
  for (const { file, text } of placed) {
    const { name } = path.parse(file)
    // A text in JSON is one in Python too, and a list or a dict as well.
    const head = `MAIN, FILES = ${JSON.stringify(name)}, ${JSON.stringify(modules)}\n`
    writeFileAtomic(file, mains.includes(name) ? head + opening : text)
  }
  if (settings === null) return null
  const copy = path.join(folder, 'settings.yaml')
  writeFileAtomic(copy, settings)
  return copy
}

const listed = 'watching/listed.py'
/** Scripts that Python starts with on this machine; ray_start.py starts on a cluster, in a copy of the project. */
const mains = ['train', 'ray_submit']

function watchText(
  { engine }: RunConfig,
  folder: string,
  options: WatchOptions & { readonly mark: string },
): string {
  const { resumeFrom, arguments: words, ...others } = options
  const results = resultsOf(engine)
  const from =
    resumeFrom === null || results === 'folder' ? resumeFrom : sentAlong(resumeFrom, path.dirname(folder))
  const all = [...words, ...(from === null ? [] : ['--resume_from_checkpoint', from])]
  // A job has a copy of the project.
  const isElsewhere = engine.launcher === 'ray' && results === 'folder'
  const home = isElsewhere ? { home: folder } : {}
  return `${JSON.stringify({ ...others, arguments: all, results, ...home }, null, 2)}\n`
}

/** A checkpoint inside the project, for a trainer that sees nothing else; relative to the script. */
function sentAlong(checkpoint: string, directory: string): string {
  const place = path.join(directory, 'resume')
  rmSync(place, { recursive: true, force: true })
  copyFolder(checkpoint, place)
  return '../resume'
}

/** Evaluations and checkpoints are Turnwise's, so that the trainer's say nothing of the run. */
const trainedThere = (config: RunConfig): RunConfig => ({
  ...config,
  evaluation: { ...config.evaluation, every: 0 },
  checkpoints: checkpointsSection.parse({}),
})

const probe = z.object({ ids: z.string(), prompt: z.int().min(1), logprobs: z.string() })

const said = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('engine'),
    step: count,
    processes: z.int().min(1),
    device: z.string(),
    versions: z.record(z.string(), z.string()),
  }),
  z.object({
    type: z.literal('step'),
    step: count,
    steps: count,
    metrics: z.record(z.string(), z.number()),
  }),
  z.object({
    type: z.literal('samples'),
    step: count,
    source: z.literal('rollout'),
    samples: z.array(z.looseObject({})),
  }),
  z.object({
    type: z.literal('saved'),
    step: count,
    updates: count,
    tokens: count,
    folder: z.string().regex(/^[\w-]+\/checkpoint-\d+$/),
    probe: z.array(probe),
    /** Files that were printed, sizes by name. */
    files: z.record(z.string(), count).nullish(),
  }),
  z.object({ type: z.literal('warning'), message: z.string() }),
])

function understand(line: LoggedEvent, folder: string, kind: OtherEngine): TrainerNews[] {
  const { data } = said.safeParse(line)
  if (data === undefined) return []
  if (data.type === 'engine') return [{ ...data, notes: [] }]
  if (data.type === 'step') return [{ ...data, metrics: known(data.metrics) }]
  // Readers of samples check them, as those of any log.
  if (data.type === 'samples') return [data as unknown as Extract<RunEvent, { readonly type: 'samples' }>]
  if (data.type === 'warning') return [data]
  const { folder: own, probe: probes, files, ...saved } = data
  const directory = path.join(folder, own)
  if (!isWhole(directory, files ?? {})) {
    const message = `The checkpoint of step ${data.step} did not arrive whole and was left out.`
    return [{ type: 'warning', message }]
  }
  const adapter = path.join(directory, engines[kind].adapter)
  return [{ ...saved, directory, adapter, probes: probes.map(probeOf) }]
}

const isWhole = (directory: string, files: Readonly<Record<string, number>>): boolean =>
  Object.entries(files).every(
    ([name, size]) => statSync(path.join(directory, name), { throwIfNoEntry: false })?.size === size,
  )

/** Names that Turnwise charts; a trainer reports more. */
const known = (metrics: Readonly<Record<string, number>>): Metrics =>
  Object.fromEntries(Object.entries(metrics).filter(([name]) => findDeclaration(name) !== undefined))

function probeOf({ ids, prompt, logprobs }: z.output<typeof probe>): Probe {
  const all = unpackInts(ids)
  const actionMask = new Uint8Array(all.length - 1).fill(1, prompt - 1)
  return { sequence: { ids: all, actionMask }, logprobs: unpackFloats(logprobs) }
}
