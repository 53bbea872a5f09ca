/** The difficulty of rows: a model answers each one several times, and the rewards are recorded. */
import { meanOf } from '#shared/mean.ts'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { hash } from 'node:crypto'
import { codeReference } from '#shared/config/codeReference.ts'
import type { Api } from '#shared/api/api.ts'
import type { Handlers, OutputOf } from '#shared/api/contract.ts'
import type { datasetsApi } from '#shared/api/datasets.ts'
import { type Difficulty, difficultySchema } from '#shared/api/difficulty.ts'
import { AppError, invalidData } from '#shared/errors.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import type { PromptRow } from '#rl/rollout/prompts.ts'
import { entryOf, makeOwnFolder } from '#host/files/ownFiles.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { Asking } from '#host/processes/job.ts'
import type { ObservedStorage } from '#host/store/storage.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { programAt } from '#host/python/consent.ts'
import { absoluteReward, readRewardCode } from '#host/code/rewardCode.ts'
import type { Candidate } from '#host/models/completionJobs.ts'
import {
  evaluationJob,
  type AnsweredRow,
  type EvaluationInput,
  type EvaluationNews,
} from './evaluationJob.ts'
import { resolveCandidate } from './candidates.ts'
import { hashFiles } from '#host/files/contentHash.ts'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { scratchFolderIn } from '#host/files/scratch.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import { addRows } from '#host/data/addRows.ts'
import type { DataSetVersion } from '#host/data/dataSetVersion.ts'
import type { ImportedDataSet } from '#host/data/importDataSet.ts'
import { openVersion } from '#host/data/dataSetVersions.ts'

type Request = Parameters<Handlers<typeof datasetsApi>['difficulty']>[0]
type Item = OutputOf<Api, 'datasets.difficulty'>
type RowResult = Difficulty['rows'][number] | Difficulty['problems'][number]

/** Errors: AppError 'data/invalid', 'model/…', 'config/invalid', 'sandbox/failed', 'file/…'. */
export async function* measureDifficulty(
  host: ObservedStorage & Asking,
  request: Request,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  const version = openVersion(host, request.versionId)
  const candidate = resolveCandidate(host, request)
  const config = configOf(request, version, host.dataDirectory)
  const cacheDirectory = dataFolders(host.dataDirectory).cache
  const { adapter: _, model: _model, rewards: _rewards, ...rest } = request
  const id = await difficultyId({ candidate, rewards: config.rewards, request: rest, cacheDirectory })
  const known = usableDifficulty(version.directory, id)
  if (known !== null) {
    yield { result: known }
    return
  }
  const rows = chooseRows(version, request)
  const results: RowResult[] = []
  const failures: string[] = []
  const answering = { candidate, config, rows, samples: request.samplesPerRow, cacheDirectory }
  const greedy = request.sampling.temperature === 0
  for await (const news of answersTo(host, { ...answering, greedy }, signal)) {
    if ('progress' in news) continue
    const result = 'problem' in news ? news : rowOf(news, failures)
    results.push(result)
    yield {
      progress: { phase: 'Measuring', done: results.length, total: rows.length, unit: 'rows' },
      row: result,
    }
  }
  if (signal.aborted) return
  const difficulty = summarized({ id, request, results, failures })
  keepDifficulty(version.directory, difficulty)
  host.notifier.notify()
  yield { result: difficulty }
}

/** Builds the run config that answers and scores with these settings. Errors: AppError 'config/invalid'. */
function configOf(
  { prompt, rewards, interpreter = null, sampling: { temperature, seed, ...filters } }: Request,
  { directory }: DataSetVersion,
  dataDirectory: string,
): RunConfig {
  const config = parseRunConfig({
    model: directory,
    data: { train: directory, prompt },
    rewards,
    seed,
    python: { interpreter: interpreter && programAt(interpreter, dataDirectory) },
    rollout: { ...filters, ...(temperature === 0 ? {} : { temperature }) },
  })
  const absolute = (id: string) => absoluteReward(id, dataDirectory)
  return {
    ...config,
    rewards: config.rewards.map((entry) => ({ ...entry, function: absolute(entry.function) })),
  }
}

/** Copies of reward code go where they are removed again. */
async function* answersTo(
  { ask, dataDirectory }: ObservedStorage & Asking,
  asked: Pick<EvaluationInput, 'candidate' | 'config' | 'rows' | 'samples' | 'greedy' | 'cacheDirectory'>,
  signal: AbortSignal,
): AsyncGenerator<EvaluationNews> {
  using scratch = scratchFolderIn(asked.cacheDirectory)
  const consents = consentsFile(dataDirectory)
  yield* ask(evaluationJob, { ...asked, directory: scratch.folder, places: [], consents }, signal)
}

/** Drawn by the seed, in their order. */
function chooseRows(version: DataSetVersion, { rows, sampling }: Request): PromptRow[] {
  const all = Array.from({ length: version.info.rows }, (_, row) => row)
  const isPart = rows < all.length
  const drawn = isPart ? new SequentialRandom(randomStream(sampling.seed)).shuffled(all).slice(0, rows) : all
  return drawn.sort((a, b) => a - b).map((row) => ({ row, columns: version.rows(row, 1)[0] ?? {} }))
}

const textLength = 200

function rowOf({ row, prompt, samples }: AnsweredRow, failures: string[]): Difficulty['rows'][number] {
  failures.push(...samples.flatMap((sample) => sample.failures ?? []))
  const values = samples.map(({ reward }) => reward)
  return { row, mean: meanOf(values), values, text: prompt.slice(0, textLength) }
}

