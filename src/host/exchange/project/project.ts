/**
 * A run as a folder that another tool starts from. Reading guide:
 *
 *   project.ts         (here) what is in the folder
 *   projectData.ts     rows with their prompts as the run renders them
 *   projectRewards.ts  reward code, the bridge to it, and fixtures recorded from our own scoring
 *   trlProject.ts, agilerlProject.ts   the tool's own files
 *   readme.ts          what maps, what does not, how to bring results back
 *
 * Python and the bridge are files of resources/projects, copied as they are; what a run decides is written as data.
 */
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { makeFolder, replaceFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { exportPeft } from '#host/export/exportAdapter.ts'
import { isCheckpoint } from '#host/runs/checkpointState.ts'
import { readError } from '#host/files/fileErrors.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { readAdapter, writeAdapter } from '#host/adapters/peft.ts'
import { share } from '#host/files/permissions.ts'
import { exportConfig, exportedRun } from '../exportConfig.ts'
import { toolTitles } from '#shared/tools.ts'
import { toolVersions, type ProjectTool } from '../tools.ts'
import { agilerlFiles } from './agilerlProject.ts'
import { readProjectData } from './projectData.ts'
import type { ProjectFiles, ProjectParts } from './projectFiles.ts'
import { rewardFiles, type RewardFiles } from './projectRewards.ts'
import { readmeText } from './readme.ts'
import { trlFiles } from './trlProject.ts'

export interface ProjectRequest {
  /** Paths absolute. */
  readonly config: RunConfig
  readonly tool: ProjectTool
  /** Folder to be made; it may exist if it is empty. */
  readonly out: string
  /** Checkpoint whose adapter the training there begins with; null: as the run began. */
  readonly checkpoint: string | null
  /** Folder of the run, whose copies of reward code are taken; null: the code is read where the config says. */
  readonly runDirectory: string | null
}

export interface ProjectReport {
  readonly directory: string
  readonly tool: ProjectTool
  /** The version its settings were written for. */
  readonly version: string
  /** Relative paths. */
  readonly files: readonly string[]
  /** Differences from Turnwise, a sentence each; they stand in the README too. */
  readonly notes: readonly string[]
  /** Samples by which the port of the rewards is checked; 0 where nothing is rewarded. */
  readonly fixtures: number
}

const noRewards: RewardFiles = { files: {}, parts: [], fixtures: 0 }

/** Errors: AppError 'config/invalid' where the tool has nothing like the run; 'model/…', 'data/…', 'file/…', 'sandbox/failed'. */
export async function writeProject(request: ProjectRequest): Promise<ProjectReport> {
  const { tool } = request
  const directory = path.resolve(request.out)
  requireEmpty(directory)
  const run = exportedRun(request.config, tool)
  const model = openModelFolder(run.model, run)
  const data = await readProjectData(run, model)
  const evaluated = data.heldOut.length === 0 ? { ...run, evaluation: { ...run.evaluation, every: 0 } } : run
  const size = {
    rows: data.train.length,
    contextLength: model.config.contextLength,
    modules: model.config.linears,
  }
  const exported = exportConfig(evaluated, tool, size)
  const adapter = request.checkpoint ?? run.adapter.initial
  const isRewarded = algorithmById(run.algorithm.id).experience === 'rollout'
  requireStart(tool, run, adapter)
  const rewards = isRewarded ? await rewardFiles(run, data, request.runDirectory) : noRewards
  const parts: ProjectParts = { run, data, exported, rewards: rewards.parts, hasAdapter: adapter !== null }
  const toolFiles = tool === 'trl' ? trlFiles(parts) : agilerlFiles(parts)
  const notes = [...data.notes, ...exported.unmapped]
  const files: ProjectFiles = {
    'README.md': readmeText({ tool, parts, notes, fixtures: rewards.fixtures }),
    'run.json': `${JSON.stringify(request.config, null, 2)}\n`,
    'data/train.jsonl': jsonLines(data.train),
    ...(data.heldOut.length === 0 ? {} : { 'data/eval.jsonl': jsonLines(data.heldOut) }),
    ...rewards.files,
    ...toolFiles,
  }
  await replaceFolder(directory, async (folder) => {
    for (const [name, text] of Object.entries(files)) writeInside(folder, name, text)
    if (adapter !== null) await writeStartingAdapter(adapter, path.join(folder, 'adapter'))
    share(folder)
  })
  return {
    directory,
    tool,
    version: `${toolTitles[tool]} ${toolVersions[tool]}`,
    files: [...Object.keys(files), ...(adapter === null ? [] : ['adapter'])].toSorted(),
    notes,
    fixtures: rewards.fixtures,
  }
}

function requireEmpty(directory: string): void {
  try {
    if (!existsSync(directory) || readdirSync(directory).length === 0) return
  } catch (error) {
    throw readError(directory, error)
  }
  throw new AppError(
    'file/unwritable',
    `${directory} is not empty, and nothing in it is overwritten.`,
    'Name a folder that is not there yet.',
  )
}

/** Its critic is made with the policy, from the base alone. */
function requireStart(tool: ProjectTool, run: RunConfig, adapter: string | null): void {
  if (adapter === null || tool !== 'agilerl' || run.algorithm.id !== 'ppo') return
  throw new AppError(
    'config/invalid',
    "AgileRL's PPO cannot begin with an adapter.",
    'Hand the run over without one, or merge the adapter into the model first.',
  )
}

const jsonLines = (rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('')

function writeInside(folder: string, name: string, text: string): void {
  const file = path.join(folder, ...name.split('/'))
  makeFolder(path.dirname(file))
  writeFileAtomic(file, text)
}

/** A checkpoint's adapter, or a PEFT folder read and written anew. */
async function writeStartingAdapter(source: string, target: string): Promise<void> {
  if (isCheckpoint(source)) await exportPeft(source, target)
  else {
    const { config, baseModel, tensors } = readAdapter(source)
    await writeAdapter(target, { config, baseModel, tensors, metadata: {} })
  }
}
