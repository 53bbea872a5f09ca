/** Reads quantities in several units, as in “5 feet 6 inches”, as a number of the last of them. */
import { placeOf, writtenNumber, type WrittenNumber } from './literal.ts'
import { decimal, order, product, sum, whole, type Rational } from './rational.ts'
import type { Unit } from './unitTable.ts'
import { conversion, readUnit } from './units.ts'

interface Term {
  readonly digits: string
  readonly unit: Unit
}

const term = /^\s*(?:(?:,|,?\s*and\s)\s*)?(\d+(?:\.\d+)?)\s*(?=\p{L}|°)(.*)$/su

/**
 * Reads the quantities; null for fewer than two parts, for units that are not each smaller than the one before, and for
 * those of different things.
 */
export function readCompound(text: string): WrittenNumber | null {
  const terms = termsOf(text.replaceAll(/[{}]/g, ' ').replace(/^\$\s*(\d+)(?=\s)/, '$1 dollars'))
  const last = terms?.at(-1)
  if (terms === null || last === undefined || terms.length < 2) return null
  let [total, before]: [Rational, Rational | null] = [whole(0n), null]
  for (const { digits, unit } of terms) {
    const factor = conversion(unit, last.unit)
    if (factor === null || (before !== null && order(factor, before) >= 0)) return null
    total = sum(total, product(decimal(digits), factor))
    before = factor
  }
  const first = terms[0]!.unit
  // 12 dollars and 50 cents are dollars.
  if ('$' in first.dimensions)
    return { ...writtenNumber(product(total, conversion(last.unit, first)!), null), unit: first }
  return { ...writtenNumber(total, placeOf(last.digits)), unit: last.unit }
}

function termsOf(text: string): Term[] | null {
  const terms: Term[] = []
  for (let rest = text; rest.trim() !== '';) {
    const [, digits, behind = ''] = term.exec(rest) ?? []
    const read = digits === undefined ? null : readUnit(behind)
    if (read === null) return null
    terms.push({ digits: digits!, unit: read.unit })
    rest = read.rest
  }
  return terms
}
