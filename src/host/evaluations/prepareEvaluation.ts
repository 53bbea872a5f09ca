/**
 * Prepares an evaluation from a request; everything is checked before anything is computed. Reading guide of this folder:
 *
 *   prepareEvaluation.ts  (here) model, adapter, rows, rewards and workflow of a request
 *   evaluations.ts        one after the other is computed, in a process of its own; what is done is kept
 *   answers.ts            the file of what was answered and earned
 *   summary.ts            what the answers come to; compareEvaluations.ts what two of them tell
 *   evaluationsService.ts the procedures of the API
 */
import { createHash, randomUUIDv7 } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { evaluatedSections, type EvaluationRequest } from '#shared/api/evaluations.ts'
import { conflict } from '#shared/config/problems.ts'
import { ConfigError, invalidData, usageError } from '#shared/errors.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { parseRunConfig, rewardName, stagesOf, type RunConfig } from '#shared/runConfig.ts'
import type { RunEntry } from '#shared/runs.ts'
import { entryOf } from '#host/files/ownFiles.ts'
import { adapterForModel, readAdapter } from '#host/adapters/peft.ts'
import { readRunData } from '#host/data/readDataSet.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { resolveEnvironment } from '#host/code/resolveEnvironment.ts'
import { openModelFolder, type ModelFolder } from '#host/models/modelFolder.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { requireKeys } from '#host/consents/keys.ts'
import type { PythonReview } from '#host/python/consent.ts'
import { keysOfConfig, reviewConfig, takeOverWorkflow } from '#host/code/rewardCode.ts'
import { resolveRewards } from '#host/code/resolveRewards.ts'
import { readState } from '#host/workFolder/checkpointState.ts'
import { checkpointDirectory } from '#host/runs/runTarget.ts'
import { configOfRun } from '#host/runs/settingChanges.ts'
import { judgeDigests, workflowDigests } from '#host/runs/manifest.ts'
import { withAbsolutePaths } from '#host/runs/runConfigFile.ts'
import { copyFolder, runPaths } from '#host/workFolder/runFolder.ts'
import { isJsonObject } from '#host/files/strictJson.ts'
import { makeFolder } from '#host/files/atomic.ts'
import type { EvaluationRecord } from '#host/store/evaluations.ts'
import type { Store } from '#host/store/store.ts'
import { resolveWorkflows } from '#host/code/resolveWorkflow.ts'
import { requireGroups } from './summary.ts'

export type EvaluationConfig = EvaluationRecord['config']

/** Rows and facts that a process needs beside the record. */
export interface EvaluatedRows {
  /** Rows with their columns and their number among all that may be evaluated, which random numbers depend on. */
  readonly rows: readonly { readonly row: number; readonly columns: Readonly<Record<string, unknown>> }[]
  /** Number of each of all those rows in the data set. */
  readonly places: readonly number[]
}

interface Parts {
  readonly dataDirectory: string
  readonly store: Store
}

export type NewEvaluation = Omit<EvaluationRecord, 'status' | 'begunAt' | 'begunDone'>

export const evaluationFolder = (dataDirectory: string, id: string): string =>
  entryOf(dataFolders(dataDirectory).evaluations, id)

export interface EvaluationPlace {
  /** Folder that relative paths start from. */
  readonly base: string
  /** A column that the rows must have; null: none. */
  readonly by: string | null
  /** Allows the Python code as it is now; absent: it is asked about. */
  readonly trust?: (reviews: readonly PythonReview[], config: RunConfig) => void
}

/**
 * The code of rewards, environment and workflow is copied into the evaluation's folder. Errors:
 * AppError 'run/not-found', 'model/…', 'adapter/invalid', 'data/invalid', 'config/invalid', 'sandbox/failed', 'file/…';
 * nothing is left of it then.
 */
