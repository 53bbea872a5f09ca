/**
 * Reads a run config from a file, checks it and makes its paths absolute. A config is parsed where it enters the host, here, and
 * once more in the training process (training/entry.ts).
 */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { codeReference } from '#shared/config/codeReference.ts'
import { invalidData } from '#shared/errors.ts'
import { judgeFunction, type GivenJudgeSettings } from '#shared/config/judge.ts'
import { blaming } from '#shared/config/blame.ts'
import { parseRunConfig, stagesOf, type RunConfig } from '#shared/runConfig.ts'
import { algorithmById, type AlgorithmById } from '#rl/algorithms/registry.ts'
import { requireFitting } from '#rl/training/conflicts.ts'
import { formatNamed } from '#host/data/table.ts'
import { withContinuedAdapter } from '#host/adapters/continuedAdapter.ts'
import { resolveAlgorithms } from '#host/code/resolveAlgorithms.ts'
import { namedDataSet } from '#host/data/dataSetLibrary.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { requireKeys } from '#host/consents/keys.ts'
import { programAt } from '#host/python/consent.ts'
import { findModel } from '#host/models/modelLibrary.ts'
import { openingTeacher } from '#host/models/teacher.ts'
import { absoluteReward, keysOfConfig } from '#host/code/rewardCode.ts'
import { namedPlace } from '#host/files/ownFiles.ts'
import {
  requireKnownEnvironment,
  requireWorkingEnvironment,
  withAbsoluteCorpus,
} from '#host/code/resolveEnvironment.ts'
import { requireAllowedEngine } from '#host/engines/engineCode.ts'
import { requireFittingEngine } from '#host/engines/fitting.ts'
import { requireBuiltIn, requireKnownRewards } from '#host/code/resolveRewards.ts'
import { requireWorkflowFile, requireWorkingWorkflows } from '#host/code/resolveWorkflow.ts'
import { readJsonObject } from '#host/files/strictJson.ts'

/** Paths in the file are relative to it; `model` may also be the name of a model, and rows that of a data set. Errors: AppError 'config/invalid'. */
export function readRunConfig(file: string, dataDirectory: string): RunConfig {
  const given = readJsonObject(file, 'config/invalid')
  const config = parseRunConfig(given)
  requireKnownParts(config)
  return withContinuedAdapter(given, withAbsolutePaths(config, path.dirname(file), dataDirectory))
}

/** A config given as data: checked with its reward code, paths absolute. Errors: AppError 'config/invalid', 'sandbox/failed'. */
export const resolveRunConfig = async (given: unknown, dataDirectory: string): Promise<RunConfig> =>
  (await resolveWithAlgorithms(given, dataDirectory)).config

/** The same with the algorithms of its stages. */
export async function resolveWithAlgorithms(
  given: unknown,
  dataDirectory: string,
): Promise<{ readonly config: RunConfig; readonly algorithmById: AlgorithmById }> {
  const config = parseRunConfig(given)
  requireKnownParts(config)
  const resolved = withContinuedAdapter(given, withAbsolutePaths(config, dataDirectory, dataDirectory))
  return { config: resolved, algorithmById: await requireWorkingCode(resolved, dataDirectory) }
}

/** Code of rewards, environment, workflows and losses loads, takes its settings and fits. Returns the algorithms. Errors: AppError 'config/invalid', 'sandbox/failed', 'python/not-allowed', 'key/not-allowed', 'loss/failed'. */
export async function requireWorkingCode(config: RunConfig, dataDirectory: string): Promise<AlgorithmById> {
  const consents = consentsFile(dataDirectory)
  requireKeys(keysOfConfig(config, null), consents)
  await requireKnownRewards(config, consents)
  await requireWorkingEnvironment(config, dataDirectory)
  await requireWorkingWorkflows(config)
  requireAllowedEngine(config, consents)
  await using algorithms = await resolveAlgorithms(config, null)
  requireFittingAlgorithms(config, algorithms.byId)
  return algorithms.byId
}

/**
 * Refuses data that is not a local file. Errors: AppError 'data/invalid' for a data set of a hub, or a path with a
 * variable of the shell.
 */
