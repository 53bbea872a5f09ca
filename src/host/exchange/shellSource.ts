/**
 * Reads the commands of a shell script without running it: names that the script itself gives a value, lists and defaults
 * (`${NAME:-value}`) are filled in, and what would have to be run stays unknown. The environment is not read, except for the home
 * folder.
 */
import { type AppError, invalidConfig } from '#shared/errors.ts'

export interface ShellWord {
  /** The word with the script's variables filled in; unknown ones stay as written. */
  readonly text: string
  /** Unknown parts as written: `$MODEL_PATH`, `$(date)`. */
  readonly unknown: readonly string[]
  /** Names whose value stands under a condition; that of the first branch was taken. */
  readonly conditional: readonly string[]
  readonly usesHome: boolean
}

/** Words of one command, in order. */
export type ShellCommand = readonly ShellWord[]

interface Variable {
  readonly words: readonly ShellWord[]
  readonly isConditional: boolean
}

const maxLength = 200_000
const maxWords = 20_000
/** References, quotations and expansions within one another. */
const maxDepth = 40

const endless = (): AppError =>
  invalidConfig('The script’s variables expand without end, so its settings cannot be read.')

/** Errors: AppError 'config/invalid' for a script whose values grow without end. */
export const readShell = (text: string, home: string): ShellCommand[] =>
  new Script(prepared(text), home).read()

