/** JSON whose integers keep their digits. */

const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
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
  const kept = text.replaceAll(token, (written) => {
    if (written.startsWith('"') || fits(written)) return written
    isChanged = true
    return `"${written}"`
  })
  return { value: JSON.parse(kept), isChanged }
}

function fits(written: string): boolean {
  const number = Number(written)
  return Number.isFinite(number) && (Number.isSafeInteger(number) || !/^-?\d+$/.test(written))
}
