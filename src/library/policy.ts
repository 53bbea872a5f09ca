/** Models opened by a program: generation, scoring, and rollouts outside of a run. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { DeviceOption } from '#shared/device.ts'
import { invalidData, usageError } from '#shared/errors.ts'
import { heldIn, type HeldPrecision, type RolloutPrecision } from '#shared/precision.ts'
import { parseRunConfig, type RunConfigInput } from '#shared/runConfig.ts'
import type { DataRow } from '#rl/rollout/prompts.ts'
import type { Trajectory } from '#rl/rollout/trajectory.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { ownDataDirectory } from '#host/files/ownFiles.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { evaluatedRows, runSections } from '#host/evaluations/prepareEvaluation.ts'
import {
  complete,
  encodeQuestion,
  openText,
  type AnsweredCompletion,
  type Question,
} from '#host/models/completing.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import { openModel, type OpenedModel } from '#host/models/openModel.ts'
import { scoreSequences, tokenSequences, type Scores } from '#host/models/scoring.ts'
import type { LoadedTokenizer } from '#host/models/tokenizerFolder.ts'
import { withAbsolutePaths } from '#host/runs/runConfigFile.ts'
import { openRunFolder } from '#host/workFolder/runFolder.ts'
import { checkpointDirectory, resolveCheckpoint } from '#host/runs/runTarget.ts'
import { judgeRows } from '#host/jobs/process/evaluating.ts'

/** A model, alone or with an adapter. */
export interface ModelSubject {
  /** A folder, or a name that `turnwise model list` shows, such as `starter`. */
  readonly model: string
  /** Folder of a PEFT adapter or of a checkpoint; absent: the base model alone. */
  readonly adapter?: string
}

/** A checkpoint of a run. */
export interface RunSubject {
  /** Id of the run, an unambiguous beginning or end of it, or the run's folder. */
  readonly run: string
  /** The step of the checkpoint, or which one; absent: the last. */
  readonly checkpoint?: number | 'last' | 'best'
}

/** Options for opening a model. */
export interface PolicyOptions {
  /** The data directory with models, runs and caches; absent: as for the command line. */
  readonly dataDirectory?: string
  /** `auto` chooses the fastest device that passed its check; absent: `cpu`. */
  readonly device?: DeviceOption
  /** CPU threads; absent: one per core. */
  readonly threads?: number
  /** Precision of the frozen matrices; absent: what the adapter was trained on, or f32. */
  readonly base?: HeldPrecision
  /** Weights that generation uses if the base is f32: exact (`f32`, the default) or rounded (`int8`). */
  readonly precision?: RolloutPrecision
  /** Maximum length of prompt plus completion in tokens; absent: the model's own limit. */
  readonly contextLength?: number
  /** Maximum number of completions generated in one batch. Default: 64. */
  readonly maxRows?: number
}

/** Sampling options. Filters are applied in the order of Hugging Face transformers. */
export interface GenerateOptions {
  /** Number of completions. Default: 1. */
  readonly samples?: number
  /** The same seed gives the same completions. Default: 42. */
  readonly seed?: number
  /** Always take the most probable token. */
  readonly greedy?: boolean
  /** Above 1 more varied, below 1 more certain. Default: 1. */
  readonly temperature?: number
  /** Sample from this many most probable tokens only. Default: 0, off. */
  readonly topK?: number
  /** Sample from the most probable tokens up to this total probability only. Default: 1, off. */
  readonly topP?: number
  /** Sample from tokens with at least this share of the highest probability only. Default: 0, off. */
  readonly minP?: number
  /** Above 1 makes tokens that already occurred less likely. Default: 1, off. */
  readonly repetitionPenalty?: number
  /** Default: 0. */
  readonly minNewTokens?: number
  /** Maximum length of a completion; also limited by the room left in the context. Default: 256. */
  readonly maxNewTokens?: number
  /** A completion ends where any of these texts appears; the text itself is left out. */
  readonly stop?: readonly string[]
  /** Receives the text of a sample as it is generated, in whole characters. */
  readonly onText?: (sample: number, text: string) => void
}

/** The sections of a run config that define prompts, sampling, rewards and environment. */
export type JudgingConfig = Partial<Omit<RunConfigInput, 'model' | 'data'>> & {
  readonly data?: Partial<RunConfigInput['data']>
}

