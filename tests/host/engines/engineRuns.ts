/** Runs that a trainer in Python trains, in earnest, and what must hold of what it says. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { expect } from 'vitest'
import type { TrajectorySample } from '#shared/events.ts'
import { unpackFloats, unpackInts } from '#shared/packedArray.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import { scoreRewards } from '#rl/rollout/trajectoryRewards.ts'
import { reviewEngine } from '#host/engines/engineCode.ts'
import { jobStarter } from '#host/processes/job.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { allowPython } from '#host/python/consent.ts'
import { resolveRewards } from '#host/code/resolveRewards.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { createHome, historyOf, starterConfig, stepsOf, until } from '../runs/runFixture.ts'

/** Runs of a few tokens in a home of their own, by an engine that is allowed there. */
export function engineRuns(engine: object) {
  const home = createHome()
  const consents = consentsFile(home.directory)
  return {
    home,
    supervise: () => home.supervise({ consents, startJob: jobStarter() }),
    createRun: (changes: object = {}) => {
      const config = parseRunConfig({
        ...starterConfig,
        optimization: { learningRate: 0.005, minibatchSize: 4 },
        rollout: { promptsPerStep: 4, groupSize: 4, maxNewTokens: 6 },
        shownTrajectories: 8,
        engine,
        ...changes,
      })
      allowPython(reviewEngine(config, home.directory), consents)
      return { config, run: home.createRun(config) }
    },
  }
}

/** A run of six steps that was paused after its first and, later, stopped; `paused` is the step it paused at. */
export async function pausedAndStopped(
  { home, supervise, createRun }: ReturnType<typeof engineRuns>,
  changes: object = {},
) {
  const { config, run } = createRun({
    steps: 6,
    evaluation: { every: 0, rows: 4 },
    checkpoints: { every: 3 },
    ...changes,
  })
  const supervisor = supervise()
  const first = supervisor.start(run, { resumeFrom: null })
  await until(() => stepsOf(run).length >= 1)
  supervisor.pause(run.id)
  await until(() => supervisor.status(run.id)?.activity === 'paused')
  const paused = resolveResume(home.directory, run.id).checkpoint?.step ?? 0
  expect(stepsOf(run)).toHaveLength(paused)
  supervisor.unpause(run.id)
  await until(() => stepsOf(run).length > paused)
  await supervisor.stop(run.id)
  expect(await first).toMatchObject({ kind: 'stopped', error: null })
  return { config, run, paused }
}

export const samplesOf = (run: Parameters<typeof historyOf>[0], source: string): TrajectorySample[] =>
  historyOf(run, 'samples')
    .filter((event) => event['source'] === source)
    .flatMap((event) => event['samples'] as TrajectorySample[])

/** Of the trainer that runs in this folder, with this variable. */
export function processesIn(folder: string, variable: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        return (
          readlinkSync(`/proc/${pid}/cwd`) === folder &&
          environment.includes(variable) &&
          words.includes('train.py')
        )
      } catch {
        return false
      }
    })
    .map(Number)
}

export function expectArrays({ arrays, tokens }: TrajectorySample): void {
  const length = unpackInts(arrays?.ids ?? '').length
  expect(unpackFloats(arrays?.logprobs ?? '')).toHaveLength(length - 1)
  expect(unpackFloats(arrays?.actionMask ?? '').reduce((sum, each) => sum + each, 0)).toBe(tokens)
}

/** That the samples earned what our own scoring gives them. */
export async function expectOwnRewards(
  samples: TrajectorySample[],
  config: RunConfig,
  run: { readonly directory: string },
): Promise<void> {
  const { train: trainFile } = config.data
  if (typeof trainFile !== 'string') throw new Error('Expected rows in a file.')
  await using rewards = await resolveRewards(config, run.directory)
  const rows = readFileSync(trainFile, 'utf8').split('\n')
  const own = await scoreRewards(
    rewards.specs,
    samples.map(({ prompt, completion, row }) => ({
      prompt,
      completion,
      step: 0,
      row: JSON.parse(rows[row] ?? '') as Record<string, unknown>,
    })),
    'null',
  )
  expect(samples.map(({ parts, reward }) => ({ parts, total: reward }))).toEqual(
    own.map(({ parts, total }) => ({ parts, total })),
  )
}
