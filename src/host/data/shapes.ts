/**
 * Recognises the kind of a data set by its columns, says by what, and proposes how to make prompts from it. The rules are
 * in shapeRules.ts; what no proposal uses is named by leftColumns.ts.
 */
import type { ColumnKind } from '#shared/columnKind.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { DataRow } from './dataFile.ts'
import { Columns } from './columnKinds.ts'
import { leftColumns, type LeftColumn } from './leftColumns.ts'
import type { Mapping } from './mapping.ts'
import { nearlyAny } from './nearlyShapes.ts'
import { rules, type ShapeId } from './shapeRules.ts'

export interface DetectedShape {
  readonly id: ShapeId
  /** For people: `question and answer`. */
  readonly title: string
  /** Evidence for this kind: `the columns “Question” and “Answer”`. */
  readonly evidence: string
  readonly isConversational: boolean
  /** Steps that bring the columns to the names runs use; empty where they have them. */
  readonly mapping: Mapping
  /** `data.prompt` of a run config, for the columns after the mapping; null where nothing says what a prompt is. */
  readonly prompt: RunConfig['data']['prompt'] | null
  /** Column, after the mapping, that rewards would compare with; null where there is none. */
  readonly answer: string | null
  /** Where no prompt is proposed: a template of one of the columns, to be chosen or changed; null: no column can stand in one. */
  readonly template: string | null
  /** Columns of the file that the proposal reads. */
  readonly used: readonly string[]
  /** Columns that change what a row means and that the proposal does not use. */
  readonly leftAside: readonly LeftColumn[]
  /** Sentences on what is doubtful, or what it was nearly. */
  readonly doubts: readonly string[]
}

/** Judged by the rows given: the first hundred or so are enough. */
export function detectShape(rows: readonly DataRow[]): DetectedShape {
  const columns = new Columns(rows)
  const found = rules.flatMap(({ id, title, detect }) => {
    const proposal = detect(columns)
    return proposal === null ? [] : [{ id, title, ...proposal }]
  })
  const [first, ...others] = found
  if (first === undefined)
    return {
      ...{ id: 'unknown', title: 'unknown', evidence: columns.names, isConversational: false, mapping: [] },
      ...{ prompt: null, answer: null, leftAside: leftColumns(columns, []), doubts: nearlyAny(columns, []) },
      template: templateOf(columns),
      used: [],
    }
  const { doubts, ...proposal } = first
  const { used } = proposal
  const also = others.find(({ id }) => id !== 'text' && id !== 'prompt-only')
  return {
    ...proposal,
    template: proposal.prompt === null ? templateOf(columns) : null,
    leftAside: leftColumns(columns, used),
    doubts: [
      ...doubts,
      ...nearlyAny(columns, used),
      ...(also === undefined ? [] : [`It could also be read as ${also.title}: ${also.evidence}.`]),
    ],
  }
}

/** Of the texts, the longest on average is likeliest what a model is to read; else a number. */
function templateOf(columns: Columns): string | null {
  const named = (kind: ColumnKind) => [...columns.kinds.keys()].filter((name) => columns.kind(name) === kind)
  const length = (name: string) => columns.values(name).join('').length
  const [name] = [...named('text').toSorted((a, b) => length(b) - length(a)), ...named('number')]
  return name === undefined ? null : `{${name}}`
}
