/** The base that answers a conversation: how it is opened, and what it takes. */
import { totalmem } from 'node:os'
import path from 'node:path'
import type { z } from 'zod'
import type { adapter } from '#shared/api/models.ts'
import type { Conversation } from '#shared/api/chat.ts'
import { servedRows } from '#shared/api/serving.ts'
import { computesIn } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import type { HeldPrecision } from '#shared/precision.ts'
import { layerStates, stateBytes } from '#engine/models/layerStates.ts'
import { adapterBase } from '#host/adapters/peft.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { resolveCandidate } from '#host/jobs/candidates.ts'
import type { DataStorage } from '#host/store/storage.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { weightBytes } from '#host/devices/memoryFit.ts'
import { findModel, summarizeModel } from '#host/models/modelLibrary.ts'
import type { ServingSetup } from '#host/serving/servedProcess.ts'
import { sizeWords } from '#host/jobs/calibration.ts'

type ChatBase = Pick<Conversation, 'model' | 'base' | 'columns'>
type Column = z.output<typeof adapter> | null

/**
 * Returns the setup with which the server for other programs opens the same base, so that the two share a process.
 * Errors: those of the model and the adapters.
 */
export function setupOf(sources: DataStorage, conversation: ChatBase): ServingSetup {
  const directory = findModel(conversation.model, sources.dataDirectory)
  return {
    directory,
    base: conversation.base ?? trainedBase(sources, conversation),
    precision: 'f32',
    device: { kind: null, threads: null },
    contextLength: null,
    maxRows: servedRows,
    cacheDirectory: dataFolders(sources.dataDirectory).cache,
  }
}

/** Folder of a column's adapter; null: the base alone. Errors: AppError 'run/not-found', 'adapter/invalid' for one of another base. */
export function adapterOf(sources: DataStorage, model: string, column: Column): string | null {
  if (column === null) return null
  const { directory, adapter } = resolveCandidate(sources, { model, adapter: column })
  if ('runId' in column && path.resolve(sources.store.runs.get(column.runId).model) !== directory) {
    throw new AppError(
      'adapter/invalid',
      `The checkpoint of step ${column.step} was trained on another base than ${path.basename(directory)}.`,
      'Choose the model that its run trained, or begin a conversation of its own.',
    )
  }
  return adapter
}

/**
 * Returns the form of the base that the adapters were trained on; null: an exact base. A base in a form that only some
 * GPUs compute with is nearly the same in f32.
 */
function trainedBase(sources: DataStorage, { model, columns }: ChatBase): HeldPrecision | null {
  const bases = columns.flatMap((column) => {
    const folder = adapterOf(sources, model, column)
    return folder === null ? [] : (adapterBase(folder) ?? [])
  })
  const [first] = bases
  const other = bases.find((base) => base !== first)
  if (first === undefined) return null
  if (other !== undefined) {
    throw new AppError(
      'adapter/invalid',
      `One of the adapters was trained on a base in ${first}, another on one in ${other}, and only one base is kept open.`,
      'Choose the form of the base for all of them, or talk to them in conversations of their own.',
    )
  }
  return computesIn('cpu', first) ? first : 'f32'
}

export interface BaseNeeds {
  readonly base: HeldPrecision
  readonly weightBytes: number
  /** Keys and values of one sequence that fills the context. */
  readonly contextBytes: number
  readonly contextLength: number
  /** Reason why it does not fit; null: it does. */
  readonly problem: string | null
}

/** Returns the needs of a base from the headers of its files. Errors: those of the model. */
export function needsOf({ directory, base: given }: ServingSetup): BaseNeeds {
  const folder = openModelFolder(directory)
  const { name, parameters } = summarizeModel(path.basename(directory), folder)
  const { contextLength } = folder.config
  const base = given ?? 'f32'
  const bytes = weightBytes(folder.config, parameters, base)
  const isTooLarge = bytes > totalmem()
  return {
    base,
    weightBytes: bytes,
    contextLength,
    contextBytes: stateBytes(layerStates(folder.config), 1, contextLength),
    problem: isTooLarge
      ? `${name} takes ${sizeWords(bytes)} in ${base}, and this machine has ${sizeWords(totalmem())} of memory.`
      : null,
  }
}

/** Errors: AppError 'runtime/out-of-memory' where the machine is too small for it. */
export function requireRoom(setup: ServingSetup): void {
  const { problem } = needsOf(setup)
  if (problem === null) return
  throw new AppError(
    'runtime/out-of-memory',
    problem,
    'Nothing was started. Choose 8 or 4 bits for the base, or a smaller model.',
  )
}
