/** Saved reward code: where a run finds it, and the gates that keep a run from using it. */
import { existsSync, rmSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { codeReference } from '#shared/config/codeReference.ts'
import { AppError, invalidConfig, invalidData } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { entryOf, makeOwnFolder } from '#host/files/ownFiles.ts'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { PromptForm } from '#rl/rollout/prompts.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { programAt } from '#host/python/consent.ts'
import type { DryRunOptions } from './dryRun.ts'
import { absoluteReward, readRewardCode, type UserCode } from './rewardCode.ts'
import { runTestCases, testCaseSchema, type TestCase } from './testCases.ts'
import type { CodeSource } from '#host/sandbox/sandbox.ts'
import type { RewardRecord, RewardVersionRecord } from '#host/store/rewards.ts'
import type { Store } from '#host/store/store.ts'

interface RewardLibrary {
  readonly store: Store
  readonly dataDirectory: string
}

/** The history has the code; the file is for run configs and is written again where it is gone. */
export function withFile(
  { dataDirectory }: Pick<RewardLibrary, 'dataDirectory'>,
  version: RewardVersionRecord,
): RewardVersionRecord & { readonly file: string } {
  const { rewards } = dataFolders(dataDirectory)
  const folder = entryOf(rewards, version.rewardId)
  const file = entryOf(folder, `${version.hash}.${version.language}`)
  if (!existsSync(file)) {
    makeOwnFolder(folder, rewards)
    writeFileAtomic(file, version.code)
  }
  return { ...version, file }
}

/** Errors: AppError 'data/invalid'. */
export function findReward(store: Store, rewardId: string): RewardRecord {
  const found = store.rewards.find(rewardId)
  if (found !== null) return found
  throw invalidData('This reward does not exist.', 'It may have been removed.')
}

export function removeReward({ store, dataDirectory }: RewardLibrary, rewardId: string): void {
  findReward(store, rewardId)
  store.rewards.remove(rewardId)
  rmSync(entryOf(dataFolders(dataDirectory).rewards, rewardId), { recursive: true, force: true })
}

export type GivenCode = CodeSource | { readonly rewardId: string; readonly version: string }

/** Errors: AppError 'data/invalid' where there is no such version. */
export function sourceOf(store: Store, given: GivenCode): CodeSource {
  if ('code' in given) return given
  const found = store.rewards.versions(given.rewardId).find(({ hash }) => hash === given.version)
  if (found !== undefined) return found
  throw invalidData('This version of the reward does not exist.', 'It may have been removed.')
}

/** Python by an entry of a config. */
export interface GivenPython {
  readonly python: string
  readonly interpreter: string | null
}

/**
 * Resolves the code to try, and the options to open it with. Errors: as `sourceOf`; AppError 'config/invalid' if it is
 * not Python, 'file/unreadable'.
 */
export function triedCode(
  { store, dataDirectory }: RewardLibrary,
  given: GivenCode | GivenPython,
  form: PromptForm | null = null,
): { readonly source: UserCode; readonly name: string | null; readonly options: DryRunOptions } {
  if (!('python' in given)) return { source: sourceOf(store, given), name: null, options: {} }
  const reference = codeReference(absoluteReward(given.python, dataDirectory))
  if (reference?.language !== 'py') {
    throw invalidConfig(`“${given.python}” is not Python: it ends in .py, or is the id of a package.`)
  }
  const python = {
    interpreter: given.interpreter && programAt(given.interpreter, dataDirectory),
    callSeconds: 60,
    messages: null,
    form,
    consents: consentsFile(dataDirectory),
  }
  const { name } = reference
  return {
    source: readRewardCode(reference),
    name,
    options: { python, ...(name === null ? {} : { function: name }) },
  }
}

export const testCasesOf = (store: Store, rewardId: string): TestCase[] =>
  z.array(testCaseSchema).parse(store.rewards.testCases(rewardId))

/**
 * Requires that every version that gates the start has passed its test cases. Errors: AppError 'reward/failed' naming
 * the first that has not.
 */
export async function requireGates(
  { store, dataDirectory }: RewardLibrary,
  { rewards }: Pick<RunConfig, 'rewards'>,
): Promise<void> {
  const { rewards: folder } = dataFolders(dataDirectory)
  for (const { function: id } of rewards) {
    const file = codeReference(id)?.file
    if (file === undefined || path.dirname(path.dirname(file)) !== folder) continue
    const versions = store.rewards.versions(path.basename(path.dirname(file)))
    const version = versions.find(({ hash }) => hash === path.parse(file).name)
    if (version?.gatesStart === true) await requirePassed(store, version)
  }
}

async function requirePassed(store: Store, version: RewardVersionRecord): Promise<void> {
  const results = await runTestCases(version, testCasesOf(store, version.rewardId))
  const failed = results.filter(({ isPassed }) => !isPassed)
  const [first] = failed
  if (first === undefined) return
  throw new AppError(
    'reward/failed',
    `No run may start with the reward “${findReward(store, version.rewardId).name}”: ${failed.length} of its ${results.length} test cases fail. ${first.name}: ${first.message}`,
    'Correct the code or the test case, or remove the gate from this version.',
  )
}
