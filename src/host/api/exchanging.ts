import type { Handlers } from '#shared/api/contract.ts'
import type { runsApi } from '#shared/api/runs.ts'
import { importConfig } from '#host/exchange/importConfig.ts'
import type { ProjectRequest } from '#host/exchange/project/project.ts'
import type { Host } from '#host/host.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { hasCard } from '#host/devices/deviceChoice.ts'
import { projectJob } from '#host/jobs/exportJobs.ts'
import { firstItem } from '#host/processes/job.ts'
import { resolveRunConfig } from '#host/runs/runConfigFile.ts'
import { checkpointDirectory } from '#host/runs/runTarget.ts'
import { configOfRun } from '#host/runs/settingChanges.ts'

/** Settings of other tools in, whole runs out. */
export const exchanging = (host: Host) =>
  ({
    importConfig: ({ text, tool, algorithm }) =>
      importConfig(text, tool, { algorithm, hasCard: hasCard(dataFolders(host.dataDirectory).cache) }),

    async exportProject({ source, tool, path }, { signal }) {
      const request =
        'config' in source
          ? await plannedRun(source.config, host)
          : trainedRun(source.runId, source.step ?? null, host)
      const project = { ...request, tool, out: path }
      return firstItem(host.ask(projectJob, project, signal))
    },
  }) satisfies Partial<Handlers<typeof runsApi>>

type ProjectSource = Pick<ProjectRequest, 'config' | 'checkpoint' | 'runDirectory'>

const plannedRun = async (config: unknown, { dataDirectory }: Host): Promise<ProjectSource> => ({
  config: await resolveRunConfig(config, dataDirectory),
  checkpoint: null,
  runDirectory: null,
})

function trainedRun(runId: string, step: number | null, { store }: Host): ProjectSource {
  const run = store.runs.get(runId)
  return {
    config: configOfRun(run.directory, step ?? Infinity),
    checkpoint: step === null ? null : checkpointDirectory(run, step),
    runDirectory: run.directory,
  }
}
