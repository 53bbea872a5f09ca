/**
 * Recognises the kind of a data set by its columns, says by what, and proposes how to make prompts from it. The rules are
 * in shapeRules.ts; what no proposal uses is named by leftColumns.ts.
 */
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
  /** `data.prompt` of a run config, for the columns after the mapping; null where no prompt is to be seen. */
  readonly prompt: RunConfig['data']['prompt'] | null
  /** Column, after the mapping, that rewards would compare with; null where there is none. */
  readonly answer: string | null
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
      ...{ prompt: null, answer: null, leftAside: leftColumns(columns, []), doubts: nearlyAny(columns) },
    }
  const { used, doubts, ...proposal } = first
  const also = others.find(({ id }) => id !== 'text' && id !== 'prompt-only')
  return {
    ...proposal,
    leftAside: leftColumns(columns, used),
    doubts: [
      ...doubts,
      ...(also === undefined ? [] : [`It could also be read as ${also.title}: ${also.evidence}.`]),
    ],
  }
}
