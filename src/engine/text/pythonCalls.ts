/**
 * Calls in Python's notation, `[weather(city='Köln', days=2), now()]`, by the grammar that transformers states for
 * “python-call-list” in its chapter on parsing answers: keyword arguments alone, strings, numbers, lists, dicts and constants.
 */

interface PythonCall {
  readonly name: string
  /** JSON text of an object. */
  readonly arguments: string
}

const name = /[A-Za-z_][A-Za-z0-9_]*(?:[-.][A-Za-z0-9_]+)*/y
const numeral = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y
const string = /'((?:[^'\\\n\r]|\\[\s\S])*)'|"((?:[^"\\\n\r]|\\[\s\S])*)"/y
const blank = /[ \t\n\r]*/y
const escape = /\\(?:u([0-9a-fA-F]{4})|([\s\S]))/g
const escapes: Readonly<Record<string, string>> = {
  '\\': '\\',
  "'": "'",
  '"': '"',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}
const constants: Readonly<Record<string, string>> = {
  True: 'true',
  true: 'true',
  False: 'false',
  false: 'false',
  None: 'null',
  null: 'null',
}
const maxDepth = 100

/** Ends the reading of a text that is no list of calls. */
class NoCalls extends Error {}

/** The calls in a list, which is the whole text; null where it is anything else. */
export function pythonCalls(text: string): readonly PythonCall[] | null {
  try {
    return new Reader(text).calls()
  } catch (error) {
    if (error instanceof NoCalls) return null
    throw error
  }
}

/** Reads values as the JSON text that they are. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  calls(): PythonCall[] {
    this.#expect('[')
    const calls = this.#items(']', () => this.#call())
    this.#match(blank)
    if (this.#at !== this.#text.length) throw new NoCalls()
    return calls
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (found !== null) this.#at = pattern.lastIndex
    return found
  }

  #takes(character: string): boolean {
    this.#match(blank)
    if (this.#text[this.#at] !== character) return false
    this.#at += 1
    return true
  }

  #expect(character: string): void {
    if (!this.#takes(character)) throw new NoCalls()
  }

  #items<Item>(close: string, item: () => Item): Item[] {
    const items: Item[] = []
    if (this.#takes(close)) return items
    for (;;) {
      items.push(item())
      if (this.#takes(close)) return items
      this.#expect(',')
    }
  }

  /** A name that occurs twice is no object. */
  #object(pairs: readonly (readonly [string, string])[]): string {
    if (new Set(pairs.map(([key]) => key)).size < pairs.length) throw new NoCalls()
    return `{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`
  }

  #name(): string {
    this.#match(blank)
    const found = this.#match(name)
    if (found === null) throw new NoCalls()
    return found[0]
  }

  #call(): PythonCall {
    const called = this.#name()
    this.#expect('(')
    const pairs = this.#items(')', (): [string, string] => {
      const key = this.#name()
      this.#expect('=')
      return [key, this.#value(0)]
    })
    return { name: called, arguments: this.#object(pairs) }
  }

  #value(depth: number): string {
    this.#match(blank)
    const begin = this.#text[this.#at]
    if (begin === "'" || begin === '"') return JSON.stringify(this.#string())
    if (begin === '[' || begin === '{') {
      if (depth >= maxDepth) throw new NoCalls()
      this.#at += 1
      return begin === '['
        ? `[${this.#items(']', () => this.#value(depth + 1)).join(',')}]`
        : this.#object(this.#items('}', () => this.#pair(depth + 1)))
    }
    return this.#number() ?? this.#constant()
  }

  #number(): string | null {
    const found = this.#match(numeral)
    if (found === null) return null
    const [written, fraction, exponent] = found
    const isInteger = fraction === undefined && exponent === undefined
    const value = Number(written)
    if (isInteger ? !Number.isSafeInteger(value) : !Number.isFinite(value)) throw new NoCalls()
    return written
  }

  #constant(): string {
    const found = this.#match(name)
    if (found === null || !Object.hasOwn(constants, found[0])) throw new NoCalls()
    return constants[found[0]]!
  }

  #pair(depth: number): [string, string] {
    this.#match(blank)
    const key = this.#string()
    this.#expect(':')
    return [key, this.#value(depth)]
  }

  #string(): string {
    const found = this.#match(string)
    const body = found?.[1] ?? found?.[2]
    if (body === undefined || !body.isWellFormed()) throw new NoCalls()
    const text = body.replaceAll(escape, (_, code: string | undefined, character: string | undefined) => {
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16))
      const meant = character === undefined ? undefined : escapes[character]
      if (meant === undefined) throw new NoCalls()
      return meant
    })
    if (!text.isWellFormed()) throw new NoCalls()
    return text
  }
}
