/** One written word of a shell script, with what it refers to filled in. */
import { AppError } from '#shared/errors.ts'
import { arithmeticValue } from './shellArithmetic.ts'

export interface ShellWord {
  /** The word with the script's variables filled in; unknown ones stay as written. */
  readonly text: string
  /** Unknown parts as written: `$MODEL_PATH`, `$(date)`. */
  readonly unknown: readonly string[]
  /** Names whose value stands under a condition; that of the first branch was taken. */
  readonly conditional: readonly string[]
  readonly usesHome: boolean
}

export interface Variable {
  readonly words: readonly ShellWord[]
  readonly isConditional: boolean
}

const maxDepth = 40

export const endless = (): AppError =>
  new AppError('config/invalid', 'The script’s variables expand without end, so its settings cannot be read.')

export const plain = (text: string): ShellWord => ({ text, unknown: [], conditional: [], usesHome: false })

/** A text is continued, a list gets further entries. */
export const added = (
  known: readonly ShellWord[],
  value: readonly ShellWord[],
  isList: boolean,
): readonly ShellWord[] => (isList ? [...known, ...value] : [merged([...known, ...value])])

const merged = (parts: readonly ShellWord[]): ShellWord => ({
  text: parts.map(({ text }) => text).join(''),
  unknown: parts.flatMap(({ unknown }) => unknown),
  conditional: parts.flatMap(({ conditional }) => conditional),
  usesHome: parts.some(({ usesHome }) => usesHome),
})

/** Place behind one sign, quotation or expansion. */
/** Quotations and expansions within one another. */
const deepest = 100

