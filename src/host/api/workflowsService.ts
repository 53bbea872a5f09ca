/** Workflows tried on one row, before anything is trained with them. */
import { rmSync } from 'node:fs'
import path from 'node:path'
import type { Api } from '#shared/api/api.ts'
import type { Handlers, InputOf } from '#shared/api/contract.ts'
import type { TrialNews, workflowsApi } from '#shared/api/workflows.ts'
import { isObject } from '#shared/config/paths.ts'
import { fittingNewTokens } from '#shared/config/settings.ts'
import { invalidData } from '#shared/errors.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import type { PromptRow } from '#rl/rollout/prompts.ts'
import { openVersion } from '#host/data/dataSetVersions.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { makeFolder } from '#host/files/atomic.ts'
import type { Host } from '#host/host.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { resolveCandidate } from '#host/jobs/candidates.ts'
import { workflowTrialJob, type WorkflowTrialInput } from '#host/jobs/workflowTrial.ts'
import { sourceOf } from '#host/code/rewardVersions.ts'
import { consentsFile } from '#host/consents/consents.ts'
import type { PythonReview } from '#host/python/consent.ts'
import { reviewConfig } from '#host/code/rewardCode.ts'
import { withAbsolutePaths } from '#host/runs/runConfigFile.ts'

export const workflowsService = (host: Host): Handlers<typeof workflowsApi> => ({
  async *try({ code, candidate, on, config, ...request }, { signal }) {
    yield* playEpisode(
      host,
      {
        ...request,
        code: sourceOf(host.store, code),
        candidate: resolveCandidate(host, candidate),
        row: rowOf(host, on),
        sections: config,
        base: host.dataDirectory,
      },
      signal,
    )
  },
})

function rowOf(host: Host, on: InputOf<Api, 'workflows.try'>['on']): PromptRow {
  if (!('versionId' in on)) return { row: 0, columns: on.row }
  const [columns] = openVersion(host, on.versionId).rows(on.row, 1)
  if (columns !== undefined) return { row: on.row, columns }
  throw invalidData(`The data set has no row ${on.row + 1}.`)
}

export interface EpisodeTrial extends Pick<
  WorkflowTrialInput,
  'code' | 'settings' | 'candidate' | 'row' | 'isEvaluation'
> {
  /** Sections of a run config. */
  readonly sections: Readonly<Record<string, unknown>>
  /** Folder that relative paths in them start from. */
  readonly base: string
  /** Allows its Python; absent: it is asked about. */
  readonly trust?: (reviews: readonly PythonReview[], config: RunConfig) => void
}

let trials = 0

/** Errors: AppError 'config/invalid', 'sandbox/failed', those of models, rewards and environments. */
export async function* playEpisode(
  { ask, dataDirectory }: Host,
  { sections, base, trust, ...trial }: EpisodeTrial,
  signal: AbortSignal,
): AsyncGenerator<TrialNews> {
  const config = withAbsolutePaths(parseRunConfig(configOf(sections, trial)), base, dataDirectory)
  const { cache: cacheDirectory } = dataFolders(dataDirectory)
  const consents = consentsFile(dataDirectory)
  trust?.(reviewConfig(config, null, dataDirectory), config)
  const directory = path.join(cacheDirectory, `.workflow.${process.pid}.${++trials}.partial`)
  makeFolder(directory)
  try {
    yield* ask(workflowTrialJob, { ...trial, config, directory, cacheDirectory, consents }, signal)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function configOf(
  sections: EpisodeTrial['sections'],
  { candidate }: Pick<EpisodeTrial, 'candidate'>,
): Readonly<Record<string, unknown>> {
  const { rollout, data } = sections
  const maxNewTokens = fittingNewTokens(openModelFolder(candidate.directory, candidate).config.contextLength)
  return {
    ...sections,
    model: candidate.directory,
    data: { ...(isObject(data) ? data : {}), train: 'the row', heldOut: null },
    rollout: { maxNewTokens, ...(isObject(rollout) ? rollout : {}) },
  }
}
