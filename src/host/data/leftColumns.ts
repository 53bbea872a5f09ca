/** Columns that change what a row means: whoever does not use one says so. */
import { choiceColumns } from './choices.ts'
import { type Columns, plainName } from './columnKinds.ts'
import { numberIn } from './comparisons.ts'
import { isSureMarks, markOf } from './marks.ts'

export interface LeftColumn {
  readonly column: string
  /** `“system” (instructions for the model) is not used.` */
  readonly text: string
}

/** Name → what such a column holds. */
const meanings: Readonly<Record<string, string>> = {
  system: 'instructions for the model',
  system_prompt: 'instructions for the model',
  history: 'earlier turns',
  context: 'what the question is about',
  passage: 'what the question is about',
  body: 'what the question is about',
  story: 'what the question is about',
  background: 'what the question is about',
  support: 'what the question is about',
  table: 'what the question is about',
  premise: 'what the question is about',
  hint: 'a hint',
  document: 'what the question is about',
  documents: 'what the question is about',
  input: 'what the instruction is about',
  choices: 'the possible answers',
  options: 'the possible answers',
  endings: 'the possible answers',
  images: 'images; only text is read',
  image: 'images; only text is read',
  audio: 'sound; only text is read',
  audios: 'sound; only text is read',
  videos: 'videos; only text is read',
  video: 'videos; only text is read',
  tools: 'functions that the model may call: `data.tools` of a run offers them',
  functions: 'functions that the model may call: `data.tools` of a run offers them',
  weight: 'how much a row counts',
  loss_weight: 'how much a row counts',
  chosen: 'better answers',
  good: 'better answers',
  rejected: 'worse answers',
  full_chosen: 'better answers as a whole',
  full_rejected: 'worse answers as a whole',
  initial_reason_steps: 'the steps before both answers, which belong to the prompt',
  bad: 'worse answers',
  margin: 'by how much an answer is better',
  canonical_solution: 'a solution',
  ranking: 'an order of answers',
  rankings: 'an order of answers',
}

/** Say in which language a row is; where it is the same in all, it tells nothing. */
const languages = /^(?:(?:source|target|src|tgt)_)?(?:lang(?:uage)?|locale)(?:_code)?$/

/** Hold marks of good and bad answers, or something else that is written alike. */
const correct: readonly string[] = ['is_correct', 'correct', 'is_safe', 'safe']

/** Earlier turns only where they are a list; a text may be a subject. */
const listedMeanings: readonly string[] = ['history']

/** Numbers of these kinds say something about an answer, but not that a higher one is better. */
const otherNumbers = /toxic|harm|unsafe|loss|error|penalty|perplexity|risk/

const isUsed = (name: string, used: readonly string[]): boolean =>
  used.some((each) => each === name || each.startsWith(`${name}.`))

/** The meaningful columns that are not among those used. */
export function leftColumns(columns: Columns, used: readonly string[]): LeftColumn[] {
  return [...columns.kinds].flatMap(([column, kind]) => {
    if (kind === 'empty' || isUsed(column, used)) return []
    const meaning = meaningOf(columns, column)
    if (meaning === undefined || isBlank(columns.values(column)) || isHeld(columns, column, used)) return []
    return [{ column, text: `“${column}” (${meaning}) is not used.` }]
  })
}

/** Possible answers in columns of their own: A to D, option_a, Incorrect Answer 1, distractor2. */
const choiceColumn =
  /^(?:(?:option|choice|answer|opt)_?[a-h\d]|[a-h]|distractor_?\d*|incorrect_answers?(?:_\d)?)$/
const fewestChoices = 3

/** Numbers, or lists of them, that tell how good an answer is: chosen_rating, score_a, preference_strength, HelpSteer's five. */
const ratingColumn =
  /^(?:\w+_)?(?:ratings?|scores?|rewards?|ranks?|upvotes|preference|preference_strength|helpfulness|correctness|coherence|winner|(?:better|safer|best|preferred)_(?:response|answer)(?:_id)?)(?:_(?:chosen|rejected|[ab]|\d|model_a|model_b))?$/

