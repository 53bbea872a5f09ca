/**
 * Checkpoints: all that a run needs to go on as if it had never stopped. A checkpoint is a folder `step-000120`:
 * a PEFT adapter (usable as one), the reference policy's adapter, the optimizer's moments and `state.json`, which also
 * holds the digest of every other file. It appears whole or not at all.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { AppError } from '#shared/errors.ts'
import type { TrainerState } from '#shared/events.ts'
import type { LoraConfig } from '#engine/models/config.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import type { OptimizerState } from '#engine/optimizers/optimizer.ts'
import { replaceFolder, writeFileAtomic } from './atomic.ts'
import { readAdapter, writeAdapterFiles } from './peft.ts'
import { runPaths } from './runFolder.ts'
import { f32ToWrite, openSafetensors, readTensor, writeSafetensors } from './safetensors.ts'
import { readJsonObject } from './strictJson.ts'

export interface Checkpoint {
  readonly trainer: TrainerState
  /** Events of the run's history before this checkpoint. */
  readonly events: number
  /** Held-out reward measured at this step; null where it was not. */
  readonly reward: number | null
  readonly lora: LoraConfig
  /** Hub id of the base model, if known. */
  readonly baseModel: string | null
  readonly actor: readonly NamedTensor[]
  readonly reference: readonly NamedTensor[]
  readonly optimizer: OptimizerState
}

/** A checkpoint in a list: what can be said without reading its tensors. */
export interface CheckpointEntry {
  readonly step: number
  readonly reward: number | null
  readonly directory: string
}

const stateName = 'state.json'
const optimizerName = 'optimizer.safetensors'
const referenceName = 'reference'
const folderPattern = /^step-\d{6,}$/

const stateSchema = z.strictObject({
  format: z.literal(1),
  trainer: z.strictObject({
    step: z.number(),
    promptsDrawn: z.number(),
    updates: z.number(),
    tokens: z.number(),
  }),
  optimizerStep: z.number(),
  events: z.number(),
  reward: z.number().nullable(),
  files: z.record(z.string(), z.strictObject({ bytes: z.number(), sha256: z.string() })),
})

const checkpointDirectory = (runDirectory: string, step: number): string =>
  path.join(runPaths(runDirectory).checkpoints, `step-${String(step).padStart(6, '0')}`)

/** Writes a checkpoint whole or not at all; one of the same step is replaced. Errors: AppError 'file/unwritable'. */
export async function saveCheckpoint(runDirectory: string, checkpoint: Checkpoint): Promise<CheckpointEntry> {
  const { trainer, events, reward, optimizer } = checkpoint
  const directory = checkpointDirectory(runDirectory, trainer.step)
  await replaceFolder(directory, async (folder) => {
    await writeTensors(folder, checkpoint)
    const state = {
      format: 1,
      trainer,
      optimizerStep: optimizer.step,
      events,
      reward,
      files: digests(folder),
    }
    writeFileAtomic(path.join(folder, stateName), `${JSON.stringify(state, null, 2)}\n`)
  })
  return { step: trainer.step, reward, directory }
}

async function writeTensors(folder: string, checkpoint: Checkpoint): Promise<void> {
  const { trainer, lora: config, baseModel, actor, reference, optimizer } = checkpoint
  const shared = { config, baseModel, metadata: { step: `${trainer.step}` } }
  await writeAdapterFiles(folder, { ...shared, tensors: actor })
  await replaceFolder(path.join(folder, referenceName), (inner) =>
    writeAdapterFiles(inner, { ...shared, tensors: reference }),
  )
  const moments = Object.entries(optimizer.buffers).map(([name, data]) =>
    f32ToWrite({ name, shape: [data.length], data }),
  )
  await writeSafetensors(path.join(folder, optimizerName), moments)
}

/** Relative path → size and SHA-256 of every file below a folder. */
function digests(folder: string): z.infer<typeof stateSchema>['files'] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  return Object.fromEntries(
    files.map((entry) => {
      const file = path.join(entry.parentPath, entry.name)
      const name = path.relative(folder, file).replaceAll(path.sep, '/')
      return [name, { bytes: statSync(file).size, sha256: sha256(file) }]
    }),
  )
}