interface Measured {
  readonly id: string
  readonly request: Request
  readonly results: readonly RowResult[]
  readonly failures: readonly string[]
}

function summarized({ id, request, results, failures }: Measured): Difficulty {
  const byRow = results.toSorted((a, b) => a.row - b.row)
  const rows = byRow.filter((result) => 'values' in result)
  const problems = byRow.filter((result) => 'problem' in result)
  const summary = {
    id,
    request,
    createdAt: Date.now(),
    rows: rows.length,
    problems: problems.length,
    mean: meanOf(rows.map(({ mean }) => mean)),
    withoutSpread: rows.filter(({ values }) => values.every((value) => value === values[0])).length,
    failure: failures[0] ?? null,
  }
  return { summary, rows, problems }
}

/* Difficulties that were measured: kept in the folder of the version they are of, and gone with it. */

interface DifficultySubject {
  readonly candidate: Candidate
  readonly rewards: readonly {
    readonly function: string
    readonly settings: object
    readonly weight: number
  }[]
  /** Everything else that the result depends on. */
  readonly request: unknown
  readonly cacheDirectory: string
}

/** Identifies a measurement: weights and code count by content, not by place. */
async function difficultyId(subject: DifficultySubject): Promise<string> {
  const { candidate, rewards, request, cacheDirectory } = subject
  const { weightFiles, configFile } = openModelFolder(candidate.directory)
  const adapter = candidate.adapter === null ? [] : adapterFiles(candidate.adapter)
  const files = [...new Set([configFile, ...weightFiles]), ...adapter]
  const digests = await hashFiles(files, cacheDirectory)
  const judges = rewards.map(({ function: id, settings, weight }) => {
    const code = codeReference(id)
    return [code === null ? id : [readRewardCode(code).code, code.name], settings, weight]
  })
  return hash('sha256', JSON.stringify([digests, judges, request]))
}

/** A PEFT folder has it itself, a checkpoint in the part of its actor. */
const adapterFiles = (directory: string): string[] =>
  [directory, path.join(directory, 'actor')]
    .flatMap((folder) =>
      ['adapter_model.safetensors', 'adapter_config.json'].map((name) => path.join(folder, name)),
    )
    .filter((file) => existsSync(file))

const folderOf = (versionDirectory: string): string => path.join(versionDirectory, 'difficulty')
const fileOf = (versionDirectory: string, id: string): string =>
  entryOf(folderOf(versionDirectory), `${id}.json`)

/** Errors: AppError 'file/unwritable'. */
function keepDifficulty(versionDirectory: string, difficulty: Difficulty): void {
  makeOwnFolder(folderOf(versionDirectory), versionDirectory)
  writeFileAtomic(fileOf(versionDirectory, difficulty.summary.id), JSON.stringify(difficulty))
}

const maxBytes = 64 << 20

/** Errors: AppError 'data/invalid' where it was not measured, 'file/unreadable'. */
export function requireDifficulty(versionDirectory: string, id: string): Difficulty {
  const known = knownDifficulty(versionDirectory, id)
  if (known !== null) return known
  throw invalidData('This difficulty was not measured.', 'Measure it.')
}

/** Adds the rows with their difficulty as a version. Errors: as requireDifficulty; AppError 'file/…'. */
export async function keepMeasured(
  { dataDirectory }: ObservedStorage,
  version: DataSetVersion,
  { id, rows: wanted }: Parameters<Handlers<typeof datasetsApi>['keepMeasured']>[0],
): Promise<ImportedDataSet> {
  const { rows } = requireDifficulty(version.directory, id)
  const isWanted = new Set(wanted)
  const kept = rows.filter(({ row }) => isWanted.has(row))
  if (kept.length < isWanted.size) throw invalidData('Some of these rows were not measured.')
  const measured = kept.map(({ row, mean }) => ({
    ...version.rows(row, 1)[0],
    difficulty: mean === null ? null : Number((1 - mean).toPrecision(9)),
  }))
  const { name } = version.info
  return await addRows(measured, { name, origin: `${name}, with measured difficulty` }, dataDirectory)
}

/** null where it is not known, or of another version of the program. Errors: AppError 'data/invalid', 'file/unreadable'. */
function knownDifficulty(versionDirectory: string, id: string): Difficulty | null {
  const file = fileOf(versionDirectory, id)
  if (!existsSync(file)) return null
  return difficultySchema.safeParse(readJsonObject(file, 'data/invalid', maxBytes)).data ?? null
}

/**
 * Returns the same as `knownDifficulty`; also null where its file cannot be read: it is measured again and replaced.
 */
function usableDifficulty(versionDirectory: string, id: string): Difficulty | null {
  try {
    return knownDifficulty(versionDirectory, id)
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** The newest first; a file that cannot be read is a sentence among the problems and hides no other one. */
export function knownDifficulties(versionDirectory: string): {
  known: Difficulty['summary'][]
  problems: string[]
} {
  const folder = folderOf(versionDirectory)
  const names = existsSync(folder)
    ? readdirSync(folder).filter((name) => /^[0-9a-f]{64}\.json$/.test(name))
    : []
  const known: Difficulty['summary'][] = []
  const problems: string[] = []
  for (const name of names) {
    try {
      const difficulty = knownDifficulty(versionDirectory, path.parse(name).name)
      if (difficulty !== null) known.push(difficulty.summary)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      problems.push(error.message)
    }
  }
  return { known: known.sort((a, b) => b.createdAt - a.createdAt), problems }
}
