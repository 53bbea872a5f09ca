/** Queue of runs. */
import { z } from 'zod'
import { count, cursor, failure, runId } from './common.ts'
import { command, feed, query } from './contract.ts'

const state = z.object({
  /** Runs in order; the first is next. */
  runs: z.array(z.object({ runId: z.string(), continueOnError: z.boolean() })),
  /** Failure that the next run waits behind; without a run, why nothing that waits starts by itself; null: it does. */
  halted: z.object({ runId: z.string().nullable(), error: failure.nullable() }).nullable(),
})

export const queueApi = {
  get: query(z.void(), state),
  push: command(z.object({ runId, continueOnError: z.boolean().default(false) }), z.void()),
  /** `to`: index from 0. */
  move: command(z.object({ runId, to: count }), z.void()),
  remove: command(z.object({ runId }), z.void()),
  setContinueOnError: command(z.object({ runId, continueOnError: z.boolean() }), z.void()),
  /** Continues after a failure. */
  proceed: command(z.void(), z.void()),
  watch: feed(z.void(), state.extend({ cursor })),
}
