import { plural } from '#shared/plural.ts'
import path from 'node:path'
import { runPaths, openRunFolder } from '#host/runs/runFolder.ts'
import { resolveCheckpoint } from '#host/runs/runTarget.ts'
import { writeProject, type ProjectRequest } from '#host/exchange/project/project.ts'
import { projectTools } from '#host/exchange/tools.ts'
import { requireKnownRewards } from '#host/rewards/resolveRewards.ts'
import { readRunConfig } from '#host/runs/runConfigFile.ts'
import { defineCommand } from '../command.ts'
import { choice, requiredText } from '../options.ts'

const checkpoints = ['none', 'last', 'best'] as const

export const runsProject = defineCommand({
  name: 'runs project',
  summary: 'Write a run as a project that TRL or AgileRL starts from',
  positionals: [
    { name: 'RUN', description: 'Run id, folder of a run, or the config file of a run yet to be trained' },
  ],
  options: {
    tool: choice(projectTools, 'for which library', 'trl'),
    out: requiredText('DIR', 'the folder to make'),
    checkpoint: choice(
      checkpoints,
      'whose adapter the training there begins with; none: as the run began',
      'none',
    ),
  },
  notes: () => [
    'The folder holds data, rewards behind a Node process, every setting written out, and a README that lists',
    'the differences from Turnwise.',
  ],
  async run({ options, positionals: [run = ''] }, { dataDirectory, output }) {
    const source = run.endsWith('.json')
      ? await planned(run, dataDirectory)
      : trained(run, options.checkpoint, dataDirectory)
    const report = await writeProject({ ...source, tool: options.tool, out: options.out })
    output.json(report)
    output.line(`Wrote ${plural(report.files.length, 'file')} for ${report.version} to ${report.directory}.`)
    if (report.fixtures > 0)
      output.line(
        `${plural(report.fixtures, 'sample checks', 'samples check')} that rewards there are those of the run.`,
      )
    for (const note of report.notes) output.line(`Otherwise there: ${note}`)
    output.line(`Read ${path.join(report.directory, 'README.md')} first.`)
  },
})

type ProjectSource = Pick<ProjectRequest, 'config' | 'checkpoint' | 'runDirectory'>

async function planned(file: string, dataDirectory: string): Promise<ProjectSource> {
  const config = readRunConfig(file, dataDirectory)
  await requireKnownRewards(config)
  return { config, checkpoint: null, runDirectory: null }
}

function trained(
  run: string,
  checkpoint: (typeof checkpoints)[number],
  dataDirectory: string,
): ProjectSource {
  const { directory } = openRunFolder(dataDirectory, run)
  return {
    config: readRunConfig(runPaths(directory).config, dataDirectory),
    checkpoint:
      checkpoint === 'none' ? null : resolveCheckpoint(dataDirectory, directory, checkpoint).directory,
    runDirectory: directory,
  }
}
