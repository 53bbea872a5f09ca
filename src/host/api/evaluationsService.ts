/** Evaluations over the API: made, watched, looked at and compared. */
import type { Handlers } from '#shared/api/contract.ts'
import type { evaluationsApi } from '#shared/api/evaluations.ts'
import { invalidData } from '#shared/errors.ts'
import { changesOf, stampOf } from '#host/store/feeds.ts'
import type { Host } from '#host/host.ts'
import { compareEvaluations, type Compared } from '#host/evaluations/compareEvaluations.ts'
import { columnsOf, groupsBy, summarize } from '#host/evaluations/summary.ts'

/** Interval of looking for changes, since other processes compute evaluations too. */
const watchEveryMs = 1000

export const evaluationsService = (host: Host): Handlers<typeof evaluationsApi> => {
  const { evaluations, notifier, dataDirectory } = host
  return {
    list: ({ runId }) => evaluations.list(runId ?? null),
    get: ({ id }) => evaluations.get(id),

    prompts({ id, from, count }) {
      const { prompts } = evaluations.answers(id)
      return { total: prompts.length, prompts: prompts.slice(from, from + count) }
    },

    groups({ id, column }) {
      const answers = evaluations.answers(id)
      const { passRule } = summarize(answers, evaluations.get(id))
      const columns = columnsOf(answers.prompts)
      return { columns, groups: column === null ? [] : groupsBy(answers.prompts, column, passRule) }
    },

    compare: ({ a, b }) => compareEvaluations(comparedOf(host, a), comparedOf(host, b)),
    sectionsOf: ({ runId }) => evaluations.sectionsOf(runId),

    async start(request) {
      const { id } = await evaluations.start(request, { base: dataDirectory, by: null })
      return { id }
    },

    stop: ({ id }) => evaluations.stop(id),
    resume: ({ id }) => evaluations.resume(id),
    delete: ({ id }) => evaluations.remove(id),

    watch: (_input, { from, signal }) =>
      changesOf({ notifier, signal, everyMs: watchEveryMs }, from, () =>
        stampOf(evaluations.list().map(({ id, status, done }) => [id, status, done])),
      ),
  }
}

/** Errors: AppError 'data/invalid' where nothing was answered yet. */
export function comparedOf({ evaluations }: Pick<Host, 'evaluations'>, id: string): Compared {
  const entry = evaluations.get(id)
  const { prompts } = evaluations.answers(id)
  if (prompts.length > 0) return { entry, prompts }
  throw invalidData(`Nothing was answered in the evaluation of ${entry.title} yet.`)
}
