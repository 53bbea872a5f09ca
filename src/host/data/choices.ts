/** Finds the possible answers of a question, in one column or in one each, and which of them is right. */
import { answerColumns } from '#shared/api/datasets.ts'
import { type Columns, plainName } from './columnKinds.ts'
import {
  choicesIn,
  choicesOf,
  letteredAs,
  namedChoice,
  placeIn,
  writtenAs,
  type Choice,
} from './choiceList.ts'
import type { Mapping } from './mapping.ts'

const answerNames = [
  ...answerColumns,
  ...['answer_key', 'reference_answer', 'correct_answer', 'answers', 'a', 'ideal'],
]

/** Names of columns that, beside possible answers, name the right one. */
const rightNames = [
  ...['correct_answer', 'correct_option', 'correct_choice', 'correct', 'cop', 'right_answer', 'gold'],
  ...['answer_idx', 'answer_index', 'correct_idx', 'correct_index', 'correct_answer_index'],
]

/** Columns that hold all possible answers of a question. */
const listNames = ['choices', 'options', 'endings']

type ChoicesStep = Extract<Mapping[number], { kind: 'choices' }>

export interface ShownChoices {
  /** The column that holds them in the end. */
  readonly column: string
  readonly steps: Mapping
  readonly used: readonly string[]
}

/** Returns the possible answers to a question; null where there are none that can be written as lines with letters. */
export function shownChoices(columns: Columns): ShownChoices | null {
  const column = columns.find(listNames)
  if (column !== undefined) {
    const isListed = columns.values(column).every((value) => choicesIn(value) !== null)
    if (!isListed) return columns.kind(column) === 'text' ? { column, steps: [], used: [] } : null
    const right = rightAnswer(columns)
    return { column, steps: [choicesStep(columns, { column, right })], used: [column] }
  }
  const from = choiceColumns(columns)
  if (from.length === 0) return null
  const right = rightAnswer(columns)
  return { column: 'choices', steps: [choicesStep(columns, { column: 'choices', right, from })], used: from }
}

export const hasChoices = (columns: Columns): boolean =>
  columns.find(listNames) !== undefined || choiceColumns(columns).length > 0

/**
 * Returns the column with the answer to a question, also where it has choices; a column of one choice does not count.
 */
export function rightAnswer(columns: Columns): string | undefined {
  const from = choiceColumns(columns)
  const names = hasChoices(columns) ? [...answerNames, ...rightNames] : answerNames
  const own = names.filter((name) => !from.some((each) => plainName(each) === name))
  const answer = columns.find(own)
  return modelsAnswer(columns)?.answer === answer ? modelsAnswer(columns)?.truth : answer
}

/** Names of columns beside which a differing “answer” is a model’s, as in RAGAS’ files. */
const truthNames = ['ground_truth', 'ground_truths', 'reference', 'reference_answer', 'gold', 'expected']

/** An answer that another column corrects; null where none does, or where the question has choices. */
export function modelsAnswer(columns: Columns): { readonly answer: string; readonly truth: string } | null {
  const [answer, truth] = [columns.find(['answer']), columns.find(truthNames)]
  if (answer === undefined || truth === undefined || hasChoices(columns)) return null
  const differs = columns.rows.some((row) => JSON.stringify(row[answer]) !== JSON.stringify(row[truth]))
  return differs ? { answer, truth } : null
}

/**
 * Names of choice columns: option_a, Choice 1, answer0, opa, sol1, ending3, A. Captures what they have in common, and
 * the mark of each.
 */
const choiceName =
  /^(?:(?<base>(?:option|choice|answer|opt?|sol|ending|alternative|candidate)_?)(?<mark>[a-h\d])|(?<base>)(?<mark>[a-h]))$/
/** Names that need more than two columns: with two of these, one may be better than the other without being right. */
const needsMore = /^(?:(?:answer|candidate)_?|)$/

/**
 * Lists the columns with the possible answers of one question, in the order of their marks; none where there are no
 * such columns.
 */
