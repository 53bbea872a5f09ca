/** Checks before a run what it reads of its data's columns, so that nothing is left aside in silence. */
import { existsSync } from 'node:fs'
import { isChatKind } from '#shared/columnKind.ts'
import { unwise } from '#shared/config/problems.ts'
import { invalidData, type Problem } from '#shared/errors.ts'
import { chatIn, templateColumn, type ChatMessage } from '#shared/messages.ts'
import { plural } from '#shared/plural.ts'
import { commandWord } from '#shared/shownText.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { markOf } from '#rl/rollout/marks.ts'
import { answerIn, markIn } from '#rl/rollout/examples.ts'
import { answerColumns } from '#rl/training/exampleSource.ts'
import type { ConfiguredAlgorithm } from '#rl/algorithms/types.ts'
import { begunDoubts } from './assistantDoubts.ts'
import { Columns, isEmpty } from './columnKinds.ts'
import type { DataRow } from './dataFile.ts'
import { isDataSetVersion, openDataSetVersion } from './dataSetVersion.ts'
import { leftColumns } from './leftColumns.ts'
import { marksIn } from './marks.ts'
import type { SplitResult } from './split.ts'
import { splitDoubts } from './splitMarks.ts'
import { tellingRows } from './tellingRows.ts'
import { templateDoubts } from './templateMarks.ts'

/**
 * Warnings about columns that change what a row means and that neither prompt nor rewards read, in whatever row they stand.
 * Errors: AppError 'data/invalid' naming the first row without an answer, or where bad answers would be imitated.
 */
export function columnWarnings(
  config: Pick<RunConfig, 'data' | 'rewards'>,
  experience: ConfiguredAlgorithm['experience'],
  rows: SplitResult,
): Problem[] {
  const { data, rewards } = config
  const columns = new Columns(tellingRows(rows.train))
  const { answers, label } = answersRead(data, experience, rows)
  if (experience === 'demonstrations') requireGoodAnswers(columns, answers, data.train)
  const read = [
    ...[
      ...promptColumns(data.prompt),
      ...answers,
      ...settingTexts(rewards),
      typeof data.tools === 'string' ? data.tools : '',
      label ?? '',
    ],
    ...(isMessages(data.prompt, columns) ? [templateColumn] : []),
  ]
  const left = leftColumns(columns, read, () => unread)
    .filter(({ column }) => !isEmpty(columns, column))
    .map(({ text }) => unwise('data.prompt', text))
  const taken = [
    ...splitDoubts(columns),
    ...templateDoubts(columns, answers),
    ...assistantDoubts(columns, experience, { prompt: data.prompt, answers, rows: rows.train }),
  ].map((text) => unwise('data.train', text))
  return [...left, ...taken, ...answerWarnings(rows.train, answers, label)]
}

interface AnswersRead {
  /** Columns of given answers; none for rollouts. */
  readonly answers: readonly string[]
  /** Column that marks them; null: none. */
  readonly label: string | null
}

/** Errors: AppError 'data/invalid' naming the first row without an answer or a mark. */
function answersRead(
  data: RunConfig['data'],
  experience: ConfiguredAlgorithm['experience'],
  rows: SplitResult,
): AnswersRead {
  if (experience === 'rollout') return { answers: [], label: null }
  const { answers, marks } = answerColumns(data, experience, rows.train[0] ?? {})
  for (const column of answers) requireInEach(rows, (row, place) => answerIn(row, column, place))
  if (typeof marks !== 'string') return { answers, label: null }
  requireInEach(rows, (row, place) => markIn(row, marks, place))
  return { answers, label: marks }
}

const answerWarnings = (
  rows: readonly DataRow[],
  answers: readonly string[],
  label: string | null,
): Problem[] => [
  ...emptyAnswers(rows, answers),
  ...(answers.length === 2 ? samePairs(rows, answers) : []),
  ...(label === null ? [] : oneSided(rows, label)),
]

interface ReadRows {
  readonly prompt: RunConfig['data']['prompt']
  readonly answers: readonly string[]
  readonly rows: readonly DataRow[]
}

/** Says what becomes of the assistant's messages in the prompts. */
function assistantDoubts(
  columns: Columns,
  experience: ConfiguredAlgorithm['experience'],
  read: ReadRows,
): string[] {
  const { prompt, rows } = read
  if (experience === 'demonstrations') return earlierAnswers(columns, read)
  if (experience !== 'rollout' || !('column' in prompt)) return []
  return begunDoubts(rows, prompt.column, plural(rows.length, 'row'))
}

