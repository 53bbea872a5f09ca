/** Commands that train. */
import path from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { z } from 'zod'
import { bare } from '#shared/config/fields.ts'
import type { JsonObject } from '#shared/config/paths.ts'
import { AppError, problemSentence, usageError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { shownText } from '#shared/shownText.ts'
import { rolloutSection } from '#shared/config/rollout.ts'
import { parseRunConfig, runConfigSchema, stagesOf, type RunConfig } from '#shared/runConfig.ts'
import type { RunEntry } from '#shared/runs.ts'
import { createHost } from '#host/createHost.ts'
import { readyEnvironment } from '#host/engines/environment.ts'
import { exportPeft } from '#host/models/exportAdapter.ts'
import type { Host } from '#host/host.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { calibrateRun } from '#host/jobs/calibration.ts'
import { readDemoConfig, trainingWords } from '#host/runs/demoConfig.ts'
import {
  readRunConfig,
  requireKnownParts,
  requireWorkingCode,
  withAbsolutePaths,
} from '#host/runs/runConfigFile.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { createFork, createRun, resumePoint } from '#host/runs/runLifecycle.ts'
import { planChanges } from '#host/runs/settingChanges.ts'
import type { StartOptions } from '#host/runs/supervisor.ts'
import { allowScript, allowScriptOfRun, loadScript } from '#host/training/scriptFile.ts'
import { resolveCheckpoint } from '#host/runs/runTarget.ts'
import { verdictOf } from '#host/runs/runVerdict.ts'
import {
  repeated,
  trustConfig,
  trustKeys,
  trustScript,
  whole,
  type CommandContext,
  type Context,
  type OptionsOf,
} from '../command.ts'
import { followCheck, runEstimateLines } from '../checking.ts'
import { evalRewardWords } from '../output.ts'
import { duration } from '../progress.ts'
import { followTraining } from '../training.ts'
import { allowKeysOf, allowRunKeys } from './keys.ts'
import { allowConfig, allowRun } from './python.ts'

export const demo = (context: Context) =>
  new Command('demo')
    .description('Train the starter model on the demo data set, offline')
    .option(
      '--algorithm <NAME>',
      'algorithm to train with (default grpo), or chain: sft, dpo and grpo in one run',
    )
    .option('--steps <N>', 'training steps', whole(1))
    .option('--seed <S>', 'seed of the run', whole(0))
    .action(async (options) => {
      await trainDemo(options, context())
    })

type DemoChanges = OptionsOf<typeof demo>

async function trainDemo(changes: DemoChanges, context: CommandContext): Promise<void> {
  const { output, dataDirectory } = context
  const config = changed(readDemoConfig(dataDirectory, changes.algorithm), changes)
  requireKnownParts(config)
  await using host = createHost({ dataDirectory, servesQueue: false })
  const run = createRun(host, config)
  const { seed } = config
  const trainings = stagesOf(config).map((stage) => stage.algorithm.id)
  output.line(`Training the starter model with ${trainingWords(trainings)}, seed ${seed}. Run ${run.id}`)
  output.line('Task: short exercises (sort, reverse, largest, add, count), answered with the bare result.')
  const outcome = await followTraining({ host, run, resumeFrom: null, streamEvents: false }, context)
  const { rewardBefore, rewardAfter, steps, seconds, checkpoint } = outcome
  if (!outcome.isFinished || checkpoint === null) {
    throw new AppError(
      'run/stopped',
      `The demo was stopped after ${plural(steps, 'step')}.`,
      `To resume: turnwise resume ${run.id}`,
    )
  }
  const { directory: adapterDir } = await exportPeft(checkpoint, runPaths(run.directory).adapter)
  const algorithm = trainings.join('+')
  output.json({ algorithm, seed, steps, rewardBefore, rewardAfter, seconds, adapterDir, runId: run.id })
  output.line(`Eval reward ${evalRewardWords(outcome)} in ${plural(steps, 'step')}, ${duration(seconds)}.`)
  output.line(`Adapter: ${adapterDir}`)
}

/** Applies options; another algorithm starts from its own default settings. */
function changed(
  config: RunConfig,
  { algorithm = config.algorithm.id, steps, seed }: DemoChanges,
): RunConfig {
  if (config.stages.length > 0) return { ...config, seed: seed ?? config.seed }
  return {
    ...config,
    algorithm: algorithm === config.algorithm.id ? config.algorithm : { id: algorithm, settings: {} },
    steps: steps ?? config.steps,
    seed: seed ?? config.seed,
  }
}

export const train = (context: Context) =>
  new Command('train')
    .description('Train a model with the settings in a config file')
    .argument('<CONFIG.json>', 'run config; paths in it are relative to it')
    .option('--check', 'try one step, say what the run will take, and start nothing')
    .option(...trustConfig)
    .option(...trustKeys)
    .addHelpText('after', () =>
      [
        '\nWith --json every event of the run is a line on standard output. Ctrl-C saves a checkpoint.\n',
        ...configHelpLines(),
      ].join('\n'),
    )
    .action((file, options) => trainFile(file, options, context()))

export const collect = (context: Context) =>
  new Command('collect')
    .description(
      'Train a model on what an agent does with it: a program of yours, which talks to the model at an OpenAI-style address and says how well it did',
    )
    .argument('<CONFIG.json>', 'run config; paths in it are relative to it')
    .argument(
      '[COMMAND...]',
      'command of the agent, after --: it is started with the address as its last argument and the key in TURNWISE_KEY, and again if it ends early',
    )
    .option(
      '--port <P>',
      'port of the address; 0 picks any free one (default: as the config says, or 8790)',
      whole(0, maxPort),
    )
    .option(...trustConfig)
    .option(...trustKeys)
    .addHelpText('after', collectHelp)
    .action((file, command, { port, ...options }) =>
      trainFile(file, { ...options, agent: { port, command } }, context()),
    )

const maxPort = 65_535

const collectHelp = `
The agent takes up a session with POST /sessions, which answers with a row of the data set and a base_url. It uses that as the
address of any OpenAI client, as often as it likes, and ends the session with POST /sessions/ID/end and {"reward": 1}, or {}
where the reward functions of the config decide. See the guide: docs/guide/train-an-agent.md`

interface TrainOptions {
  readonly check?: true | undefined
  readonly trustPython?: true | undefined
  readonly trustKeys?: true | undefined
  /** Present: an agent acts in the episodes. */
  readonly agent?: { readonly port: number | undefined; readonly command: readonly string[] }
}

async function trainFile(
  file: string,
  { check, trustPython, trustKeys: trustsKeys, agent }: TrainOptions,
  here: CommandContext,
): Promise<void> {
  const { dataDirectory, output } = here
  const read = readRunConfig(file, dataDirectory)
  const config = agent === undefined ? read : withAgent(read, agent.port)
  if (trustPython === true) allowConfig(config, here)
  if (trustsKeys === true) allowKeysOf(config, here)
  const algorithmById = await requireWorkingCode(config, dataDirectory)
  await readyEnvironment(config, consentsFile(dataDirectory))
  await using host = createHost({ dataDirectory, servesQueue: false })
  const { warnings } = await verdictOf(config, algorithmById, dataDirectory, host.askText)
  for (const warning of warnings) output.note(`Warning: ${problemSentence(warning)}`)
  if (check === true) {
    const estimate = await followCheck((signal) => calibrateRun(host, config, signal), here)
    output.json(estimate)
    for (const line of runEstimateLines(estimate)) output.line(line)
    return
  }
  const run = createRun(host, config)
  output.json({ at: run.createdAt, type: 'run', id: run.id, directory: run.directory })
  output.line(`Run ${run.id}`)
  const command = agent?.command.length === 0 ? undefined : agent?.command
  await trainAndReport(host, run, { ...fromStart, agent: command }, here)
}

function withAgent(config: RunConfig, port: number | undefined): RunConfig {
  const own = config.rollout.agent
  const agent = rolloutSection.parse({ agent: { ...own, ...(port === undefined ? {} : { port }) } }).agent
  return { ...config, rollout: { ...config.rollout, agent } }
}

export const run = (context: Context) =>
  new Command('run')
    .description('Train as a script of your own says; scripts are trusted code and are not sandboxed')
    .argument(
      '<SCRIPT.ts>',
      'module with a run config as `config` and an async generator as `train`; paths are relative to it',
    )
    .option(...trustConfig)
    .option(...trustKeys)
    .action(async (file, { trustPython, trustKeys: trustsKeys }) => {
      const here = context()
      const { dataDirectory, output } = here
      const script = await loadScript(file)
      allowScript({ ...script.reference, real: script.real }, consentsFile(dataDirectory))
      const parsed = parseRunConfig(script.config)
      requireKnownParts(parsed)
      const config = withAbsolutePaths(parsed, path.dirname(path.resolve(file)), dataDirectory)
      if (trustPython === true) allowConfig(config, here)
      if (trustsKeys === true) allowKeysOf(config, here)
      await requireWorkingCode(config, dataDirectory)
      await using host = createHost({ dataDirectory, servesQueue: false })
      const created = createRun(host, config, script.reference)
      output.json({ at: created.createdAt, type: 'run', id: created.id, directory: created.directory })
      output.line(`Run ${created.id}`)
      await trainAndReport(host, created, fromStart, here)
    })

/** Formats one line per config key: path, meaning, default. */
function configHelpLines(): string[] {
  const rows = rowsOf(runConfigSchema, '')
  const width = Math.max(...rows.map(([path]) => path.length))
  return ['Keys of the config:', ...rows.map(([path, meaning]) => `  ${path.padEnd(width)}  ${meaning}`)]
}

function rowsOf(schema: z.ZodType, prefix: string): [string, string][] {
  if (schema instanceof z.ZodUnion)
    return (schema.options as z.ZodType[]).flatMap((alternative) => rowsOf(alternative, prefix))
  if (!(schema instanceof z.ZodObject)) return []
  return Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, own]) => {
    const path = `${prefix}${name}`
    const { inner, isNullable } = bare(own)
    const element = inner instanceof z.ZodArray ? bare(inner.element as z.ZodType).inner : null
    if (element instanceof z.ZodObject) return rowsOf(element, `${path}[].`)
    const below = rowsOf(inner, `${path}.`)
    const isSection = inner instanceof z.ZodObject && !isNullable
    return isSection ? below : [[path, meaningOf(own)], ...below]
  })
}

