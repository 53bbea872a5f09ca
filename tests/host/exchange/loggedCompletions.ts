/** What another tool logged of a project's completions, and what our own scoring says of the same. */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { parseRunConfig } from '#shared/runConfig.ts'
import { scoreRewards } from '#rl/rollout/trajectoryRewards.ts'
import type { Reward } from '#rl/rollout/trajectory.ts'
import { resolveRewards } from '#host/code/resolveRewards.ts'

export interface Logged {
  readonly step: number
  readonly prompt: string
  readonly completion: string
  /** By name of the part, or `total`; NaN where it says nothing. */
  readonly rewards: Readonly<Record<string, number>>
}

interface Row {
  readonly prompt: string | readonly { readonly content: string }[]
  readonly prompt_text: string
  readonly row: string
}

const textOf = (value: unknown): string =>
  Array.isArray(value)
    ? (value as { content: string }[]).map(({ content }) => content).join('')
    : String(value)

const jsonLines = (file: string): unknown[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)

/** TRL's files of completions, in the order of the steps. */
export async function trlCompletions(project: string): Promise<Logged[]> {
  const files = globSync('trl/output/completions/*.parquet', { cwd: project }).sort()
  const tables = await Promise.all(
    files.map(async (name) =>
      parquetReadObjects({ file: await asyncBufferFromFile(path.join(project, name)) }),
    ),
  )
  return tables.flat().map(({ step, prompt, completion, advantage: _, ...parts }) => ({
    step: Number(step),
    prompt: textOf(prompt),
    completion: textOf(completion),
    rewards: Object.fromEntries(
      Object.entries(parts).map(([name, value]) => [name, Number(value ?? Number.NaN)]),
    ),
  }))
}

/** AgileRL's, whose prompts are decoded without markup. */
export function agilerlCompletions(project: string): Logged[] {
  const lines = jsonLines(path.join(project, 'agilerl/output/completions.jsonl'))
  return (lines as { step: number; prompt: string; completion: string; reward: number }[]).map(
    ({ step, prompt, completion, reward }) => ({ step, prompt, completion, rewards: { total: reward } }),
  )
}

/** Our scoring of the same completions, in order, by the run's own config. */
export async function ownScores(project: string, logged: readonly Logged[]): Promise<Reward[]> {
  const config = parseRunConfig(JSON.parse(readFileSync(path.join(project, 'run.json'), 'utf8')))
  const rows = [...jsonLines(path.join(project, 'data/train.jsonl'))] as Row[]
  const byPrompt = new Map(rows.map((row) => [textOf(row.prompt), row]))
  await using rewards = await resolveRewards(config, project)
  const inputs = logged.map(({ prompt, completion, step }) => {
    const row = byPrompt.get(prompt)
    if (row === undefined) throw new Error(`No row has the prompt ${prompt}.`)
    return { prompt: row.prompt_text, completion, row: JSON.parse(row.row) as Record<string, unknown>, step }
  })
  return await scoreRewards(rewards.specs, inputs, 'fail')
}
