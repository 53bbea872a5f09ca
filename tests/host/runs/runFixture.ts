/** Small runs of the starter model for tests of processes, and what of them must not depend on what happened on the way. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ownScript } from '#host/processes/childProcess.ts'
import { readEvents, type LoggedEvent } from '#host/workFolder/eventLog.ts'
import { createRunFolder, runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { dataFolders, resourcesDirectory } from '#host/dataDirectory.ts'
import { jobStarter } from '#host/processes/job.ts'
import { Supervisor, type SupervisorOptions } from '#host/runs/supervisor.ts'
import { startWarmJob } from '../processes/warmJobs.ts'

const inResources = (...names: string[]) => path.join(resourcesDirectory, ...names)

export const starterConfig = {
  model: inResources('starter'),
  data: {
    train: inResources('demo', 'train.jsonl'),
    heldOut: inResources('demo', 'heldout.jsonl'),
    prompt: { messages: [{ role: 'user', content: '{prompt}' }] },
  },
  rewards: [
    { function: 'starter-correct', name: 'correct', weight: 0.8 },
    { function: 'starter-format', name: 'format', weight: 0.2 },
  ],
  adapter: { rank: 2, alpha: 4 },
  algorithm: { id: 'grpo', settings: { klCoefficient: 0.01 } },
  rollout: { promptsPerStep: 2, groupSize: 4, maxNewTokens: 6 },
  optimization: { learningRate: 0.005, minibatchSize: 4, schedule: 'cosine', warmupProportion: 0.1 },
  evaluation: { every: 10, rows: 4 },
  checkpoints: { every: 4, keepLast: 2 },
  shownTrajectories: 2,
  steps: 30,
  seed: 7,
}

export interface Home extends Disposable {
  readonly directory: string
  createRun(config: unknown): RunFolder
  supervise(options?: Partial<SupervisorOptions>): Supervisor
}

/** Each in a process of its own, which follows the plan of killedProcess.ts where there is one. */
export const startKilled = jobStarter(ownScript(path.join(import.meta.dirname, 'killedProcess.ts')))

/** A data directory that is removed again. */
export function createHome(startJob = startWarmJob): Home {
  const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-runs-'))
  return {
    directory,
    createRun: (config) => createRunFolder(directory, config),
    supervise: (options) =>
      new Supervisor({ cacheDirectory: dataFolders(directory).cache, startJob, ...options }),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  }
}

export const historyOf = (run: RunFolder, ...types: string[]): LoggedEvent[] =>
  readEvents(runPaths(run.directory).events, types)

/** What was learned and measured, without how long it took. */
export const learnedBy = (run: RunFolder): unknown[] =>
  historyOf(run, 'step', 'samples', 'evaluation').map(({ at: _, metrics, ...event }) => ({
    ...event,
    metrics: Object.entries(metrics ?? {}).filter(([name]) => !/(^|_)time$|^time\/|per_second$/.test(name)),
  }))

export const stepsOf = (run: RunFolder): unknown[] => historyOf(run, 'step').map(({ step }) => step)

/** Every byte of the tensors in a checkpoint. */
export function tensorsOf(run: RunFolder, step: number): Record<string, string> {
  const folder = path.join(runPaths(run.directory).checkpoints, `step-${String(step).padStart(6, '0')}`)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.safetensors'),
  )
  return Object.fromEntries(
    files.sort().map((name) => [name, readFileSync(path.join(folder, name), 'base64')]),
  )
}

/** Names of all that lies among the checkpoints. */
export const checkpointsOf = (run: RunFolder): string[] =>
  readdirSync(runPaths(run.directory).checkpoints).sort()

/** Resolves when it is so. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await wait(10)
}