/** Options of a rollout: which rows, and how often. */
export interface RolloutOptions {
  /** The rows; absent: those of `data.heldOut` or, without a validation split, `data.train`. */
  readonly rows?: readonly DataRow[]
  /** Completions per prompt, or episodes per row. Default: 1. */
  readonly samples?: number
  /** Always take the most probable token. */
  readonly greedy?: boolean
  /** Number of rows to draw from the config's data, with its seed; absent: all. */
  readonly limit?: number
  /** Relative paths in the config are resolved against this folder; absent: the working directory. */
  readonly baseDirectory?: string
  /** The data directory with imported data sets; absent: as for the command line. */
  readonly dataDirectory?: string
}

const usualRows = 64

const usual = {
  samples: 1,
  seed: 42,
  greedy: false,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  minNewTokens: 0,
  maxNewTokens: 256,
  stop: [] as readonly string[],
}

/** Drops options that are explicitly undefined. */
const said = (options: GenerateOptions): GenerateOptions =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

/** A model in memory. Concurrent calls are queued. `await using` closes it. */
export interface Policy extends AsyncDisposable {
  /** Folder of the base model. */
  readonly directory: string
  /** Maximum length of prompt plus completion in tokens. */
  readonly contextLength: number
  /** Token ids are smaller than this. */
  readonly vocabularySize: number
  /**
   * Token ids of a text with special tokens, or of a conversation in the chat template, up to where the answer begins. Errors:
   * AppError `data/invalid` for messages if the model has no chat template.
   */
  encode(question: Question): readonly number[]
  /** Text of token ids, without special tokens. */
  decode(ids: readonly number[]): string
  /**
   * Completions of a text or answers to messages, in the order of samples. Errors: AppError `data/invalid` if the prompt leaves
   * no room in the context.
   */
  generate(question: Question, options?: GenerateOptions): Promise<readonly AnsweredCompletion[]>
  /**
   * Log-probability and entropy of every prediction, in nats, under softmax(logits / temperature); the default temperature is 1.
   * Errors: AppError `data/invalid` for ids outside the vocabulary, or sequences longer than the context.
   */
  score(
    sequences: readonly (readonly number[])[],
    options?: { readonly temperature?: number },
  ): Promise<Scores>
  /** Waits for queued calls and frees the model. */
  close(): Promise<void>
}

class OpenedPolicy implements Policy {
  readonly #model: OpenedModel
  readonly #text: LoadedTokenizer
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(model: OpenedModel) {
    this.#model = model
    this.#text = openText(model.folder)
  }

  get directory(): string {
    return this.#model.folder.directory
  }

  get contextLength(): number {
    return this.#model.policy.contextLength
  }

  get vocabularySize(): number {
    return this.#model.policy.vocabSize
  }

  encode(question: Question): readonly number[] {
    return [...encodeQuestion(question, this.#text, new Date())]
  }

  decode(ids: readonly number[]): string {
    return this.#text.tokenizer.decode(ids, { skipSpecialTokens: true })
  }

  generate(question: Question, options: GenerateOptions = {}): Promise<readonly AnsweredCompletion[]> {
    const { samples, seed, stop: stopStrings, onText, ...sampling } = { ...usual, ...said(options) }
    const asked = { question, samples, seed, sampling: { ...sampling, stopStrings } }
    const request = { ...asked, ...(onText === undefined ? {} : { onText }) }
    return this.#inTurn(async () => {
      const completions: AnsweredCompletion[] = []
      for await (const each of complete(this.#model, this.#text, request)) completions.push(each)
      return completions
    })
  }

  score(sequences: readonly (readonly number[])[], { temperature = 1 } = {}): Promise<Scores> {
    return this.#inTurn(async () => {
      const { vocabSize, contextLength } = this.#model.policy
      const rows = tokenSequences(sequences, { vocabSize, contextLength }, 'The input')
      return scoreSequences(this.#model, { sequences: rows, temperature, coefficients: null })
    })
  }

  async rollOut(config: JudgingConfig, options: RolloutOptions): Promise<readonly Trajectory[]> {
    const { rows: given, samples = 1, greedy = false, limit = null } = options
    const dataDirectory = ownDataDirectory(options.dataDirectory)
    const data = given === undefined ? config.data : { train: { episodes: given.length }, ...config.data }
    const parsed = parseRunConfig({ ...config, data, model: this.directory })
    const own = withAbsolutePaths(parsed, path.resolve(options.baseDirectory ?? '.'), dataDirectory)
    const asked = given === undefined ? await evaluatedRows(own, limit) : numbered(given)
    const { cache: cacheDirectory } = dataFolders(dataDirectory)
    using scratch = temporaryFolder()
    const trajectories: Trajectory[] = []
    const request = {
      ...asked,
      config: own,
      samples,
      greedy,
      directory: scratch.folder,
      cacheDirectory,
      consents: consentsFile(dataDirectory),
    }
    await this.#inTurn(() =>
      judgeRows(request, this.#model, {
        onProblem: (_row, problem) => Promise.reject(invalidData(problem)),
        onGroup: (group) => {
          trajectories.push(...group)
          return Promise.resolve()
        },
      }),
    )
    return trajectories.sort((a, b) => a.group - b.group)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#last
    this.#model[Symbol.dispose]()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#isClosed) return Promise.reject(usageError('The policy is closed.'))
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }
}

