/** Progress of long tasks: one line rewritten in place on a terminal, otherwise occasional plain lines. */
import type { z } from 'zod'
import type { progress } from '#shared/api/common.ts'
import { laterStagesWords, rangeWords } from '#shared/remaining.ts'
import { terminalText } from '#shared/terminalText.ts'
import type { Output } from './output.ts'

export interface ProgressState {
  readonly done: number
  /** 0: nobody knows. */
  readonly total: number
  /** Name of one unit: `step`. */
  readonly unit: string
  /** Further facts, already formatted: `reward 0.42`. */
  readonly facts: readonly string[]
  /** Remaining time, if more is known than the pace of finished units; null: nothing to report. */
  readonly left?: {
    readonly secondsPerUnit: number | null
    readonly low: number
    readonly high: number
    /** Number of later stages, whose duration is unknown. */
    readonly laterStages: number
  } | null
}

export interface Progress {
  readonly update: (state: ProgressState) => void
  /** Prints a line for people without tearing the progress line. */
  readonly note: (text: string) => void
  /** Leaves the last state on screen and ends the line. */
  readonly end: () => void
}

const megabyte = 1e6

/** Progress of a task as its job tells it, bytes in megabytes. */
export function taskProgress({ phase, done, total, unit }: z.output<typeof progress>): ProgressState {
  const isBytes = unit === 'bytes'
  const amount = (value: number) => (isBytes ? Math.round(value / megabyte) : value)
  return { done: amount(done), total: amount(total ?? done), unit: isBytes ? 'MB' : unit, facts: [phase] }
}

const plainIntervalMs = 5_000

/** Creates a progress display; `clock` returns milliseconds; with `--json` only notes are shown. */
export function createProgress(output: Output, json: boolean, clock: () => number = Date.now): Progress {
  if (json) return { update: () => {}, note: output.note, end: () => {} }
  return output.isTerminal ? terminalProgress(output, clock) : plainProgress(output, clock)
}

function terminalProgress(output: Output, clock: () => number): Progress {
  const pace = createPace(clock)
  const clear = '\r\u001B[K'
  let shown = ''
  return {
    update(state) {
      shown = terminalText(progressLine(state, paceWords(state, pace(state)))).slice(
        0,
        Math.max(1, output.columns - 1),
      )
      output.writeNote(`${clear}${shown}`)
    },
    note(text) {
      output.writeNote(`${shown === '' ? '' : clear}${terminalText(text)}\n${shown}`)
    },
    end() {
      if (shown !== '') output.writeNote('\n')
      shown = ''
    },
  }
}

function plainProgress(output: Output, clock: () => number): Progress {
  const pace = createPace(clock)
  let last = Number.NEGATIVE_INFINITY
  let held: string | null = null
  let shown: string | null = null
  let shownDone: number | null = null
  const show = (line: string) => {
    output.note(line)
    last = clock()
    shown = line
    held = null
  }
  return {
    update(state) {
      held = progressLine(state, paceWords(state, pace(state)))
      const isComplete = state.done === state.total && shownDone !== state.done
      if (clock() - last < plainIntervalMs && !isComplete) return
      shownDone = state.done
      show(held)
    },
    note: output.note,
    end() {
      if (held !== null && held !== shown) show(held)
    },
  }
}

/** Estimates seconds per unit since the first update, so that a resumed run does not count what was done earlier. */
function createPace(clock: () => number): (state: ProgressState) => number | null {
  let first: { at: number; done: number } | null = null
  return ({ done }) => {
    first ??= { at: clock(), done }
    return done > first.done ? (clock() - first.at) / 1000 / (done - first.done) : null
  }
}

const progressLine = ({ done, total, unit, facts }: ProgressState, pace: readonly string[]): string =>
  [...(total === 0 ? [] : [`${unit} ${done}/${total}`]), ...facts, ...pace].join('  ')

function paceWords({ done, total, unit, left }: ProgressState, secondsPerUnit: number | null): string[] {
  if (left === null) return []
  if (left !== undefined) {
    const rate = left.secondsPerUnit === null ? [] : [rateWords(left.secondsPerUnit, unit)]
    return [...rate, `${rangeWords(left)} left${laterStagesWords(left.laterStages)}`]
  }
  if (secondsPerUnit === null || done >= total) return []
  return [rateWords(secondsPerUnit, unit), `${duration(secondsPerUnit * (total - done))} left`]
}

/** Formats units per second for units that take less than a moment. */
const rateWords = (secondsPerUnit: number, unit: string): string =>
  secondsPerUnit < 0.1 ? `${(1 / secondsPerUnit).toFixed(0)} ${unit}/s` : `${seconds(secondsPerUnit)}/${unit}`

const seconds = (value: number): string => (value < 10 ? `${value.toFixed(1)} s` : `${Math.round(value)} s`)

/** Formats `1 h 02 min`, `3 min 20 s`, `12 s`. */
export function duration(totalSeconds: number): string {
  const whole = Math.max(0, Math.round(totalSeconds))
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)]
  if (hours > 0) return `${hours} h ${String(minutes).padStart(2, '0')} min`
  return minutes > 0 ? `${minutes} min ${String(whole % 60).padStart(2, '0')} s` : `${whole} s`
}