const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

/** Reads a checkpoint after comparing every file with its digest. Errors: AppError 'checkpoint/invalid'. */
export function loadCheckpoint(directory: string): Checkpoint {
  const state = readState(directory)
  for (const [name, expected] of Object.entries(state.files)) {
    const file = path.join(directory, name)
    if (!existsSync(file)) throw damaged(directory, `${name} is missing`)
    if (statSync(file).size !== expected.bytes || sha256(file) !== expected.sha256) {
      throw damaged(directory, `${name} is not as it was written`)
    }
  }
  const actor = readAdapter(directory)
  return {
    trainer: state.trainer,
    events: state.events,
    reward: state.reward,
    lora: actor.config,
    baseModel: actor.baseModel,
    actor: actor.tensors,
    reference: readAdapter(path.join(directory, referenceName)).tensors,
    optimizer: { step: state.optimizerStep, buffers: readMoments(path.join(directory, optimizerName)) },
  }
}

function readMoments(file: string): Record<string, Float32Array> {
  const { tensors } = openSafetensors(file, 'checkpoint/invalid')
  return Object.fromEntries([...tensors].map(([name, location]) => [name, readTensor(location)]))
}

function readState(directory: string): z.infer<typeof stateSchema> {
  const file = path.join(directory, stateName)
  if (!existsSync(file)) throw damaged(directory, `it has no ${stateName}`)
  const parsed = stateSchema.safeParse(readJsonObject(file, 'checkpoint/invalid'))
  if (parsed.success) return parsed.data
  throw damaged(directory, `its ${stateName} is not one that this version can read`)
}

const damaged = (directory: string, problem: string): AppError =>
  new AppError(
    'checkpoint/invalid',
    `${directory} is not a whole checkpoint: ${problem}.`,
    'Other checkpoints of the run are not affected; turnwise runs show lists them.',
  )

export const isCheckpoint = (directory: string): boolean => existsSync(path.join(directory, stateName))

/** The run's checkpoints, oldest first; damaged ones are passed over. */
export function listCheckpoints(runDirectory: string): CheckpointEntry[] {
  const { checkpoints } = runPaths(runDirectory)
  const names = existsSync(checkpoints) ? readdirSync(checkpoints) : []
  return names
    .filter((name) => folderPattern.test(name) && isCheckpoint(path.join(checkpoints, name)))
    .map((name) => entryOf(path.join(checkpoints, name)))
    .filter((entry) => entry !== null)
    .sort((a, b) => a.step - b.step)
}

function entryOf(directory: string): CheckpointEntry | null {
  try {
    const { trainer, reward } = readState(directory)
    return { step: trainer.step, reward, directory }
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** The newest of the best; null where no checkpoint has a held-out reward. */
export function bestCheckpoint(entries: readonly CheckpointEntry[]): CheckpointEntry | null {
  return entries.reduce<CheckpointEntry | null>(
    (best, entry) => (entry.reward !== null && entry.reward >= (best?.reward ?? -Infinity) ? entry : best),
    null,
  )
}

/** Removes all but the last `keep` checkpoints and the best one, and what killed processes left behind. */
export function pruneCheckpoints(runDirectory: string, keep: number): void {
  const { checkpoints } = runPaths(runDirectory)
  const entries = listCheckpoints(runDirectory)
  const best = bestCheckpoint(entries)
  for (const entry of entries.slice(0, -keep)) {
    if (entry.directory === best?.directory) continue
    // Renamed first: a process killed while removing must not leave half a checkpoint under its name.
    const removed = path.join(checkpoints, `.${path.basename(entry.directory)}.removed`)
    rmSync(removed, { recursive: true, force: true })
    renameSync(entry.directory, removed)
  }
  for (const name of readdirSync(checkpoints)) {
    if (/^\..*\.(removed|partial)$/.test(name))
      rmSync(path.join(checkpoints, name), { recursive: true, force: true })
  }
}
