/** Rewards of a project: Turnwise's own code as plain JavaScript behind a bridge, and its scores of some completions. */
import { mkdtempSync, rmSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { rewardName, type RunConfig } from '#shared/runConfig.ts'
import type { RewardInput, RewardSpec } from '#rl/rewards.ts'
import { scoreRewards } from '#rl/rollout/trajectoryRewards.ts'
import { requireSandboxed } from '#host/code/rewardCode.ts'
import { resolveRewards, scoringCode } from '#host/code/resolveRewards.ts'
import type { CodeSource } from '#host/sandbox/sandbox.ts'
import { answerLimits } from '#host/sandbox/harness.ts'
import { wasmFile } from '#host/sandbox/wasmFile.ts'
import { loadMs } from '#host/processes/limits.ts'
import type { ProjectData } from './projectData.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import type { ExportedConfig } from '../exportConfig.ts'

export interface RewardFiles {
  readonly files: ProjectFiles
  /** Names and weights, in the order of the run. */
  readonly parts: readonly Pick<RewardSpec, 'name' | 'weight'>[]
  readonly fixtures: number
}

/** Rows that fixtures are made for. */
const fixtureRows = 16

/** Errors: AppError 'config/invalid', 'sandbox/failed', 'reward/failed', 'file/…'. */
export async function rewardFiles(
  run: RunConfig,
  data: ProjectData,
  runDirectory: string | null,
): Promise<RewardFiles> {
  const scratch = mkdtempSync(path.join(tmpdir(), 'turnwise-project-'))
  const directory = runDirectory ?? scratch
  try {
    const code = sandboxedCode(run, directory)
    await using rewards = await resolveRewards(run, directory)
    const samples = fixtureSamples(data)
    const policy = run.rewardFailures === 'fail' ? 'null' : run.rewardFailures
    const scores = await scoreRewards(rewards.specs, samples, policy)
    const fixtures = samples.map((sample, i) => ({
      sample: { ...sample, row: JSON.stringify(sample.row) },
      parts: scores[i]?.parts ?? {},
      total: scores[i]?.total ?? null,
    }))
    // A completion that fails under the policy "fail" would end the test as it would end the run.
    const usable =
      run.rewardFailures === 'fail' ? fixtures.filter((_, i) => scores[i]?.failures.length === 0) : fixtures
    return {
      files: filesOf(run, rewards.specs, code, usable),
      parts: rewards.specs.map(({ name, weight }) => ({ name, weight })),
      fixtures: usable.length,
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** null for built-ins that run outside the sandbox. Errors: AppError 'config/invalid' for Python. */
const sandboxedCode = (run: RunConfig, directory: string): (CodeSource | null)[] =>
  run.rewards.map((_, i) => {
    const own = scoringCode(run, i, directory)
    return own && requireSandboxed(own, 'A reward that goes with a project')
  })

function filesOf(
  run: RunConfig,
  specs: readonly RewardSpec[],
  code: readonly (CodeSource | null)[],
  fixtures: readonly unknown[],
): ProjectFiles {
  const codeFiles = code.flatMap((each, i) =>
    each === null
      ? []
      : [[codeName(i), each.language === 'ts' ? stripTypeScriptTypes(each.code) : each.code] as const],
  )
  const bridge = ['bridge.mjs', 'bridge.py', 'test_bridge.py', 'builtIns.mjs', 'machine.mjs']
  const settings = {
    failurePolicy: run.rewardFailures,
    callMs: run.rewardLimits.callMs,
    limits: { memoryMb: run.rewardLimits.memoryMb, answerCharacters: answerLimits.characters, loadMs },
    rewards: entriesOf(run, specs, code),
  }
  return {
    ...Object.fromEntries(bridge.map((name) => [`rewards/${name}`, projectResource(`rewards/${name}`)])),
    'rewards/rewards.json': `${JSON.stringify(settings, null, 2)}\n`,
    'rewards/fixtures.jsonl': fixtures.map((fixture) => `${JSON.stringify(fixture)}\n`).join(''),
    // machine.mjs loads it where there is code to run.
    ...(codeFiles.length === 0 ? {} : { 'rewards/quickjs.wasm': readFileSync(wasmFile()) }),
    ...Object.fromEntries(codeFiles.map(([name, text]) => [`rewards/${name}`, text])),
  }
}

const codeName = (index: number): string => `code/reward${index + 1}.mjs`

/** One entry per named part, in the order of the run; a file may hold several functions, each with its name behind the entry's. */
function entriesOf(run: RunConfig, specs: readonly RewardSpec[], code: readonly (CodeSource | null)[]) {
  return run.rewards.flatMap((entry, i) => {
    const named = rewardName(entry)
    const own = specs.filter(({ name, function: { id } }) => name === named || name === `${named}.${id}`)
    return own.map(({ name, weight, function: { id } }) => ({
      name,
      weight,
      ...(code[i] === null ? { builtIn: entry.function } : { code: codeName(i), function: id }),
      settings: entry.settings,
    }))
  })
}

/** Completions that reward code commonly tells apart: what stands in the row, alone and in words, and what does not. */
function fixtureSamples(data: ProjectData): RewardInput[] {
  const rows = [...data.heldOut, ...data.train].slice(0, fixtureRows)
  return rows.flatMap(({ prompt_text: prompt, row: json }, step) => {
    const row = JSON.parse(json) as Record<string, unknown>
    const texts = Object.values(row)
      .filter((value) => typeof value === 'string' || typeof value === 'number')
      .map(String)
    const answers = texts.flatMap((text) => [
      text,
      ` ${text}\n`,
      `The answer is ${text}.`,
      `<think>é</think><answer>${text}</answer>`,
    ])
    return [...new Set(['', ...answers, 'no \u2028 idea 🙂', '7 7 7'.repeat(40)])].map((completion) => ({
      prompt,
      completion,
      row,
      step,
    }))
  })
}

// Parts of the files of a project.

/** A file's path in the project and its content. */
export type ProjectFiles = Readonly<Record<string, string | Uint8Array>>

export interface ProjectParts {
  readonly run: RunConfig
  readonly data: ProjectData
  readonly exported: ExportedConfig
  /** Names and weights, in the order of the run. */
  readonly rewards: readonly Pick<RewardSpec, 'name' | 'weight'>[]
  readonly hasAdapter: boolean
}

/** A file that comes with the program. */
export const projectResource = (name: string): string =>
  readFileSync(path.join(resourcesDirectory, 'projects', ...name.split('/')), 'utf8')