function meaningOf(schema: z.ZodType): string {
  const { description = '', empty } = schema.meta() ?? {}
  const { default: initial } = bare(schema)
  const isRequired = initial === undefined && !schema.safeParse(undefined).success
  const usual = initial === undefined ? '' : `(${JSON.stringify(initial)})`
  const words = [description, empty === undefined ? '' : `null: ${empty}.`, isRequired ? 'Required.' : usual]
  return words.filter(Boolean).join(' ')
}

const settingToChange = (what: string) =>
  [
    '--set <KEY=VALUE>',
    `${what}, such as optimization.learningRate=1e-4; may be repeated`,
    repeated,
    [] as string[],
  ] as const

export const resume = (context: Context) =>
  new Command('resume')
    .description(
      'Resume a run that was stopped or killed, with changed settings if wanted.\n\nIt continues from the last complete checkpoint, exactly as if the run had never stopped. Changed settings apply from the next step on; values are JSON, or otherwise plain text. With --json every event is a line on standard output.',
    )
    .argument('<RUN>', 'run id, an unambiguous part of it, the folder of a run or of one of its checkpoints')
    .option(...settingToChange('setting to change from the next step on'))
    .option(...trustConfig)
    .option(...trustKeys)
    .option(...trustScript)
    .action(async (target, { set, ...trusted }) => {
      const here = context()
      const { dataDirectory, output } = here
      const { runId, resumeFrom, step, fallBack } = resumePoint(dataDirectory, target)
      if (fallBack !== null) output.note(fallBack)
      await using host = createHost({ dataDirectory, servesQueue: false })
      const run = host.store.runs.get(runId)
      output.json({ at: Date.now(), type: 'run', id: run.id, directory: run.directory })
      if (run.status === 'finished') {
        output.line(`Run ${run.id} is finished; there is nothing to resume.`)
        return
      }
      const plan = set.length === 0 ? null : await planChanges(host, target, changesIn(set))
      for (const warning of plan?.warnings ?? []) output.note(`Warning: ${problemSentence(warning)}`)
      trust(run.directory, trusted, here)
      const origin = resumeFrom === null ? 'the start; it has no checkpoint yet' : `step ${step}`
      output.line(`Resuming run ${run.id} from ${origin}.`)
      await trainAndReport(host, run, { resumeFrom, changes: plan?.changes }, here)
    })