export function afterSign(text: string, at: number, depth = 0): number {
  if (depth > deepest) throw endless()
  const sign = text[at] ?? ''
  if (sign === '\\') return at + 2
  if (/['`]/.test(sign)) return afterNext(text, at + 1, sign)
  if (sign === '"') return afterQuotation(text, at, depth)
  return /^\$[({]/.test(text.slice(at, at + 2)) ? afterBracket(text, at + 1, depth) : at + 1
}

function afterQuotation(text: string, at: number, depth: number): number {
  let next = at + 1
  while (next < text.length && text[next] !== '"')
    next = text[next] === "'" ? next + 1 : afterSign(text, next, depth + 1)
  return next + 1
}

function afterNext(text: string, from: number, sign: string): number {
  const end = text.indexOf(sign, from)
  return end === -1 ? text.length : end + 1
}

/** Place behind the bracket that closes the one at `at`. */
function afterBracket(text: string, at: number, depth = 0): number {
  const [opener, closer] = text[at] === '(' ? ['(', ')'] : ['{', '}']
  let open = 0
  let next = at
  while (next < text.length) {
    const sign = text[next]
    if (sign === opener) open++
    if (sign === closer && --open === 0) return next + 1
    next = sign === '\\' || sign === "'" || sign === '"' ? afterSign(text, next, depth + 1) : next + 1
  }
  return text.length
}

/** Home folder and variables that references are looked up in. */
export interface ShellScope {
  readonly home: string
  variable(name: string): Variable | undefined
}

/** One word as a value is: nothing is split. */
export const joined = (written: string, scope: ShellScope, depth = 0): ShellWord =>
  merged(new Expansion(written, scope, depth).words(false))

/** Words that one written word stands for: several for a list, none for the script's own arguments. */
export function wordsIn(written: string, scope: ShellScope): ShellWord[] {
  if (/^"?\$\{?[@*]\}?"?$/.test(written)) return []
  return new Expansion(written, scope, 0).words(true)
}

/** Fills in what a written word refers to. */
class Expansion {
  readonly #text: string
  readonly #scope: ShellScope
  readonly #depth: number
  readonly #done: ShellWord[] = []
  #parts: ShellWord[] = []
  #at = 0

  constructor(text: string, scope: ShellScope, depth: number) {
    this.#text = text
    this.#scope = scope
    this.#depth = depth
  }

  words(splits: boolean): ShellWord[] {
    if (this.#depth > maxDepth) throw endless()
    if (/^~(?=\/|$)/.test(this.#text)) {
      this.#parts.push({ ...plain(this.#scope.home), usesHome: true })
      this.#at = 1
    }
    while (this.#at < this.#text.length) this.#step(splits)
    return this.#parts.length === 0 && this.#done.length > 0
      ? this.#done
      : [...this.#done, merged(this.#parts)]
  }

  #step(splits: boolean): void {
    const from = this.#at
    const sign = this.#text[from]
    this.#at = afterSign(this.#text, from)
    const piece = this.#text.slice(from, this.#at)
    if (sign === '\\') this.#parts.push(plain(piece.slice(1)))
    else if (sign === "'") this.#parts.push(plain(piece.replace(/^'|'$/g, '')))
    else if (sign === '"') this.#quoted(piece.replace(/^"|"$/g, ''), splits)
    else if (sign === '`') this.#parts.push(unknown(piece))
    else if (sign === '$') this.#reference(from, splits)
    else this.#parts.push(plain(piece))
  }

  /** Nothing between double quotes is split, but a list stays one. */
  #quoted(text: string, splits: boolean): void {
    let from = 0
    for (let at = 0; at < text.length;) {
      const next = text[at] === "'" ? at + 1 : afterSign(text, at)
      if (text[at] !== '$') {
        if (text[at] === '\\' && /[$"\\`]/.test(text[at + 1] ?? '')) {
          this.#parts.push(plain(text.slice(from, at) + (text[at + 1] ?? '')))
          from = next
        }
        at = next
        continue
      }
      this.#parts.push(plain(text.slice(from, at)))
      const end = referenceEnd(text, at)
      const isList = splits && /^\$\{\w+\[@\]\}$/.test(text.slice(at, end))
      const found = valueOf(text.slice(at, end), this.#scope, this.#depth)
      this.#add(isList ? found : [merged(spaced(found))])
      at = from = end
    }
    this.#parts.push(plain(text.slice(from)))
  }

  #reference(from: number, splits: boolean): void {
    this.#at = referenceEnd(this.#text, from)
    const found = valueOf(this.#text.slice(from, this.#at), this.#scope, this.#depth)
    this.#add(splits ? found.flatMap(splitWords) : [merged(spaced(found))])
  }

  /** Appends words: the first continues this one, and the last is continued. */
  #add(words: readonly ShellWord[]): void {
    words.forEach((word, i) => {
      if (i > 0) {
        this.#done.push(merged(this.#parts))
        this.#parts = []
      }
      this.#parts.push(word)
    })
  }
}

const unknown = (written: string): ShellWord => ({ ...plain(written), unknown: [written] })

const spaced = (words: readonly ShellWord[]): readonly ShellWord[] =>
  words.flatMap((word, i) => (i === 0 ? [word] : [plain(' '), word]))

const splitWords = (word: ShellWord): ShellWord[] =>
  word.unknown.length > 0
    ? [word]
    : word.text
        .split(/\s+/)
        .filter(Boolean)
        .map((text) => ({ ...word, text }))

/** Place behind `$NAME`, `${…}`, `$(…)` or `$1`. */
function referenceEnd(text: string, at: number): number {
  const opener = text[at + 1]
  if (opener === '{' || opener === '(') return afterBracket(text, at + 1)
  return (
    at +
    1 +
    (/^(\w+|[@*#?$!-])/.exec(text.slice(at + 1, at + 200))?.[0].replace(/^(\d)\d*$/, '$1').length ?? 0)
  )
}

/** Parts of `$NAME`, `${NAME[place]}` and `${NAME:-rest}`; null: it is none of them. */
function referenceIn(written: string) {
  const inner = /^\$\{([\s\S]*)\}$/.exec(written)?.[1] ?? written.slice(1)
  const parts = /^(\w+)(?:\[([@*]|\d+)\])?(?:(:?[-=?+])([\s\S]*))?$/.exec(inner)
  if (parts === null) return null
  const [, name = '', place, operator = '', rest = ''] = parts
  return { name, place, operator, rest }
}

/** The value of a reference to a variable. */
function valueOf(written: string, scope: ShellScope, depth: number): readonly ShellWord[] {
  if (written === '$') return [plain('$')]
  if (written.startsWith('$((')) return [sumOf(written, scope, depth)]
  const reference = referenceIn(written)
  if (reference === null) return [unknown(written)]
  const { name, place, operator, rest } = reference
  const variable = setIn(scope, name, operator)
  const other = () => [joined(rest, scope, depth + 1)]
  if (variable === undefined) return unsetValue(operator, other) ?? [unknown(written)]
  return operator.endsWith('+') ? other() : valueIn(variable, name, place)
}

/** null: it has none. */
function unsetValue(operator: string, other: () => readonly ShellWord[]): readonly ShellWord[] | null {
  if (operator.endsWith('+')) return [plain('')]
  return /[-=]$/.test(operator) ? other() : null
}

function valueIn(variable: Variable, name: string, place: string | undefined): readonly ShellWord[] {
  const words = placed(variable.words, place)
  return variable.isConditional
    ? words.map((word) => ({ ...word, conditional: [...word.conditional, name] }))
    : words
}

/** The arguments of a script are never set; an empty value is as good as none where the operator begins with a colon. */
function setIn(scope: ShellScope, name: string, operator: string): Variable | undefined {
  const variable = /^\d/.test(name) ? undefined : scope.variable(name)
  const isEmpty = variable?.words.every(({ text }) => text === '') ?? false
  return isEmpty && operator.startsWith(':') ? undefined : variable
}

function sumOf(written: string, scope: ShellScope, depth: number): ShellWord {
  const inner = joined(written.slice(3, -2), scope, depth + 1)
  const value = arithmeticValue(inner.text, (name) => numberOf(scope.variable(name)))
  return value === null || inner.unknown.length > 0 ? unknown(written) : { ...inner, text: String(value) }
}

const placed = (words: readonly ShellWord[], place: string | undefined): readonly ShellWord[] => {
  if (place === '@' || place === '*') return words
  const word = words[Number(place ?? 0)]
  return word === undefined ? [plain('')] : [word]
}

const numberOf = (variable: Variable | undefined): number | null => {
  const [word] = variable?.words ?? []
  return word === undefined || !/^-?\d+$/.test(word.text.trim()) ? null : Number(word.text)
}
