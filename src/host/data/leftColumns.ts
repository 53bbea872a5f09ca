/** Finds columns that change what a row means, so that leaving them unused is reported. */
import type { ColumnKind } from '#shared/columnKind.ts'
import { templateColumn } from '#shared/messages.ts'
import { choiceColumns } from './choices.ts'
import { type Columns, isEmpty, plainName } from './columnKinds.ts'
import { numberIn } from './comparisons.ts'
import { expectedNames, type Part, partsNamed, partWords, promptParts, stepsName } from './leftParts.ts'
import { markOf } from '#rl/rollout/marks.ts'
import { isSureMarks } from './marks.ts'
import { promptNames } from './promptParts.ts'

export interface LeftColumn {
  readonly column: string
  /** `“system” (instructions for the model) is not used: “prompt” is read as the whole prompt.` */
  readonly text: string
}

/**
 * Returns the reason why nothing reads a column that holds such a part of a row; null where its meaning says it
 * already.
 */
export type ReasonOf = (column: string, part: Part) => string | null

/** The sentence on a column, with what it holds and why it is left aside, as far as either is known. */
function leftColumn(column: string, part: Part, reasonOf: ReasonOf): LeftColumn {
  const [meaning, reason] = [partWords[part], reasonOf(column, part)]
  const held = meaning === null ? '' : ` (${meaning})`
  return { column, text: `“${column}”${held} is not used${reason === null ? '' : `: ${reason}`}.` }
}

/** Name → what such a column holds. */
const parts: Readonly<Record<string, Part>> = {
  ...partsNamed('system', ['system', 'system_prompt', 'system_message']),
  ...partsNamed('turns', ['history']),
  ...partsNamed('about', ['context', 'passage', 'body', 'story', 'background', 'support', 'table']),
  ...partsNamed('about', ['premise', 'document', 'documents']),
  ...partsNamed('hint', ['hint']),
  ...partsNamed('input', ['input']),
  ...partsNamed('choices', ['choices', 'options', 'endings']),
  ...partsNamed('images', ['images', 'image']),
  ...partsNamed('sound', ['audio', 'audios']),
  ...partsNamed('videos', ['videos', 'video']),
  ...partsNamed('tools', ['tools', 'functions']),
  ...partsNamed('switches', [templateColumn]),
  ...partsNamed('weight', ['weight', 'loss_weight', 'sample_weight', 'example_weight', 'row_weight']),
  ...partsNamed('better', ['chosen', 'good']),
  ...partsNamed('worse', ['rejected', 'bad']),
  ...partsNamed('better-whole', ['full_chosen']),
  ...partsNamed('worse-whole', ['full_rejected']),
  ...partsNamed('steps', [stepsName]),
  ...partsNamed('margin', ['margin']),
  ...partsNamed('solution', ['canonical_solution']),
  ...partsNamed('order', ['ranking', 'rankings']),
}

/** Say in which language a row is; where it is the same in all, it tells nothing. */
const languages = /^(?:(?:source|target|src|tgt)_)?(?:lang(?:uage)?|locale)(?:_code)?$/

/** Names of columns that hold marks of good and bad answers, or something else that is written alike. */
const correct: readonly string[] = ['is_correct', 'correct', 'is_safe', 'safe']

/** Numbers of these kinds say something about an answer, but not that a higher one is better. */
const otherNumbers = /toxic|harm|unsafe|loss|error|penalty|perplexity|risk/

const isUsed = (name: string, used: readonly string[]): boolean =>
  used.some((each) => each === name || each.startsWith(`${name}.`))

/** The meaningful columns that are not among those used; empty ones only where they would be part of a prompt. */
export function leftColumns(columns: Columns, used: readonly string[], reasonOf: ReasonOf): LeftColumn[] {
  return [...columns.kinds.keys()].flatMap((column) => {
    if (isUsed(column, used)) return []
    const isBlank = isEmpty(columns, column)
    const part = isBlank ? emptyPart(column) : partOf(columns, column)
    if (part === undefined || (!isBlank && isHeld(columns, column, used))) return []
    return [leftColumn(column, part, reasonOf)]
  })
}

function emptyPart(column: string): Part | undefined {
  const part = Object.hasOwn(parts, plainName(column)) ? parts[plainName(column)] : undefined
  return part !== undefined && promptParts.includes(part) ? part : undefined
}

/** Possible answers in columns of their own: A to D, option_a, Incorrect Answer 1, distractor2. */
const choiceColumn =
  /^(?:(?:option|choice|answer|opt)_?[a-h\d]|[a-h]|distractor_?\d*|incorrect_answers?(?:_\d)?)$/
const fewestChoices = 3