export const fork = (context: Context) =>
  new Command('fork')
    .description(
      'Start a new run from a checkpoint of another, with changed settings.\n\nAdapter, optimizer and position in the data come from the checkpoint. Values are JSON, or otherwise plain text. Paths are relative to the current folder.',
    )
    .argument('<CHECKPOINT>', 'checkpoint folder, or a run, to start from its last complete checkpoint')
    .option(...settingToChange('setting to change'))
    .option(...trustConfig)
    .option(...trustKeys)
    .option(...trustScript)
    .option('--no-start', 'only create the run; start it with turnwise resume')
    .action(async (target, options) => {
      const here = context()
      const { dataDirectory, output } = here
      const chosen = resolveCheckpoint(dataDirectory, target, 'last')
      if (chosen.fallBack !== null) output.note(chosen.fallBack)
      const changes = changesIn(options.set)
      await using host = createHost({ dataDirectory, servesQueue: false })
      const checkpoint = path.resolve(chosen.directory)
      const run = createFork(host, { checkpoint, changes, baseDirectory: process.cwd() })
      output.json({ at: run.createdAt, type: 'run', id: run.id, directory: run.directory })
      output.line(`Run ${run.id}, forked from ${chosen.directory}`)
      trust(run.directory, options, here)
      if (!options.start) return
      await trainAndReport(host, run, fromStart, here)
    })

