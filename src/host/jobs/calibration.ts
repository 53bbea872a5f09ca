/** Turns a calibration (training/calibrating.ts) into the numbers and warnings on which the user decides. */
import { plural } from '#shared/plural.ts'
import { reasonWords } from '#shared/reasons.ts'
import { statfs } from 'node:fs/promises'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { stagesOf, type RunConfig } from '#shared/runConfig.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { clearLeftovers } from '#host/workFolder/leftovers.ts'
import type { Ask } from '#host/processes/job.ts'
import type { Store } from '#host/store/store.ts'
import { watchCard } from '#host/processes/cardLoad.ts'
import { consentsFile } from '#host/consents/consents.ts'
import {
  calibrationJob,
  calibrationPhases,
  type CalibratedStage,
  type CalibrationReport,
} from './calibrationReport.ts'
import { readThroughput } from '#host/devices/deviceRecords.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { precisionWarnings, roundedBase } from '#host/runs/precisionSpeed.ts'
import { resolveRunConfig } from '#host/runs/runConfigFile.ts'
import { measureMachine } from './throughput.ts'
import { readerOf } from '#rl/training/conflicts.ts'
import type { Supervisor } from '#host/runs/supervisor.ts'
import type { Trials } from '#host/runs/trials.ts'
import { requireGates } from '#host/code/rewardVersions.ts'

type Item = OutputOf<Api, 'runs.calibrate'>
type Calibration = Extract<Item, { readonly result: unknown }>['result']

/** Parts of a host that calibration needs. */
export interface Calibrating {
  readonly dataDirectory: string
  readonly store: Store
  readonly ask: Ask
  readonly trials: Trials
  readonly supervisor: Supervisor
}

export interface Calibrated {
  readonly config: RunConfig
  readonly report: CalibrationReport
  readonly room: Room
  /** Time until the process could begin. */
  readonly startSeconds: number
  /** Memory of the graphics card; null on the CPU, or where the driver does not tell. */
  readonly card: { readonly bytes: number; readonly freeBytes: number } | null
}

/** Errors: as starting a run, and as training. */
export async function* calibrateRun(
  host: Calibrating,
  given: unknown,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  const config = await resolveRunConfig(given, host.dataDirectory)
  for await (const news of calibrated(host, config, signal)) {
    if ('progress' in news) yield news
    else {
      const result = summarizeCalibration(news)
      const slow = yield* measuredPrecision(host, news, signal)
      yield { result: { ...result, warnings: [...result.warnings, ...slow] } }
    }
  }
}

/**
 * Measures how fast this machine is with the base in fewer bits, where that was not done yet and nothing else is
 * training, and warns if an exact one is faster. Errors: as `measureMachine`.
 */
async function* measuredPrecision(
  host: Calibrating,
  { config, report, room }: Calibrated,
  signal: AbortSignal,
): AsyncGenerator<Extract<Item, { readonly progress: unknown }>, string[]> {
  const { kind } = report.device
  const cacheDirectory = dataFolders(host.dataDirectory).cache
  const isKnown = readThroughput({ kind, deviceId: 0 }, cacheDirectory) !== null
  if (roundedBase(config) === null || isKnown || config.device.deviceId !== 0 || room.runs > 0) return []
  const total = report.stages.length * phaseCount
  const phase = 'Comparing with an exact base'
  yield { progress: { phase, done: total, total, unit: 'phases' } }
  for await (const _ of measureMachine({ ask: host.ask, cacheDirectory, signal }, [kind]));
  const { config: model } = openModelFolder(config.model, config)
  return precisionWarnings({ config, model, kind, cacheDirectory }).map(({ message }) => message)
}

