/** Values of environment variables that may be sent to other programs: allowed on this machine by its owner, never by a config. */
import { z } from 'zod'
import { instant, keyUse, runId } from './common.ts'
import { command, query } from './contract.ts'

const uses = z.array(keyUse).max(100)

export const keysApi = {
  /** Lists what a run would send and nobody has allowed. */
  missing: query(z.object({ runId }), uses),
  allow: command(z.object({ keys: uses }), z.void()),
  /** The newest first. */
  allowed: query(z.void(), z.array(keyUse.extend({ at: instant }))),
  withdraw: command(z.object({ keys: uses }), z.void()),
}
