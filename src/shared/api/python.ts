/** Consent to Python, which is not sandboxed: given on this machine by its owner, never by a config. */
import { z } from 'zod'
import { engineSection } from '../config/engine.ts'
import { instant, path } from './common.ts'
import { command, query } from './contract.ts'

/** A trainer, as a config names it. */
const engineAsked = z.strictObject({
  engine: engineSection,
  /** `python.interpreter` of the config. */
  interpreter: path.nullable(),
})

/** What an interpreter has of what a trainer needs. */
const engineEnvironment = z.object({
  interpreter: z.string(),
  /** Address of the Ray cluster that all below is of; null: this machine. */
  cluster: z.string().nullable(),
  /** Such as 3.12.4. */
  python: z.string(),
  packages: z.array(
    z.object({
      name: z.string(),
      /** null: not installed. */
      version: z.string().nullable(),
      /** The version that was tried; null: any. */
      tried: z.string().nullable(),
    }),
  ),
  /** That torch sees, or a cluster has; 0: CPUs alone. */
  gpus: z.int().min(0),
  /** The command that installs what is missing; null: nothing is. */
  install: z.string().nullable(),
  /** What may differ with these versions, in a sentence; null: nothing. */
  notice: z.string().nullable(),
})

/** Code that is asked about: as entries of a config name it, or as a run has it. */
const asked = z.union([
  z.strictObject({
    /** Of rewards and an environment; others than Python are passed over. */
    functions: z.array(z.string().min(1).max(10_000)).max(100),
    /** `python.interpreter` of the config. */
    interpreter: path.nullable(),
  }),
  z.strictObject({ runId: z.string() }),
  engineAsked,
])

/** One entry for each interpreter that would run any of it; none where nothing is Python. */
const review = z.array(
  z.object({
    interpreter: z.string(),
    /** The code itself, and what runs with it, such as what `import` finds beside it. */
    files: z.array(z.object({ path: z.string(), sha256: z.string(), isAllowed: z.boolean() })),
  }),
)

export const pythonApi = {
  /** What would run. */
  review: query(asked, review),
  /** `reviewed`: what the person was shown; refused where it is no longer that. */
  allow: command(z.object({ asked, reviewed: review }), z.void()),
  /** The newest first. */
  allowed: query(z.void(), z.array(z.object({ path: z.string(), interpreter: z.string(), at: instant }))),
  /** Looks into the interpreter of a trainer, which must be allowed; null where Turnwise trains. */
  engine: query(engineAsked, engineEnvironment.nullable()),
  /** Withdraws consents by the path of a file or an interpreter. */
  withdraw: command(z.object({ paths: z.array(z.string()) }), z.void()),
}
