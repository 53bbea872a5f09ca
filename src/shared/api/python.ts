/** Consent to Python, which is not sandboxed: given on this machine by its owner, never by a config. */
import { z } from 'zod'
import { instant, path } from './common.ts'
import { command, query } from './contract.ts'

const allowable = z.object({ path: z.string(), isAllowed: z.boolean() })

/** Code that is asked about: as entries of a config name it, or as a run has it. */
const asked = z.union([
  z.strictObject({
    /** Of rewards and an environment; others than Python are passed over. */
    functions: z.array(z.string().min(1).max(10_000)).max(100),
    /** `python.interpreter` of the config. */
    interpreter: path.nullable(),
  }),
  z.strictObject({ runId: z.string() }),
])

const review = z.object({
  /** null: none of it is Python. */
  interpreter: allowable.nullable(),
  /** The code itself, and what `import` finds beside it. */
  files: z.array(allowable.extend({ sha256: z.string() })),
})

export const pythonApi = {
  /** What would run. */
  review: query(asked, review),
  /** `reviewed`: what the person was shown; refused where it is no longer that. */
  allow: command(z.object({ asked, reviewed: review }), z.void()),
  /** The newest first. */
  allowed: query(
    z.void(),
    z.array(z.object({ kind: z.enum(['interpreter', 'file']), path: z.string(), at: instant })),
  ),
  /** By path. */
  withdraw: command(z.object({ paths: z.array(z.string()) }), z.void()),
}
