import { shownText } from '#shared/shownText.ts'
import { lineMark, terminalJson, terminalLines, terminalText } from '#shared/terminalText.ts'
import type { Estimate } from '#shared/statistics.ts'

/** The two streams of a command. With `--json` stdout carries only JSON, and text for people goes to stderr. */
export interface Output {
  /** True if stderr is a terminal, where a progress line may be rewritten in place. */
  readonly isTerminal: boolean
  readonly columns: number
  /** Writes a line for people to stdout, and never more than one; dropped with `--json`. */
  readonly line: (text: string) => void
  /** Writes text of several lines that is not the program's, such as a completion, to stdout, each line marked; dropped with `--json`. */
  readonly text: (text: string) => void
  /** Begins such a text that comes in pieces. Its lines are marked on a terminal alone: a pipe or a file gets only the text. */
  readonly stream: () => (piece: string) => void
  /** Writes text for people to stdout as it is, without a line end; dropped with `--json`. */
  readonly write: (text: string) => void
  /** Writes a JSON document or event to stdout on a line of its own; dropped without `--json`. */
  readonly json: (value: unknown) => void
  /** Writes a line for people to stderr, and never more than one, in both modes. */
  readonly note: (text: string) => void
  /** Writes text to stderr as it is, for a progress line. */
  readonly writeNote: (text: string) => void
}

export interface Streams {
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
}

export function createOutput(streams: Streams, json: boolean): Output {
  const { stdout, stderr } = streams
  return {
    isTerminal: stderr.isTTY === true,
    // Read each time, since terminals are resized; pseudo-terminals of scripts report 0.
    get columns() {
      return stderr.columns === undefined || stderr.columns === 0 ? 80 : stderr.columns
    },
    line: (text) => {
      if (!json) stdout.write(`${terminalText(text)}\n`)
    },
    text: (text) => {
      if (!json) stdout.write(`${terminalLines(text)}\n`)
    },
    stream: () => {
      const mark = stdout.isTTY === true ? lineMark : ''
      let begun = 0
      return (piece) => {
        if (!json) stdout.write(terminalLines(piece, mark).slice(begun))
        begun = mark.length
      }
    },
    write: (text) => {
      if (!json) stdout.write(text)
    },
    json: (value) => {
      if (json) stdout.write(`${terminalJson(value)}\n`)
    },
    note: (text) => void stderr.write(`${terminalText(text)}\n`),
    writeNote: (text) => void stderr.write(text),
  }
}

/** Formats rows of cells with aligned columns; numbers are right-aligned. */
export function tableLines(header: readonly string[], given: readonly (readonly string[])[]): string[] {
  const rows = given.map((row) => row.map((cell) => cell.replaceAll(/[\r\n]/g, shownText)))
  const isNumeric = header.map((_, column) => rows.every((row) => /^([-\d–]|$)/.test(row[column] ?? '')))
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  return [header, ...rows].map((row) =>
    row
      .map((cell, column) =>
        isNumeric[column] === true ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  )
}

/** Formats `1.5 MB`. */
export const megabytes = (bytes: number, digits = 1): string => `${(bytes / 1e6).toFixed(digits)} MB`

/** Formats `0.712 (0.650 to 0.774)`: a mean with its 95 % interval; a single value has none. */
export const formatEstimate = (estimate: Estimate | null): string =>
  estimate?.interval == null
    ? formatReward(estimate?.value ?? null)
    : `${formatReward(estimate.value)} (${formatReward(estimate.interval.low)} to ${formatReward(estimate.interval.high)})`

/** Formats three decimals, or scientific notation for very large and small numbers. */
export const formatReward = (reward: number | null): string =>
  reward === null ? '–' : Math.abs(reward) < 1e6 ? reward.toFixed(3) : reward.toExponential(2)

/** Eval reward before and after training; one figure if it was measured once. */
export const evalRewardWords = ({
  rewardBefore: before,
  rewardAfter: after,
}: {
  readonly rewardBefore: number | null
  readonly rewardAfter: number | null
}): string =>
  before === null
    ? formatReward(after)
    : after === null
      ? `${formatReward(before)} before training`
      : `${formatReward(before)} → ${formatReward(after)}`
