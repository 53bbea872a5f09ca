/** JSON whose integers keep their digits. */
import { withNumbers } from '#shared/exactNumbers.ts'

/** Sixteen digits in a row, or an exponent of three: only such texts can hold a number that does not fit. */
const suspicious = /\d{16}|\d[eE]\+?\d{3}/

export interface KeptJson {
  readonly value: unknown
  /** Whether a number became a text, so that the value is not what the text says letter by letter. */
  readonly isChanged: boolean
}

/**
 * As JSON.parse, but integers beyond 2^53 and numbers beyond 1.8e308 become texts of their digits, as they are in
 * Parquet, since a double would round them. Errors: as JSON.parse.
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

function fits(written: string): boolean {
  const number = Number(written)
  return Number.isFinite(number) && (Number.isSafeInteger(number) || !/^-?\d+$/.test(written))
}
