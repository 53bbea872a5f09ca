/**
 * Checkpoints: all that a run needs to go on as if it had never stopped. A checkpoint is a folder `step-000120` that
 * appears whole or not at all:
 *
 *   actor/, reference/, critic/   a PEFT adapter per role, those there are; `critic/value_head.safetensors`
 *   optimizer.safetensors         the optimizer's moments, unless the run says not to keep them
 *   model/                        a copy of the base model, only where the run asks for it
 *   engine/                       the checkpoint of another trainer, where that trains the run
 *   turnwise.seal                 by which a run goes on from it by itself (ownWork.ts)
 *   state.json                    step, data cursor, place in the schedule, metrics, digest of every file
 *
 * The random streams need no state: each follows from the run's seed and the step. Reading guide: checkpointState.ts
 * (state.json and the digests), here (saving, loading, listing), checkpointRestore.ts (what a run takes over from one),
 * checkpointRetention.ts (which ones stay).
 */
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import type { TrainerState } from '#shared/events.ts'
import type { RoundedPrecision } from '#shared/precision.ts'
import type { LoraConfig } from '#engine/models/config.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import type { OptimizerState } from '#engine/optimizers/optimizer.ts'
import { makeFolder, replaceFolder } from '#host/files/atomic.ts'
import {
  damagedCheckpoint,
  readState,
  requireWhole,
  writeState,
  type CheckpointState,
} from '#host/workFolder/checkpointState.ts'
import { runIsGone, systemCode } from '#host/files/fileErrors.ts'
import { actorName } from '#host/adapters/adapterFiles.ts'
import { copyModelFiles } from './modelLibrary.ts'
import { type Adapter, readAdapter, requireFinite, writeAdapterFiles } from '#host/adapters/peft.ts'
import { copyFolder, runPaths } from '#host/workFolder/runFolder.ts'
import {
  f32ToWrite,
  firstNonFinite,
  openSafetensors,
  readTensor,
  writeSafetensors,
} from '#host/files/safetensors.ts'

/** One linear layer from the final hidden state to a value. */
export interface ValueHead {
  /** [D] */
  readonly weight: Float32Array
  readonly bias: number
}

export interface CriticState {
  readonly adapter: readonly NamedTensor[]
  /** Value head; null: fresh. */
  readonly valueHead: ValueHead | null
}

export interface Checkpoint {
  readonly trainer: TrainerState
  /** Events of the run's history before this checkpoint. */
  readonly events: number
  /** Eval reward measured at this step; null where it was not. */
  readonly reward: number | null
  /** Metrics of the run when it was saved, for choosing among checkpoints. */
  readonly metrics: Readonly<Record<string, number>>
  readonly lora: LoraConfig
  /** Hub id of the base model, if known. */
  readonly baseModel: string | null
  /** Rounding of the base; absent where it was exact. */
  readonly base?: RoundedPrecision
  readonly actor: readonly NamedTensor[]
  /** null: the run has none of its own. */
  readonly reference: readonly NamedTensor[] | null
  /** null: the algorithm has none. */
  readonly critic: CriticState | null
  /** State of the optimizer; null: not kept. */
  readonly optimizer: OptimizerState | null
  /** Folder of the base model: when saving, the one to copy; when loading, the copy. null: the adapters alone. */
  readonly model: string | null
  /** Folder of another trainer's checkpoint, the same way. null or absent: Turnwise trained. */
  readonly engine?: string | null
}

/** A checkpoint in a list: what can be said without reading its tensors. */
export interface CheckpointEntry {
  readonly step: number
  readonly reward: number | null
  readonly metrics: Readonly<Record<string, number>>
  readonly sizeBytes: number
  readonly directory: string
}

/** A checkpoint that cannot be used, and why. */
export interface DamagedCheckpoint {
  readonly step: number
  readonly directory: string
  /** A whole sentence. */
  readonly problem: string
}

const optimizerName = 'optimizer.safetensors'
const referenceName = 'reference'
const criticName = 'critic'
const valueHeadName = 'value_head.safetensors'
const modelName = 'model'
const engineName = 'engine'
const folderPattern = /^step-(\d{6,})$/

/** Name of the folder of a checkpoint. */
export const checkpointName = (step: number): string => `step-${String(step).padStart(6, '0')}`

const checkpointDirectory = (runDirectory: string, step: number): string =>
  path.join(runPaths(runDirectory).checkpoints, checkpointName(step))

/** State that another trainer resumes from, in the checkpoint of a step. */
export const trainerCheckpoint = (runDirectory: string, step: number): string =>
  path.join(checkpointDirectory(runDirectory, step), engineName)

