/** Reads dates and times of day that can mean one thing only. */
import type { WrittenDate, WrittenTime } from './literal.ts'

const names = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
const monthOf = (name: string): number => names.indexOf(name.slice(0, 3).toLowerCase()) + 1

const month =
  '(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?'
const weekday = '(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\\s+)?'
const numbered = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$/
const slashed = /^(\d{1,2})[/.](\d{1,2})[/.](\d{4})$/
const american = new RegExp(`^${weekday}${month}\\s+(\\d{1,2})(?:st|nd|rd|th)?(?:,?\\s+(\\d{4}))?$`, 'i')
const european = new RegExp(
  `^${weekday}(?:the\\s+)?(\\d{1,2})(?:st|nd|rd|th)?\\.?\\s+(?:of\\s+)?${month}(?:,?\\s+(\\d{4}))?$`,
  'i',
)

/** Reads a date; null where there is none, or it could be two. */
export function readDate(text: string): WrittenDate | null {
  const [, year, second, third] = numbered.exec(text) ?? []
  if (year !== undefined) return date(Number(second), Number(third), year)
  const slashes = slashed.exec(text)
  if (slashes !== null) return slashedDate(Number(slashes[1]), Number(slashes[2]), slashes[3]!)
  const [, name, day, of] = american.exec(text) ?? []
  if (name !== undefined) return date(monthOf(name), Number(day), of)
  const [, first, called, when] = european.exec(text) ?? []
  return called === undefined ? null : date(monthOf(called), Number(first), when)
}

/** Returns a date with slashes; null where day and month cannot be told apart: both are at most 12 and differ. */
function slashedDate(first: number, second: number, year: string): WrittenDate | null {
  if (first > 12 || first === second) return date(second, first, year)
  return second > 12 ? date(first, second, year) : null
}

const date = (month: number, day: number, year: string | undefined): WrittenDate | null =>
  month >= 1 && month <= 12 && day >= 1 && day <= 31
    ? { kind: 'date', month, day, year: year === undefined ? null : Number(year) }
    : null

const clock = /^(\d{1,2}):([0-5]\d)(?::([0-5]\d))?$/
const half = /\s*([ap])\.?\s?m\.?$/i

/** “9:05”, “3:30 PM”, “3 p.m.”, “23:59:59”. */
export function readTime(text: string): WrittenTime | null {
  const [named = '', letter] = half.exec(text) ?? []
  const written = text.slice(0, text.length - named.length)
  const read = clock.exec(named !== '' && /^\d{1,2}$/.test(written) ? `${written}:00` : written)
  if (read === null) return null
  const [hour, minute, second] = [read[1], read[2], read[3] ?? 0].map(Number) as [number, number, number]
  const full = hourOfDay(hour, letter?.toLowerCase())
  if (full === null) return null
  const seconds = full * 3600 + minute * 60 + second
  return { kind: 'time', seconds, isOfDay: named !== '', hasSeconds: read[3] !== undefined }
}

/** 12 a.m. is midnight. */
function hourOfDay(hour: number, half: string | undefined): number | null {
  if (half === undefined) return hour > 24 ? null : hour
  return hour < 1 || hour > 12 ? null : (hour % 12) + (half === 'p' ? 12 : 0)
}
