/**
 * Trainers that are not Turnwise's own, as tables: what each is written as, and how its processes are started. Reading guide:
 *
 *   launch.ts       (here) kinds and launchers, and the words that start them
 *   engineCode.ts   what of it a person allows to run
 *   environment.ts  whether an interpreter has what a kind needs
 *   accelerate.ts   whether accelerate can do here what a config of its own asks for
 *   watched.ts      the project in the run's folder, and what it says while it trains
 *   printed.ts      the same out of what a trainer prints that does not see the run's folder
 *
 * host/training/engineTraining.ts is a run on one of them; python/program.ts is the process.
 */
import path from 'node:path'
import { z } from 'zod'
import type { EngineKind, LauncherKind, ResultWay } from '#shared/config/engine.ts'
import { conflict } from '#shared/config/problems.ts'
import { ConfigError } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { ProjectTool } from '#host/exchange/tools.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import { pythonYaml } from '#host/files/pythonYaml.ts'
import { parseYaml, YamlFault } from '#host/files/yaml.ts'
import { importsNothingHere } from '#host/python/program.ts'

export type EngineConfig = RunConfig['engine']
/** The part of a config that selects the trainer and the interpreter. */
export interface EnginedConfig {
  readonly engine: EngineConfig
  readonly python: Pick<RunConfig['python'], 'interpreter'>
}
/** A trainer that Turnwise starts. */
export type OtherEngine = Exclude<EngineKind, 'local'>

export interface Engine {
  /** Project to write, into the folder of that name. */
  readonly tool: ProjectTool
  readonly script: string
  /** Arguments of the script. */
  readonly words: (run: TrainerRun) => readonly string[]
  /** Folder of the adapter in one of its own checkpoints; empty: at the top. */
  readonly adapter: string
  /** Files of resources/projects that run as Python. */
  readonly code: readonly string[]
  /** The same, where the launcher is ray. */
  readonly rayCode: readonly string[]
  /** Reasons why it cannot be started by a launcher. */
  readonly refused: Readonly<Partial<Record<LauncherKind, string>>>
  /** True if it learns from given answers as well as from completions. */
  readonly learnsAnswers: boolean
  /** True if the processes share the prompts of a step, so that their number must divide it. */
  readonly sharesPrompts: boolean
  /** True if it does what a config of accelerate asks for, beyond starting that number of processes. */
  readonly usesAccelerate: boolean
  /** Distributions that must be installed; requirements.txt of the project has the versions that were tried. */
  readonly packages: readonly string[]
}

/** Facts that the command line of a trainer's script depends on. */
interface TrainerRun {
  readonly isRollout: boolean
  readonly isOnCpu: boolean
  /** Model; null: that of the config. */
  readonly model: string | null
}

/** Code that reports to Turnwise what a trainer does, and the bridge to the rewards. */
const sharedCode = ['watching/listed.py', 'watching/recording.py', 'watching/watch.py', 'rewards/bridge.py']

export const engines: Readonly<Record<OtherEngine, Engine>> = {
  trl: {
    tool: 'trl',
    script: 'train.py',
    words: ({ isRollout, isOnCpu, model }) => [
      // The time to save is decided by callback.py, and what may be removed by Turnwise.
      ...['--save_strategy', 'no', '--save_total_limit', '1000000', '--eval_strategy', 'no'],
      ...['--logging_strategy', 'steps', '--logging_steps', '1', '--report_to', 'none'],
      ...['--disable_tqdm', 'true', '--trust_remote_code', 'false'],
      ...(isRollout ? ['--log_completions', 'false'] : []),
      ...(isOnCpu ? ['--use_cpu', 'true'] : []),
      ...(model === null ? [] : ['--model_name_or_path', model]),
    ],
    adapter: '',
    code: ['trl/train.py', 'trl/callback.py', ...sharedCode],
    rayCode: ['trl/ray_submit.py', 'trl/ray_start.py'],
    refused: {},
    learnsAnswers: true,
    sharesPrompts: false,
    usesAccelerate: true,
    packages: ['torch', 'transformers', 'trl', 'accelerate', 'peft', 'datasets'],
  },
  agilerl: {
    tool: 'agilerl',
    script: 'train.py',
    words: ({ isOnCpu, model }) => [
      ...(isOnCpu ? ['--cpu'] : []),
      ...(model === null ? [] : ['--model', model]),
    ],
    adapter: 'actor',
    code: ['agilerl/train.py', 'agilerl/loop.py', 'agilerl/reward.py', ...sharedCode],
    rayCode: [],
    refused: { ray: 'what places processes on a cluster is Ray Train, which here starts TRL alone' },
    learnsAnswers: false,
    sharesPrompts: true,
    usesAccelerate: false,
    packages: [
      ...['torch', 'transformers', 'agilerl', 'accelerate', 'peft', 'datasets', 'openenv'],
      // AgileRL refuses to train language models without these, also where there is no GPU.
      ...(process.platform === 'linux' ? ['bitsandbytes', 'liger-kernel'] : []),
    ],
  },
}

/** Command to start: the interpreter with arguments, or a line for the shell. */
export type LaunchWords =
  { readonly args: readonly string[] } | { readonly shell: (interpreter: string) => string }

interface Start {
  readonly script: string
  readonly engine: EngineConfig
  /**
   * Copy of `engine.accelerateConfig` or `engine.runtimeEnv`, whose content was allowed; null: there is no such
   * setting.
   */
  readonly settings: string | null
}

