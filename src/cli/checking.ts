/** Checks before a start, as with the window's button: one step is tried, and its estimates are printed. */
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { deviceTitles } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { rangeWords } from '#shared/remaining.ts'
import { sizeWords } from '#host/jobs/calibration.ts'
import type { CommandContext } from './command.ts'
import { watchInterrupts } from './interrupt.ts'
import { formatReward, tableLines } from './output.ts'
import { createProgress, duration } from './progress.ts'

type Item = OutputOf<Api, 'runs.calibrate'>
type CheckProgress = Extract<Item, { readonly progress: unknown }>
export type RunEstimate = Extract<Item, { readonly result: unknown }>['result']

/** Follows a check to its result; Ctrl-C cancels it. Errors: those of the check; AppError 'run/stopped' if cancelled. */
export async function followCheck<Result>(
  check: (signal: AbortSignal) => AsyncIterable<CheckProgress | { readonly result: Result }>,
  { json, output }: CommandContext,
): Promise<Result> {
  const progress = createProgress(output, json)
  const cancelled = new AbortController()
  using _interrupt = watchInterrupts(
    () => cancelled.abort(),
    () => undefined,
  )
  try {
    for await (const item of check(cancelled.signal)) {
      if ('result' in item) return item.result
      const { phase, done, total } = item.progress
      progress.update({ done, total: total ?? done, unit: 'phase', facts: [phase.toLowerCase()], left: null })
    }
  } finally {
    progress.end()
  }
  throw new AppError('run/stopped', 'The check was cancelled; nothing was started.')
}

/** Formats the estimated resources of a run, and the rewards of its first completions. */
export function runEstimateLines({
  device,
  memory,
  secondsPerStep,
  secondsPerEvaluation,
  etaSeconds,
  steps,
  evaluations,
  disk,
  checkpointBytes,
  longest,
  samples,
  warnings,
}: RunEstimate): string[] {
  const evaluating = evaluations === 0 ? '' : ` and ${plural(evaluations, 'evaluation')}`
  const each = evaluations === 0 ? '' : `, ${secondsWords(secondsPerEvaluation)} per evaluation`
  const rewarded = samples.filter(({ reward, failures: own }) => reward !== null || own.length > 0)
  const failures = samples.flatMap(({ failures: own }) => own)
  return [
    `Device   ${deviceTitles[device.kind]}. ${device.reason}`,
    `Memory   ${sizeWords(memory.expectedBytes)} of ${sizeWords(memory.availableBytes)} free`,
    `Time     ${rangeWords(etaSeconds)} for ${plural(steps, 'step')}${evaluating}; ${secondsWords(secondsPerStep)} per step${each}`,
    `Disk     ${sizeWords(disk.neededBytes)} of ${sizeWords(disk.freeBytes)} free; ${sizeWords(checkpointBytes)} per checkpoint`,
    ...warnings.map((warning) => `Warning  ${warning}`),
    ...(rewarded.length === 0
      ? []
      : [
          `First completions, on row ${longest.row + 1} with ${plural(longest.promptTokens, 'token')} of prompt:`,
          ...tableLines(
            ['reward', 'completion', ...(failures.length === 0 ? [] : ['failure'])],
            rewarded.map(({ reward, completion, failures: [failure] }) => [
              reward === null ? '–' : formatReward(reward),
              excerpt(completion),
              ...(failures.length === 0 ? [] : [failure === undefined ? '' : excerpt(failure)]),
            ]),
          ),
        ]),
  ]
}

/** Formats seconds, including fractions: steps of small models take less than a second. */
const secondsWords = (seconds: number): string =>
  seconds < 10 ? `${String(Number(seconds.toPrecision(2)))} s` : duration(seconds)

const excerptCharacters = 60

function excerpt(text: string): string {
  const line = JSON.stringify(text).slice(1, -1)
  return line.length <= excerptCharacters ? line : `${line.slice(0, excerptCharacters)}…`
}
