/**
 * Estimates what a study will take, before it starts: hours, memory and disk. One group of one real step is tried of a
 * trial, or of the lightest and the heaviest trial where searched settings decide how much a step computes; the rest
 * follows from the waves of the plan.
 */
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { withValues, type JsonObject } from '#shared/config/paths.ts'
import { AppError, invalidConfig } from '#shared/errors.ts'
import { stagesOf } from '#shared/runConfig.ts'
import { plural } from '#shared/plural.ts'
import { searchedParameters, type Parameter, type Search } from '#shared/studies.ts'
import { wavesOf } from '#rl/studies/plan.ts'
import type { StepCost, Wave } from '#rl/studies/trials.ts'
import {
  calibrated,
  sizeWords,
  neededDisk,
  summarizeCalibration,
  type Calibrated,
  type Calibrating,
} from '#host/jobs/calibration.ts'
import { resolveRunConfig } from '#host/runs/runConfigFile.ts'
import { sharingOf } from './sharing.ts'
import { extentOf, subjectOf, trialConfig, type StudyVerdict } from './studyConfig.ts'

export type CalibrationItem = OutputOf<Api, 'studies.calibrate'>
export type StudyEstimate = Extract<CalibrationItem, { readonly result: unknown }>['result']

/** Estimates a study from a checked file. Errors: as training. */
export async function* estimateStudy(
  host: Calibrating,
  verdict: StudyVerdict,
  signal: AbortSignal,
): AsyncGenerator<CalibrationItem> {
  const tried = configsToTry(verdict)
  const found: Calibrated[] = []
  const problems: string[] = []
  for (const [i, { given, words }] of tried.entries()) {
    try {
      found.push(yield* tryOne(host, given, { place: i, count: tried.length, signal }))
    } catch (error) {
      if (!isOfSettings(error) || tried.length === 1) throw error
      problems.push(`Trials with ${words} will fail: ${error.message}`)
    }
  }
  const [first] = found
  if (first === undefined) throw invalidConfig(problems.join(' '), 'Correct the ranges.')
  const result = summarizeStudy(verdict, first, found.at(-1) ?? first)
  yield { result: { ...result, warnings: [...result.warnings, ...problems, ...untriedWords(verdict)] } }
}

interface Place {
  /** Number among the `count` configs, from 0. */
  readonly place: number
  readonly count: number
  readonly signal: AbortSignal
}

async function* tryOne(
  host: Calibrating,
  given: JsonObject,
  { place, count, signal }: Place,
): AsyncGenerator<CalibrationItem, Calibrated> {
  const config = await resolveRunConfig(given, host.dataDirectory)
  for await (const news of calibrated(host, config, signal)) {
    if (!('progress' in news)) return news
    const { total, done, ...phase } = news.progress
    const all = total === null ? null : total * count
    yield { progress: { ...phase, done: place * (total ?? 0) + done, total: all } }
  }
  throw new AppError('api/cancelled', 'The check was cancelled.')
}

/** Trials whose settings do not work lose; the study goes on with the others. */
const isOfSettings = (error: unknown): error is AppError =>
  error instanceof AppError && /^(config|data)\//.test(error.code)

/** Settings that decide how much a step computes. */
const costly =
  /^(model|base|algorithm[.]id|data|environment|adapter|rollout[.](promptsPerStep|groupSize|maxNewTokens|precision)|optimization[.](epochs|tokenBudget|minibatchSize|memory))\b/

/** Numbers have a least and a largest. */
function endsOf(parameter: Parameter): readonly [number, number] | null {
  if (!('values' in parameter)) return [parameter.min, parameter.max]
  const numbers = parameter.values.filter((value) => typeof value === 'number')
  return numbers.length < parameter.values.length ? null : [Math.min(...numbers), Math.max(...numbers)]
}

function untriedWords({ config: { search } }: StudyVerdict): string[] {
  const keys = Object.entries(searchedParameters(search)).flatMap(([key, each]) =>
    costly.test(key) && endsOf(each) === null ? [key] : [],
  )
  if (keys.length === 0) return []
  return [`Measured as the config says; trials with another ${keys.join(' or ')} may take longer.`]
}

function configsToTry({
  config,
  firstTrial,
}: StudyVerdict): { readonly given: JsonObject; readonly words: string }[] {
  const given = trialConfig(config, firstTrial)
  const ends = Object.entries(searchedParameters(config.search)).flatMap(([key, each]) => {
    const found = costly.test(key) ? endsOf(each) : null
    return found === null ? [] : [[key, found] as const]
  })
  if (ends.length === 0) return [{ given, words: '' }]
  return ([0, 1] as const).map((end) => {
    const values = Object.fromEntries(ends.map(([key, found]) => [key, found[end]]))
    const words = Object.entries(values).map(([key, value]) => `${key} ${value}`)
    return { given: withValues(given, values), words: words.join(' and ') }
  })
}

