/** What a rule proposes for the columns it recognises. */
import type { RunConfig } from '#shared/runConfig.ts'
import type { Mapping } from './mapping.ts'

export interface Proposal {
  readonly evidence: string
  readonly isConversational: boolean
  readonly mapping: Mapping
  readonly prompt: RunConfig['data']['prompt'] | null
  readonly answer: string | null
  /** Columns of the file that the proposal reads. */
  readonly used: readonly string[]
  readonly doubts: readonly string[]
}
