/**
 * Reads the commands of a shell script without running it: names that the script itself gives a value, arrays, defaults
 * (`${NAME:-value}`) and whole-number arithmetic are filled in. The environment is not read, except for the home folder.
 */
import { AppError } from '#shared/errors.ts'
import { arithmeticValue } from './shellArithmetic.ts'

export interface ShellWord {
  /** With what the script sets filled in; what is not known stays as it is written. */
  readonly text: string
  /** What is not known in it, as it is written: `$MODEL_PATH`, `$(date)`. */
  readonly unknown: readonly string[]
  /** Names whose value stands under a condition; that of the first branch was taken. */
  readonly conditional: readonly string[]
  readonly usesHome: boolean
}

/** Words of one command, in order. */
export type ShellCommand = readonly ShellWord[]

const maxLength = 200_000
const maxDepth = 40
const maxWords = 20_000

/** Errors: AppError 'config/invalid' for a script whose values grow without end. */
export const readShell = (text: string, home: string): ShellCommand[] =>
  new Script(prepared(text), home).read()

/** Without comments of whole lines (also between continued lines), prompts and what is handed to a program as its input. */
const prepared = (text: string): string =>
  text
    .replaceAll('\r\n', '\n')
    .replaceAll(/<<-?\s*(['"]?)(\w+)\1[^\n]*\n[\s\S]*?\n[ \t]*\2[ \t]*(?=\n|$)/g, '')
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .map((line) => line.replace(/^\s*([$] |! ?)(?=[a-zA-Z])/, ''))
    .join('\n')
    .replaceAll(/\\[ \t]*\n/g, ' ')

interface Variable {
  readonly words: readonly ShellWord[]
  readonly isConditional: boolean
}

const openers = ['if', 'case', 'for', 'while', 'until', 'select', '{']
const closers = ['fi', 'esac', 'done', '}']
const fillers = ['then', 'else', 'elif', 'do', 'time', '!', 'exec', 'nohup']
const declarations = ['export', 'declare', 'local', 'readonly', 'typeset']

class Script {
  readonly #text: string
  readonly #home: string
  readonly #variables = new Map<string, Variable>()
  readonly #commands: ShellCommand[] = []
  #at = 0
  /** Conditions, loops and functions around. */
  #inside = 0
  #words: ShellWord[] = []
  #count = 0

  constructor(text: string, home: string) {
    this.#text = text
    this.#home = home
  }

  read(): ShellCommand[] {
    while (this.#at < this.#text.length) this.#step()
    this.#end()
    return this.#commands
  }

  #step(): void {
    const sign = this.#text[this.#at] ?? ''
    if (/[ \t]/.test(sign)) this.#at++
    else if (/[\n;&|()]/.test(sign)) this.#separate()
    else if (sign === '#') this.#at = this.#lineEnd()
    else if (/[<>]/.test(sign)) this.#redirect()
    else this.#word()
  }

  #lineEnd(): number {
    const end = this.#text.indexOf('\n', this.#at)
    return end === -1 ? this.#text.length : end
  }

  #separate(): void {
    this.#end()
    this.#at++
  }

  /** Files that are read and written are no words of a command. */
  #redirect(): void {
    const rest = /^[<>&|]+[0-9-]*[ \t]*/.exec(this.#text.slice(this.#at, this.#at + 40))?.[0] ?? ' '
    this.#at += rest.length
    if (/[0-9-]\s*$/.test(rest)) return
    const before = this.#words.length
    if (/[^\s;&|()]/.test(this.#text[this.#at] ?? ' ')) this.#word()
    this.#words.length = Math.min(this.#words.length, before)
  }

  #end(): void {
    if (this.#words.length > 0) this.#commands.push(this.#words)
    this.#words = []
  }

  #word(): void {
    const assigned = this.#assignment()
    if (assigned !== null) return this.#assign(assigned)
    const found = wordsIn(this.#readWord(), this)
    this.#count += found.length
    if (this.#count > maxWords) throw endless()
    const [first] = found
    if (this.#words.length === 0 && first !== undefined && this.#isKeyword(first.text)) return
    this.#words.push(...found)
  }

  /** Words of the shell itself, at the beginning of a command. */
  #isKeyword(text: string): boolean {
    if (openers.includes(text)) this.#inside++
    if (closers.includes(text)) this.#inside = Math.max(0, this.#inside - 1)
    return [...openers, ...closers, ...fillers, ...declarations].includes(text)
  }

  /** `NAME=` or `NAME+=` where a command begins; null: an ordinary word. */
  #assignment(): { readonly name: string; readonly adds: boolean } | null {
    if (this.#words.length > 0) return null
    const [all = '', name = '', plus] =
      /^([A-Za-z_]\w*)(\+?)=/.exec(this.#text.slice(this.#at, this.#at + 200)) ?? []
    if (all === '') return null
    this.#at += all.length
    return { name, adds: plus === '+' }
  }

  #assign({ name, adds }: { readonly name: string; readonly adds: boolean }): void {
    const isList = this.#text[this.#at] === '('
    const value = isList ? this.#list() : [joined(this.#readWord(), this)]
    const known = this.#variables.get(name)
    const isConditional = this.#inside > 0
    // The first branch of a condition counts, and what is set without one counts more.
    if (isConditional && known !== undefined && !adds) return
    const words = adds && known !== undefined ? added(known.words, value, isList) : value
    if (words.length > maxWords || words.some(({ text }) => text.length > maxLength)) throw endless()
    this.#variables.set(name, { words, isConditional })
  }

  #list(): ShellWord[] {
    const words: ShellWord[] = []
    for (this.#at++; this.#at < this.#text.length && this.#text[this.#at] !== ')';) {
      const sign = this.#text[this.#at] ?? ''
      if (/\s/.test(sign)) this.#at++
      else if (sign === '#') this.#at = this.#lineEnd()
      else if (/[;&|(<>]/.test(sign)) this.#at++
      else words.push(...wordsIn(this.#readWord(), this))
      if (words.length > maxWords) throw endless()
    }
    this.#at++
    return words
  }

  /** As it is written, up to a space or a sign outside of quotes and brackets. */
  #readWord(): string {
    const from = this.#at
    while (this.#at < this.#text.length) {
      const sign = this.#text[this.#at] ?? ''
      if (/[\s;&|()<>]/.test(sign)) break
      this.#at = afterSign(this.#text, this.#at)
    }
    if (this.#at === from) this.#at++
    return this.#text.slice(from, this.#at)
  }

  variable(name: string): Variable | undefined {
    if (name === 'HOME') return { words: [{ ...plain(this.#home), usesHome: true }], isConditional: false }
    return this.#variables.get(name)
  }

  get home(): string {
    return this.#home
  }
}

const endless = (): AppError =>
  new AppError(
    'config/invalid',
    'The script’s values grow without end, so it cannot be read for its settings.',
  )

const plain = (text: string): ShellWord => ({ text, unknown: [], conditional: [], usesHome: false })

/** A text is continued, a list gets further entries. */
const added = (
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
function afterSign(text: string, at: number): number {
  const sign = text[at]
  if (sign === '\\') return at + 2
  if (sign === "'") return afterQuote(text, at)
  if (sign === '`') return afterNext(text, at + 1, '`')
  if (sign === '"') {
    let next = at + 1
    while (next < text.length && text[next] !== '"')
      next = text[next] === "'" ? next + 1 : afterSign(text, next)
    return next + 1
  }
  if (sign !== '$') return at + 1
  const opener = text[at + 1]
  return opener === '(' || opener === '{' ? afterBracket(text, at + 1) : at + 1
}

const afterQuote = (text: string, at: number): number => afterNext(text, at + 1, "'")

function afterNext(text: string, from: number, sign: string): number {
  const end = text.indexOf(sign, from)
  return end === -1 ? text.length : end + 1
}

/** Place behind the bracket that closes the one at `at`. */
function afterBracket(text: string, at: number): number {
  const [opener, closer] = text[at] === '(' ? ['(', ')'] : ['{', '}']
  let depth = 0
  let next = at
  while (next < text.length) {
    const sign = text[next]
    if (sign === opener) depth++
    if (sign === closer && --depth === 0) return next + 1
    next = sign === '\\' || sign === "'" || sign === '"' ? afterSign(text, next) : next + 1
  }
  return text.length
}

/** Where names are looked up. */
export interface ShellScope {
  readonly home: string
  variable(name: string): Variable | undefined
}

/** One word as a value is: nothing is split. */
const joined = (written: string, scope: ShellScope, depth = 0): ShellWord =>
  merged(new Expansion(written, scope, depth).words(false))

/** Words that one written word stands for: several for a list, none for the script's own arguments. */
function wordsIn(written: string, scope: ShellScope): ShellWord[] {
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

  /** Of several words the first continues this one, and the last is continued. */
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

/** What a reference stands for. */
function valueOf(written: string, scope: ShellScope, depth: number): readonly ShellWord[] {
  if (written === '$') return [plain('$')]
  if (written.startsWith('$((')) {
    const inner = joined(written.slice(3, -2), scope, depth + 1)
    const value = arithmeticValue(inner.text, (name) => numberOf(scope.variable(name)))
    return [value === null || inner.unknown.length > 0 ? unknown(written) : { ...inner, text: String(value) }]
  }
  const inner = /^\$\{([\s\S]*)\}$/.exec(written)?.[1] ?? written.slice(1)
  const [all = '', name = '', place, operator, rest = ''] =
    /^(\w+)(?:\[([@*]|\d+)\])?(?:(:?[-=?+])([\s\S]*))?$/.exec(inner) ?? []
  if (all === '' || /^\d/.test(name))
    return operator?.endsWith('-') ? [joined(rest, scope, depth + 1)] : [unknown(written)]
  const variable = scope.variable(name)
  if (operator?.endsWith('+')) return variable === undefined ? [plain('')] : [joined(rest, scope, depth + 1)]
  if (variable === undefined)
    return /[-=]$/.test(operator ?? '') ? [joined(rest, scope, depth + 1)] : [unknown(written)]
  const words = placed(variable.words, place)
  return variable.isConditional
    ? words.map((word) => ({ ...word, conditional: [...word.conditional, name] }))
    : words
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