/** Removes comment lines, shell prompts and here-documents. */
const prepared = (text: string): string =>
  text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .filter(outsideInputs())
    .filter((line) => !/^\s*#/.test(line))
    .map((line) => line.replace(/^\s*([$] |! ?)(?=[a-zA-Z])/, ''))
    .join('\n')
    .replaceAll(/\\[ \t]*\n/g, ' ')

/** Leaves out the text between `<<END` and `END`, but not where a script never ends it. */
function outsideInputs(): (line: string, at: number, lines: readonly string[]) => boolean {
  let last: ReadonlyMap<string, number> | null = null
  let until: string | null = null
  return (line, at, lines) => {
    last ??= new Map(lines.map((each, i) => [each.trim(), i]))
    if (until !== null) {
      if (line.trim() === until) until = null
      return false
    }
    const end = /<<-?\s*['"]?(\w+)['"]?/.exec(line)?.[1]
    if (end !== undefined && (last.get(end) ?? -1) > at) until = end
    return true
  }
}

const openers = ['if', 'case', 'for', 'while', 'until', 'select', '{']
const closers = ['fi', 'esac', 'done', '}']
const fillers = ['then', 'else', 'elif', 'do', 'time', '!', 'exec', 'nohup']
const declarations = ['export', 'declare', 'local', 'readonly', 'typeset']
const keywords = [...openers, ...closers, ...fillers, ...declarations]

/** Context of a word: several words, a single value, or the inside of double quotes. */
type Place = 'words' | 'value' | 'quotes'

class Script {
  readonly #text: string
  readonly #home: ShellWord
  readonly #variables = new Map<string, Variable>()
  readonly #commands: ShellCommand[] = []
  #at = 0
  /** Conditions, loops and functions around. */
  #inside = 0
  #words: ShellWord[] = []
  #count = 0

  constructor(text: string, home: string) {
    this.#text = text
    this.#home = { ...plain(home), usesHome: true }
  }

  read(): ShellCommand[] {
    while (this.#at < this.#text.length) this.#step()
    this.#end()
    return this.#commands
  }

  #step(): void {
    const sign = this.#text[this.#at] ?? ''
    if (/[\n;&|()]/.test(sign)) this.#end()
    if (/[\s;&|()]/.test(sign)) this.#at++
    else if (sign === '#') this.#skipLine()
    else if (/^\d*[<>]/.test(this.#text.slice(this.#at, this.#at + 4))) this.#redirect()
    else this.#word()
  }

  #skipLine(): void {
    const end = this.#text.indexOf('\n', this.#at)
    this.#at = end === -1 ? this.#text.length : end
  }

  /** Skips redirections: files that are read and written are not words of a command. */
  #redirect(): void {
    const rest = /^\d*[<>&|]+[0-9-]*[ \t]*/.exec(this.#text.slice(this.#at, this.#at + 40))?.[0] ?? ' '
    this.#at += rest.length
    if (!/[0-9-]\s*$/.test(rest) && /[^\s;&|()]/.test(this.#text[this.#at] ?? ' ')) this.#written()
  }

  #end(): void {
    if (this.#words.length > 0) this.#commands.push(this.#words)
    this.#words = []
  }

  #word(): void {
    const start = this.#text.slice(this.#at, this.#at + 200)
    const assigned = this.#words.length === 0 ? /^([A-Za-z_]\w*)(\+?)=/.exec(start) : null
    if (assigned !== null) {
      const [all, name = '', plus] = assigned
      this.#at += all.length
      this.#assign(name, plus === '+')
      return
    }
    const found = this.#expanded(this.#written(), 'words')
    const [first] = found
    const isKeyword = this.#words.length === 0 && first !== undefined && this.#isKeyword(first.text)
    if (!isKeyword) this.#words.push(...found)
  }

  /** Returns true for a keyword of the shell itself at the beginning of a command. */
  #isKeyword(text: string): boolean {
    if (openers.includes(text)) this.#inside++
    if (closers.includes(text)) this.#inside = Math.max(0, this.#inside - 1)
    return keywords.includes(text)
  }

  /** `NAME=` or, with `adds`, `NAME+=`. */
  #assign(name: string, adds: boolean): void {
    const isList = this.#text[this.#at] === '('
    const value = isList ? this.#list() : this.#expanded(this.#written(), 'value')
    const known = this.#variables.get(name)
    const isConditional = this.#inside > 0
    // The first branch of a condition counts, and what is set without one counts more.
    if (isConditional && known !== undefined && !adds) return
    const all = adds && known !== undefined ? [...known.words, ...value] : value
    this.#variables.set(name, { words: isList ? all : [merged(all)], isConditional })
  }

  #list(): ShellWord[] {
    const words: ShellWord[] = []
    for (this.#at++; this.#at < this.#text.length && this.#text[this.#at] !== ')';) {
      const sign = this.#text[this.#at] ?? ''
      if (sign === '#') this.#skipLine()
      else if (/[\s;&|(<>]/.test(sign)) this.#at++
      else words.push(...this.#expanded(this.#written(), 'words'))
    }
    this.#at++
    return words
  }

  /** Takes a word up to a space or an operator outside of quotes and brackets. */
  #written(): string {
    const from = this.#at
    while (this.#at < this.#text.length && !/[\s;&|()<>]/.test(this.#text[this.#at] ?? ''))
      this.#at = afterSign(this.#text, this.#at)
    if (this.#at === from) this.#at++
    return this.#text.slice(from, this.#at)
  }

  /** Expands a written word: several words for a list, none for the script's own arguments. */
  #expanded(written: string, place: Place, depth = 0): ShellWord[] {
    if (/^"?\$\{?[@*]\}?"?$/.test(written)) return []
    const words: ShellWord[] = []
    const parts: ShellWord[] = []
    for (const piece of piecesOf(written, place)) {
      const found =
        /^~(\/|$)/.test(written) && piece === '~' ? [this.#home] : this.#valueOf(piece, place, depth)
      // The first continues this word, and the last is continued.
      for (const [i, word] of found.entries()) {
        if (i > 0) words.push(merged(parts.splice(0)))
        parts.push(word)
      }
    }
    return this.#counted(parts.length === 0 && words.length > 0 ? words : [...words, merged(parts)])
  }

  #counted(words: ShellWord[]): ShellWord[] {
    this.#count += words.length
    if (this.#count > maxWords || words.some(({ text }) => text.length > maxLength)) throw endless()
    return words
  }

  /** Returns the value of one sign, quotation or reference. */
  #valueOf(piece: string, place: Place, depth: number): readonly ShellWord[] {
    const sign = piece.charAt(0)
    if (sign === '`') return [unknown(piece)]
    if (sign === '$') {
      const found = this.#reference(piece, depth)
      return place === 'words' ? found.flatMap(splitWords) : [merged(spaced(found))]
    }
    if (place === 'quotes') return [plain(piece.replace(/^\\(?=[$"\\`])/, ''))]
    if (sign === '"') return this.#quoted(piece.replaceAll(/^"|"$/g, ''), place, depth)
    return [plain(sign === "'" ? piece.replaceAll(/^'|'$/g, '') : piece.replace(/^\\/, ''))]
  }

  /** Expands text in double quotes: nothing is split, but a list stays one. */
  #quoted(text: string, place: Place, depth: number): readonly ShellWord[] {
    if (place === 'words' && /^\$\{\w+\[@\]\}$/.test(text)) return this.#reference(text, depth)
    return this.#expanded(text, 'quotes', deeper(depth))
  }

  /** `$NAME`, `${NAME}`, `${NAME[@]}`, `${NAME:-value}`; everything else is unknown, and so are the arguments of the script. */
  #reference(written: string, depth: number): readonly ShellWord[] {
    const parts = /^\$\{?(\w+)(?:\[[@*]\])?(?:(:?)[-=]([\s\S]*))?$/.exec(written.replace(/\}$/, ''))
    if (parts === null) return [unknown(written)]
    const [, name = '', colon, initial] = parts
    const variable = this.#variable(name, colon === ':')
    if (variable === null)
      return initial === undefined ? [unknown(written)] : this.#expanded(initial, 'value', deeper(depth))
    return variable.isConditional
      ? variable.words.map((word) => ({ ...word, conditional: [...word.conditional, name] }))
      : variable.words
  }

  /** null: it is not set or, where that is asked, empty. */
  #variable(name: string, orEmpty: boolean): Variable | null {
    if (name === 'HOME') return { words: [this.#home], isConditional: false }
    const found = this.#variables.get(name)
    if (found === undefined || (orEmpty && found.words.every(({ text }) => text === ''))) return null
    return found
  }
}

/** Signs, quotations and references. */
function piecesOf(written: string, place: Place): string[] {
  const pieces: string[] = []
  for (let at = 0; at < written.length;) {
    const next = place === 'quotes' && written[at] === "'" ? at + 1 : afterSign(written, at)
    pieces.push(written.slice(at, next))
    at = next
  }
  return pieces
}

function deeper(depth: number): number {
  if (depth >= maxDepth) throw endless()
  return depth + 1
}

const plain = (text: string): ShellWord => ({ text, unknown: [], conditional: [], usesHome: false })

const unknown = (written: string): ShellWord => ({ ...plain(written), unknown: [written] })

const merged = (parts: readonly ShellWord[]): ShellWord => ({
  text: parts.map(({ text }) => text).join(''),
  unknown: parts.flatMap((part) => part.unknown),
  conditional: parts.flatMap(({ conditional }) => conditional),
  usesHome: parts.some(({ usesHome }) => usesHome),
})

const spaced = (words: readonly ShellWord[]): readonly ShellWord[] =>
  words.flatMap((word, i) => (i === 0 ? [word] : [plain(' '), word]))

const splitWords = (word: ShellWord): ShellWord[] =>
  word.unknown.length > 0
    ? [word]
    : word.text
        .split(/\s+/)
        .filter(Boolean)
        .map((text) => ({ ...word, text }))

/** Place behind one sign, quotation or reference. */
function afterSign(text: string, at: number, depth = 0): number {
  if (depth > 2 * maxDepth) throw endless()
  const sign = text.charAt(at)
  if (sign === '\\') return at + 2
  if (sign === "'" || sign === '`') return afterNext(text, at + 1, sign)
  if (sign === '"') return afterClosing(text, at, { opener: null, closer: '"', depth })
  return sign === '$' ? afterReference(text, at, depth) : at + 1
}

function afterNext(text: string, from: number, sign: string): number {
  const end = text.indexOf(sign, from)
  return end === -1 ? text.length : end + 1
}

function afterReference(text: string, at: number, depth: number): number {
  const opener = text.charAt(at + 1)
  if (opener === '(') return afterClosing(text, at + 1, { opener, closer: ')', depth })
  if (opener === '{') return afterClosing(text, at + 1, { opener, closer: '}', depth })
  return at + (/^\$(\d|\w+|[@*#?$!-])?/.exec(text.slice(at, at + 200))?.[0].length ?? 1)
}

interface Enclosed {
  /** null: quotes, which do not nest. */
  readonly opener: string | null
  readonly closer: string
  readonly depth: number
}

/** Place behind the sign that closes the one at `at`. */
function afterClosing(text: string, at: number, { opener, closer, depth }: Enclosed): number {
  // Inside double quotes a single one means nothing; in brackets only quotes hide what closes them.
  const special = opener === null ? /[\\`$]/ : /[\\'"]/
  let open = 1
  for (let next = at + 1; next < text.length;) {
    const sign = text.charAt(next)
    if (sign === closer && --open === 0) return next + 1
    if (sign === opener) open++
    next = special.test(sign) ? afterSign(text, next, depth + 1) : next + 1
  }
  return text.length
}