/** Allows code and keys of a run as far as options trust them. */
function trust(
  runDirectory: string,
  trusted: Readonly<Partial<Record<'trustPython' | 'trustKeys' | 'trustScript', true>>>,
  here: CommandContext,
): void {
  if (trusted.trustPython === true) allowRun(runDirectory, here)
  if (trusted.trustKeys === true) allowRunKeys(runDirectory, here)
  if (trusted.trustScript !== true) return
  const script = allowScriptOfRun(runDirectory, consentsFile(here.dataDirectory))
  if (script !== null) here.output.note(`Trusted  ${shownText(script)}`)
}

const changesIn = (set: readonly string[]): JsonObject => Object.fromEntries(set.map(parseChange))

function parseChange(text: string): [string, unknown] {
  const at = text.indexOf('=')
  if (at < 1) throw usageError(`--set needs KEY=VALUE, got “${text}”.`, 'For example --set steps=200.')
  const value = text.slice(at + 1)
  try {
    return [text.slice(0, at), JSON.parse(value)]
  } catch {
    return [text.slice(0, at), value]
  }
}

const fromStart: StartOptions = { resumeFrom: null }

async function trainAndReport(
  host: Host,
  run: RunEntry,
  start: StartOptions & { readonly agent?: readonly string[] | undefined },
  context: CommandContext,
): Promise<void> {
  const { output } = context
  const outcome = await followTraining({ host, run, ...start, streamEvents: true }, context)
  const { isFinished, steps, rewardBefore, rewardAfter, finding, seconds, checkpoint } = outcome
  if (rewardBefore !== null || rewardAfter !== null)
    output.line(`Eval reward ${evalRewardWords({ rewardBefore, rewardAfter })}`)
  output.line(`${isFinished ? 'Finished' : 'Stopped'} after ${plural(steps, 'step')}, ${duration(seconds)}.`)
  if (checkpoint !== null) output.line(`Checkpoint: ${checkpoint}`)
  if (finding?.severity === 'problem')
    output.line(`${finding.words} What to change: turnwise runs diagnose ${run.id}`)
  if (!isFinished) output.line(`To resume: turnwise resume ${run.id}`)
}
