/** Reward code on rows of a data set, before training. */
import { meanOf } from '#shared/mean.ts'
import type { Api } from '#shared/api/api.ts'
import type { Handlers, OutputOf } from '#shared/api/contract.ts'
import type { rewardsApi } from '#shared/api/rewards.ts'
import { AppError, invalidData } from '#shared/errors.ts'
import type { DataRow } from '#host/data/dataFile.ts'
import { previewPrompts } from '#host/data/preview.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { AskText } from '#host/models/textQuestion.ts'
import type { DataStorage } from '#host/store/storage.ts'
import { rowCompletionJob } from '#host/models/completionJobs.ts'
import type { Asking } from '#host/processes/job.ts'
import { openVersion, parsePromptForm } from '#host/data/dataSetVersions.ts'
import { openDryRun, type DrySample, type OpenDryRun, dryRun, type DryRunRow } from '#host/code/dryRun.ts'
import { askedAt } from '#host/judges/judge.ts'
import { all, judged } from './judgeTrials.ts'
import { triedCode } from '#host/code/rewardVersions.ts'

export interface Trial {
  readonly host: DataStorage & Asking & { readonly askText: AskText }
  readonly signal: AbortSignal
}

type DryRunRequest = Parameters<Handlers<typeof rewardsApi>['dryRun']>[0]
type Rows = Exclude<DryRunRequest['on'], readonly unknown[]>
type FreshRows = Rows & {
  readonly completions: Exclude<Rows['completions'], { column: string }>
  readonly withTokens: boolean
}
type DryRunItem = OutputOf<Api, 'rewards.dryRun'>

/** Result of preparing a row: something to score, or the reason why not. */
type Prepared = { readonly index: number } & ({ readonly input: DrySample } | { readonly problem: string })

/** Number of samples scored together. */
const scoredAtOnce = 16

export async function* dryRunOf(trial: Trial, request: DryRunRequest): AsyncGenerator<DryRunItem> {
  const { code, settings, on } = request
  if ('builtIn' in code) {
    yield* judgedDryRun(trial, { settings, on })
    return
  }
  const isGiven = Array.isArray(on)
  const total = isGiven ? on.length : rowsOf(trial, on).length
  const form = isGiven ? null : parsePromptForm(on.prompt)
  const { source, options } = triedCode(trial.host, code, form)
  await using opened = await openDryRun(source, { ...options, settings })
  let done = 0
  const batches = isGiven
    ? [on.map((input, index) => ({ index, input }))]
    : prepare(trial, on, opened.needsTokens)
  for await (const batch of batches) {
    for (let from = 0; from < batch.length && !trial.signal.aborted; from += scoredAtOnce) {
      for (const item of await scored(opened, batch.slice(from, from + scoredAtOnce))) {
        done++
        yield { ...item, progress: { phase: 'Scoring', done, total, unit: 'samples' } }
      }
    }
  }
}

/** Runs the samples with a judge, which is opened once for all of them, so that all are ready before it is asked. */
async function* judgedDryRun(
  trial: Trial,
  { settings, on }: Pick<DryRunRequest, 'settings' | 'on'>,
): AsyncGenerator<DryRunItem> {
  const prepared = Array.isArray(on)
    ? on.map((input, index): Prepared => ({ index, input }))
    : (await all(prepare(trial, on, false))).flat()
  const total = prepared.length
  const samples = prepared.flatMap((each) => ('input' in each ? [each] : []))
  const problems = prepared.flatMap((each) => ('problem' in each ? [each] : []))
  let done = 0
  const progress = () => ({ phase: 'Judging', done: ++done, total, unit: 'samples' }) as const
  for (const problem of problems) yield { ...problem, progress: progress() }
  for await (const { from, rows } of judged(
    trial,
    settings,
    samples.map(({ input }) => input),
  )) {
    for (const [i, score] of rows.entries()) {
      const { index, input } = askedAt(samples, from + i)
      const { prompt, completion, row } = input
      yield { index, input: { prompt, completion, row }, score, progress: progress() }
    }
  }
}

async function scored(opened: OpenDryRun, batch: readonly Prepared[]) {
  const samples = batch.flatMap((each) => ('input' in each ? [each] : []))
  const scores = await opened.score(samples.map(({ input }) => input))
  const problems = batch.flatMap((each) => ('problem' in each ? [each] : []))
  return [
    ...samples.flatMap(({ index, input: { prompt, completion, row } }, at) =>
      scores[at] === undefined ? [] : [{ index, input: { prompt, completion, row }, score: scores[at] }],
    ),
    ...problems,
  ]
}

