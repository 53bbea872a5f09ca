/**
 * Reads the commands of a shell script without running it: names that the script itself gives a value, arrays, defaults
 * (`${NAME:-value}`) and whole-number arithmetic are filled in. The environment is not read, except for the home folder.
 */
import {
  afterSign,
  added,
  endless,
  joined,
  plain,
  wordsIn,
  type Variable,
  type ShellWord,
} from './shellWords.ts'

/** Words of one command, in order. */
export type ShellCommand = readonly ShellWord[]

const maxLength = 200_000
const maxWords = 20_000

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

/** Leaves out what stands between `<<END` and `END`, but not where a script never ends it. */
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
    if (assigned !== null) {
      this.#assign(assigned)
      return
    }
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

  /** Takes a word up to a space or an operator outside of quotes and brackets. */
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