/** Arguments that run a module as -m does, which would import from the working folder before anything else. */
const asModule = (name: string): readonly string[] => [
  '-c',
  `${importsNothingHere}; import runpy; runpy.run_module("${name}", run_name="__main__", alter_sys=True)`,
]

export const launchers: Readonly<Record<LauncherKind, (start: Start) => LaunchWords>> = {
  python: ({ script, engine: { processes } }) => ({
    args:
      (processes ?? 1) === 1
        ? [script]
        : [...asModule('torch.distributed.run'), '--standalone', '--nproc_per_node', `${processes}`, script],
  }),
  // The project's own file has the defaults of a single process, so that none of the person's counts. Without --multi_gpu
  // accelerate starts one process on CPUs, whatever the number; with it, as many as are asked for.
  accelerate: ({ script, settings, engine: { processes } }) => ({
    args: [
      ...[...asModule('accelerate.commands.launch'), '--config_file', settings ?? 'accelerate.yaml'],
      ...(processes === null ? [] : ['--num_processes', `${processes}`]),
      ...((processes ?? 1) > 1 && settings === null ? ['--multi_gpu'] : []),
      ...['--main_process_port', '0', script],
    ],
  }),
  // ray_submit.py is the client of Ray's own job API; Ray Train places the processes.
  ray: ({ engine, settings }) => ({
    args: [
      'ray_submit.py',
      'train',
      ...rayWords(engine, settings),
      '--processes',
      `${engine.processes ?? 1}`,
    ],
  }),
  command: ({ script, engine: { command, processes } }) => ({
    shell: (interpreter) => {
      const words: Readonly<Record<string, string>> = {
        '{python}': shellWord(interpreter),
        '{script}': shellWord(script),
        '{processes}': `${processes ?? 1}`,
      }
      return (command ?? '').replaceAll(/\{(?:python|script|processes)\}/g, (name) => words[name] ?? name)
    },
  }),
}

/** Address of Ray's dashboard, unless the config says otherwise. */
const usualRayAddress = 'http://127.0.0.1:8265'
export const rayAddress = ({ address }: EngineConfig): string => address ?? usualRayAddress

/** Arguments of ray_submit.py that select the cluster; `settings`: a copy of `engine.runtimeEnv`. */
export const rayWords = (engine: EngineConfig, settings: string | null): readonly string[] => [
  ...['--address', rayAddress(engine), '--patience', `${engine.patienceSeconds}`],
  ...(settings === null ? [] : ['--runtime-env', settings]),
]

/** Returns the way in which the trainer's messages come back. */
export const resultsOf = ({ results, launcher }: EngineConfig): ResultWay =>
  results ?? (launcher === 'ray' ? 'output' : 'folder')

const shellWord = (word: string): string =>
  process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", `'\\''`)}'`

/** Returns the interpreter of the trainer; null: the usual one. */
export const engineInterpreter = ({ engine, python }: EnginedConfig): string | null =>
  engine.python ?? python.interpreter

/** Returns the number of processes asked for; null: only the command knows. Errors: as `processesOfFile`. */
export function askedProcesses({ launcher, processes, accelerateConfig }: EngineConfig): number | null {
  if (launcher === 'command') return processes
  if (launcher !== 'accelerate' || accelerateConfig === null) return processes ?? 1
  return processesOfFile(accelerateConfig, processes)
}

const accelerateFile = z.looseObject({
  num_processes: z.int().default(1),
  num_machines: z.int().default(1),
  // NO without quotation marks is false there.
  distributed_type: z
    .string()
    .or(z.literal(false))
    .transform((type) => type || 'NO')
    .default('NO'),
  use_cpu: z.boolean().default(false),
  mpirun_config: z.unknown().optional(),
})
export type AccelerateFile = z.output<typeof accelerateFile>

/** Types of training that split a model among processes. */
export const splittingTypes: readonly string[] = ['DEEPSPEED', 'FSDP', 'MEGATRON_LM']

/** Reads a config of accelerate; null for any other file. Errors: AppError 'file/unreadable'. */
export const readAccelerateFile = (file: string): AccelerateFile | null =>
  accelerateFileOf(Buffer.from(readSmallFile(file, 1 << 20)).toString('utf8'))

/** Parses the text of such a file; null where it is not one. */
export function accelerateFileOf(text: string): AccelerateFile | null {
  try {
    return accelerateFile.safeParse(parseYaml(text, { ...pythonYaml, maxAliasCount: 100 })).data ?? null
  } catch (error) {
    if (error instanceof YamlFault) return null
    throw error
  }
}

/**
 * Reads the number of processes from a file of accelerate. Errors: AppError 'file/unreadable'; ConfigError for a file
 * that is not one of accelerate's, or that starts fewer than it says.
 */
function processesOfFile(file: string, processes: number | null): number {
  const refused = (problem: string, hint: string) =>
    new ConfigError([conflict('engine.accelerateConfig', `${path.basename(file)} ${problem}`)], hint)
  const data = readAccelerateFile(file)
  if (data === null)
    throw refused('is no config of accelerate.', 'Write one with: accelerate config --config_file FILE')
  const count = processes ?? data.num_processes
  const isOnCpu = data.distributed_type === 'MULTI_CPU' || data.use_cpu
  if (count === 1 || !isOnCpu || data.mpirun_config !== undefined) return count
  throw refused(
    `asks for ${count} processes on CPUs, of which accelerate starts only one.`,
    'Set `engine.launcher` to python, or set distributed_type to MULTI_GPU and use_cpu to false in the file: accelerate then starts them on CPUs too.',
  )
}
