/** Studies over the API: checked, started, watched. */
import type { Handlers } from '#shared/api/contract.ts'
import type { studiesApi, StudyEntry, StudySummary } from '#shared/api/studies.ts'
import { problemsOfError } from '#shared/config/blame.ts'
import { AppError } from '#shared/errors.ts'
import { changesOf } from '#host/store/feeds.ts'
import type { Host } from '#host/host.ts'
import { sharingOf } from '#host/studies/sharing.ts'
import { chosenTrial, configOfTrial, promoteTrial } from '#host/studies/winner.ts'

/** Interval of looking for changes, since other processes run studies too. */
const watchEveryMs = 1000

export const studiesService = (host: Host): Handlers<typeof studiesApi> => {
  const { studies, notifier, dataDirectory } = host
  return {
    list() {
      const { studies: all, unreadable } = studies.list()
      return { studies: all.map(summaryOf), unreadable }
    },
    get: ({ id }) => studies.get(id),
    importance: ({ id }) => studies.importance(id),

    async check({ file }) {
      try {
        const {
          trials,
          steps,
          totalSteps,
          sharing: request,
          first,
        } = await studies.check(file, dataDirectory)
        const { rows, device, warnings } = first
        const { parallel, words: sharing } = sharingOf(request)
        return { trials, steps, totalSteps, parallel, sharing, rows, device, warnings: [...warnings] }
      } catch (error) {
        if (error instanceof AppError) return { problems: problemsOfError(error) }
        throw error
      }
    },

    calibrate: ({ file }, { signal }) => studies.calibrate(file, dataDirectory, signal),

    async start({ file }) {
      const { id } = await studies.start(file, dataDirectory)
      return { id }
    },
    stop: ({ id }) => studies.stop(id),
    resume: ({ id }) => studies.resume(id),
    delete: ({ id }) => studies.remove(id),

    exportConfig({ id, trial }) {
      const entry = studies.get(id)
      const chosen = chosenTrial(entry, trial ?? null)
      return { ...chosen, config: { ...configOfTrial(entry, chosen.trial) } }
    },
    promote: ({ id, trial, name }) =>
      promoteTrial(host, studies.get(id), { trial: trial ?? null, name: name ?? null }),

    watch: (_input, { from, signal }) =>
      changesOf({ notifier, signal, everyMs: watchEveryMs }, from, () => studies.stamp()),
  }
}

const summaryOf = ({
  search: { kind, fitness },
  trials,
  pending: _pending,
  file: _file,
  ...rest
}: StudyEntry): StudySummary => ({ ...rest, kind, metric: fitness.metric, trials: trials.length })
