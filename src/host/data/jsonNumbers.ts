/** JSON whose integers keep their digits. */
import { withNumbers } from '#shared/exactNumbers.ts'
import type { DataFile } from './dataFile.ts'

/** Sixteen digits in a row, or an exponent of three: only such texts can hold a number that does not fit. */
const suspicious = /\d{16}|\d[eE]\+?\d{3}/

export interface KeptJson {
  readonly value: unknown
  /** True if a number became a text, so that the value is not what the text says letter by letter. */
  readonly isChanged: boolean
}

/**
 * Parses like JSON.parse, but integers beyond 2^53 and numbers beyond 1.8e308 become texts of their digits, as they are
 * in Parquet, since a double would round them. Errors: as JSON.parse.
 */
export function parseKeepingDigits(text: string): KeptJson {
  if (!suspicious.test(text)) return { value: JSON.parse(text), isChanged: false }
  let isChanged = false
  const kept = withNumbers(text, (written) => {
    if (fits(written)) return written
    isChanged = true
    return `"${written}"`
  })
  return { value: JSON.parse(kept), isChanged }
}

/** A whole number with a decimal point in the arguments of a tool call. */
const pointedArgument = /"arguments"\s*:\s*\{[^{}]*[:[,]\s*-?\d+\.0+\s*[,\]}]/

/** Says once of a file's rows what they lose of how numbers are written. */
export function numberNotes(file: Pick<DataFile, 'note'>): (text: string) => void {
  const open = new Map([
    [
      (text: string) => suspicious.test(text) && parseKeepingDigits(text).isChanged,
      'Integers beyond 2^53 and numbers beyond 1.8e308 are read as texts of their digits, with quotation marks where a tool call is written.',
    ],
    [
      (text: string) => pointedArgument.test(text),
      'Numbers such as 1.0 in the arguments of tool calls are read as 1. Arguments that are JSON text keep them as they are written.',
    ],
  ])
  return (text) => {
    for (const [isSo, sentence] of open) {
      if (!isSo(text)) continue
      open.delete(isSo)
      file.note(sentence)
    }
  }
}

function fits(written: string): boolean {
  const number = Number(written)
  return Number.isFinite(number) && (Number.isSafeInteger(number) || !/^-?\d+$/.test(written))
}
