/** A project that a trainer is started in, `engine/` in the run's folder, and what the trainer says: recording.py writes it down. */
import { existsSync, rmSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { count } from '#shared/api/common.ts'
import type { EngineEvent, RunEvent } from '#shared/events.ts'
import { checkpointsSection } from '#shared/config/sections.ts'
import { findDeclaration, type Metrics } from '#shared/metrics.ts'
import { unpackFloats, unpackInts } from '#shared/packedArray.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { TokenSequence } from '#engine/policy.ts'
import { projectResource } from '#host/exchange/project/projectRewards.ts'
import { writeProject } from '#host/exchange/project/project.ts'
import { makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { openLogTail, type LoggedEvent } from '#host/runs/eventLog.ts'
import { engines, type OtherEngine } from './launch.ts'

export interface WatchedProject {
  /** Holds the script. */
  readonly folder: string
  readonly script: string
  /** Asks the trainer to stop after its current step, with a checkpoint. */
  askToStop(): void
  /** What it said since the last call. Lines that are not as they should be are left out. */
  read(): TrainerNews[]
}

/** What a trainer is told; recording.py reads it. */
export interface WatchOptions {
  /** Words behind those of the project's settings. */
  readonly arguments: readonly string[]
  readonly steps: number
  readonly updatesPerStep: number
  /** An adapter is wanted after every so many steps; 0: none by that. */
  readonly saveEvery: readonly number[]
  readonly until?: number | undefined
  readonly shown: number
}

/** Log-probabilities of completions under the adapter that was saved. */
interface Probe {
  readonly sequence: TokenSequence
  /** Of the completion's tokens. */
  readonly logprobs: Float32Array
}

export interface SavedNews {
  readonly type: 'saved'
  readonly step: number
  readonly updates: number
  readonly tokens: number
  /** The trainer's own checkpoint, an adapter in PEFT's format with what it needs to go on. */
  readonly directory: string
  readonly probes: readonly Probe[]
}

export type TrainerNews = SavedNews | Extract<RunEvent, { readonly type: 'step' | 'samples' }> | EngineEvent

/**
 * The project of a run, written where it is not there yet, ready for another start. Its Python is written each time, so that
 * what runs is what was allowed. Errors: those of `writeProject`.
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
  const { tool, code, script } = engines[kind]
  const isNew = !existsSync(directory)
  const { notes } = isNew
    ? await writeProject({
        config: trainedThere(config),
        tool,
        out: directory,
        checkpoint: null,
        runDirectory,
      })
    : { notes: [] }
  for (const name of code) {
    const file = path.join(directory, ...name.split('/'))
    if (isNew || existsSync(file)) writeFileAtomic(file, projectResource(name))
  }
  const folder = path.join(directory, tool)
  const events = path.join(folder, 'events.jsonl')
  const stop = path.join(folder, 'stop')
  for (const file of [events, stop, path.join(folder, 'output')])
    rmSync(file, { recursive: true, force: true })
  makeFolder(path.join(folder, 'output'))
  writeFileAtomic(path.join(folder, 'watch.json'), `${JSON.stringify(options, null, 2)}\n`)
  const tail = openLogTail(events, 'beginning')
  return {
    ...{ folder, script, notes },
    askToStop() {
      writeFileAtomic(stop, '')
    },
    read: () => tail.read().flatMap((line) => understand(line, folder)),
  }
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
  }),
])

function understand(line: LoggedEvent, folder: string): TrainerNews[] {
  const { data } = said.safeParse(line)
  if (data === undefined) return []
  if (data.type === 'engine') return [{ ...data, notes: [] }]
  if (data.type === 'step') return [{ ...data, metrics: known(data.metrics) }]
  // Whoever reads samples checks them, as those of any log.
  if (data.type === 'samples') return [data as unknown as Extract<RunEvent, { readonly type: 'samples' }>]
  const { folder: own, probe: probes, ...saved } = data
  return [{ ...saved, directory: path.join(folder, own), probes: probes.map(probeOf) }]
}

/** Names that Turnwise charts; a trainer reports more. */
const known = (metrics: Readonly<Record<string, number>>): Metrics =>
  Object.fromEntries(Object.entries(metrics).filter(([name]) => findDeclaration(name) !== undefined))

function probeOf({ ids, prompt, logprobs }: z.output<typeof probe>): Probe {
  const all = unpackInts(ids)
  const actionMask = new Uint8Array(all.length - 1).fill(1, prompt - 1)
  return { sequence: { ids: all, actionMask }, logprobs: unpackFloats(logprobs) }
}
