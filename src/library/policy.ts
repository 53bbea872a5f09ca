/** A model that a program opens to generate, to score, and to answer rows that are judged. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { DeviceOption } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import type { BasePrecision, RolloutPrecision } from '#shared/precision.ts'
import { parseRunConfig, type RunConfigInput } from '#shared/runConfig.ts'
import type { DataRow } from '#rl/rollout/prompts.ts'
import type { Trajectory } from '#rl/rollout/trajectory.ts'
import { dataFolders, resolveDataDirectory } from '#host/dataDirectory.ts'
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
import { openRunFolder } from '#host/runs/runFolder.ts'
import { checkpointDirectory, resolveCheckpoint } from '#host/runs/runTarget.ts'
import { judgeRows } from '#host/training/evaluating.ts'

/** A model as it is, or with an adapter. */
export interface ModelSubject {
  /** A folder, or a name that `turnwise model list` shows, such as `starter`. */
  readonly model: string
  /** Folder of a PEFT adapter or of a checkpoint; the base model alone if absent. */
  readonly adapter?: string
}

/** A checkpoint of a run. */
export interface RunSubject {
  /** Its id, an unambiguous beginning or end of it, or its folder. */
  readonly run: string
  /** A step, or which of the checkpoints; the last one if absent. */
  readonly checkpoint?: number | 'last' | 'best'
}

/** How a model is opened. */
export interface PolicyOptions {
  /** Where models, runs and caches are kept; as for the command line if absent. */
  readonly dataDirectory?: string
  /** `cpu` if absent; `auto` is the fastest device that passed its check. */
  readonly device?: DeviceOption
  /** CPU threads; the machine's cores if absent. */
  readonly threads?: number
  /** What the frozen matrices are held in; as the adapter was trained if absent. */
  readonly base?: BasePrecision
  /** What generation reads of matrices held in f32; exact (`f32`) if absent. */
  readonly precision?: RolloutPrecision
  /** Longest prompt plus completion, tokens; the model's own limit if absent. */
  readonly contextLength?: number
  /** Completions that are generated together, at most; 64 if absent. */
  readonly maxRows?: number
}

/** How completions are sampled. The filters are those of Hugging Face, in its order. */
export interface GenerateOptions {
  /** Completions of the prompt; 1 if absent. */
  readonly samples?: number
  /** The same seed gives the same completions; 42 if absent. */
  readonly seed?: number
  /** Takes the likeliest token every time. */
  readonly greedy?: boolean
  /** Above 1 more varied, below 1 more certain; 1 if absent. */
  readonly temperature?: number
  /** Only so many of the likeliest tokens; 0 is off, as if absent. */
  readonly topK?: number
  /** Only the likeliest tokens up to this total probability; 1 is off, as if absent. */
  readonly topP?: number
  /** Only tokens with this share of the highest probability; 0 is off, as if absent. */
  readonly minP?: number
  /** Above 1 makes tokens that were seen less likely; 1 is off, as if absent. */
  readonly repetitionPenalty?: number
  /** 0 if absent. */
  readonly minNewTokens?: number
  /** 256 if absent; never more than the context has room for. */
  readonly maxNewTokens?: number
  /** A completion ends before any of these texts. */
  readonly stop?: readonly string[]
  /** Told the text of a sample as it becomes certain, whole characters only. */
  readonly onText?: (sample: number, text: string) => void
}

/** Sections of a run config that say how rows become prompts, how they are answered and what judges the answers. */
export type JudgingConfig = Partial<Omit<RunConfigInput, 'model' | 'data'>> & {
  readonly data?: Partial<RunConfigInput['data']>
}

/** Which rows are answered, and how often. */
export interface RolloutOptions {
  /** Rows to answer; those of `data.heldOut`, else of `data.train`, if absent. */
  readonly rows?: readonly DataRow[]
  /** Completions of each prompt, or episodes of each row; 1 if absent. */
  readonly samples?: number
  /** Takes the likeliest token every time; samples if absent. */
  readonly greedy?: boolean
  /** That many of the config's rows, drawn with the seed; all if absent. */
  readonly limit?: number
  /** Relative paths in the config are meant from here; the working directory if absent. */
  readonly baseDirectory?: string
  /** Where imported data sets are kept; as for the command line if absent. */
  readonly dataDirectory?: string
}

