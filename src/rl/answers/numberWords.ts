/** Reads numbers in words where they are the whole answer: “twenty-one”, “three quarters”, “two and a half”. */
import { decimal, fraction, negated, sum, whole, type Rational } from './rational.ts'
import { shareIn } from './compoundWords.ts'
import { multiplierOf } from './magnitudes.ts'
import { readUnit } from './units.ts'

const listed = (words: string, from: number, step: number): [string, number][] =>
  words.split(' ').map((word, i) => [word, from + step * i])

const teens =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'
const small = new Map(listed(teens, 0, 1))
const tens = new Map(listed('twenty thirty forty fifty sixty seventy eighty ninety', 20, 10))
const scales: readonly (readonly [string, number])[] = [
  ['trillion', 1e12],
  ['billion', 1e9],
  ['million', 1e6],
  ['thousand', 1000],
]
const parts = new Map([
  ...listed('half third fourth fifth sixth seventh eighth ninth tenth', 2, 1),
  ...[
    ['halve', 2] as const,
    ['quarter', 4] as const,
    ['hundredth', 100] as const,
    ['thousandth', 1000] as const,
  ],
])

/** The text with a number in words as digits; the same text where it is anything else. */
export function withDigits(text: string): string {
  const plain = text
    .replaceAll(/\\(?:text|textbf|mathrm|mbox)\s*\{([^{}]*)\}/g, '$1')
    .replaceAll(/[$"“”`]|\\[()[\] ,]/g, ' ')
    .trim()
    .replace(/[.,;!]+$/, '')
  const share = plain.length > 60 ? null : shareIn(plain, wholeIn)
  if (share !== null) return share
  if (plain.length > 150 || !/^[A-Za-z][A-Za-z,/^²³ -]*$/.test(plain)) return text
  const reader = new WordReader(plain.split(/[\s,]+|-(?=[a-z])/i))
  const value = reader.value()
  if (value === null || !isMeasure(reader.rest, value)) return text
  const digits = value.below === 1n ? String(value.above) : `${value.above}/${value.below}`
  return `${digits} ${reader.rest}`.trim()
}

/** A whole number in digits or words, and nothing else. */
function wholeIn(text: string): number | null {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  const reader = new WordReader(text.split(/[\s-]+/))
  const value = reader.value()
  return value?.below === 1n && reader.rest === '' ? Number(value.above) : null
}

/**
 * Returns true if a number can have this text behind it: a unit, percent, or things that are counted. “One must know”
 * counts nothing.
 */
const isMeasure = (rest: string, { above, below }: Rational): boolean =>
  rest === '' ||
  /^(?:percent|per cent)$/i.test(rest) ||
  isMagnitude(rest) ||
  readUnit(rest)?.rest === '' ||
  (below === 1n && above !== 1n && /^[a-z]{2,}s$/i.test(rest))

/** “million”, “dozen eggs”. */
function isMagnitude(words: string): boolean {
  const { rest } = multiplierOf(words)
  return rest !== words && /^(?:\s[a-z]{2,}s)?$/i.test(rest)
}

class WordReader {
  #at = 0
  readonly #words: readonly string[]

  constructor(words: readonly string[]) {
    this.#words = words
  }

  get rest(): string {
    return this.#words.slice(this.#at).join(' ')
  }

  get #next(): string {
    return this.#words[this.#at]?.toLowerCase() ?? ''
  }

  #take(...words: readonly string[]): boolean {
    const isNext = words.includes(this.#next)
    if (isNext) this.#at++
    return isNext
  }

  value(): Rational | null {
    const isNegative = this.#take('minus', 'negative')
    const value = this.#unsigned()
    return value !== null && isNegative ? negated(value) : value
  }

  #unsigned(): Rational | null {
    if (this.#next === 'half') return this.#part(1)
    const count = this.#cardinal()
    if (count === null) return null
    if (this.#take('point')) return this.#decimals(count)
    const part = this.#part(count)
    if (part !== null) return part
    const before = this.#at
    if (!this.#take('and')) return whole(BigInt(count))
    const above = this.#cardinal()
    const rest = above === null ? null : this.#part(above)
    if (rest !== null) return sum(whole(BigInt(count)), rest)
    this.#at = before
    return whole(BigInt(count))
  }

  /** Thirds, quarters and the like of a count. */
  #part(count: number): Rational | null {
    const below = parts.get(this.#next.replace(/s$/, ''))
    if (below === undefined) return null
    this.#at++
    // “half a million”, “a quarter of a million”.
    const behind = this.#words.slice(this.#at).join(' ')
    const skipped = /^(of )?an? (?=(?:dozen|hundred|thousand|[mbtr]+illion)$)/i.exec(behind)
    if (skipped !== null) this.#at += skipped[1] === undefined ? 1 : 2
    return fraction(BigInt(count), BigInt(below))
  }

  #decimals(count: number): Rational | null {
    let digits = ''
    for (
      let digit = small.get(this.#next);
      digit !== undefined && digit < 10;
      digit = small.get(this.#next)
    ) {
      digits += String(digit)
      this.#at++
    }
    return digits === '' ? null : decimal(`${count}.${digits}`)
  }

  /** “a” counts only before a hundred, a thousand, a half. */
  #isArticle(): boolean {
    const behind = this.#words[this.#at + 1]?.toLowerCase() ?? ''
    return (
      /^an?$/.test(this.#next) &&
      !/^(?:hundred|thousand|[mbtr]+illion|dozen)$/.test(behind) &&
      !parts.has(behind)
    )
  }

  #cardinal(): number | null {
    if (this.#isArticle()) return null
    let [total, isFound] = [0, false]
    for (const [name, scale] of [...scales, ['', 1] as const]) {
      const before = this.#at
      const count = this.#scaled(name, isFound)
      if (count === null) this.#at = before
      else [total, isFound] = [total + count * scale, true]
    }
    return isFound ? total : null
  }

  /** A number before the name of its scale; the last one of several has no name and may have “and” before it. */
  #scaled(name: string, isFurther: boolean): number | null {
    const before = this.#at
    if (isFurther && name === '') this.#take('and')
    const count = this.#belowThousand()
    const isWhole = name === '' ? !this.#isPartBehindAnd(before) : this.#take(name)
    return isWhole ? count : null
  }

  /** “two thousand and three quarters” is 2000¾. */
  #isPartBehindAnd(from: number): boolean {
    return this.#words[from]?.toLowerCase() === 'and' && parts.has(this.#next.replace(/s$/, ''))
  }

  #belowThousand(): number | null {
    const first = this.#take('a', 'an') ? 1 : this.#belowHundred()
    if (first === null || first > 9 || first === 0 || !this.#take('hundred')) return first
    const before = this.#at
    const hasAnd = this.#take('and')
    const rest = this.#belowHundred()
    if (rest !== null && rest > 0 && !(hasAnd && this.#isPartBehindAnd(before))) return first * 100 + rest
    this.#at = before
    return first * 100
  }

  #belowHundred(): number | null {
    const ten = tens.get(this.#next)
    if (ten === undefined) {
      const one = small.get(this.#next)
      if (one !== undefined) this.#at++
      return one ?? null
    }
    this.#at++
    const one = small.get(this.#next)
    if (one === undefined || one === 0 || one > 9) return ten
    this.#at++
    return ten + one
  }
}
