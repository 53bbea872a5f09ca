/** User code: which config entries refer to code, where it is, a run's own copy of it, and how it is opened. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { codeReference, type CodeReference, isPythonPackage } from '#shared/config/codeReference.ts'
import { keyUsesOf } from '#shared/config/keyUses.ts'
import { type AppError, invalidConfig, type KeyUse } from '#shared/errors.ts'
import { rewardName, type RunConfig } from '#shared/runConfig.ts'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { makeOwnFolder, namedPlace, nameIt, requireInside, requirePart } from '#host/files/ownFiles.ts'
import { readSmallText } from '#host/files/strictJson.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { type PythonReview, type PythonSource, reviewPython } from '#host/python/consent.ts'
import { keysOfServers, type McpSource, reviewServers } from '#host/python/mcpServers.ts'
import { asWritten } from '#host/workFolder/runFolder.ts'
import { openPython, packagedCode, type PythonCode, type PythonOptions } from '#host/python/pythonCode.ts'
import { type CodeSource, openSandbox, type Sandbox, type SandboxLimits } from '#host/sandbox/sandbox.ts'

type RewardEntry = RunConfig['rewards'][number]

/** A relative path in a config is relative to the config. Errors: as `namedPlace`. */
export function absoluteReward(id: string, base: string): string {
  const code = codeReference(id)
  if (code === null || isPythonPackage(id)) return id
  return namedPlace(code.file, base) + (code.name === null ? '' : `#${code.name}`)
}

/** A file in JSON names MCP servers, and can only be an environment. */
export type UserCode = CodeSource | PythonSource | McpSource

/** Reads code as it is on disk now. Errors: AppError 'file/unreadable', also for a link to elsewhere. */
export function readRewardCode({ file, language }: Pick<CodeReference, 'file' | 'language'>): UserCode {
  return { code: packagedCode(file) ?? ownText(file), language, file }
}

function ownText(file: string): string {
  if (existsSync(file)) requirePart(file, undefined, nameIt)
  return readSmallText(file)
}

export interface CodeOptions {
  readonly limits?: Partial<SandboxLimits> | undefined
  /** Absent: no Python runs. */
  readonly python?: PythonOptions
}

/** Opens code in a process of its own. Errors: AppError 'sandbox/failed', 'python/not-allowed'. */
export async function openCode(
  source: UserCode,
  { limits, python }: CodeOptions,
): Promise<Sandbox | PythonCode> {
  return source.language === 'py'
    ? await openPython(source, python ?? notAllowed)
    : await openSandbox(requireSandboxed(source, 'This'), limits)
}

const notAllowed: PythonOptions = {
  interpreter: null,
  callSeconds: 60,
  messages: null,
  form: null,
  consents: null,
}

/** Sandboxed code alone. Errors: AppError 'config/invalid' for Python and MCP servers. */
export function requireSandboxed(source: UserCode, what: string): CodeSource {
  if (source.language !== 'py' && source.language !== 'json') return source
  throw invalidConfig(
    source.language === 'py'
      ? `${what} cannot be written in Python.`
      : `${source.file} is JSON: a file of MCP servers can only be the environment of a run.`,
    'Write it in TypeScript or JavaScript; rewards, environments and data can be Python.',
  )
}

/**
 * The code of a run's reward entry. A run reads the file once and then its own copy in `rewards/`, so that it goes on as
 * it began when the file has changed. null for a built-in. Errors: AppError 'file/unreadable' or 'file/unwritable'.
 */
export function runRewardCode(
  config: Pick<RunConfig, 'rewards'>,
  index: number,
  runDirectory: string,
): UserCode | null {
  const entry = config.rewards[index]
  return entry === undefined ? null : runCode(entry.function, `${index}-${safeName(entry)}`, runDirectory)
}

/** Like `runRewardCode`, but for the environment of a run. */
export function runEnvironmentCode(
  entry: NonNullable<RunConfig['environment']>,
  runDirectory: string,
): UserCode | null {
  return runCode(entry.function, 'environment', runDirectory)
}

/** Like `runRewardCode`, but for a loss that a stage learns with. */
export function runAlgorithmCode(id: string, runDirectory: string): UserCode {
  const name = path.basename(id).replaceAll(/[^\w-]/g, '_')
  const code = runCode(id, `loss-${name}-${crc32(asWritten(id, runDirectory)).toString(16)}`, runDirectory)
  if (code === null) throw new Error(`Expected a file of code, got “${id}”.`)
  return code
}