/** `light`, `heavy`: the least and the most that a trial may take. */
export function summarizeStudy(
  verdict: Pick<StudyVerdict, 'config' | 'steps' | 'start' | 'sharing'>,
  light: Calibrated,
  heavy: Calibrated,
): StudyEstimate {
  const { sharing, steps } = verdict
  const { kind } = verdict.config.search
  const waves = wavesOf(subjectOf(verdict), meanCost(light, heavy))
  const { processor, memory } = heavy.report
  const needs = {
    ownBytes: memory.expectedBytes,
    baseBytes: Math.max(0, memory.totalBytes - memory.anonymousBytes),
    availableBytes: heavy.room.availableBytes,
    card: heavy.card,
  }
  const { parallel, words, warnings } = sharingOf({ ...sharing, ...processor, waves, needs })
  const crowd = sharing.isCpu ? processor.threads / processor.cores : 0
  const sum = (of: (wave: Wave) => number) => waves.reduce((total, wave) => total + of(wave), 0)
  const hours = (tried: Calibrated, pace: Pace) =>
    sum((wave) => {
      const beside = Math.min(parallel, wave.size)
      const slowdown = Math.max(1, beside * crowd)
      return Math.ceil(wave.size / beside) * slowdown * secondsOf(wave, tried, { pace, kind })
    })
  const begun = sum(({ size, from }) => (from === 0 || kind === 'population' ? size : 0))
  const neededBytes = begun * neededDisk(heavy.config, heavy.report)
  const { freeBytes } = heavy.room
  return {
    ...extentOf(waves),
    steps,
    parallel,
    sharing: words,
    seconds: {
      low: hours(light, 'low'),
      expected: (hours(light, 'expected') + hours(heavy, 'expected')) / 2,
      high: hours(heavy, 'high'),
    },
    memory: { ...needs, neededBytes: needs.baseBytes + parallel * needs.ownBytes },
    disk: { neededBytes, freeBytes },
    warnings: [
      ...warnings,
      ...(neededBytes > freeBytes
        ? [
            `${plural(begun, 'run')} with their checkpoints will take about ${sizeWords(neededBytes)}, but only ${sizeWords(freeBytes)} are free on the disk: lower \`checkpoints.keepLast\`.`,
          ]
        : []),
    ],
    run: summarizeCalibration(heavy),
  }
}

const meanCost = (...tried: readonly Calibrated[]): StepCost => {
  const mean = (of: (stage: Calibrated['report']['stages'][number]) => number) =>
    tried.reduce((sum, { report: { stages } }) => {
      const steps = stages.reduce((all, stage) => all + stage.steps, 0)
      return sum + stages.reduce((all, stage) => all + stage.steps * of(stage), 0) / Math.max(steps, 1)
    }, 0) / tried.length
  return {
    tokens: mean((stage) => stage.tokensPerStep),
    seconds: mean((stage) => stage.secondsPerStep.expected),
  }
}

type Pace = 'low' | 'expected' | 'high'

/**
 * One trial in one wave: its process starts and loads, it is evaluated before a run's first step, as often as the config says and where
 * trials are compared, and leaves a checkpoint there. Clones of a population are runs of their own.
 */
function secondsOf(
  { from, until }: Wave,
  { config, report, startSeconds }: Calibrated,
  { pace, kind }: { readonly pace: Pace; readonly kind: Search['kind'] },
): number {
  const { checkpoints } = config
  let [seconds, firstStep] = [startSeconds, 0]
  for (const [i, stage] of report.stages.entries()) {
    const lastStep = firstStep + stage.steps
    const [begin, end] = [Math.max(from, firstStep), Math.min(until, lastStep)]
    if (end > begin) {
      const evaluateEvery = stagesOf(config)[i]?.evaluation.every ?? 0
      const isBegun = begin === firstStep || kind === 'population'
      const evaluations =
        stage.evaluations === 0 ? 0 : Number(isBegun) + 1 + multiplesBetween(evaluateEvery, begin, end)
      const saved = 1 + multiplesBetween(checkpoints.every, begin, end)
      seconds +=
        stage.seconds.loading +
        stage.warmUpSeconds +
        (end - begin) * stage.secondsPerStep[pace] +
        evaluations * stage.secondsPerEvaluation +
        saved * stage.secondsPerCheckpoint
    }
    firstStep = lastStep
  }
  return seconds
}

/** Counts the multiples of `every` after `begin` and before `end`. */
const multiplesBetween = (every: number, begin: number, end: number): number =>
  every === 0 ? 0 : Math.floor((end - 1) / every) - Math.floor(begin / every)