/** Calibrates a resolved config; the last item is the result. Errors: AppError 'reward/failed', and as training. */
export async function* calibrated(
  host: Calibrating,
  config: RunConfig,
  signal: AbortSignal,
): AsyncGenerator<Extract<Item, { readonly progress: unknown }> | Calibrated> {
  await requireGates(host, config)
  const availableBytes = process.availableMemory()
  const cacheDirectory = dataFolders(host.dataDirectory).cache
  const consents = consentsFile(host.dataDirectory)
  const { kind } = config.device
  using card = kind === 'cpu' ? null : await watchCard(kind === 'auto' ? 'webgpu' : kind)
  const begin = performance.now()
  let startSeconds: number | null = null
  using _clearing = { [Symbol.dispose]: () => signal.aborted && clearLeftovers(host.dataDirectory) }
  for await (const news of host.ask(calibrationJob, { config, cacheDirectory, consents }, signal)) {
    startSeconds ??= (performance.now() - begin) / 1000
    if ('phase' in news) {
      const { phase, stage, stages } = news
      const done = stage * phaseCount + calibrationPhases.indexOf(phase)
      yield { progress: { phase: phaseWords[phase], done, total: stages * phaseCount, unit: 'phases' } }
    } else {
      const { report } = news
      host.trials.remember(config, report.stages.map(expectedOf))
      const { bavail, bsize } = await statfs(host.dataDirectory)
      const room = { availableBytes, freeBytes: bavail * bsize, runs: host.supervisor.list().length }
      const isCpu = report.device.kind === 'cpu'
      yield { config, report, room, startSeconds, card: isCpu ? null : (card?.used() ?? null) }
    }
  }
}

/** Evaluations and checkpoints vary as steps do. */
function expectedOf({ secondsPerStep: step, secondsPerEvaluation, secondsPerCheckpoint }: CalibratedStage) {
  const ratio = step.high / Math.max(step.expected, Number.EPSILON)
  const ranged = (expected: number) => ({ expected, high: expected * ratio })
  return { step, evaluation: ranged(secondsPerEvaluation), checkpoint: ranged(secondsPerCheckpoint) }
}

const phaseCount = calibrationPhases.length
const phaseWords = {
  loading: 'Loading',
  generating: 'Generating',
  scoring: 'Scoring',
  learning: 'Learning',
} as const

export interface Room {
  /** Memory that could be had before it began. */
  readonly availableBytes: number
  /** Free bytes on the disk of the data directory. */
  readonly freeBytes: number
  /** Being trained meanwhile. */
  readonly runs: number
}

export function summarizeCalibration({
  config,
  report,
  room,
}: Pick<Calibrated, 'config' | 'report' | 'room'>): Calibration {
  const { stages } = report
  const sum = (of: (stage: CalibratedStage) => number) => stages.reduce((all, stage) => all + of(stage), 0)
  const steps = sum((stage) => stage.steps)
  const evaluating = sum((stage) => stage.evaluations * stage.secondsPerEvaluation)
  const evaluations = sum((stage) => stage.evaluations)
  const saved = (stage: CalibratedStage) => checkpointsOf(config, stage.steps)
  const saving = sum((stage) => saved(stage) * stage.secondsPerCheckpoint)
  const checkpoints = sum(saved)
  const eta = (which: 'low' | 'expected' | 'high') =>
    evaluating + saving + sum((stage) => stage.steps * stage.secondsPerStep[which])
  const checkpointBytes = Math.max(...stages.map((stage) => stage.checkpointBytes))
  const neededBytes = neededDisk(config, report)
  const [first] = stages
  return {
    device: report.device,
    memory: { ...report.memory, availableBytes: room.availableBytes },
    seconds: {
      loading: sum(({ seconds }) => seconds.loading),
      generating: sum(({ seconds }) => seconds.generating),
      scoring: sum(({ seconds }) => seconds.scoring),
      learning: sum(({ seconds }) => seconds.learning),
    },
    secondsPerStep: sum((stage) => stage.steps * stage.secondsPerStep.expected) / Math.max(steps, 1),
    secondsPerEvaluation: evaluating / Math.max(evaluations, 1),
    secondsPerCheckpoint: saving / Math.max(checkpoints, 1),
    evaluations,
    checkpoints,
    steps,
    checkpointBytes,
    etaSeconds: { low: eta('low'), expected: eta('expected'), high: eta('high') },
    disk: { neededBytes, freeBytes: room.freeBytes },
    longest: { row: first?.row ?? 0, promptTokens: first?.promptTokens ?? 0 },
    samples: stages.flatMap(({ samples }, stage) =>
      samples.map(({ logged = {}, failures = [], ...sample }) => ({
        ...sample,
        stage,
        logged,
        failures: [...failures],
      })),
    ),
    warnings: [
      ...stages.flatMap((stage, i) => stageWarnings(stage, stages.length > 1 ? `Stage ${i + 1}: ` : '')),
      ...roomWarnings(report, neededBytes, room),
      ...settingWarnings(config),
    ],
  }
}

/** Counts checkpoints: one at every interval of the config, and one at the end. */
const checkpointsOf = ({ checkpoints: { every } }: RunConfig, steps: number): number =>
  1 + (every > 0 ? Math.floor((steps - 1) / every) : 0)