const rowsOf = ({ host }: Trial, { versionId, from, count }: Pick<Rows, 'versionId' | 'from' | 'count'>) =>
  openVersion(host, versionId).rows(from, count)

async function* prepare(trial: Trial, on: Rows, withTokens: boolean): AsyncGenerator<Prepared[]> {
  const { completions } = on
  const rows = rowsOf(trial, on)
  if (!('column' in completions)) yield* freshlyCompleted(trial, { ...on, completions, withTokens }, rows)
  else {
    const texts = await promptsOf(trial, on, rows)
    yield rows.map((row, index) => withCompletion({ row, index, prompt: texts[index] }, completions.column))
  }
}

interface Placed {
  readonly row: DataRow
  readonly index: number
  readonly prompt: PromptOrProblem | undefined
}

function withCompletion({ row, index, prompt }: Placed, column: string): Prepared {
  const completion = row[column]
  if (prompt === undefined || 'problem' in prompt) return { index, problem: prompt?.problem ?? 'No prompt.' }
  if (typeof completion !== 'string') return { index, problem: `Its column “${column}” holds no text.` }
  return { index, input: { prompt: prompt.text, completion, row } }
}

async function* freshlyCompleted(
  { host, signal }: Trial,
  { model, prompt, completions, withTokens }: FreshRows,
  rows: readonly DataRow[],
): AsyncGenerator<Prepared[]> {
  if (model === undefined)
    throw new AppError('api/invalid', 'Fresh completions need a model.', 'Choose one, or a column.')
  const { adapter = null, temperature, maxNewTokens, seed } = completions
  const sampling = { ...unfiltered, temperature, maxNewTokens }
  const { dataDirectory } = host
  const answers = host.ask(
    rowCompletionJob,
    {
      candidate: { directory: findModel(model, dataDirectory), adapter },
      rows: rows.map((row) => ({ ...row })),
      form: parsePromptForm(prompt),
      withTokens,
      seed,
      sampling,
      cacheDirectory: dataFolders(dataDirectory).cache,
    },
    signal,
  )
  for await (const answer of answers) {
    const { row: index } = answer
    const row = rows[index] ?? {}
    if ('problem' in answer) yield [{ index, problem: answer.problem }]
    else {
      const { prompt: text, completion, tokens } = answer
      yield [{ index, input: { prompt: text, completion, row, tokens } }]
    }
  }
}

const unfiltered = {
  greedy: false,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  minNewTokens: 0,
  stopStrings: [],
}

type PromptOrProblem = { readonly text: string } | { readonly problem: string }

/** Returns the prompts as the policy would read them; without a model's chat template, messages as plain text. */
async function promptsOf(
  { host }: Trial,
  { model, prompt }: Pick<Rows, 'model' | 'prompt'>,
  rows: readonly DataRow[],
): Promise<readonly PromptOrProblem[]> {
  const form = parsePromptForm(prompt)
  if (model === undefined) return previewPrompts(rows, form, null)
  const directory = findModel(model, host.dataDirectory)
  return host.askText({ type: 'preview', directory, rows, from: 0, form, template: {} })
}

type BatteryRequest = Parameters<Handlers<typeof rewardsApi>['battery']>[0]

export async function tryBattery(
  trial: Trial,
  { code, settings, on }: BatteryRequest,
): Promise<OutputOf<Api, 'rewards.battery'>> {
  const rows = rowsOf(trial, on)
  const texts = await promptsOf(trial, on, rows)
  const cases = rows.flatMap((row, index) => {
    const prompt = texts[index]
    if (prompt === undefined || 'problem' in prompt) return []
    const honest = on.honest === undefined ? undefined : row[on.honest]
    return [{ prompt: prompt.text, row, ...(typeof honest === 'string' ? { honest } : {}) }]
  })
  if (cases.length === 0) throw invalidData('None of these rows has a prompt.')
  const report = await tryCheating(scorerOf(trial, { code, settings, on }), cases)
  return {
    honestMean: report.honestMean,
    cheats: report.cheats.map(({ cheat, mean, isPaid, message, example }) => ({
      id: cheat,
      mean,
      passed: !isPaid,
      sentence: message,
      example,
    })),
  }
}

type Scorer = (samples: readonly DrySample[]) => Promise<readonly DryRunRow[]>