const usualRows = 64

const usual = {
  ...{ samples: 1, seed: 42, greedy: false, temperature: 1, topK: 0, topP: 1, minP: 0, repetitionPenalty: 1 },
  ...{ minNewTokens: 0, maxNewTokens: 256, stop: [] as readonly string[] },
}

/** Without what is there but undefined. */
const said = (options: GenerateOptions): GenerateOptions =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

/** A model in memory. What is asked of it at the same time is done one after the other. `await using` closes it. */
export interface Policy extends AsyncDisposable {
  /** Folder of the base model. */
  readonly directory: string
  /** Longest prompt plus completion, tokens. */
  readonly contextLength: number
  /** Token ids are below it. */
  readonly vocabularySize: number
  /**
   * Token ids of a text, special tokens included, or of a conversation as the chat template writes it, up to where the
   * answer begins. Errors: AppError `data/invalid` for messages where the model has no chat template.
   */
  encode(question: Question): readonly number[]
  /** The text of token ids, without special tokens. */
  decode(ids: readonly number[]): string
  /**
   * Completions of a text, or answers to messages, in the order of samples. Errors: AppError `data/invalid` for a prompt that
   * leaves no room for a token.
   */
  generate(question: Question, options?: GenerateOptions): Promise<readonly AnsweredCompletion[]>
  /**
   * Log-probability and entropy of every prediction, nats, under softmax(logits / temperature); the temperature is 1 if absent.
   * Errors: AppError `data/invalid` for ids that the model does not have, or more than it reads.
   */
  score(
    sequences: readonly (readonly number[])[],
    options?: { readonly temperature?: number },
  ): Promise<Scores>
  /** Frees the model once what was asked of it is done. */
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
    return [...encodeQuestion(question, this.#text)]
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
    const dataDirectory = resolveDataDirectory(options.dataDirectory)
    const data = given === undefined ? config.data : { train: { episodes: given.length }, ...config.data }
    const parsed = parseRunConfig({ ...config, data, model: this.directory })
    const own = withAbsolutePaths(parsed, path.resolve(options.baseDirectory ?? '.'), dataDirectory)
    const asked = given === undefined ? await evaluatedRows(own, limit) : numbered(given)
    const { cache: cacheDirectory } = dataFolders(dataDirectory)
    using scratch = temporaryFolder()
    const trajectories: Trajectory[] = []
    const request = { ...asked, config: own, samples, greedy, cacheDirectory, directory: scratch.folder }
    await this.#inTurn(() =>
      judgeRows(request, this.#model, {
        onProblem: (_row, problem) => Promise.reject(new AppError('data/invalid', problem)),
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
    if (this.#isClosed) return Promise.reject(new AppError('usage/invalid', 'The policy is closed.'))
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }
}

/**
 * Opens a model, with an adapter or as a checkpoint of a run left it, in this process; close it when it is no longer needed.
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
  const dataDirectory = resolveDataDirectory(options.dataDirectory)
  const { base = null, contextLength, ...folders } = contender(subject, dataDirectory)
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

function contender(subject: ModelSubject | RunSubject, dataDirectory: string) {
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
  return { directory: model, adapter, contextLength, base: base.precision }
}

/**
 * Trajectories of a policy outside of any run: each row answered, or played in the config's environment, and judged by its
 * rewards; group after group. Nothing is learned and nothing is kept. Errors: AppError `config/invalid`, `data/invalid` for a row
 * that makes no prompt, `reward/failed`, `sandbox/failed`, `environment/failed`.
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
  throw new AppError('usage/invalid', 'This is no policy that openPolicy opened.')
}

const numbered = (rows: readonly DataRow[]) => ({
  rows: rows.map((columns, row) => ({ row, columns })),
  places: [...rows.keys()],
})

function temporaryFolder(): Disposable & { readonly folder: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-rollout-'))
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}