function isRating(columns: Columns, column: string): boolean {
  if (!ratingColumn.test(plainName(column))) return false
  const kind = columns.kind(column)
  const isNumbers = columns
    .values(column)
    .flat()
    .every((value) => numberIn(value) !== null)
  return isNumbers || (/winner|preference/.test(plainName(column)) && kind === 'text')
}

function markMeaning(columns: Columns, column: string): string | undefined {
  const [plain, values] = [plainName(column), columns.values(column)]
  const isCorrect = correct.includes(plain) && values.every((value) => markOf(value) !== null)
  if (isCorrect || isSureMarks(columns, column)) return 'which answers are good'
  return /^labels?$/.test(plain) && values.every((value) => numberIn(value) !== null)
    ? 'a class, a position or a mark'
    : undefined
}

function meaningOf(columns: Columns, column: string): string | undefined {
  const plain = plainName(column)
  const mark = markMeaning(columns, column)
  if (mark !== undefined) return mark
  const named = namedMeaning(plain, columns.values(column))
  if (named !== undefined) return named
  if (isRating(columns, column)) return ratingMeaning(plain)
  if (choiceColumns(columns).includes(column)) return 'a possible answer'
  const choices = [...columns.kinds.keys()].filter((name) => choiceColumn.test(plainName(name)))
  return choiceColumn.test(plain) && choices.length >= fewestChoices ? 'a possible answer' : undefined
}

function namedMeaning(plain: string, values: readonly unknown[]): string | undefined {
  if (languages.test(plain)) return new Set(values).size > 1 ? 'a language' : undefined
  const isRead = !listedMeanings.includes(plain) || values.some((value) => typeof value === 'object')
  return isRead && Object.hasOwn(meanings, plain) ? meanings[plain] : undefined
}

function ratingMeaning(plain: string): string {
  if (/winner|preference|^(?:better|safer|best|preferred)/.test(plain)) return 'which answer is better'
  return otherNumbers.test(plain) ? 'a number about an answer' : 'how good an answer is'
}

/** Names of what identifies a row or says where it is from. */
const idName =
  /^(?:column_\d+|index|idx|ind|split|url|uri|link|hash|sha\d*|uuid|guid|date|time|timestamp|(?:\w+_)?(?:id|ids|uid|url|at))$/

/** Texts and flags that no proposal reads; columns that say the same word in every row, or only identify it, are passed over. */
export function unusedTexts(columns: Columns, used: readonly string[]): LeftColumn[] {
  const named = new Set(leftColumns(columns, used).map(({ column }) => column))
  return [...columns.kinds].flatMap(([column, kind]) => {
    if (named.has(column) || isUsed(column, used) || !['text', 'texts', 'boolean'].includes(kind)) return []
    const values = columns.values(column)
    const isConstant =
      values.length > 1 && values.every((value) => value === values[0] && !/\s/.test(String(value)))
    const isPassedOver = isConstant || idName.test(plainName(column)) || isBlank(values)
    if (isPassedOver || isHeld(columns, column, used)) return []
    return [{ column, text: `“${column}” is not used.` }]
  })
}

/** Whether most rows have what stands in the column in a column that is used, such as a prompt made of it. */
function isHeld({ rows }: Columns, column: string, used: readonly string[]): boolean {
  const filled = rows.filter((row) => (row[column] ?? '') !== '')
  const held = filled.filter((row) => {
    if (numberIn(row[column]) !== null) return false
    const text = JSON.stringify(row[column] ?? '').slice(1, -1)
    return used.some((name) => JSON.stringify(row[name] ?? '').includes(text))
  })
  return 2 * held.length > filled.length
}

const isBlank = (values: readonly unknown[]): boolean => values.every((value) => value === '')
