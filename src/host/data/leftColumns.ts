/** Columns that change what a row means: whoever does not use one says so. */
import { type Columns, plainName } from './columnKinds.ts'

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
    const plain = plainName(column)
    const isMark = labels.includes(plain) && kind === 'boolean'
    const meaning = isMark
      ? 'which answers are good'
      : Object.hasOwn(meanings, plain)
        ? meanings[plain]
        : undefined
    if (meaning === undefined || isBlank(columns.values(column)) || isHeld(columns, column, used)) return []
    return [{ column, text: `“${column}” (${meaning}) is not used.` }]
  })
}

/** Whether most rows have what stands in the column in a column that is used, such as a prompt made of it. */
function isHeld({ rows }: Columns, column: string, used: readonly string[]): boolean {
  const held = rows.filter((row) => {
    const text = JSON.stringify(row[column] ?? '').slice(1, -1)
    return used.some((name) => JSON.stringify(row[name] ?? '').includes(text))
  })
  return 2 * held.length > rows.length
}

const isBlank = (values: readonly unknown[]): boolean => values.every((value) => value === '')
