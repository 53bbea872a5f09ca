/** The difficulty of rows: a model answers each one several times, and the rewards are recorded. */
import { meanOf } from '#shared/mean.ts'
import { mkdtempSync, rmSync, existsSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { hash } from 'node:crypto'
import type { Api } from '#shared/api/api.ts'
import type { Handlers, OutputOf } from '#shared/api/contract.ts'
import type { datasetsApi } from '#shared/api/datasets.ts'
import { type Difficulty, difficultySchema } from '#shared/api/difficulty.ts'
import { schemaProblems } from '#shared/config/problems.ts'
import { AppError, ConfigError } from '#shared/errors.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { runConfigSchema, type RunConfig } from '#shared/runConfig.ts'
import { scoreRewards, type RewardSpec } from '#rl/rewards.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { Host } from '#host/host.ts'
import { absoluteReward, codeReference, readRewardCode } from '#host/rewards/rewardCode.ts'
import { resolveRewards } from '#host/rewards/resolveRewards.ts'
import type { RowCompletion, Contender } from '#host/processes/question.ts'
import { greedyAtZero, resolveContender } from '#host/models/modelsService.ts'
import { hashFiles } from '#host/files/contentHash.ts'
import { makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import type { DataRow } from './dataFile.ts'
import type { DataSetVersion } from './dataSetVersion.ts'
import { openVersion, parsePromptForm } from './dataSetVersions.ts'

type Request = Parameters<Handlers<typeof datasetsApi>['difficulty']>[0]
type Item = OutputOf<Api, 'datasets.difficulty'>
type RowResult = Difficulty['rows'][number] | Difficulty['problems'][number]

/** Errors: AppError 'data/invalid', 'model/…', 'config/invalid', 'sandbox/failed', 'file/…'. */
export async function* measureDifficulty(
  host: Host,
  request: Request,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  const version = openVersion(host, request.versionId)
  const rewards = parseRewards(request.rewards, host.dataDirectory)
  const cacheDirectory = dataFolders(host.dataDirectory).cache
  const contender = resolveContender(host, request)
  const { adapter: _, model: _model, rewards: _rewards, ...rest } = request
  const id = await difficultyId({ contender, rewards, request: rest, cacheDirectory })
  const known = usableDifficulty(version.directory, id)
  if (known !== null) {
    yield { result: known }
    return
  }
  const chosen = chooseRows(version, request)
  await using scorer = await openScorer({ rewards })
  const answers = host.ask(
    {
      ...{ type: 'complete-rows', contender, cacheDirectory },
      rows: chosen.map(({ columns }) => ({ ...columns })),
      form: parsePromptForm(request.prompt),
      samplesPerRow: request.samplesPerRow,
      ...samplingOf(request),
      withTokens: scorer.specs.some((spec) => spec.function.needsTokens === true),
    },
    signal,
  )
  const results: RowResult[] = []
  const failures: string[] = []
  for await (const row of gathered(answers, chosen, request.samplesPerRow)) {
    const result = 'problem' in row ? row : await scoredRow(row, scorer.specs, failures)
    results.push(result)
    yield {
      progress: { phase: 'Measuring', done: results.length, total: chosen.length, unit: 'rows' },
      row: result,
    }
  }
  if (signal.aborted) return
  const difficulty = summarized({ id, request, results, failures })
  keepDifficulty(version.directory, difficulty)
  host.bell.ring()
  yield { result: difficulty }
}

function parseRewards(given: Request['rewards'], dataDirectory: string): RunConfig['rewards'] {
  const result = runConfigSchema.shape.rewards.safeParse(given, { reportInput: true })
  if (!result.success) throw new ConfigError(schemaProblems(result.error.issues, 'rewards'))
  return result.data.map((entry) => ({ ...entry, function: absoluteReward(entry.function, dataDirectory) }))
}

function samplingOf({ sampling }: Request) {
  const { seed, temperature, ...filters } = sampling
  return { seed, sampling: { ...filters, ...greedyAtZero(temperature), minNewTokens: 0 } }
}

interface ChosenRow {
  /** Its number in the version. */
  readonly row: number
  readonly columns: DataRow
}

/** Drawn by the seed, in their order. */
function chooseRows(version: DataSetVersion, { rows, sampling }: Request): ChosenRow[] {
  const all = Array.from({ length: version.info.rows }, (_, row) => row)
  const isPart = rows < all.length
  const drawn = isPart ? new SequentialRandom(randomStream(sampling.seed)).shuffled(all).slice(0, rows) : all
  return drawn.sort((a, b) => a - b).map((row) => ({ row, columns: version.rows(row, 1)[0] ?? {} }))
}

type Completed = Pick<Extract<RowCompletion, { completion: string }>, 'completion' | 'tokens'>

interface AnsweredRow extends ChosenRow {
  readonly prompt: string
  readonly completions: readonly Completed[]
}

/** Rows whose samples are all there. */
async function* gathered(
  answers: AsyncIterable<RowCompletion>,
  chosen: readonly ChosenRow[],
  samples: number,
): AsyncGenerator<AnsweredRow | Difficulty['problems'][number]> {
  const begun = new Map<number, Completed[]>()
  for await (const answer of answers) {
    const place = chosen[answer.row]
    if (place === undefined) throw new Error(`Expected a row below ${chosen.length}, got ${answer.row}.`)
    if ('problem' in answer) {
      yield { row: place.row, problem: answer.problem }
      continue
    }
    const completions = begun.get(answer.row) ?? new Array<Completed>(samples)
    begun.set(answer.row, completions)
    completions[answer.sample] = answer
    // Holes are not counted.
    if (Object.keys(completions).length < samples) continue
    begun.delete(answer.row)
    yield { ...place, prompt: answer.prompt, completions }
  }
}

interface Scorer extends AsyncDisposable {
  readonly specs: readonly RewardSpec[]
}

/** Copies of reward code go where they are removed again. */
async function openScorer({ rewards }: Pick<RunConfig, 'rewards'>): Promise<Scorer> {
  const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-difficulty-'))
  const remove = () => rmSync(directory, { recursive: true, force: true })
  try {
    const rewardLimits = runConfigSchema.shape.rewardLimits.parse(undefined)
    const resolved = await resolveRewards({ rewards, rewardLimits }, directory)
    return {
      specs: resolved.specs,
      async [Symbol.asyncDispose]() {
        await resolved[Symbol.asyncDispose]()
        remove()
      },
    }
  } catch (error) {
    remove()
    throw error
  }
}

const textLength = 200

async function scoredRow(
  { row, columns, prompt, completions }: AnsweredRow,
  specs: readonly RewardSpec[],
  failures: string[],
): Promise<Difficulty['rows'][number]> {
  const inputs = completions.map(({ completion, tokens }) => ({
    ...{ prompt, completion, row: columns, step: 0 },
    ...(tokens === null ? {} : { tokens, turnLengths: [tokens.length] }),
  }))
  const rewards = await scoreRewards(specs, inputs, 'null')
  for (const failure of rewards.flatMap((reward) => reward.failures)) {
    failures.push(`${failure.name}: ${failure.message}`)
  }
  const values = rewards.map(({ total }) => total)
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
    ...{ id, request, createdAt: Date.now() },
    ...{ rows: rows.length, problems: problems.length },
    mean: meanOf(rows.map(({ mean }) => mean)),
    withoutSpread: rows.filter(({ values }) => values.every((value) => value === values[0])).length,
    failure: failures[0] ?? null,
  }
  return { summary, rows, problems }
}

/* Difficulties that were measured: kept in the folder of the version they are of, and gone with it. */

interface DifficultySubject {
  readonly contender: Contender
  readonly rewards: readonly {
    readonly function: string
    readonly settings: object
    readonly weight: number
  }[]
  /** All else that the result depends on. */
  readonly request: unknown
  readonly cacheDirectory: string
}

/** Of weights and code their content counts, not where they lie. */
async function difficultyId(subject: DifficultySubject): Promise<string> {
  const { contender, rewards, request, cacheDirectory } = subject
  const { weightFiles, directory } = openModelFolder(contender.directory)
  const adapter = contender.adapter === null ? [] : adapterFiles(contender.adapter)
  const files = [path.join(directory, 'config.json'), ...weightFiles, ...adapter]
  const digests = await hashFiles(files, cacheDirectory, () => undefined)
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
  path.join(folderOf(versionDirectory), `${id}.json`)

/** Errors: AppError 'file/unwritable'. */
function keepDifficulty(versionDirectory: string, difficulty: Difficulty): void {
  makeFolder(folderOf(versionDirectory))
  writeFileAtomic(fileOf(versionDirectory, difficulty.summary.id), JSON.stringify(difficulty))
}

const maxBytes = 64 << 20

/** null where it is not known, or of another version of the program. Errors: AppError 'data/invalid', 'file/unreadable'. */
export function knownDifficulty(versionDirectory: string, id: string): Difficulty | null {
  const file = fileOf(versionDirectory, id)
  if (!existsSync(file)) return null
  return difficultySchema.safeParse(readJsonObject(file, 'data/invalid', maxBytes)).data ?? null
}

/** As `knownDifficulty`; also null where its file cannot be read: it is measured again and replaced. */
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
