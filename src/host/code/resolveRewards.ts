/**
 * Resolves a run's config to reward functions. Built-ins run in the training process, user code in sandboxes or, where
 * it is Python, in a process that the person allowed; judges are in host/judges. Reading guide of this folder:
 *
 *   resolveRewards.ts  (here) what a run scores with; rewardCode.ts is where its code lies
 *   dryRun.ts          code on rows and completions, before anything is trained
 *   testCases.ts       examples kept with the code, run after every change
 *   rewardVersions.ts  the library
 *
 * `jobs/rewardTrials.ts` tries code on rows of a data set, `api/rewardsService.ts` offers ready-made rewards to start from.
 */
import { codeReference } from '#shared/config/codeReference.ts'
import { judgeDescription, judgeFunction, parseJudge, type GivenJudgeSettings } from '#shared/config/judge.ts'
import { invalidConfig } from '#shared/errors.ts'
import { rewardName, type RunConfig } from '#shared/runConfig.ts'
import { builtInCode, builtInReward } from '#rl/environments/registry.ts'
import type { RewardFunction, RewardSpec } from '#rl/rewards.ts'
import { type PythonCode, pythonOptions } from '#host/python/pythonCode.ts'
import { type Sandbox } from '#host/sandbox/sandbox.ts'
import { chosenFunctions, sandboxedReward } from '#host/sandbox/scoringCode.ts'
import { type CodeOptions, openCode, readRewardCode, runRewardCode, type UserCode } from './rewardCode.ts'

export interface ResolvedRewards extends AsyncDisposable {
  readonly specs: readonly RewardSpec[]
}

/** Opens the judge that a run calls `name`. Errors: AppError 'config/invalid', 'reward/failed', 'file/…'. */
export type OpenJudge = (name: string, settings: GivenJudgeSettings) => RewardFunction

export interface RewardsPlace {
  /** Path of this machine's consents to Python; absent: no Python runs. */
  readonly consents?: string | null | undefined
  /** Absent: nothing will be scored, so judges are checked but not opened. */
  readonly openJudge?: OpenJudge
}

/**
 * The reward functions of a run, with the code in its folder. Errors: AppError 'config/invalid' for what is not there,
 * 'sandbox/failed' for code that does not load, 'python/not-allowed', 'file/…'; those of opening judges.
 */
export async function resolveRewards(
  config: RewardsConfig,
  runDirectory: string,
  { consents = null, openJudge = closedJudge }: RewardsPlace = {},
): Promise<ResolvedRewards> {
  const sandboxes = new Map<string, Promise<Sandbox | PythonCode>>()
  const open = (source: UserCode): Promise<Sandbox | PythonCode> => {
    const key = `${source.language} ${source.code}`
    const sandbox = sandboxes.get(key) ?? openCode(source, codeOptions(config, consents))
    sandboxes.set(key, sandbox)
    return sandbox
  }
  const close = async () => {
    for (const sandbox of await Promise.allSettled(sandboxes.values())) {
      if (sandbox.status === 'fulfilled') await sandbox.value[Symbol.asyncDispose]()
    }
  }
  try {
    const specs: RewardSpec[] = []
    for (const [i, entry] of config.rewards.entries()) {
      const code = scoringCode(config, i, runDirectory)
      specs.push(...(code === null ? [builtInSpec(entry, openJudge)] : specsOf(entry, await open(code))))
    }
    requireDistinct(specs)
    return { specs, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Reads the code that scores a run's reward entry: the run's own, or that of a built-in which runs in the sandbox; null for other
 * built-ins. Errors: AppError 'config/invalid', 'file/…'.
 */
export function scoringCode(
  config: Pick<RunConfig, 'rewards'>,
  index: number,
  runDirectory: string,
): UserCode | null {
  const own = runRewardCode(config, index, runDirectory)
  const { function: id = '', settings = {} } = config.rewards[index] ?? {}
  const code = own === null ? builtInCode(id) : null
  if (code === null) return own
  builtInReward(id, settings)
  return { code, language: 'js', file: id }
}

/** Config fields that determine how completions are scored. */
export interface RewardsConfig extends Pick<RunConfig, 'rewards' | 'rewardLimits' | 'python'> {
  readonly data: Pick<RunConfig['data'], 'prompt'>
}

const codeOptions = (config: Omit<RewardsConfig, 'rewards'>, consents: string | null): CodeOptions => ({
  limits: config.rewardLimits,
  python: pythonOptions(config, consents),
})

type RewardEntry = RunConfig['rewards'][number]

const builtInSpec = (entry: RewardEntry, openJudge: OpenJudge): RewardSpec => ({
  function:
    entry.function === judgeFunction
      ? openJudge(rewardName(entry), entry.settings)
      : builtInReward(entry.function, entry.settings),
  weight: entry.weight,
  name: rewardName(entry),
})

const closedJudge: OpenJudge = (name, settings) => {
  parseJudge(settings, name)
  return {
    id: judgeFunction,
    description: judgeDescription,
    score: () => {
      throw new Error('Expected a judge that was opened.')
    },
  }
}

/** Checks that a built-in reward function accepts its settings. Errors: AppError 'config/invalid'. */
export function requireBuiltIn({ function: id, settings }: RewardEntry, path: string): void {
  if (id === judgeFunction) parseJudge(settings, `${path}.settings`)
  else builtInReward(id, settings)
}

/** Returns a spec for each function of an entry: a single one keeps the entry's name, several append their own to it. */
function specsOf(entry: RewardEntry, sandbox: Sandbox | PythonCode): RewardSpec[] {
  const name = rewardName(entry)
  const chosen = chosenFunctions(sandbox, codeReference(entry.function)?.name ?? null)
  return chosen.map((each) => ({
    function: sandboxedReward(sandbox, each, entry.settings),
    weight: entry.weight,
    name: chosen.length === 1 ? name : `${name}.${each}`,
  }))
}

function requireDistinct(specs: readonly RewardSpec[]): void {
  const names = specs.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice === undefined) return
  throw invalidConfig(`rewards: two rewards are called “${twice}”.`, 'Give one of them a `name`.')
}

/**
 * Checks, before a run is created, that every entry exists and accepts its settings, code included. Errors: as
 * `resolveRewards`.
 */
export async function requireKnownRewards(
  config: RewardsConfig,
  consents: string | null = null,
): Promise<void> {
  for (const [i, entry] of config.rewards.entries()) {
    const reference = codeReference(entry.function)
    if (reference === null) requireBuiltIn(entry, `rewards[${i}]`)
    else {
      await using sandbox = await openCode(readRewardCode(reference), codeOptions(config, consents))
      specsOf(entry, sandbox)
    }
  }
}