/**
 * Writes a checkpoint completely or not at all; one of the same step is replaced. `seal` is called with the folder
 * as soon as it is complete, before it appears. Errors: AppError 'file/unwritable'; then every earlier checkpoint is still there.
 */
export async function saveCheckpoint(
  runDirectory: string,
  checkpoint: Checkpoint,
  seal: (folder: string) => void = () => undefined,
): Promise<CheckpointEntry> {
  const { trainer, events, reward, optimizer } = checkpoint
  const directory = checkpointDirectory(runDirectory, trainer.step)
  const metrics = finiteOnly(checkpoint.metrics)
  let sizeBytes = 0
  if (!existsSync(runDirectory)) throw runIsGone(runDirectory)
  try {
    await replaceFolder(directory, async (folder) => {
      await writeParts(folder, checkpoint)
      const state = { trainer, optimizerStep: optimizer?.step ?? null, events, reward, metrics }
      sizeBytes = writeState(folder, state)
      seal(folder)
    })
  } catch (error) {
    // The folder may go away while its files are written, and what is in it first.
    if (!existsSync(runDirectory)) throw runIsGone(runDirectory)
    throw lacks(error, path.dirname(directory)) ? runIsGone(directory) : notSaved(trainer.step, error)
  }
  return { step: trainer.step, reward, metrics, sizeBytes, directory }
}

/** True if something in the folder was not there; what is copied from elsewhere may be missing too. */
function lacks(error: unknown, folder: string): boolean {
  const cause = error instanceof AppError ? error.cause : error
  const isMissing = cause instanceof Error && systemCode(cause) === 'ENOENT'
  return isMissing && 'path' in cause && String(cause.path).startsWith(folder + path.sep)
}

/** JSON has no NaN, and a checkpoint cannot be the best by one. */
const finiteOnly = (metrics: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(metrics).filter(([, value]) => Number.isFinite(value)))

function notSaved(step: number, error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== 'file/unwritable') return error
  return new AppError(
    'file/unwritable',
    `The checkpoint of step ${step} could not be kept: ${error.message}`,
    {
      text: 'Earlier checkpoints are complete. Once space or permissions are restored, resume from the last one.',
      command: '`turnwise resume` does so.',
    },
    error,
  )
}

async function writeParts(folder: string, checkpoint: Checkpoint): Promise<void> {
  const { actor, reference, critic, optimizer, model, engine = null } = checkpoint
  await writeRole(folder, actorName, checkpoint, actor)
  if (reference !== null) await writeRole(folder, referenceName, checkpoint, reference)
  if (critic !== null) {
    await writeRole(folder, criticName, checkpoint, critic.adapter)
    if (critic.valueHead !== null) {
      await writeValueHead(path.join(folder, criticName, valueHeadName), critic.valueHead)
    }
  }
  if (optimizer !== null) await writeMoments(path.join(folder, optimizerName), optimizer)
  if (model !== null) await copyModelFiles(model, path.join(folder, modelName))
  if (engine !== null) copyFolder(engine, path.join(folder, engineName))
}

async function writeRole(
  folder: string,
  role: string,
  { trainer, lora: config, baseModel, base }: Checkpoint,
  tensors: readonly NamedTensor[],
): Promise<void> {
  const directory = path.join(folder, role)
  makeFolder(directory)
  const metadata = { role, step: `${trainer.step}` }
  await writeAdapterFiles(directory, {
    config,
    baseModel,
    tensors,
    metadata,
    ...(base === undefined ? {} : { base }),
  })
}

function writeMoments(file: string, { buffers }: OptimizerState): Promise<void> {
  const tensors = Object.entries(buffers).map(([name, data]) => ({ name, shape: [data.length], data }))
  requireFinite(tensors)
  return writeSafetensors(file, tensors.map(f32ToWrite))
}

const headWeight = 'v_head.summary.weight'
const headBias = 'v_head.summary.bias'

function writeValueHead(file: string, { weight, bias }: ValueHead): Promise<void> {
  const tensors = [
    { name: headWeight, shape: [1, weight.length], data: weight },
    { name: headBias, shape: [1], data: Float32Array.of(bias) },
  ]
  requireFinite(tensors)
  return writeSafetensors(file, tensors.map(f32ToWrite))
}

/** Reads a checkpoint after comparing every file with its digest. Errors: AppError 'checkpoint/invalid'. */
export function loadCheckpoint(directory: string): Checkpoint {
  const state = readState(directory)
  requireSound(directory, state)
  const { trainer, events, reward, metrics } = state
  const readPart = partReader(directory, state)
  const { config: lora, baseModel, tensors: actor, base } = readAdapter(path.join(directory, actorName))
  return {
    trainer,
    events,
    reward,
    metrics,
    lora,
    baseModel,
    ...(base === undefined ? {} : { base }),
    actor,
    reference: readPart(referenceName, (folder) => readAdapter(folder).tensors),
    critic: readPart(criticName, (folder) => ({
      adapter: readAdapter(folder).tensors,
      valueHead: readPart(`${criticName}/${valueHeadName}`, readValueHead),
    })),
    optimizer: readOptimizer(directory, state),
    model: readPart(modelName, (folder) => folder),
    engine: readPart(engineName, (folder) => folder),
  }
}

