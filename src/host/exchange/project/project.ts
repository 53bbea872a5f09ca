/**
 * A run as a folder that another tool starts from. Reading guide:
 *
 *   project.ts         (here) what is in the folder, the tool's own files, and the README: what maps, what does not,
 *                      how to bring results back
 *   projectData.ts     rows with their prompts as the run renders them
 *   projectRewards.ts  reward code, the bridge to it, and fixtures recorded from our own scoring
 *
 * Python and the bridge are files of resources/projects, copied as they are; what a run decides is written as data.
 */
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { AppError, invalidConfig } from '#shared/errors.ts'
import type { ExperienceKind } from '#shared/experience.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { toolTitles } from '#shared/tools.ts'
import { markdownCode, markdownText } from '#shared/markdown.ts'
import { plural } from '#shared/plural.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { adaptableLinears } from '#engine/models/config.ts'
import { makeFolder, replaceFolder, requireOutsideData, writeFileAtomic } from '#host/files/atomic.ts'
import { exportPeft } from '#host/models/exportAdapter.ts'
import { isCheckpoint } from '#host/workFolder/checkpointState.ts'
import { readError } from '#host/files/fileErrors.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { readAdapter, writeAdapter } from '#host/adapters/peft.ts'
import { share } from '#host/files/permissions.ts'
import { describeVersions } from '#host/dataDirectory.ts'
import { exportConfig, exportedRun } from '../exportConfig.ts'
import { toolVersions, type ProjectTool, projectAlgorithm } from '../tools.ts'
import { readProjectData } from './projectData.ts'
import {
  type ProjectFiles,
  type ProjectParts,
  projectResource,
  rewardFiles,
  type RewardFiles,
} from './projectRewards.ts'
import { yamlComment, yamlText } from './yamlText.ts'

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

export type ProjectReport = OutputOf<Api, 'runs.exportProject'>

const noRewards: RewardFiles = { files: {}, parts: [], fixtures: 0 }

/** Writes a project where a person said. Errors: as `writeProject`; AppError 'file/unwritable' for a place in a data directory. */
export async function exportProject(request: ProjectRequest): Promise<ProjectReport> {
  requireOutsideData(request.out)
  return await writeProject(request)
}

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
    modules: adaptableLinears(model.config),
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
    for (const [name, content] of Object.entries(files)) writeInside(folder, name, content)
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
    `${directory} is not empty; nothing in it was overwritten.`,
    'Choose a new folder.',
  )
}

/** Refuses AgileRL's PPO with an adapter: its critic is made with the policy, from the base alone. */
function requireStart(tool: ProjectTool, run: RunConfig, adapter: string | null): void {
  if (adapter === null || tool !== 'agilerl' || run.algorithm.id !== 'ppo') return
  throw invalidConfig(
    "AgileRL's PPO cannot start from an adapter.",
    'Export the run without one, or merge the adapter into the model first.',
  )
}