export function choiceColumns(columns: Columns): readonly string[] {
  const groups = new Map<string, Map<string, string>>()
  for (const column of columns.kinds.keys()) {
    const { base = '', mark } = choiceName.exec(plainName(column))?.groups ?? {}
    if (mark === undefined || columns.kind(column) !== 'text') continue
    groups.set(base, (groups.get(base) ?? new Map<string, string>()).set(mark, column))
  }
  const rows = [...groups].map(([base, group]) => ({
    row: rowOf(group),
    least: needsMore.test(base) ? 3 : 2,
  }))
  return rows.find(({ row, least }) => row.length >= least)?.row ?? []
}

/** Columns whose marks follow each other from a, 0 or 1, all of them; else none. */
function rowOf(group: ReadonlyMap<string, string>): readonly string[] {
  const first = ['a', '0', '1'].find((mark) => group.has(mark))
  if (first === undefined) return []
  const marks = [...group.keys()].map((_, at) => String.fromCharCode(first.charCodeAt(0) + at))
  const row = marks.map((mark) => group.get(mark))
  return row.every((column) => column !== undefined) ? row : []
}

interface Asked {
  readonly column: string
  /** The column that says which is right; undefined: none. */
  readonly right: string | undefined
  /** Columns with one choice each. */
  readonly from?: readonly string[]
}

/**
 * Builds the step. Numbers say which choice is right by its place; an answer whose places cannot be told stays as it
 * is.
 */
function choicesStep(columns: Columns, { column, right: answer, from }: Asked): Mapping[number] {
  const common = { kind: 'choices', column, ...(from === undefined ? {} : { from: [...from] }) } as const
  const open = { ...common, answer: null, first: 0 } as const
  if (answer === undefined || columns.values(answer).some(Array.isArray)) return open
  const all = givenIn(columns, { column, from }, answer, columns.all)
  const given = all.filter(({ choices }) => choices.length > 0)
  const places = placesIn(given)
  if (places.length === 0) {
    const text = isWrittenOut(given) ? ({ isText: true } as const) : {}
    return { ...open, ...(given.every(isEither) ? {} : { answer, ...text }) }
  }
  const first = firstOf(places, from)
  if (first === null) return open
  const isWritten = places.some(({ right }) => typeof right === 'string')
  return { ...common, answer, first, ...(isWritten ? { isPlace: true } : {}) }
}

interface Given {
  readonly right: unknown
  readonly choices: readonly Choice[]
}

const givenIn = (
  columns: Columns,
  { column, from }: { readonly column: string; readonly from?: readonly string[] | undefined },
  answer: string,
  rows = columns.rows,
): readonly Given[] =>
  rows.map((row) => ({
    right: row[answer],
    choices: (from === undefined ? choicesIn(row[column]) : choicesOf(row, from)) ?? [],
  }))

/** Tells whether more answers can only be the text of a choice than can only be its letter. */
function isWrittenOut(given: readonly Given[]): boolean {
  const read = given.map(({ right, choices }) => [letteredAs(right, choices), writtenAs(right, choices)])
  const only = (of: number) => read.filter((each) => each[of] !== undefined && each[1 - of] === undefined)
  return only(1).length > only(0).length
}

/** The rows whose answer is the position of a choice; none where answers are letters or texts. */
function placesIn(given: readonly Given[]): readonly Given[] {
  const named = given.filter(
    ({ right, choices }) => namedChoice(right, choices, undefined) !== undefined,
  ).length
  const isText = given.every(({ right }) => typeof right === 'string' || (right ?? null) === null)
  return isText && 2 * named >= given.length ? [] : given.filter(({ right }) => placeIn(right) !== null)
}

/** The number that positions begin with; null where nothing tells. */
function firstOf(places: readonly Given[], from: readonly string[] | undefined): 0 | 1 | null {
  const isFromOne = places.some(({ right, choices }) => placeIn(right) === choices.length)
  const isFromZero = places.some(({ right }) => placeIn(right) === 0) || (!isFromOne && isNamedFromZero(from))
  return isFromOne === isFromZero ? null : isFromOne ? 1 : 0
}