/** Like `runRewardCode`, but for the workflow of a stage. Errors: AppError 'config/invalid' if it is not a file of code. */
export function runWorkflowCode(
  entry: NonNullable<RunConfig['rollout']['workflow']>,
  runDirectory: string,
  stage: number,
): UserCode {
  const code = runCode(entry.function, workflowCopy(stage), runDirectory)
  if (code !== null) return code
  throw notAFile(entry)
}

const workflowCopy = (stage: number): string => (stage === 0 ? 'workflow' : `workflow-${stage}`)

/** Gives a folder the code that a stage of a run plays by, or that a file has now, as its own. Errors as runWorkflowCode. */
export function takeOverWorkflow(
  entry: NonNullable<RunConfig['rollout']['workflow']>,
  run: { readonly directory: string; readonly stage: number } | null,
  directory: string,
): void {
  const reference = codeReference(entry.function)
  if (reference === null) throw notAFile(entry)
  const source = run === null ? readRewardCode(reference) : runWorkflowCode(entry, run.directory, run.stage)
  writeCopy(source, workflowCopy(0), directory)
}

const notAFile = ({ function: file }: NonNullable<RunConfig['rollout']['workflow']>): AppError =>
  invalidConfig(`“${file}” is not the path of a .ts or .js file.`)

function runCode(id: string, copyName: string, runDirectory: string): UserCode | null {
  const reference = codeReference(id)
  if (reference === null) return null
  const own = copied(reference, copyName, runDirectory)
  if (own !== null) return own
  const source = readRewardCode(reference)
  writeCopy(source, copyName, runDirectory)
  return source
}

/** A run's own copy; null: it has none yet. Errors: AppError 'file/unreadable', also for a link to elsewhere. */
function copied(reference: CodeReference, copyName: string, runDirectory: string): UserCode | null {
  const copy = copyIn(runDirectory, copyName, reference)
  const { language, file } = reference
  // Code of a package is ours, which no folder brings.
  if (!existsSync(copy) || packagedCode(file) !== null) return null
  requireInside(copy, runDirectory)
  return { code: readSmallText(copy), language, file, copy }
}

const copyIn = (directory: string, name: string, { language }: Pick<UserCode, 'language'>): string =>
  path.join(directory, 'rewards', `${name}.${language}`)

function writeCopy(source: UserCode, name: string, directory: string): void {
  const copy = copyIn(directory, name, source)
  makeOwnFolder(path.dirname(copy))
  writeFileAtomic(copy, source.code)
}

/** The Python code and MCP servers of a config, or of a run that has its own copies. Errors: AppError 'file/unreadable', 'file/unwritable'. */
function unconfinedSources(
  { rewards, environment }: Pick<RunConfig, 'rewards' | 'environment'>,
  runDirectory: string | null,
): (PythonSource | McpSource)[] {
  const read = (id: string, copied: (directory: string) => UserCode | null) => {
    const reference = codeReference(id)
    if (reference?.language !== 'py' && reference?.language !== 'json') return []
    const code = runDirectory === null ? readRewardCode(reference) : copied(runDirectory)
    return code?.language === 'py' || code?.language === 'json' ? [code] : []
  }
  return [
    ...rewards.flatMap((entry, i) =>
      read(entry.function, (directory) => runRewardCode({ rewards }, i, directory)),
    ),
    ...(environment === null
      ? []
      : read(environment.function, (directory) => runEnvironmentCode(environment, directory))),
  ]
}

/**
 * Reviews the Python code that a run of this config would execute, and its MCP servers; `runDirectory`: with the copies of that run. Errors:
 * those of `reviewPython`.
 */
export function reviewConfig(
  config: Pick<RunConfig, 'rewards' | 'environment'> & {
    readonly python: Pick<RunConfig['python'], 'interpreter'>
  },
  runDirectory: string | null,
  dataDirectory: string,
): PythonReview[] {
  const consents = consentsFile(dataDirectory)
  return unconfinedSources(config, runDirectory).flatMap((source) =>
    source.language === 'py'
      ? [reviewPython(source, config.python.interpreter, consents)]
      : reviewServers(source, consents),
  )
}

/** Lists the keys that a config sends, those of its MCP servers included. Errors: AppError 'file/…', 'config/invalid'. */
export function keysOfConfig(config: RunConfig, runDirectory: string | null): KeyUse[] {
  const uses = keyUsesOf(config)
  const reference = config.environment && codeReference(config.environment.function)
  if (reference?.language !== 'json') return uses
  const own = runDirectory === null ? null : copied(reference, 'environment', runDirectory)
  const source = own ?? readRewardCode(reference)
  return source.language === 'json' ? [...uses, ...keysOfServers(source)] : uses
}

const safeName = (entry: RewardEntry): string => rewardName(entry).replaceAll(/[^\w.-]/g, '_')
