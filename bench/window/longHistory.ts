/** Runs as long as the window must bear, written as run folders; the host takes them in like any other. */
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseRunConfig } from '#shared/runConfig.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { createRunFolder, runPaths, type RunFolder, type TrialRun } from '#host/workFolder/runFolder.ts'
import { CounterStream } from './noise.ts'

const runFile = {
  model: '/models/made-up',
  data: { train: '/data/made-up.jsonl', prompt: { column: 'prompt' } },
  rewards: [{ function: 'exact-match' }],
}

const config = (name: string) => parseRunConfig({ ...runFile, name })

/** What the runs of a study have in common. */
export const studyFile = (name: string, steps: number) => ({ ...runFile, name, steps })

/** Metrics that the run page shows. */
function metricsAt(step: number, steps: number, noise: CounterStream): Readonly<Record<string, number>> {
  const progress = 1 - Math.exp((-4 * step) / steps)
  const reward = 0.2 + 0.6 * progress + 0.1 * noise.next()
  return {
    reward,
    reward_std: 0.3 * (1 - progress) + 0.02 * noise.next(),
    frac_reward_zero_std: 0.2 + 0.3 * progress,
    entropy: 1.2 - 0.8 * progress + 0.05 * noise.next(),
    kl: 0.02 * progress + 0.004 * noise.next(),
    'completions/mean_length': 80 + 40 * progress + 6 * noise.next(),
    loss: 0.01 * noise.next(),
  }
}

export interface MadeRun {
  readonly name: string
  readonly steps: number
  /** The first of `metricsAt`, so many. */
  readonly metrics: number
  /** Samples of each step. */
  readonly samplesPerStep: number
}

const startedAt = 1_700_000_000_000
const stepMs = 2000

export function makeRun(dataDirectory: string, made: MadeRun): RunFolder {
  const run = createRunFolder(dataDirectory, config(made.name))
  writeSteps(run.directory, made, [0, made.steps])
  return run
}

/** Some steps of a trial; those from its second call on follow the first ones. */
export function makeTrial(
  dataDirectory: string,
  {
    name,
    steps,
    from,
    until,
    trial,
  }: { name: string; steps: number; from: number; until: number; trial: TrialRun },
): void {
  const directory = path.join(dataFolders(path.resolve(dataDirectory)).runs, trial.runId)
  if (!existsSync(directory)) createRunFolder(path.resolve(dataDirectory), config(name), { trial })
  writeSteps(directory, { name, steps, metrics: 3, samplesPerStep: 0 }, [from, until])
}

function writeSteps(directory: string, made: MadeRun, [from, until]: readonly [number, number]): void {
  const { name, steps } = made
  const noise = new CounterStream(name)
  const piece: string[] = [line(from, { type: 'status', phase: 'training', step: from, steps })]
  const { events } = runPaths(directory)
  for (let step = from + 1; step <= until; step++) {
    piece.push(...linesOfStep({ ...made, step }, noise))
    if (piece.length > 5000) appendFileSync(events, piece.splice(0).join(''))
  }
  piece.push(line(until, { type: 'status', phase: 'finished', step: until, steps }))
  appendFileSync(events, piece.join(''))
}

/** A run that is only begun; `grow` adds its next steps, as a training process would. */
export function beginRun(dataDirectory: string, name: string, steps: number) {
  const run = createRunFolder(dataDirectory, config(name))
  const noise = new CounterStream(name)
  const { events } = runPaths(run.directory)
  writeFileSync(events, line(0, { type: 'status', phase: 'training', step: 0, steps }))
  let step = 0
  const grow = (count: number) => {
    const lines: string[] = []
    for (const end = Math.min(steps, step + count); step < end;) {
      step += 1
      lines.push(...linesOfStep({ step, steps, metrics: 7, samplesPerStep: 4 }, noise))
    }
    appendFileSync(events, lines.join(''))
  }
  return { run, grow }
}

interface MadeStep extends Omit<MadeRun, 'name'> {
  readonly step: number
}

function linesOfStep({ step, steps, metrics, samplesPerStep }: MadeStep, noise: CounterStream): string[] {
  const values = Object.fromEntries(Object.entries(metricsAt(step, steps, noise)).slice(0, metrics))
  const lines = [line(step, { type: 'step', step, steps, metrics: values })]
  if (samplesPerStep > 0) {
    const samples = Array.from({ length: samplesPerStep }, (_, i) => sample(step, i, noise))
    lines.push(line(step, { type: 'samples', step, source: 'rollout', samples }))
  }
  return lines
}

const groupSize = 8

const sample = (step: number, position: number, noise: CounterStream) => {
  const reward = noise.next() > 0 ? 1 : 0
  const row = Math.floor(position / groupSize)
  return {
    row,
    position,
    prompt: `Please add ${String(step)} and ${String(row)}`,
    completion: `The sum of ${String(step)} and ${String(row)} is ${String(step + row + 1 - reward)}.`,
    reward,
    parts: { 'exact-match': reward },
    advantage: reward - 0.5,
    tokens: 14,
    stopReason: 'stop-id',
  }
}

const line = (step: number, event: object): string =>
  `${JSON.stringify({ at: startedAt + step * stepMs, ...event })}\n`