/** Checkpoints that stay, log and history. */
export function neededDisk(config: RunConfig, { stages }: Pick<CalibrationReport, 'stages'>): number {
  const sum = (of: (stage: CalibratedStage) => number) => stages.reduce((all, stage) => all + of(stage), 0)
  const checkpointBytes = Math.max(...stages.map((stage) => stage.checkpointBytes))
  const logs = sum((stage) => stage.steps * stage.logBytesPerStep)
  return Math.round(
    logs +
      keptBytes(
        config,
        sum(({ steps }) => steps),
        checkpointBytes,
      ),
  )
}

/** The newest is written before an older one goes. */
function keptBytes(config: RunConfig, steps: number, checkpointBytes: number): number {
  const { keepLast, keepBest, keepEvery, diskBudgetMb } = config.checkpoints
  const saved = checkpointsOf(config, steps)
  const milestones = keepEvery > 0 ? Math.floor(steps / keepEvery) : 0
  const kept = Math.min(saved, keepLast + keepBest + milestones + 1) * checkpointBytes
  return diskBudgetMb === null ? kept : Math.min(kept, Math.max(diskBudgetMb * 1e6, 2 * checkpointBytes))
}

function stageWarnings({ samples, needsRewards, ...stage }: CalibratedStage, where: string): string[] {
  const isRewarded = samples.some(({ parts }) => Object.keys(parts).length > 0)
  const totals = samples.map(({ reward }) => reward)
  const scored = totals.filter((total) => total !== null)
  const failed = samples.filter(({ failures: own }) => own !== undefined && own.length > 0)
  const failures = failed.flatMap(({ failures: own }) => own ?? [])
  const words = [
    ...when(
      isRewarded && needsRewards && scored.length === 0,
      'No completion has a reward, so nothing would be learned.',
    ),
    ...when(
      needsRewards && scored.length > 1 && scored.every((total) => total === scored[0]),
      `Every completion ${scored.length === totals.length ? '' : 'that has a reward '}earned ${round(scored[0] ?? 0)}: a zero-variance group teaches nothing.`,
    ),
    ...when(
      isRewarded && samples.every(({ stopReason }) => stopReason === 'length'),
      'Every completion was truncated at the length limit: raise `rollout.maxNewTokens`, or ask for shorter answers.',
    ),
    ...when(
      samples.length > 0 && samples.every(({ stopReason }) => stopReason === 'turn-limit'),
      'Every episode reached the turn limit: raise `environment.maxTurns`, or end episodes in the environment with terminated.',
    ),
    ...when(
      failed.length > 0,
      `A reward failed on ${failed.length} of ${plural(samples.length, 'completion')}. ${reasonWords(failures)}`,
    ),
    ...when(
      stage.tooLong > 0,
      `${plural(stage.tooLong, 'row is', 'rows are')} too long for ${readerOf(stage)}’s context together with a completion and left out.`,
    ),
  ]
  return words.map((sentence) => where + sentence)
}

function roomWarnings({ memory }: CalibrationReport, neededBytes: number, room: Room): string[] {
  return [
    ...when(
      memory.expectedBytes > room.availableBytes,
      `A step takes about ${sizeWords(memory.expectedBytes)} of memory, but only ${sizeWords(room.availableBytes)} were free: lower \`optimization.tokenBudget\` or \`rollout.groupSize\`, or set \`optimization.memory\` to recompute.`,
    ),
    ...when(
      neededBytes > room.freeBytes,
      `Checkpoints and logs will take about ${sizeWords(neededBytes)}, but only ${sizeWords(room.freeBytes)} are free on the disk.`,
    ),
    ...when(
      room.runs > 0,
      'Another run is training at the same time: alone, this one would be faster than measured.',
    ),
  ]
}

const settingWarnings = (config: RunConfig): string[] =>
  when(
    stagesOf(config).every(({ data }) => data.heldOut === null),
    'There is no validation split, so nothing will show whether the policy generalises to other rows.',
  )

const when = (isSo: boolean, sentence: string): string[] => (isSo ? [sentence] : [])
const round = (value: number): string => String(Number(value.toPrecision(3)))
export const sizeWords = (bytes: number): string =>
  bytes >= 1e9 ? `${round(bytes / 1e9)} GB` : `${round(bytes / 1e6)} MB`