/** Numbers or flags, or lists of them, that tell how good an answer is: chosen_rating, score_a, preference_strength, HelpSteer's five. */
const ratingColumn =
  /^(?:\w+_)?(?:ratings?|scores?|rewards?|ranks?|upvotes|preference|preference_strength|helpfulness|correctness(?:_\w+)?|coherence|quality|winner|(?:better|safer|best|preferred)_(?:response|answer)(?:_id)?)(?:_(?:chosen|rejected|[ab]|\d|model_a|model_b))?$/

function isRating(columns: Columns, column: string): boolean {
  if (!ratingColumn.test(plainName(column))) return false
  const kind = columns.kind(column)
  const isNumbers = columns
    .values(column)
    .flat()
    .every((value) => typeof value === 'boolean' || numberIn(value) !== null)
  return isNumbers || (/winner|preference/.test(plainName(column)) && kind === 'text')
}

function markPart(columns: Columns, column: string): Part | undefined {
  const [plain, values] = [plainName(column), columns.values(column)]
  const isCorrect = correct.includes(plain) && values.every((value) => markOf(value) !== null)
  if (isCorrect || isSureMarks(columns, column)) return 'marks'
  return /(?:^|_)labels?$/.test(plain) && values.every((value) => numberIn(value) !== null)
    ? 'label'
    : undefined
}

function partOf(columns: Columns, column: string): Part | undefined {
  const plain = plainName(column)
  const part = markPart(columns, column) ?? namedPart(plain, columns.values(column))
  if (part !== undefined) return part
  if (isRating(columns, column)) return ratingPart(plain)
  if (choiceColumns(columns).includes(column)) return 'choice'
  const choices = [...columns.kinds.keys()].filter((name) => choiceColumn.test(plainName(name)))
  return choiceColumn.test(plain) && choices.length >= fewestChoices ? 'choice' : undefined
}

function namedPart(plain: string, values: readonly unknown[]): Part | undefined {
  if (languages.test(plain)) return new Set(values).size > 1 ? 'language' : undefined
  const part = Object.hasOwn(parts, plain) ? parts[plain] : undefined
  // Earlier turns only where they are a list: a text may be a subject.
  return part === 'turns' && !values.some((value) => typeof value === 'object') ? undefined : part
}

function ratingPart(plain: string): Part {
  if (/winner|preference|^(?:better|safer|best|preferred)/.test(plain)) return 'comparison'
  return otherNumbers.test(plain) ? 'number' : 'rating'
}

/** Names of columns that identify a row or say where it is from. */
const idName =
  /^(?:column_\d+|index|idx|ind|split|url|uri|link|hash|sha\d*|uuid|guid|date|time|timestamp|(?:\w+_)?(?:id|ids|uid|url|at))$/

/** Expected answers of any kind, texts and flags that no proposal reads; columns that say the same word in every row, or only identify it, are passed over. */
export function unusedTexts(columns: Columns, used: readonly string[], reasonOf: ReasonOf): LeftColumn[] {
  const named = new Set(leftColumns(columns, used, reasonOf).map(({ column }) => column))
  return [...columns.kinds].flatMap(([column, kind]) => {
    if (named.has(column) || isUsed(column, used) || isEmpty(columns, column)) return []
    const part = unnamedPart(plainName(column))
    const isPassedOver = part === 'text' && isPlain(columns, column, kind)
    if (isPassedOver || isHeld(columns, column, used)) return []
    return [leftColumn(column, part, reasonOf)]
  })
}

function unnamedPart(plain: string): Part {
  if (expectedNames.includes(plain)) return 'answer'
  return [...promptNames, 'text'].includes(plain) ? 'question' : 'text'
}

/**
 * Returns true if a column only identifies its row, says the same word in every row, or holds neither texts nor flags.
 */
function isPlain(columns: Columns, column: string, kind: ColumnKind): boolean {
  const values = columns.values(column)
  const isConstant =
    values.length > 1 && values.every((value) => value === values[0] && !/\s/.test(String(value)))
  return isConstant || !['text', 'texts', 'boolean'].includes(kind) || idName.test(plainName(column))
}

/** Returns true if, in most rows, a used column contains this column's content, as a prompt made of it does. */
function isHeld({ rows }: Columns, column: string, used: readonly string[]): boolean {
  const filled = rows.filter((row) => (row[column] ?? '') !== '')
  const held = filled.filter((row) => {
    if (numberIn(row[column]) !== null) return false
    const text = JSON.stringify(row[column] ?? '').slice(1, -1)
    return used.some((name) => JSON.stringify(row[name] ?? '').includes(text))
  })
  return 2 * held.length > filled.length
}