/** Says which prompts hold earlier answers, which are not learned. */
function earlierAnswers(columns: Columns, { prompt, answers: [answer = ''], rows }: ReadRows): string[] {
  if (!('column' in prompt) || !isChatKind(columns.kind(prompt.column))) return []
  const isEarlier = ({ role, content, tool_calls: calls }: ChatMessage) =>
    role === 'assistant' && (content !== '' || calls !== undefined)
  const count = rows.filter((row) => chatIn(row[prompt.column])?.some(isEarlier) === true).length
  return count === 0
    ? []
    : [
        `In ${count} of ${rows.length} rows “${prompt.column}” holds messages of the assistant: they are read, and only “${answer}” is learned.`,
      ]
}

function emptyAnswers(rows: readonly DataRow[], answers: readonly string[]): Problem[] {
  const empty = rows.filter((row) => answers.some((column) => row[column] === '')).length
  return empty === 0
    ? []
    : [
        unwise(
          'data.train',
          `${empty} of ${rows.length} rows have an empty answer: they teach to stop at once.`,
        ),
      ]
}

/** Reason given for a column that a run leaves aside. */
const unread = 'neither `data.prompt` nor a reward names it'

/** Errors: AppError 'data/invalid' naming the first row that cannot be read. */
function requireInEach(rows: SplitResult, read: (row: DataRow, place: number) => unknown): void {
  for (const part of ['train', 'heldOut'] as const)
    for (const [i, row] of rows[part].entries()) read(row, rows.places[part][i] ?? i)
}

const isMessages = (prompt: RunConfig['data']['prompt'], columns: Columns): boolean =>
  'messages' in prompt || ('column' in prompt && isChatKind(columns.kind(prompt.column)))

function promptColumns(prompt: RunConfig['data']['prompt']): string[] {
  if ('column' in prompt) return [prompt.column]
  const texts = 'template' in prompt ? [prompt.template] : prompt.messages.map(({ content }) => content)
  return texts.flatMap((text) => [...text.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => name ?? ''))
}

/** Rewards name the columns they read in their settings. */
const settingTexts = (rewards: RunConfig['rewards']): string[] =>
  rewards.flatMap(({ settings }) => Object.values(settings).filter((value) => typeof value === 'string'))

/** Refuses KTO data for imitation: nobody means to imitate an answer that is marked as bad. */
function requireGoodAnswers(
  columns: Columns,
  answers: readonly string[],
  train: RunConfig['data']['train'],
): void {
  const label = marksIn(columns)
  if (label === undefined || answers.includes(label)) return
  if (!columns.values(label).map(markOf).includes(false)) return
  throw invalidData(
    `The column “${label}” marks answers as good or bad, and SFT would imitate the bad ones, too.`,
    {
      text: 'KTO learns from them as they are. Otherwise drop the rows marked as bad, or the column if it means something else. Imported with the columns mapped, prompts with a good and a bad completion become pairs for DPO.',
      command: `\`turnwise dataset import ${importable(train)} --remap\` makes pairs of prompts and completions with a mark.`,
    },
  )
}

/**
 * Returns the file to import, as the command line takes it; of an imported version its source, if that still exists.
 */
function importable(train: RunConfig['data']['train']): string {
  if (typeof train !== 'string') return 'FILE'
  const file = isDataSetVersion(train) ? openDataSetVersion(train).info.source.path : train
  return existsSync(file) ? commandWord(file) : 'FILE'
}

function oneSided(rows: readonly DataRow[], label: string): Problem[] {
  const good = rows.filter((row) => markOf(row[label]) === true).length
  return good > 0 && good < rows.length
    ? []
    : [
        unwise(
          'data.train',
          `“${label}” marks every row as ${good > 0 ? 'good' : 'bad'}: there is nothing to tell apart.`,
        ),
      ]
}

function samePairs(rows: readonly DataRow[], [chosen = '', rejected = '']: readonly string[]): Problem[] {
  const same = rows.filter((row) => JSON.stringify(row[chosen]) === JSON.stringify(row[rejected])).length
  return same === 0
    ? []
    : [
        unwise(
          'data.train',
          `${same} of ${rows.length} rows have the same chosen and rejected answer: they teach nothing.`,
        ),
      ]
}
