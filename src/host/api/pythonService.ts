/** Shows Python code to the owner of this machine and records consent: the only procedures that give consent. */
import path from 'node:path'
import type { Handlers, OutputOf } from '#shared/api/contract.ts'
import type { Api } from '#shared/api/api.ts'
import type { pythonApi } from '#shared/api/python.ts'
import { engineSection } from '#shared/config/engine.ts'
import { AppError } from '#shared/errors.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import type { Host } from '#host/host.ts'
import { reviewEngine } from '#host/engines/engineCode.ts'
import { allowedEnvironment, versionNotice } from '#host/engines/environment.ts'
import { absoluteReward, reviewConfig } from '#host/code/rewardCode.ts'
import { reviewEvaluation } from '#host/evaluations/prepareEvaluation.ts'
import { reviewFork } from '#host/runs/runLifecycle.ts'
import { checkpointDirectory } from '#host/runs/runTarget.ts'
import { readOwnConfig } from '#host/workFolder/runFolder.ts'
import { consentsFile, readConsents } from '#host/consents/consents.ts'
import {
  allowPython,
  programAt,
  type PythonReview,
  type ReviewedFile,
  withdrawPython,
} from '#host/python/consent.ts'

export function pythonService(host: Host): Handlers<typeof pythonApi> {
  const consents = consentsFile(host.dataDirectory)
  return {
    review: (asked) => summary(reviewsOf(host, asked)),

    allow({ asked, reviewed }) {
      const reviews = reviewsOf(host, asked)
      if (known(summary(reviews)) !== known(reviewed)) {
        throw new AppError(
          'python/not-allowed',
          'The Python code changed while you were looking at it.',
          'Nothing was allowed. Look at it again.',
        )
      }
      allowPython(reviews, consents)
    },

    allowed: () =>
      readConsents(consents)
        .python.map(({ path: where, interpreter, at }) => ({ path: where, interpreter, at }))
        .sort((a, b) => b.at - a.at),

    async engine(asked) {
      const found = await allowedEnvironment(engineOf(asked, host.dataDirectory), consents)
      return found && { ...found, notice: versionNotice(found) }
    },

    withdraw: ({ paths }) => void withdrawPython(paths, consents),
  }
}
type Asked = Parameters<Handlers<typeof pythonApi>['review']>[0]
type EngineAsked = Parameters<Handlers<typeof pythonApi>['engine']>[0]
type Review = OutputOf<Api, 'python.review'>

function reviewsOf({ dataDirectory, store }: Host, asked: Asked): PythonReview[] {
  if ('runId' in asked) return reviewRun(store.runs.get(asked.runId).directory, dataDirectory)
  if ('fork' in asked) {
    const { runId, step, changes } = asked.fork
    const checkpoint = checkpointDirectory(store.runs.get(runId), step)
    return reviewFork({ dataDirectory, checkpoint, changes, baseDirectory: dataDirectory })
  }
  if ('evaluation' in asked)
    return reviewEvaluation({ dataDirectory, store }, asked.evaluation, dataDirectory)
  if ('engine' in asked) return reviewEngine(engineOf(asked, dataDirectory), dataDirectory)
  const rewards = asked.functions.map((id) => ({
    function: absoluteReward(id, dataDirectory),
    weight: 1,
    settings: {},
  }))
  const interpreter = asked.interpreter && programAt(asked.interpreter, dataDirectory)
  return reviewConfig({ rewards, environment: null, python: { interpreter } }, null, dataDirectory)
}

/** Paths in a config that is being made are meant from the data directory. */
function engineOf({ engine: given, interpreter }: EngineAsked, dataDirectory: string) {
  const engine = engineSection.parse(given)
  const at = (program: string | null) => program && programAt(program, dataDirectory)
  const file = (name: string | null) => name && path.resolve(dataDirectory, name)
  const files = {
    accelerateConfig: file(engine.accelerateConfig),
    runtimeEnv: file(engine.runtimeEnv),
  }
  return {
    engine: { ...engine, ...files, python: at(engine.python) },
    python: { interpreter: at(interpreter) },
  }
}

/** Merges reviews: each interpreter once, with each file once. */
export function summary(reviews: readonly PythonReview[]): Review {
  const programs = new Map<string, Map<string, ReviewedFile>>()
  for (const { interpreter, files } of reviews) {
    const all = programs.get(interpreter) ?? new Map<string, ReviewedFile>()
    for (const file of files) all.set(JSON.stringify([file.path, file.sha256]), file)
    programs.set(interpreter, all)
  }
  return [...programs].map(([interpreter, files]) => ({ interpreter, files: [...files.values()] }))
}

/** Identifies everything that was shown, whatever of it had been allowed before. */
const known = (reviews: Review): string =>
  JSON.stringify(
    reviews.map(({ interpreter, files }) => [
      interpreter,
      files.map(({ path: where, sha256 }) => [where, sha256]),
    ]),
  )

/**
 * Lists the code that a run would execute and has copies of. Errors: those of `reviewPython`, AppError
 * 'config/invalid'.
 */
export function reviewRun(runDirectory: string, dataDirectory: string): PythonReview[] {
  const config = parseRunConfig(readOwnConfig(runDirectory))
  return [...reviewConfig(config, runDirectory, dataDirectory), ...reviewEngine(config, dataDirectory)]
}
