/** Consent to Python, which is not sandboxed: given on this machine by its owner, never by a config. */
import { z } from 'zod'
import { engineSection } from '../config/engine.ts'
import { instant, path } from './common.ts'
import { command, query } from './contract.ts'
import { evaluationsApi } from './evaluations.ts'
import { runsApi } from './runs.ts'

/** Trainer in the form of a config. */
const engineAsked = z.strictObject({
  engine: engineSection,
  /** `python.interpreter` of the config. */
  interpreter: path.nullable(),
})

/** Packages of an interpreter that a trainer needs. */
const engineEnvironment = z.object({
  interpreter: z.string(),
  /** Address of the Ray cluster that the following fields describe; null: this machine. */
  cluster: z.string().nullable(),
  /** Version such as 3.12.4. */
  python: z.string(),
  packages: z.array(
    z.object({
      name: z.string(),
      /** Null: not installed. */
      version: z.string().nullable(),
      /** Version it was tested with; null: any. */
      tried: z.string().nullable(),
    }),
  ),
  /** GPUs that torch sees, or a cluster has; 0: CPUs only. */
  gpus: z.int().min(0),
  /** Command that installs missing packages; null: none is missing. */
  install: z.string().nullable(),
  /** Possible differences with these versions, in a sentence; null: none. */
  notice: z.string().nullable(),
})

/** Code in question: as named by entries of a config, as stored in a run, or as a fork or an evaluation would read it. */
const asked = z.union([
  z.strictObject({
    /** Functions of rewards and an environment; other than Python code is ignored. */
    functions: z.array(z.string().min(1).max(10_000)).max(100),
    /** `python.interpreter` of the config. */
    interpreter: path.nullable(),
  }),
  z.strictObject({ runId: z.string() }),
  z.strictObject({ fork: runsApi.fork.input }),
  z.strictObject({ evaluation: evaluationsApi.start.input }),
  engineAsked,
])

/** One entry for each interpreter that would run any of it; empty without Python code. */
const review = z.array(
  z.object({
    interpreter: z.string(),
    /** The code itself, and files that run with it, such as those that `import` finds beside it. */
    files: z.array(
      z.object({
        path: z.string(),
        sha256: z.string(),
        isAllowed: z.boolean(),
        /** A run's own copy that has the content, where the file itself has another. */
        copy: z.string().optional(),
      }),
    ),
  }),
)

export const pythonApi = {
  review: query(asked, review),
  /** `reviewed`: the code shown to the user; refused if it has changed. */
  allow: command(z.object({ asked, reviewed: review }), z.void()),
  /** Newest first. */
  allowed: query(z.void(), z.array(z.object({ path: z.string(), interpreter: z.string(), at: instant }))),
  /** Inspects the interpreter of a trainer, which must be allowed; null if Turnwise trains. */
  engine: query(engineAsked, engineEnvironment.nullable()),
  /** Withdraws consents by the path of a file or an interpreter. */
  withdraw: command(z.object({ paths: z.array(z.string()) }), z.void()),
}