/**
 * Opens a model, an adapter or a checkpoint of a run in this process. Close it when it is no longer needed.
 * Errors: AppError `model/…`, `adapter/invalid`, `run/not-found`, `device/unavailable`, `file/…`.
 *
 * @example
 * ```ts
 * import { openPolicy } from 'turnwise'
 *
 * await using policy = await openPolicy({ model: 'starter' }, { threads: 2 })
 * const question = { messages: [{ role: 'user', content: 'Add 2 and 3.' }] }
 * const [answer] = await policy.generate(question, { greedy: true, maxNewTokens: 16 })
 * const prompt = policy.encode(question)
 * const { logprobs } = await policy.score([[...prompt, ...(answer?.ids ?? [])]])
 * console.log(answer?.text, logprobs[0]?.slice(prompt.length - 1))
 * ```
 */
export async function openPolicy(
  subject: ModelSubject | RunSubject,
  options: PolicyOptions = {},
): Promise<Policy> {
  const dataDirectory = ownDataDirectory(options.dataDirectory)
  const { base = null, contextLength, ...folders } = candidate(subject, dataDirectory)
  const model = await openModel({
    ...folders,
    contextLength: options.contextLength ?? contextLength ?? null,
    device: { kind: options.device ?? null, threads: options.threads ?? null },
    precision: options.precision ?? 'f32',
    base: options.base ?? base,
    maxRows: options.maxRows ?? usualRows,
    cacheDirectory: dataFolders(dataDirectory).cache,
  })
  return new OpenedPolicy(model)
}

function candidate(subject: ModelSubject | RunSubject, dataDirectory: string) {
  if ('model' in subject) {
    const { model, adapter } = subject
    const directory = findModel(model, dataDirectory)
    return { directory, adapter: adapter === undefined ? null : path.resolve(adapter) }
  }
  const { checkpoint = 'last' } = subject
  const run = openRunFolder(dataDirectory, subject.run)
  const adapter =
    typeof checkpoint === 'number'
      ? checkpointDirectory(run, checkpoint)
      : resolveCheckpoint(dataDirectory, subject.run, checkpoint).directory
  const { model, contextLength, base } = runSections(run, adapter)
  return { directory: model, adapter, contextLength, base: heldIn(base.precision) }
}

/**
 * Rolls out a policy outside of a run: one completion per row and sample, or one episode in the config's environment, with the
 * config's rewards; group after group. Nothing is learned or stored. Errors: AppError `config/invalid`, `data/invalid` if no prompt
 * can be made of a row, `reward/failed`, `sandbox/failed`, `environment/failed`.
 *
 * @example
 * ```ts
 * import { openPolicy, rollout } from 'turnwise'
 *
 * await using policy = await openPolicy({ model: 'starter' })
 * const judging = {
 *   data: { prompt: { messages: [{ role: 'user', content: '{question}' }] } },
 *   rewards: [{ function: 'exact-match' }],
 *   rollout: { maxNewTokens: 16 },
 * }
 * const rows = [{ question: 'add: 2 3', answer: '5' }]
 * for (const { completion, reward } of await rollout(policy, judging, { rows, samples: 4 }))
 *   console.log(completion, reward.total)
 * ```
 */
export async function rollout(
  policy: Policy,
  config: JudgingConfig,
  options: RolloutOptions = {},
): Promise<readonly Trajectory[]> {
  if (policy instanceof OpenedPolicy) return policy.rollOut(config, options)
  throw usageError('The policy was not opened by openPolicy.')
}

const numbered = (rows: readonly DataRow[]) => ({
  rows: rows.map((columns, row) => ({ row, columns })),
  places: [...rows.keys()],
})

function temporaryFolder(): Disposable & { readonly folder: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-rollout-'))
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}
