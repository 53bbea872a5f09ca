/** Studies as large as the window must bear, with results and runs that nobody trained. */
import path from 'node:path'
import { parseStudyConfig } from '#shared/studies.ts'
import { planStudy } from '#rl/studies/plan.ts'
import { newRunId } from '#host/workFolder/runFolder.ts'
import { subjectOf } from '#host/studies/studyConfig.ts'
import { createStudyFolder, logResult, logTrial, setStudyState } from '#host/workFolder/studyFolder.ts'
import { makeTrial, studyFile } from './longHistory.ts'
import { CounterStream } from './noise.ts'

const rate = 'optimization.learningRate'
const range = { min: 1e-5, max: 1e-2 }
const members = 64
const steps = 10_000

export interface MadeStudy {
  readonly id: string
  readonly runIds: readonly string[]
}

/** 64 members in ten generations of 1,000 steps. */
export const population = {
  size: members,
  every: steps / 10,
  mutation: { parameters: { [rate]: range } },
}

/** 64 trials, each of which trains to its end. */
export const sweep = { method: 'random', trials: members, parameters: { [rate]: range } }

/** `section`: of its file. */
export function makeStudy(dataDirectory: string, name: string, section: object): MadeStudy {
  const file = { ...studyFile(name, steps), ...section }
  const start = { [rate]: 1e-3 }
  const study = createStudyFolder(path.resolve(dataDirectory), { file, steps, start, parallel: members })
  const subject = subjectOf({ config: parseStudyConfig(file), steps, start })
  const noise = new CounterStream(name)
  const runs = new Map<number, string>()
  const results: Parameters<typeof logResult>[1][] = []
  for (let plan = planStudy(subject, results); !plan.isOver; plan = planStudy(subject, results)) {
    for (const { trial: index, until } of plan.pending) {
      const trial = plan.trials[index]
      const from = results.findLast((result) => result.trial === index)?.step ?? trial?.parent?.step ?? 0
      let runId = runs.get(index)
      if (runId === undefined) {
        runId = newRunId()
        runs.set(index, runId)
        logTrial(study.directory, index, runId)
      }
      const own = { runId, study: { studyId: study.id, trial: index } }
      makeTrial(dataDirectory, { name: `${name} ${String(index + 1)}`, steps, from, until, trial: own })
      const fitness = 0.5 + 0.4 * (until / steps) + 0.1 * noise.next()
      const result = { trial: index, step: until, fitness, tokens: 1e6, seconds: 60 }
      logResult(study.directory, result)
      results.push(result)
    }
  }
  setStudyState(study.directory, { status: 'finished', error: null })
  return { id: study.id, runIds: [...runs.values()] }
}
