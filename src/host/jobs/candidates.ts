/** A model as the API names it, found on this machine. */
import type { z } from 'zod'
import type { candidate } from '#shared/api/models.ts'
import { checkpointDirectory } from '#host/runs/runTarget.ts'
import type { Candidate } from '#host/models/completionJobs.ts'
import type { DataStorage } from '#host/store/storage.ts'
import { findModel } from '#host/models/modelLibrary.ts'

/** Errors: AppError 'model/invalid', 'run/not-found'. */
export function resolveCandidate(
  { store, dataDirectory }: DataStorage,
  { model, adapter }: z.output<typeof candidate>,
): Candidate {
  const directory = findModel(model, dataDirectory)
  if (adapter === undefined) return { directory, adapter: null }
  if ('path' in adapter) return { directory, adapter: adapter.path }
  const run = store.runs.get(adapter.runId)
  const { contextLength = null } = JSON.parse(run.config) as { readonly contextLength?: number | null }
  return { directory, adapter: checkpointDirectory(run, adapter.step), contextLength }
}

/** A temperature of 0 takes the most probable token. */
export const greedyAtZero = (temperature: number) =>
  temperature === 0 ? { greedy: true, temperature: 1 } : { greedy: false, temperature }