function scorerOf(trial: Trial, { code, settings, on }: BatteryRequest): Scorer {
  if ('builtIn' in code) {
    return async (samples) => {
      const groups = await all(judged(trial, settings, samples))
      return groups.flatMap(({ rows }) => rows)
    }
  }
  const { source, options } = triedCode(trial.host, code, parsePromptForm(on.prompt))
  return async (samples) => (await dryRun(source, samples, { ...options, settings })).rows
}

/* The reward-hacking tests: completions that solve nothing, made from the rows at hand. A policy finds what a reward pays
 * for; better that a person finds it first. */

interface CheatRow {
  readonly prompt: string
  readonly row: Readonly<Record<string, unknown>>
  /** A completion that deserves its reward, where one is known: what cheats earn is measured by it. */
  readonly honest?: string
}

interface CheatResult {
  readonly cheat: CheatId
  /** Mean reward over the rows it applied to; null where it applied to none. */
  readonly mean: number | null
  /** True if it earns at least half of what honest work earns. */
  readonly isPaid: boolean
  /** One sentence. */
  readonly message: string
  /** Completion for the first row. */
  readonly example: string
}

interface CheatReport {
  /** Mean reward of honest completions; 1 where none are given. */
  readonly honestMean: number
  readonly cheats: readonly CheatResult[]
}

interface Cheat {
  readonly words: string
  readonly completion: (row: CheatRow) => string
}

const repeated = 'yes '

const cheats = {
  empty: { words: 'Saying nothing', completion: () => '' },
  echo: { words: 'Repeating the prompt', completion: ({ prompt }) => prompt },
  repetition: { words: 'Repeating one word', completion: () => repeated.repeat(200).trim() },
  leak: {
    words: 'Listing every possible answer, including the right one',
    completion: leakedAnswers,
  },
  format: {
    words: 'The answer format without an answer',
    completion: () => '<think></think>\n<answer></answer>\n\\boxed{}\n####\n```json\n{}\n```',
  },
  'think-only': {
    words: 'Empty think and answer tags',
    completion: () => '<think>\n</think>\n<answer>\n</answer>',
  },
  'empty-json': { words: 'An empty JSON object', completion: () => '{}' },
  long: {
    words: 'A very long text about nothing',
    completion: () => 'Let me think about this step by step, carefully and in detail. '.repeat(500).trim(),
  },
} as const satisfies Record<string, Cheat>

type CheatId = keyof typeof cheats

/** Errors: those of scoring. */
export async function tryCheating(score: Scorer, rows: readonly CheatRow[]): Promise<CheatReport> {
  const ids = Object.keys(cheats) as CheatId[]
  const completions = ids.flatMap((id) =>
    rows.map(({ prompt, row, honest }) => ({
      prompt,
      row,
      completion: cheats[id].completion({ prompt, row, ...(honest === undefined ? {} : { honest }) }),
    })),
  )
  const honest = rows.flatMap(({ prompt, row, honest: completion }) =>
    completion === undefined ? [] : [{ prompt, row, completion }],
  )
  const scored = await score([...completions, ...honest])
  const totals = scored.map(({ total }) => total)
  const honestMean = meanOf(totals.slice(completions.length)) ?? 1
  return {
    honestMean,
    cheats: ids.map((cheat, k) => {
      const mean = meanOf(totals.slice(k * rows.length, (k + 1) * rows.length))
      const isPaid = mean !== null && honestMean > 0 && mean >= honestMean / 2
      const example = completions[k * rows.length]?.completion ?? ''
      return { cheat, mean, isPaid, message: sentence(cheats[cheat].words, mean, honestMean), example }
    }),
  }
}

function sentence(words: string, mean: number | null, honestMean: number): string {
  if (mean === null) return `${words} is not scored: the reward does not apply.`
  const earned = `${words} earns ${rounded(mean)} of the ${rounded(honestMean)} that correct answers earn`
  return honestMean > 0 && mean >= honestMean / 2
    ? `${earned}: a policy would learn this instead.`
    : `${earned}.`
}

const rounded = (value: number): string => String(Math.round(value * 100) / 100)

/** Columns that hold a short answer, between guesses that are wrong. */
function leakedAnswers({ prompt, row }: CheatRow): string {
  const answers = Object.values(row)
    .filter((value) => typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    .map(String)
    .filter((value) => value.length <= 200 && !prompt.includes(value))
  const guesses = Array.from({ length: 21 }, (_, i) => String(i))
  return ['yes', 'no', 'true', 'false', 'A', 'B', 'C', 'D', ...guesses, ...answers].join(', ')
}
