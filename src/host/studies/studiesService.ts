/** Studies over the API: checked, started, watched. */
import type { Handlers } from '#shared/api/contract.ts'
import type { studiesApi } from '#shared/api/studies.ts'
import { problemsOfError } from '#shared/config/problems.ts'
import { AppError } from '#shared/errors.ts'
import { changesOf, stampOf } from '#host/api/feeds.ts'
import type { Host } from '#host/host.ts'
import { checkStudy } from './studyConfig.ts'

/** Other processes run studies too. */
const watchEveryMs = 1000

export const studiesService = ({
  studies,
  notifier,
  dataDirectory,
  askText,
}: Host): Handlers<typeof studiesApi> => ({
  list: () => studies.list(),
  get: ({ id }) => studies.get(id),

  async check({ file }) {
    try {
      const { trials, steps, totalSteps, parallel } = await checkStudy(file, {
        ...{ dataDirectory, base: dataDirectory, askText },
      })
      return { trials, steps, totalSteps, parallel }
    } catch (error) {
      if (error instanceof AppError) return { problems: problemsOfError(error) }
      throw error
    }
  },

  async start({ file }) {
    const { id } = await studies.start(file, dataDirectory)
    return { id }
  },
  stop: ({ id }) => studies.stop(id),
  resume: ({ id }) => studies.resume(id),
  delete: ({ id }) => studies.remove(id),

  watch: (_input, { from, signal }) =>
    changesOf({ notifier, signal, everyMs: watchEveryMs }, from, () =>
      stampOf(
        studies
          .list()
          .map(({ id, status, trials }) => [
            ...[id, status, trials.length],
            trials.reduce((sum, { results }) => sum + results.length, 0),
          ]),
      ),
    ),
})