export async function prepareEvaluation(
  parts: Parts,
  request: EvaluationRequest,
  { base, by, trust }: EvaluationPlace,
): Promise<NewEvaluation> {
  const { subject, config: given, run } = subjectOf(parts, request, base)
  const samples = { samples: request.samples, greedy: request.greedy ?? request.samples === 1 }
  requireSense(given, samples)
  const folder = openModelFolder(subject.model, given)
  const config = withRoom(given, request, folder)
  if (subject.adapter !== null) adapterForModel(readAdapter(subject.adapter), folder.config, subject.adapter)
  const { rows } = await evaluatedRows(config, request.limit)
  if (by !== null) requireGroups(rows, by)
  const id = `ev_${randomUUIDv7()}`
  const directory = evaluationFolder(parts.dataDirectory, id)
  makeFolder(directory)
  try {
    if (run !== null) takeOverCode(run, config, directory)
    trust?.(reviewConfig(config, directory, parts.dataDirectory), config)
    return {
      id,
      ...subject,
      config: sectionsOf(config),
      ...samples,
      limit: request.limit,
      passAt: request.passAt,
      createdAt: Date.now(),
      endedAt: null,
      done: 0,
      total: rows.length,
      summary: null,
      error: null,
      judge: await judgeOf(config, directory, parts.dataDirectory),
    }
  } catch (error) {
    rmSync(directory, { recursive: true, force: true })
    throw error
  }
}

/** Leaves half of a short context to the prompts, where nobody set a length for completions. */
function withRoom(
  config: RunConfig,
  { subject, config: given }: EvaluationRequest,
  { config: { contextLength } }: ModelFolder,
): RunConfig {
  const { rollout } = config
  const isGiven = 'runId' in subject || (isJsonObject(given['rollout']) && 'maxNewTokens' in given['rollout'])
  if (isGiven) return config
  const maxNewTokens = Math.min(rollout.maxNewTokens, Math.floor(contextLength / 2))
  return { ...config, rollout: { ...rollout, maxNewTokens } }
}

interface Subject {
  readonly subject: Pick<EvaluationRecord, 'title' | 'model' | 'adapter' | 'runId' | 'step'>
  readonly config: RunConfig
  /** Run whose settings it begins with. */
  readonly run: RunEntry | null
}

function subjectOf({ store, dataDirectory }: Parts, request: EvaluationRequest, base: string): Subject {
  const { subject: given, config: changes } = request
  const parsed = (model: string, sections: object) =>
    withAbsolutePaths(parseRunConfig({ ...sections, ...changes, model }), base, dataDirectory)
  if (!('runId' in given)) {
    const model = findModel(given.model, dataDirectory)
    const adapter = given.adapter === null ? null : path.resolve(base, given.adapter)
    const title = [path.basename(model), ...(adapter === null ? [] : [path.basename(adapter)])].join(' + ')
    const config = parsed(model, {})
    return { subject: { title, model, adapter, runId: null, step: null }, config, run: null }
  }
  const { runId, step } = given
  const run = store.runs.get(runId)
  const adapter = step === null ? null : checkpointDirectory(run, step)
  const sections = runSections(run, adapter)
  const title = `${run.name ?? `${run.algorithmTitle} · seed ${run.seed}`}, ${step === null ? 'base model' : `step ${step}`}`
  const { model } = sections
  return { subject: { title, model, adapter, runId, step }, config: parsed(model, sections), run }
}

/**
 * Returns the sections of the stage that a checkpoint is of; null: of the last one. Errors: AppError 'file/unreadable',
 * 'config/invalid'.
 */
export function runSections(
  { directory }: Pick<RunEntry, 'directory'>,
  checkpoint: string | null,
): EvaluationConfig {
  const trainer = checkpoint === null ? null : readState(checkpoint).trainer
  // The settings are those with which the run evaluated it: changes at that step came after.
  const stages = stagesOf(configOfRun(directory, trainer === null ? Infinity : trainer.step - 1))
  const stage = trainer === null ? undefined : stages[trainer.stage]
  return sectionsOf(stage ?? stages.at(-1) ?? stages[0])
}

const sectionsOf = (config: RunConfig): EvaluationConfig =>
  Object.fromEntries(evaluatedSections.map((name) => [name, config[name]])) as EvaluationConfig