/**
 * Reads the critic in a folder made like a checkpoint, of which nothing else need exist; null: none. Errors: as
 * loadCheckpoint, 'adapter/invalid'.
 */
export function readCritic(
  directory: string,
): { readonly adapter: Adapter; readonly valueHead: ValueHead | null } | null {
  const folder = path.join(directory, criticName)
  if (!existsSync(folder)) return null
  const head = path.join(folder, valueHeadName)
  return { adapter: readAdapter(folder), valueHead: existsSync(head) ? readValueHead(head) : null }
}

type PartReader = <T>(name: string, read: (place: string) => T) => T | null

/** Reads what was saved as part of the checkpoint: a file or folder added later has no digest. */
function partReader(directory: string, { files }: CheckpointState): PartReader {
  const names = Object.keys(files)
  return (name, read) =>
    names.some((file) => file === name || file.startsWith(`${name}/`))
      ? read(path.join(directory, name))
      : null
}

function readValueHead(file: string): ValueHead {
  const { [headWeight]: weight, [headBias]: bias } = readArrays(file)
  if (weight !== undefined && bias?.[0] !== undefined) return { weight, bias: bias[0] }
  throw new AppError('checkpoint/invalid', `${file} holds no value head.`)
}

function readOptimizer(directory: string, { optimizerStep }: CheckpointState): OptimizerState | null {
  if (optimizerStep === null) return null
  return { step: optimizerStep, buffers: readArrays(path.join(directory, optimizerName)) }
}

function readArrays(file: string): Record<string, Float32Array> {
  const { tensors } = openSafetensors(file, 'checkpoint/invalid')
  return Object.fromEntries([...tensors].map(([name, location]) => [name, readTensor(location)]))
}

/**
 * Checks that every file is as it was written, and every number of adapters, value head and moments finite: Turnwise
 * writes no other, but a checkpoint may come from elsewhere. Errors: AppError 'checkpoint/invalid'.
 */
function requireSound(directory: string, state: CheckpointState): void {
  requireWhole(directory, state)
  const own = Object.keys(state.files).filter(
    (name) => name.endsWith('.safetensors') && !/^(?:model|engine)\//.test(name),
  )
  for (const name of own) {
    const { tensors } = openSafetensors(path.join(directory, name), 'checkpoint/invalid')
    const broken = [...tensors].find(([, location]) => firstNonFinite(readTensor(location)) !== -1)
    if (broken === undefined) continue
    throw damagedCheckpoint(directory, `${name} holds a value in “${broken[0]}” that is not a finite number`)
  }
}

/** Reason why a checkpoint cannot be used, as a sentence; null when it is complete and sound. Every byte is read. */
export function checkpointProblem(directory: string): string | null {
  try {
    requireSound(directory, readState(directory))
    return null
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
}

/**
 * Lists the checkpoints in a run's folder, oldest first. Tensors are not read: a listed one can still turn out to be
 * damaged.
 */
export function surveyCheckpoints(runDirectory: string): {
  readonly entries: readonly CheckpointEntry[]
  readonly damaged: readonly DamagedCheckpoint[]
} {
  const { checkpoints } = runPaths(runDirectory)
  const names = existsSync(checkpoints) ? readdirSync(checkpoints) : []
  const found = names
    .filter((name) => folderPattern.test(name))
    .map((name) => entryOf(path.join(checkpoints, name)))
    .sort((a, b) => a.step - b.step)
  return {
    entries: found.filter((entry): entry is CheckpointEntry => !('problem' in entry)),
    damaged: found.filter((entry): entry is DamagedCheckpoint => 'problem' in entry),
  }
}

function entryOf(directory: string): CheckpointEntry | DamagedCheckpoint {
  const step = Number(folderPattern.exec(path.basename(directory))?.[1])
  try {
    const { trainer, reward, metrics, sizeBytes } = readState(directory)
    if (trainer.step !== step) throw damagedCheckpoint(directory, `it belongs to step ${trainer.step}`)
    return { step, reward, metrics, sizeBytes, directory }
  } catch (error) {
    if (error instanceof AppError) return { step, directory, problem: error.message }
    throw error
  }
}

/** The run's checkpoints that can be listed, oldest first. */
export const listCheckpoints = (runDirectory: string): readonly CheckpointEntry[] =>
  surveyCheckpoints(runDirectory).entries
