/**
 * Consent to sending environment variables' values to other programs: given here by the machine's owner, never by a config.
 */
import { z } from 'zod'
import { instant, keyUse, runId } from './common.ts'
import { command, query } from './contract.ts'

const uses = z.array(keyUse).max(100)

export const keysApi = {
  /** Lists the values a run would send without permission. */
  missing: query(z.object({ runId }), uses),
  allow: command(z.object({ keys: uses }), z.void()),
  /** Newest first. */
  allowed: query(z.void(), z.array(keyUse.extend({ at: instant }))),
  withdraw: command(z.object({ keys: uses }), z.void()),
}