const jsonLines = (rows: readonly unknown[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('')

function writeInside(folder: string, name: string, content: string | Uint8Array): void {
  const file = path.join(folder, ...name.split('/'))
  makeFolder(path.dirname(file))
  writeFileAtomic(file, content)
}

/** Writes a checkpoint's adapter, or reads a PEFT folder and writes it again. */
async function writeStartingAdapter(source: string, target: string): Promise<void> {
  if (isCheckpoint(source)) await exportPeft(source, target)
  else {
    const { config, baseModel, tensors } = readAdapter(source)
    await writeAdapter(target, { config, baseModel, tensors, metadata: {} })
  }
}

const resources = (folder: string, names: readonly string[]): ProjectFiles =>
  Object.fromEntries(names.map((name) => [`${folder}/${name}`, projectResource(`${folder}/${name}`)]))

/** Files that report a training to Turnwise where it watches. */
const watchingFiles = (): ProjectFiles => resources('watching', ['recording.py', 'watch.py'])

/* The folder agilerl/: a manifest, a training script, the reward, and how accelerate starts it. */

function agilerlFiles(parts: ProjectParts): ProjectFiles {
  const isRewarded = algorithmById(parts.run.algorithm.id).experience === 'rollout'
  const names = ['train.py', 'loop.py', 'accelerate.yaml', 'requirements.txt']
  return {
    ...resources('agilerl', [...names, ...(isRewarded ? ['reward.py'] : [])]),
    ...watchingFiles(),
    'agilerl/manifest.yaml': `${yamlComment(explicit)}${yamlText(manifestOf(parts))}`,
  }
}

const adapterNames = ['lora_r', 'lora_alpha', 'target_modules', 'lora_dropout']
const trainingNames = ['max_steps', 'num_epochs', 'evaluation_interval', 'pop_size']
const networkNames = ['pretrained_model_name_or_path']

function manifestOf({ run, exported: { values, quantities } }: ProjectParts) {
  const { experience } = algorithmById(run.algorithm.id)
  const pick = (names: readonly string[]) =>
    Object.fromEntries(names.filter((name) => name in values).map((name) => [name, values[name]]))
  const elsewhere = new Set([...adapterNames, ...trainingNames, ...networkNames])
  const own = Object.fromEntries(Object.entries(values).filter(([name]) => !elsewhere.has(name)))
  return {
    api_version: 'agilerl.com/v1',
    algorithm: {
      name: projectAlgorithm('agilerl', run.algorithm.id),
      ...own,
      micro_batch_size_per_gpu: quantities.perDevice,
    },
    environment: experience === 'rollout' ? rolloutEnvironment : answersEnvironment(experience),
    training: { ...pick(trainingNames), eval_loop: 1 },
    network: {
      ...pick(networkNames),
      max_context_length: quantities.contextLength,
      lora_config: { ...pick(adapterNames), target_parameters: null, task_type: 'CAUSAL_LM' },
    },
  }
}

/** train.py serves the rows itself, prompts rendered as in the run. */
const rolloutEnvironment = {
  env_type: 'rollout',
  dataset: '../data/train.jsonl',
  prompt_template: { user_0: '{question}' },
  rubric_file_path: 'reward.py',
  rubric_name: 'reward_fn',
  train_test_split: 0.9,
  max_turns: 1,
}

const answersEnvironment = (experience: ExperienceKind) => ({
  env_type: 'dataset',
  objective: experience === 'preferences' ? 'preference' : 'sft',
  dataset: '../data/train.jsonl',
  response_column: 'completion',
  train_test_split: 0.9,
})

/* The folder trl/: a training script, its settings, and how accelerate starts it. */

function trlFiles(parts: ProjectParts): ProjectFiles {
  return {
    ...resources('trl', ['train.py', 'callback.py', 'accelerate.yaml', 'requirements.txt']),
    ...watchingFiles(),
    'trl/config.yaml': configText(parts),
  }
}

const explicit = 'Written by Turnwise. Every value is explicit, so that no default of the library matters.'
const heading = `${explicit}\nThe names in the first part are for train.py, the others for TRL and transformers.`

function configText({ run, data, exported, rewards, hasAdapter }: ProjectParts): string {
  const { quantities, values } = exported
  const isGenerating = 'num_generations' in values
  const own = {
    trainer: projectAlgorithm('trl', run.algorithm.id).toLowerCase(),
    train_file: '../data/train.jsonl',
    eval_file: data.heldOut.length === 0 ? null : '../data/eval.jsonl',
    starting_adapter: hasAdapter ? '../adapter' : null,
    prompts_are_marked_up: data.isMarkedUp,
    trajectories_per_update: quantities.perUpdate,
  }
  const places = {
    output_dir: 'output',
    run_name: run.name ?? path.basename(run.model),
    per_device_eval_batch_size: quantities.perDevice,
    ...(isGenerating
      ? { reward_weights: rewards.map(({ weight }) => weight) }
      : { max_length: quantities.contextLength }),
  }
  const names = isGenerating ? { reward_names: rewards.map(({ name }) => name) } : {}
  return `${yamlComment(heading)}${yamlText({ ...own, ...names, ...values, ...places })}`
}

/* What a person must know who opens the folder on another machine. */

interface ReadmeFacts {
  readonly tool: ProjectTool
  readonly parts: ProjectParts
  readonly notes: readonly string[]
  readonly fixtures: number
}

function readmeText(facts: ReadmeFacts): string {
  const { tool, parts, notes, fixtures } = facts
  const { run } = parts
  return [
    `# ${markdownText(run.name ?? 'A run')}, for ${toolTitles[tool]}`,
    `Written by ${describeVersions()}. The settings were written for ${toolTitles[tool]} ${toolVersions[tool]}; \`${tool}/requirements.txt\` lists the versions it was tested with. \`run.json\` is the run’s config in Turnwise and settles anything that is unclear here.`,
    startText(tool),
    `The model is ${markdownCode(run.model)}. On another machine, copy that folder and change ${tool === 'trl' ? '`model_name_or_path` in `trl/config.yaml`' : '`pretrained_model_name_or_path` in `agilerl/manifest.yaml`'}.`,
    lengthText(facts),
    `## Differences from Turnwise\n\n${notes.length === 0 ? 'None found.' : notes.map((note) => `- ${markdownText(note)}`).join('\n')}`,
    'The results will differ in any case: the library has its own sampler, random numbers and order of rows. Every setting not listed has the same meaning and value there; all are written out in full, so that defaults of other versions do not matter.',
    dataText(parts),
    ...(fixtures === 0 ? [] : [rewardsText(facts)]),
    ...(parts.hasAdapter
      ? [
          '`adapter/` is the LoRA adapter that training starts from, in PEFT’s format. Its rank, alpha and targets are used, not those in the settings.',
        ]
      : []),
    backText(facts),
  ]
    .join('\n\n')
    .concat('\n')
}

const startText = (tool: ProjectTool): string =>
  tool === 'trl'
    ? [
        '## Start',
        '```sh\ncd trl\npip install -r requirements.txt\naccelerate launch --config_file accelerate.yaml train.py\n```',
        'Any value in `config.yaml` can be overridden by appending it, such as `--max_steps 2`. On several GPUs, set `distributed_type: MULTI_GPU` and raise `num_processes` in `accelerate.yaml`. On CPUs `accelerate launch` starts one process for `MULTI_CPU`, whatever `num_processes` says; `torchrun --nproc_per_node 2 train.py --use_cpu true`, or `accelerate launch --multi_gpu --num_processes 2 … train.py --use_cpu true`, starts two. `train.py` divides the batches, so that the number of completions per update stays the same.',
      ].join('\n\n')
    : [
        '## Start',
        '```sh\ncd agilerl\npip install -r requirements.txt\npython train.py            # --vllm to generate with vLLM on a GPU, --steps 2 to try it\n```',
        'In several processes: `torchrun --nproc_per_node 2 train.py`, or `accelerate launch --config_file accelerate.yaml --multi_gpu --num_processes 2 train.py`, of which AgileRL takes only the number of processes. `train.py` divides the batches, so that the number of completions per update stays the same.',
      ].join('\n\n')

function lengthText({ tool, parts: { exported } }: ReadmeFacts): string {
  const { steps, perStep, perUpdate, updatesPerStep } = exported.quantities
  const counted =
    tool === 'trl'
      ? `TRL counts updates (\`max_steps\` ${steps * updatesPerStep})`
      : `AgileRL counts trajectories (\`max_steps\` ${steps * perStep})`
  return `The run has ${plural(steps, 'step')} of ${plural(perStep, 'trajectory', 'trajectories')}, ${plural(updatesPerStep, 'update')} each of ${perUpdate}. ${counted}.`
}

const dataText = ({ data }: ProjectParts): string =>
  [
    '## Data',
    `\`data/train.jsonl\` has ${plural(data.train.length, 'row')}${data.heldOut.length === 0 ? '' : `, \`data/eval.jsonl\` ${data.heldOut.length} that are never trained on`}. \`prompt_text\` is what the policy read here, chat markup included; \`row\` holds every column as JSON text, which rewards receive. Training with TRL stops immediately if its tokens for a prompt differ from the run’s.`,
  ].join('\n\n')

const rewardsText = ({ tool, fixtures }: ReadmeFacts): string =>
  [
    '## Rewards',
    `Rewards are the run's own code, run by Node 20.15 or later behind \`rewards/bridge.py\` (set \`TURNWISE_NODE\` to choose the program). \`rewards/fixtures.jsonl\` holds ${plural(fixtures, 'sample')} as Turnwise scored them; \`python rewards/test_bridge.py\` fails if the port scores them differently. Run it once on the new machine.`,
    'Your own code, and the pattern of `format`, run in the same virtual machine (QuickJS) there as in Turnwise, with its limits on time and memory: no files, network or clock, and each module is as new for every call.',
    tool === 'trl'
      ? 'Each named component is a reward function of TRL with its weight; one that does not apply returns None.'
      : 'AgileRL takes one number: the weighted sum. If no component applies, the completion counts as 0 there; Turnwise does not learn from it.',
  ].join('\n\n')

function backText({ tool, parts }: ReadmeFacts): string {
  const folder = tool === 'trl' ? 'trl/output/adapter' : 'agilerl/output/adapter/actor'
  const settings = tool === 'trl' ? 'trl/config.yaml' : 'agilerl/manifest.yaml'
  return [
    '## Importing results',
    `\`${folder}\` is a LoRA adapter in PEFT’s format: import it in Turnwise as an adapter, or set \`adapter.initial\` in a config to continue from it. \`turnwise config import ${settings}\` converts changed settings back to a config.`,
    ...completionsText(tool, parts),
  ].join('\n\n')
}

/** TRL's RLOO keeps no files of completions. */
function completionsText(tool: ProjectTool, { rewards, run }: ProjectParts): string[] {
  if (rewards.length === 0 || (tool === 'trl' && run.algorithm.id === 'rloo')) return []
  const file = tool === 'trl' ? 'trl/output/completions/*.parquet' : 'agilerl/output/completions.jsonl'
  return [`\`${file}\` holds the completions and their rewards; it can be imported as a data set.`]
}
