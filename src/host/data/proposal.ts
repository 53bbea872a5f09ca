/** Defines what a rule proposes for the columns it recognises. */
import type { RunConfig } from '#shared/runConfig.ts'
import type { Mapping } from './mapping.ts'

export interface Proposal {
  /** Evidence for this kind: `the columns “Question” and “Answer”`. */
  readonly evidence: string
  readonly isConversational: boolean
  /** Steps that bring the columns to the names runs use; empty where they have them. */
  readonly mapping: Mapping
  /** `data.prompt` of a run config, for the columns after the mapping; null where nothing says what a prompt is. */
  readonly prompt: RunConfig['data']['prompt'] | null
  /** Column, after the mapping, that rewards would compare with; null where there is none. */
  readonly answer: string | null
  /** Columns of the file that the proposal reads. */
  readonly used: readonly string[]
  /** Sentences on doubts, or on the kind that the data nearly was. */
  readonly doubts: readonly string[]
}
