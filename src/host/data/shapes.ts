/**
 * Recognises the kind of a data set by its columns, says by what, and proposes how to make prompts from it. The rules are
 * in shapeRules.ts; what no proposal uses is named by leftColumns.ts.
 */
import { isObject } from '#shared/config/paths.ts'
import { templateColumn } from '#shared/messages.ts'
import type { DataRow } from './dataFile.ts'
import { Columns, plainName } from './columnKinds.ts'
import { leftColumns, unusedTexts, type LeftColumn } from './leftColumns.ts'
import { reasonsOf } from './leftReasons.ts'
import { innerTexts, nearlyAny } from './nearlyShapes.ts'
import { questionNames } from './promptParts.ts'
import type { Proposal } from './proposal.ts'
import { rules, type ShapeId } from './shapeRules.ts'
import { splitDoubts } from './splitMarks.ts'
import { tellingRows, type Telling } from './tellingRows.ts'
import { templateDoubts } from './templateMarks.ts'

export interface DetectedShape extends Proposal {
  readonly id: ShapeId
  /** Title for people: `question and answer`. */
  readonly title: string
  /**
   * Template of one of the columns, to be chosen or changed where no prompt is proposed; null: no column can stand in
   * one.
   */
  readonly template: string | null
  /** Columns that change what a row means and that the proposal does not use. */
  readonly leftAside: readonly LeftColumn[]
}

/** Kinds that nearly every other data set could be read as, too. */
const aside: readonly ShapeId[] = ['text', 'prompt-answer', 'prompt-only']

/** Detects the shape from all rows, or from those picked of them. */
export function detectShape(rows: readonly DataRow[] | Telling): DetectedShape {
  const columns = new Columns('first' in rows ? rows : tellingRows(rows))
  const found = rules.flatMap(({ id, title, detect }) => {
    const proposal = detect(columns)
    return proposal === null ? [] : [{ id, title, ...proposal }]
  })
  const [first, ...others] = found
  if (first === undefined)
    return {
      id: 'unknown',
      title: 'unknown',
      evidence: columns.names,
      isConversational: false,
      mapping: [],
      prompt: null,
      answer: null,
      leftAside: leftColumns(columns, [], reasonsOf(columns, null)),
      doubts: [...nearlyAny(columns, []), ...innerTexts(columns, [])],
      template: templateOf(columns, []),
      used: [],
    }
  const switches = templateSwitches(columns, first)
  const used = [...first.used, ...switches.used]
  const why = reasonsOf(columns, first)
  const also = others.find(({ id }) => !aside.includes(id))
  const nearly = nearlyAny(columns, used)
  const doubts = [
    ...first.doubts,
    ...switches.doubts,
    ...nearly,
    ...(first.prompt === null ? innerTexts(columns, used) : []),
    ...templateDoubts(columns, used),
    ...splitDoubts(columns),
    ...(also === undefined ? [] : [`It could also be read as ${also.title}: ${also.evidence}.`]),
  ]
  const isSaid = (column: string) => nearly.some((doubt) => doubt.includes(`“${column}”`))
  return {
    ...first,
    used,
    template: first.prompt === null ? templateOf(columns, first.id === 'text' ? [] : used) : null,
    leftAside: [
      ...leftColumns(columns, used, why),
      ...unusedTexts(columns, used, why).filter(({ column }) => !isSaid(column)),
    ],
    doubts,
  }
}

/** The column of variables that a chat template gets row by row; none where the prompt is no messages. */
function templateSwitches(
  columns: Columns,
  { isConversational, prompt }: Proposal,
): Pick<Proposal, 'used' | 'doubts'> {
  const values = columns.values(templateColumn)
  const isRead = isConversational || (prompt !== null && 'messages' in prompt)
  if (values.length === 0 || !isRead) return { used: [], doubts: [] }
  const names = [...new Set(values.flatMap((value) => (isObject(value) ? Object.keys(value) : [])))]
  const named = names.slice(0, 6).map((name) => `“${name}”`)
  return {
    used: [templateColumn],
    doubts: [
      `“${templateColumn}” gives the chat template variables of its own in each row${named.length === 0 ? '' : ` (${named.join(', ')})`}; they win over \`data.templateVariables\` of a run.`,
    ],
  }
}

/** Names of columns that are not questions: answers, marks, classes, and identifiers of a row. */
const noQuestion =
  /(?:^|_)(?:id|ids|uid|idx|index|url|label|labels|answer|answers|response|completion|output|reply|chosen|rejected|good|bad|winner|worker|role|author|user|code|solution|lang|category|target|summary|date|reasoning|positive|negative)(?:_|\d|$)/
/** Length below which names are those of languages and codes, and come last. */
const shortestName = 3

/**
 * Picks the column that looks most like a question: the one whose texts are longest on average, else one with numbers.
 * null where none that the proposal leaves can be one.
 */
function templateOf(columns: Columns, used: readonly string[]): string | null {
  const open = [...columns.kinds.keys()].filter(
    (name) => !used.includes(name) && !noQuestion.test(plainName(name)),
  )
  const asked = columns.find(['prompt', ...questionNames, 'instruction'], (kind) => kind === 'text')
  if (asked !== undefined && open.includes(asked)) return `{${asked}}`
  const length = (name: string) => columns.values(name).join('').length
  const texts = open.filter((name) => columns.kind(name) === 'text').toSorted((a, b) => length(b) - length(a))
  const meaningful = leftColumns(columns, used, () => null).map(({ column }) => column)
  const name =
    texts.find((each) => plainName(each).length >= shortestName) ??
    open.find((each) => columns.kind(each) === 'text') ??
    open.find((each) => columns.kind(each) === 'number' && !meaningful.includes(each))
  return name === undefined ? null : `{${name}}`
}