function requireOwnFile(given: string): void {
  if (/\$\w|\$\{/.test(given))
    throw invalidData(
      `The data “${given}” has a variable of the shell in it, which is not replaced here.`,
      'Write the path out.',
    )
  if (/^[\w.-]+\/[\w.-]+$/.test(given) && formatNamed(given) === undefined)
    throw invalidData(`There is no file ${given}; it looks like a data set on a hub.`, {
      text: 'Import it in Data, and choose it by its name.',
      command: `\`turnwise dataset import ${given}\` fetches it; \`data.train\` is then its name.`,
    })
}

/**
 * Resolves relative paths against `base`; names of models and data sets become paths too. Errors: AppError
 * 'config/invalid'; as `namedPlace`.
 */
export function withAbsolutePaths(config: RunConfig, base: string, dataDirectory: string): RunConfig {
  const absolute = (given: string) => path.resolve(base, given)
  const rowsAt = (given: string) => {
    const file = namedPlace(given, base)
    if (existsSync(file)) return file
    const named = namedDataSet(given, dataDirectory)
    if (named === null) requireOwnFile(given)
    return named ?? file
  }
  const rowsOf = <Rows>(rows: Rows) => (typeof rows === 'string' ? rowsAt(rows) : rows)
  const modelAt = (given: string) =>
    existsSync(absolute(given)) ? absolute(given) : findModel(given, dataDirectory)
  const orNull = (given: string | null) => (given === null ? null : absolute(given))
  const { adapter, reference, data, rewards, environment, python, engine, rollout, stages } = config
  return {
    ...config,
    model: modelAt(config.model),
    algorithm: { ...config.algorithm, id: absoluteReward(config.algorithm.id, base) },
    adapter: { ...adapter, initial: orNull(adapter.initial) },
    reference: withReferenceAt(reference, { absolute, modelAt }),
    rewards: rewards.map((reward) =>
      reward.function === judgeFunction
        ? { ...reward, settings: withJudgeAt(reward.settings, { modelAt, absolute }) }
        : { ...reward, function: absoluteReward(reward.function, base) },
    ),
    environment:
      environment &&
      withAbsoluteCorpus({ ...environment, function: absoluteReward(environment.function, base) }, base),
    python: { ...python, interpreter: python.interpreter && programAt(python.interpreter, base) },
    engine: {
      ...engine,
      python: engine.python && programAt(engine.python, base),
      accelerateConfig: orNull(engine.accelerateConfig),
      runtimeEnv: orNull(engine.runtimeEnv),
    },
    rollout: withWorkflowAt(rollout, base),
    data: { ...data, train: rowsOf(data.train), heldOut: rowsOf(data.heldOut) },
    stages: stages.map((stage, i) => ({
      ...stage,
      ...(stage.algorithm?.id === undefined
        ? {}
        : { algorithm: { ...stage.algorithm, id: absoluteReward(stage.algorithm.id, base) } }),
      ...(stage.data === undefined ? {} : { data: withRowsAt(stage.data, rowsOf) }),
      ...(stage.reference === undefined
        ? {}
        : { reference: withReferenceAt(stage.reference, { absolute, modelAt }, i) }),
      ...(stage.rollout === undefined ? {} : { rollout: withWorkflowAt(stage.rollout, base) }),
    })),
  }
}

function withJudgeAt(
  settings: GivenJudgeSettings,
  at: Readonly<Record<'modelAt' | 'absolute', (given: string) => string>>,
): RunConfig['rewards'][number]['settings'] {
  const { model, adapter } = settings
  return {
    ...settings,
    ...(typeof model === 'string' && model !== '' ? { model: at.modelAt(model) } : {}),
    ...(typeof adapter === 'string' && adapter !== '' ? { adapter: at.absolute(adapter) } : {}),
  }
}

function withRowsAt(data: Readonly<Record<string, unknown>>, rowsOf: <Rows>(rows: Rows) => Rows | string) {
  const named = Object.entries(data).map(([key, value]) => [
    key,
    key === 'train' || key === 'heldOut' ? rowsOf(value) : value,
  ])
  return Object.fromEntries(named) as Record<string, unknown>
}

function withWorkflowAt<Rollout extends Readonly<Record<string, unknown>>>(
  rollout: Rollout,
  base: string,
): Rollout {
  const workflow = rollout['workflow'] as RunConfig['rollout']['workflow'] | undefined
  if (!workflow) return rollout
  return { ...rollout, workflow: { ...workflow, function: absoluteReward(workflow.function, base) } }
}

function withReferenceAt<Reference extends Readonly<Record<string, unknown>>>(
  reference: Reference,
  at: Readonly<Record<'modelAt' | 'absolute', (given: string) => string>>,
  stage: number | null = null,
): Reference {
  const { adapter, model } = reference
  const teacherAt = (name: string) =>
    blaming('reference.model', stage, () => openingTeacher(name, () => at.modelAt(name)))
  return {
    ...reference,
    ...(typeof adapter === 'string' ? { adapter: at.absolute(adapter) } : {}),
    ...(typeof model === 'string' ? { model: teacherAt(model) } : {}),
  }
}

/**
 * Checks that algorithm, rewards and environment exist and take their settings: better reported now than after a model
 * was prepared.
 */
export function requireKnownParts(config: RunConfig): void {
  const { rewards, environment } = config
  requireFittingAlgorithms(config, algorithmById, (id) => codeReference(id) === null)
  for (const [i, { rollout }] of stagesOf(config).entries()) {
    const { workflow } = rollout
    const stage = config.stages.length === 0 ? null : i
    if (workflow !== null) blaming('rollout.workflow', stage, () => requireWorkflowFile(workflow))
  }
  for (const [i, reward] of rewards.entries()) {
    if (codeReference(reward.function) !== null) continue
    blaming(`rewards[${i}]`, null, () => requireBuiltIn(reward, `rewards[${i}]`))
  }
  if (environment !== null) blaming('environment', null, () => requireKnownEnvironment(environment))
  requireFittingEngine(config)
}

/** The settings of a written loss are known when it was loaded. */
function requireFittingAlgorithms(
  config: RunConfig,
  byId: AlgorithmById,
  isLoaded: (id: string) => boolean = () => true,
): void {
  for (const [i, own] of stagesOf(config).entries()) {
    const { id, settings } = own.algorithm
    if (!isLoaded(id)) continue
    const stage = config.stages.length === 0 ? null : i
    const algorithm = blaming('algorithm.id', stage, () => byId(id).configure(settings))
    requireFitting(own, algorithm, null, { stage })
  }
}