function requireSense(
  { rewards, environment, rollout: { workflow } }: RunConfig,
  { samples, greedy }: { readonly samples: number; readonly greedy: boolean },
): void {
  if (rewards.length === 0 && environment === null && workflow === null) {
    throw new ConfigError(
      [
        conflict(
          'rewards',
          'there is no reward, no environment and no workflow, so nothing would be scored.',
        ),
      ],
      'Say by which reward function, in which environment or by which workflow it is to be evaluated.',
    )
  }
  if (greedy && samples > 1) {
    throw usageError(
      `Greedy decoding gives the same completion every time, so ${samples} samples of a prompt are no better than one.`,
      'Ask for one sample, or sample at a temperature.',
    )
  }
}

/** Rows to evaluate: held-out ones where the config has some. Errors: AppError 'data/invalid', 'file/unreadable'. */
export async function evaluatedRows(
  { data, seed }: Pick<RunConfig, 'data' | 'seed'>,
  limit: number | null,
): Promise<EvaluatedRows> {
  const isHeldOut = data.heldOut !== null
  const { train, heldOut, places } = await readRunData(data)
  const all = isHeldOut ? heldOut : train
  if (all.length === 0) {
    throw invalidData('There are no rows to evaluate on.', 'Choose a data set that has rows.')
  }
  const numbers = [...all.keys()]
  const isPart = limit !== null && limit < numbers.length
  const drawn = isPart ? new SequentialRandom(randomStream(seed)).shuffled(numbers).slice(0, limit) : numbers
  return {
    rows: drawn.toSorted((a, b) => a - b).map((row) => ({ row, columns: all[row] ?? {} })),
    places: isHeldOut ? places.heldOut : places.train,
  }
}

/** Reviews the Python code and MCP servers that an evaluation would run. Errors: as `prepareEvaluation` and `reviewConfig`. */
export function reviewEvaluation(parts: Parts, request: EvaluationRequest, base: string): PythonReview[] {
  const { config, run } = subjectOf(parts, request, base)
  const copied = run && copiesFor(run.directory, stagesOf(configOfRun(run.directory, Infinity)), config)
  return reviewConfig(config, copied, parts.dataDirectory)
}

/** Returns the run's folder where its copies of rewards and environment count; null: files as they are now. */
function copiesFor(
  directory: string,
  [{ rewards, environment }]: ReturnType<typeof stagesOf>,
  config: RunConfig,
): string | null {
  const isSame =
    isDeepStrictEqual(rewards, config.rewards) && isDeepStrictEqual(environment, config.environment)
  return isSame && existsSync(runPaths(directory).rewards) ? directory : null
}

/** A run has its own copy of code: what it was judged by it is evaluated by, whatever became of the file. */
function takeOverCode(run: RunEntry, config: RunConfig, directory: string): void {
  const stages = stagesOf(configOfRun(run.directory, Infinity))
  const copied = copiesFor(run.directory, stages, config)
  if (copied !== null) copyFolder(runPaths(copied).rewards, runPaths(directory).rewards)
  const { workflow } = config.rollout
  const stage = stages.findIndex(({ rollout }) => isDeepStrictEqual(rollout.workflow, workflow))
  if (workflow === null) return
  takeOverWorkflow(workflow, stage === -1 ? null : { directory: run.directory, stage }, directory)
}

/** Digest of rewards, environment and workflow. All are opened for it, so that code which cannot work is refused before the evaluation starts. */
async function judgeOf(config: RunConfig, directory: string, dataDirectory: string): Promise<string> {
  const consents = consentsFile(dataDirectory)
  requireKeys(keysOfConfig(config, directory), consents)
  const { cache: cacheDirectory } = dataFolders(dataDirectory)
  await using _rewards = await resolveRewards(config, directory, { consents })
  const place = { cacheDirectory, consents, onRequest: () => {} }
  await using _world = await resolveEnvironment(config, directory, place)
  await using _workflows = await resolveWorkflows(config, directory)
  const { function: _, ...play } = config.environment ?? { function: null }
  // Names of rewards change nothing.
  const digests = judgeDigests(config, directory)
  const weighted = config.rewards.map((entry) => [digests[rewardName(entry)], entry.weight])
  const world = config.environment === null ? null : [digests['environment'], play]
  const parts = [weighted, world, config.rewardFailures, ...Object.values(workflowDigests(config, directory))]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