/** The columns answer0 to answer3 are counted as their names are. */
const isNamedFromZero = (from: readonly string[] = []): boolean => from[0]?.trim().endsWith('0') ?? false

/** Returns true if digits are the text of one choice and the place of another. */
function isEither({ right, choices }: Given): boolean {
  const place = placeIn(right)
  if (place === null || place > choices.length) return false
  return ![0, 1].some((first) => choices[place - first]?.text === right)
}

export function choiceDoubts(mapping: Mapping, columns: Columns): string[] {
  const step = mapping.find(({ kind }) => kind === 'choices')
  if (step?.kind !== 'choices') return []
  return [
    ...gatheredDoubt(step.from),
    ...placeDoubts(step, columns),
    ...letterDoubts(step, columns),
    ...conflictDoubts(step, columns),
  ]
}

/** Says in how many rows an answer is the letter of one choice and the text of another. */
function letterDoubts(step: ChoicesStep, columns: Columns): string[] {
  const { answer, isText, isPlace } = step
  if (answer === null || isPlace === true || columns.kind(answer) === 'number') return []
  const both = givenIn(columns, step, answer).filter(({ right, choices }) => {
    const [letter, text] = [letteredAs(right, choices), writtenAs(right, choices)]
    return letter !== undefined && text !== undefined && letter !== text
  })
  if (both.length === 0) return []
  const [read, other] = isText === true ? ['text', 'letter'] : ['letter', 'text']
  const all = both.length === columns.rows.length
  return [
    `In ${both.length} of the first ${columns.rows.length} rows “${answer}” (such as “${String(both[0]?.right)}”) is the letter of one choice and the text of another; it is read as the ${read}${all ? `. If the ${other} is meant, write the answers so that they cannot be read as both` : ', as in the other rows'}.`,
  ]
}

const indexNames = ['answer_idx', 'answer_index', 'correct_idx', 'correct_index', 'correct_answer_index']

/** Lists rows where a position beside the answer points at another choice, counted from 0 and from 1. */
function conflictDoubts(step: ChoicesStep, columns: Columns): string[] {
  const [answer, index] = [rightAnswer(columns), columns.find(indexNames)]
  if (answer === undefined || index === undefined || index === answer) return []
  const places = givenIn(columns, step, answer).flatMap(({ right, choices }, row) => {
    const [named, place] = [namedChoice(right, choices, step.isText), placeIn(columns.rows[row]?.[index])]
    return named === undefined || place === null ? [] : [place - choices.indexOf(named)]
  })
  const conflicts = Math.min(...[0, 1].map((first) => places.filter((by) => by !== first).length))
  return conflicts === 0
    ? []
    : [
        `In ${conflicts} of the first ${columns.rows.length} rows “${index}” points at another choice than “${answer}” names; “${answer}” is used.`,
      ]
}

const gatheredDoubt = (from: readonly string[] = []): string[] =>
  from.length === 0
    ? []
    : [
        `“${from[0] ?? ''}” to “${from.at(-1) ?? ''}” are read as the possible answers to one question; they stand behind it with letters.`,
      ]

function placeDoubts(step: ChoicesStep, columns: Columns): string[] {
  const answer = rightAnswer(columns)
  if (answer === undefined) return []
  const values = columns.values(answer)
  if (values.some(Array.isArray)) return [`“${answer}” may name several right choices; it is kept as it is.`]
  const isPlaces = values.some((value) => placeIn(value) !== null)
  if (step.answer === null)
    return [
      `“${answer}” seems to hold the position of the right choice, but the rows do not tell whether positions count from 0 or from 1. It is kept as it is: write the letter or the text of the right choice instead.`,
    ]
  return isPlaces && (step.isPlace === true || columns.kind(answer) === 'number')
    ? [`“${answer}” is read as the position of the right choice, counted from ${step.first}.`]
    : []
}
