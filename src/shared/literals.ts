/** Values in a text as JSON or as printed by Python: tables that pandas wrote contain lists and dicts in that form. */
import { parsedJson } from './parsedJson.ts'

/** Returns the value of a text in JSON or Python notation; null for any other text. */
export const parsedLiteral = (text: string): unknown => parsedJson(text) ?? pythonLiteral(text)

const longest = 1 << 20

/**
 * Reads lists, tuples, dicts, texts, numbers, True, False and None as written by Python’s repr. NumPy omits the commas
 * between entries, so they may be missing. Null for any other text.
 */
export function pythonLiteral(text: string): unknown {
  if (text.length > longest || !/^\s*[[({]/.test(text)) return null
  const reader = new Reader(text)
  const value = reader.value(0)
  return value === undefined || !reader.isAtEnd() ? null : value
}

const deepest = 64
const constants: Readonly<Record<string, unknown>> = { True: true, False: false, None: null, nan: null }
const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '\n': '',
  a: '\u0007',
  b: '\b',
  f: '\f',
  v: '\v',
  0: '\0',
}
const closing: Readonly<Record<string, string>> = { '[': ']', '(': ')', '{': '}' }

/** Parser that returns undefined for anything but a literal. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  isAtEnd(): boolean {
    this.#skipSpace()
    return this.#at === this.#text.length
  }

  value(depth: number): unknown {
    this.#skipSpace()
    const sign = this.#text[this.#at] ?? ''
    if (depth > deepest) return undefined
    if (sign === '[' || sign === '(') return this.#list(sign, depth)
    if (sign === '{') return this.#dict(depth)
    if (sign === "'" || sign === '"') return this.#string(sign)
    return this.#word(depth)
  }

  #list(opening: string, depth: number): unknown[] | undefined {
    const list: unknown[] = []
    this.#at++
    while (!this.#takes(closing[opening] ?? '')) {
      const value = this.value(depth + 1)
      if (value === undefined) return undefined
      list.push(value)
      this.#takes(',')
    }
    return list
  }

  #dict(depth: number): Record<string, unknown> | undefined {
    const dict = new Map<string, unknown>()
    this.#at++
    while (!this.#takes('}')) {
      const key = this.value(depth + 1)
      if (typeof key !== 'string' || !this.#takes(':')) return undefined
      const value = this.value(depth + 1)
      if (value === undefined) return undefined
      dict.set(key, value)
      this.#takes(',')
    }
    return Object.fromEntries(dict)
  }

  #string(quote: string): string | undefined {
    let read = ''
    for (this.#at++; this.#at < this.#text.length; this.#at++) {
      const sign = this.#text[this.#at] ?? ''
      if (sign === quote) {
        this.#at++
        return read
      }
      read += sign === '\\' ? this.#escaped() : sign
    }
    return undefined
  }

  /** Leaves the position at the last character of the escape. */
  #escaped(): string {
    const [written, hex = '', short = ''] =
      /^\\(?:x([\da-f]{2})|u([\da-f]{4}))/i.exec(this.#text.slice(this.#at, this.#at + 6)) ?? []
    if (written !== undefined) {
      this.#at += written.length - 1
      return String.fromCharCode(parseInt(hex + short, 16))
    }
    const sign = this.#text[++this.#at] ?? ''
    return escapes[sign] ?? (/["'\\]/.test(sign) ? sign : `\\${sign}`)
  }

  #word(depth: number): unknown {
    const [word = ''] = /^(?:[A-Za-z]+|-?\d[\d.eE+-]*)/.exec(this.#text.slice(this.#at, this.#at + 40)) ?? []
    this.#at += word.length
    if (word === 'array' && this.#takes('(')) return this.#array(depth)
    if (Object.hasOwn(constants, word)) return constants[word]
    return word !== '' && Number.isFinite(Number(word)) ? Number(word) : undefined
  }

  #array(depth: number): unknown {
    const value = this.value(depth + 1)
    const [rest = ''] = /^\s*,\s*dtype=\w+/.exec(this.#text.slice(this.#at, this.#at + 40)) ?? []
    this.#at += rest.length
    return this.#takes(')') ? value : undefined
  }

  #takes(sign: string): boolean {
    this.#skipSpace()
    if (this.#text[this.#at] !== sign) return false
    this.#at++
    return true
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++
  }
}
