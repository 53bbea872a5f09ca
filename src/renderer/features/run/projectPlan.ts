/** A run on its way to another tool: what its folder is called, and how training is started there. */
import type { Answer } from '#renderer/client/api.tsx'
import { joinPath } from '#renderer/features/models/exportPlan.ts'

export type ProjectReport = Answer<'runs.exportProject'>
export type ProjectTool = ProjectReport['tool']

/** `arith 3` at step 40 → `arith-3-step-40-trl`; as the run began, without a step. */
export const projectName = (run: string, step: number | null, tool: ProjectTool): string =>
  [slugOf(run), ...(step === null ? [] : [`step-${String(step)}`]), tool].join('-')

const launches: Readonly<Record<ProjectTool, string>> = {
  trl: 'accelerate launch --config_file accelerate.yaml train.py',
  agilerl: 'python train.py',
}

/** Lines for a shell on the machine that is to train. */
export const startLines = ({
  directory,
  tool,
}: Pick<ProjectReport, 'directory' | 'tool'>): readonly string[] => [
  `cd ${quoted(joinPath(directory, tool))}`,
  'pip install -r requirements.txt',
  launches[tool],
]

/** What may stand in a name of a folder everywhere. */
const slugOf = (name: string): string =>
  name.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-').replaceAll(/^[-.]+|[-.]+$/g, '') || 'run'

const quoted = (path: string): string => (/^[\w./:\\-]+$/.test(path) ? path : `"${path}"`)
