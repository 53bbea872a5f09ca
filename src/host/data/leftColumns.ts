/** Columns that change what a row means: whoever does not use one says so. */
import { type Columns, plainName } from './columnKinds.ts'
import { numberIn } from './comparisons.ts'
import { markOf } from './pairs.ts'

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
  rejected: 'worse answers',
}

/** Marks of good and bad answers, which are imitated alike where nothing reads the mark. */
const labels: readonly string[] = ['label', 'kto_tag', 'is_correct', 'correct', 'thumbs_up']

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
  /^(?:(?:option|choice|answer|opt)_?[a-h1-9]|[a-h]|distractor_?\d*|incorrect_answers?(?:_\d)?)$/
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

function meaningOf(columns: Columns, column: string): string | undefined {
  const plain = plainName(column)
  if (labels.includes(plain) && columns.values(column).every((value) => markOf(value) !== null))
    return 'which answers are good'
  if (Object.hasOwn(meanings, plain)) return meanings[plain]
  if (isRating(columns, column)) return 'how good an answer is'
  const choices = [...columns.kinds.keys()].filter((name) => choiceColumn.test(plainName(name)))
  return choiceColumn.test(plain) && choices.length >= fewestChoices ? 'a possible answer' : undefined
}

/** Whether most rows have what stands in the column in a column that is used, such as a prompt made of it. */
function isHeld({ rows }: Columns, column: string, used: readonly string[]): boolean {
  const held = rows.filter((row) => {
    if (numberIn(row[column]) !== null) return false
    const text = JSON.stringify(row[column] ?? '').slice(1, -1)
    return used.some((name) => JSON.stringify(row[name] ?? '').includes(text))
  })
  return 2 * held.length > rows.length
}

const isBlank = (values: readonly unknown[]): boolean => values.every((value) => value === '')
