/** Reward code on disk: which config entries refer to code, where it is, and a run's own copy of it. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { AppError } from '#shared/errors.ts'
import { rewardName, type RunConfig } from '#shared/runConfig.ts'
import { makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { readError } from '#host/files/fileErrors.ts'
import type { CodeSource } from '../sandbox/sandbox.ts'

type RewardEntry = RunConfig['rewards'][number]

const codeForm = /^(?<file>.*\.[cm]?(?<language>[jt])s)(?:#(?<name>.+))?$/s

export interface CodeReference {
  readonly file: string
  readonly language: CodeSource['language']
  /** One of its functions; null: its default, else all. */
  readonly name: string | null
}

/** null for the id of a built-in. */
export function codeReference(id: string): CodeReference | null {
  const { file, language, name } = codeForm.exec(id)?.groups ?? {}
  if (file === undefined) return null
  return { file, language: language === 't' ? 'ts' : 'js', name: name ?? null }
}

/** A relative path in a config is relative to the config. */
export function absoluteReward(id: string, base: string): string {
  const code = codeReference(id)
  if (code === null) return id
  return path.resolve(base, code.file) + (code.name === null ? '' : `#${code.name}`)
}

export interface RewardCode extends CodeSource {
  readonly file: string
}

/** Reads code as it is on disk now. Errors: AppError 'file/unreadable'. */
export function readRewardCode({ file, language }: Pick<CodeReference, 'file' | 'language'>): RewardCode {
  try {
    return { code: readFileSync(file, 'utf8'), language, file }
  } catch (error) {
    throw readError(file, error)
  }
}

/**
 * The code of a run's reward entry. A run reads the file once and then its own copy in `rewards/`, so that it goes on as
 * it began when the file has changed. null for a built-in. Errors: AppError 'file/unreadable' or 'file/unwritable'.
 */
export function runRewardCode(
  config: Pick<RunConfig, 'rewards'>,
  index: number,
  runDirectory: string,
): RewardCode | null {
  const entry = config.rewards[index]
  return entry === undefined ? null : runCode(entry.function, `${index}-${safeName(entry)}`, runDirectory)
}

/** The same of its environment. */
export function runEnvironmentCode(
  entry: NonNullable<RunConfig['environment']>,
  runDirectory: string,
): RewardCode | null {
  return runCode(entry.function, 'environment', runDirectory)
}

/** The same of a loss that a stage learns with. */
export function runAlgorithmCode(id: string, runDirectory: string): RewardCode {
  const name = path.basename(id).replaceAll(/[^\w-]/g, '_')
  const code = runCode(id, `loss-${name}-${crc32(id).toString(16)}`, runDirectory)
  if (code === null) throw new Error(`Expected a file of code, got “${id}”.`)
  return code
}

/** The same of the workflow of a stage. Errors: AppError 'config/invalid' where that is no file of code. */
export function runWorkflowCode(
  entry: NonNullable<RunConfig['rollout']['workflow']>,
  runDirectory: string,
  stage: number,
): RewardCode {
  const code = runCode(entry.function, stage === 0 ? 'workflow' : `workflow-${stage}`, runDirectory)
  if (code !== null) return code
  throw new AppError('config/invalid', `“${entry.function}” is not the path of a .ts or .js file.`)
}

function runCode(id: string, copyName: string, runDirectory: string): RewardCode | null {
  const reference = codeReference(id)
  if (reference === null) return null
  const folder = path.join(runDirectory, 'rewards')
  const copy = path.join(folder, `${copyName}.${reference.language}`)
  if (existsSync(copy)) return readRewardCode({ file: copy, language: reference.language })
  const { code } = readRewardCode(reference)
  makeFolder(folder)
  writeFileAtomic(copy, code)
  return { code, language: reference.language, file: copy }
}

const safeName = (entry: RewardEntry): string => rewardName(entry).replaceAll(/[^\w.-]/g, '_')
