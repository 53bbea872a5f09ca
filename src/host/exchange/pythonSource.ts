/**
 * Reads the settings that stand in a Python file without running it: names that are given literals, and calls with their arguments.
 * Names are looked up wherever they are assigned in the file, parameters of functions where the file calls them; what else
 * would have to be computed is `computed`.
 */
import { entryOf } from './links.ts'
import {
  computed,
  conditionalPlaces,
  nesting,
  newLine,
  tokensOf,
  tooLong,
  type Token,
} from './pythonTokens.ts'
import { arithmetic, itemOf, joined, literalCalls, PythonCall, spreadOf, withUnread } from './pythonValues.ts'

export interface PythonSource {
  /** Values of names in the file; dicts are objects, tuples and lists arrays, classes their names. */
  readonly names: ReadonlyMap<string, unknown>
  /** Calls in the order of the file; nested ones come after those around them. */
  readonly calls: readonly PythonCall[]
  /** Values returned by functions of the file. */
  readonly returned: readonly unknown[]
}

/** A file of Python, rather than YAML, JSON or a command. */
export const isPython = (text: string): boolean =>
  /^(from\s+[\w.]+\s+import\s|import\s+\w|def\s+\w+\s*\(|class\s+\w)/m.test(text) ||
  /^\s*[A-Za-z_]\w*\s+=\s+[\w.]*[[({]/m.test(text)

/** Value that is computed only when asked for. */
type Expression = () => unknown

const constants: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['True', true],
  ['False', false],
  ['None', null],
])
/** Types that settings name. */
const types = ['int', 'float', 'str', 'bool']

/** Brackets within brackets. */
const maxDepth = 60
/** Tokens that are read, again and again where they lie inside of others. */
const maxWork = 5_000_000

class Reader {
  readonly #tokens: readonly Token[]
  readonly #scope = new Map<string, Expression>()
  /** Names of the parameters of functions. */
  readonly #functions = new Map<string, readonly string[]>()
  readonly #known = new Map<string, unknown>()
  /** Calls by the place of their bracket. */
  readonly #calls = new Map<number, PythonCall>()
  /** `name.attribute = …`: name → attributes. */
  readonly #attributes = new Map<string, Map<string, Expression>>()
  /** The same under a condition. */
  readonly #conditional = new Map<string, Map<string, Expression>>()
  /** Tokens that run under a condition only. */
  readonly #places: ReadonlySet<number>
  /** Names whose dicts are changed after they are made. */
  readonly #changed = new Set<string>()
  #at = 0
  #depth = 0
  #work = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
    this.#places = conditionalPlaces(tokens)
  }

  read(): PythonSource {
    this.#tokens.forEach((token, at) => {
      if (token.kind === 'name' && token.text === 'def') this.#define(at + 1)
      if (token.kind === 'name' && this.#startsLine(at)) {
        this.#assign(at)
        this.#assignAttribute(at)
        this.#change(at)
      }
    })
    const places = this.#tokens.flatMap((_, at) => (this.#isCall(at) ? [at] : []))
    for (const at of places) this.#bind(at)
    for (const at of places) this.#valueFrom(at)
    const calls = [...this.#calls].sort(([a], [b]) => a - b).map(([, call]) => this.#withAssigned(call))
    const names = [...this.#scope.keys()].map((name) => [name, this.#lookUp(name)] as const)
    const returns = this.#tokens.flatMap(({ text }, at) => (text === 'return' ? [at + 1] : []))
    return { names: new Map(names), calls, returned: returns.map((at) => this.#valueFrom(at)) }
  }

  #text(at = this.#at): string {
    const token = this.#tokens[at]
    return token === undefined || token.kind === 'value' ? '' : token.text
  }

  #startsLine(at: number): boolean {
    return at === 0 || [newLine, ';', ':'].includes(this.#text(at - 1))
  }

  /** `name = …`, also with a type. The last one counts; one under a condition is as good as unknown. */
  #assign(at: number): void {
    let sign = at + 1
    if (this.#text(sign) === ':') while (![newLine, '=', ''].includes(this.#text(sign))) sign++
    if (this.#text(sign) !== '=' || constants.has(this.#text(at))) return
    const from = sign + 1
    this.#scope.set(this.#text(at), this.#places.has(at) ? () => computed : () => this.#valueFrom(from))
  }

  /** `name[…] = …`, `name.update(…)`: what a dict holds then is not followed. */
  #change(at: number): void {
    const isSet = this.#text(at + 1) === '[' && this.#text(at + 3) === ']' && /^.?=$/.test(this.#text(at + 4))
    const isUpdate =
      this.#text(at + 1) === '.' && ['update', 'setdefault', 'pop', 'clear'].includes(this.#text(at + 2))
    if (isSet || isUpdate || this.#text(at + 1) === '|=') this.#changed.add(this.#text(at))
  }

  /** `name.attribute = …`, of one attribute. The last one counts. */
  #assignAttribute(at: number): void {
    const isOne = this.#text(at + 1) === '.' && this.#text(at + 3) === '='
    if (!isOne || this.#tokens[at + 2]?.kind !== 'name') return
    const all = this.#places.has(at) ? this.#conditional : this.#attributes
    const own = all.get(this.#text(at)) ?? new Map<string, Expression>()
    own.set(this.#text(at + 2), () => this.#valueFrom(at + 4))
    all.set(this.#text(at), own)
  }

  /** Adds what is assigned to an object later. */
  #withAssigned(call: PythonCall): PythonCall {
    const { name, args, target, unread } = call
    if (target === null) return call
    const valuesOf = (own: ReadonlyMap<string, Expression> = new Map<string, Expression>()) =>
      Object.fromEntries([...own].map(([attribute, value]) => [attribute, value()]))
    const keywords = { ...call.keywords, ...valuesOf(this.#attributes.get(target)) }
    return new PythonCall({
      name,
      args,
      keywords,
      target,
      unread,
      conditional: valuesOf(this.#conditional.get(target)),
    })
  }

  /** Defines the parameters of a function, with their defaults. */
  #define(at: number): void {
    const parameters: string[] = []
    let depth = 0
    for (let next = at + 1; next < this.#tokens.length; next++) {
      depth += nesting(this.#text(next))
      if (depth === 0) break
      const isFirst = depth === 1 && ['(', ','].includes(this.#text(next - 1))
      if (!isFirst || this.#tokens[next]?.kind !== 'name') continue
      parameters.push(this.#text(next))
      if (this.#text(next + 1) === '=') this.#scope.set(this.#text(next), () => this.#valueFrom(next + 2))
    }
    this.#functions.set(this.#text(at), parameters)
  }

  /** The first name of a path with a bracket behind it. */
  #isCall(at: number): boolean {
    if (this.#tokens[at]?.kind !== 'name' || ['.', 'def', 'class'].includes(this.#text(at - 1))) return false
    let next = at + 1
    while (this.#text(next) === '.' && this.#tokens[next + 1]?.kind === 'name') next += 2
    return this.#text(next) === '('
  }

  /** Parameters of the file's own functions are what the file passes to them. */
  #bind(at: number): void {
    const parameters = this.#functions.get(this.#text(at))
    if (parameters === undefined || this.#text(at + 1) !== '(') return
    const call = () => {
      const value = this.#valueFrom(at)
      return value instanceof PythonCall ? value : null
    }
    parameters.forEach((name, place) => {
      if (this.#scope.has(name)) return
      this.#scope.set(name, () => {
        const given = call()?.argument(place, name)
        return given === undefined ? computed : given
      })
    })
  }

  #lookUp(name: string): unknown {
    if (constants.has(name)) return constants.get(name)
    if (types.includes(name)) return name
    if (!this.#known.has(name)) {
      // One that stands for itself.
      this.#known.set(name, computed)
      this.#known.set(name, this.#scope.get(name)?.() ?? (this.#scope.has(name) ? null : computed))
    }
    return this.#known.get(name)
  }

  #valueFrom(at: number): unknown {
    const [place, depth] = [this.#at, this.#depth]
    this.#at = at
    const value = this.#expression()
    this.#at = place
    this.#depth = depth
    return value
  }

  #takes(text: string): boolean {
    if (this.#text() !== text) return false
    this.#at++
    return true
  }

  /**
   * Reads up to a comma, a closing bracket or the end of a line; `computed` where there is more than literals, names
   * and + − × ÷.
   */
  #expression(): unknown {
    this.#count()
    if (++this.#depth > maxDepth) {
      this.#skip()
      this.#depth--
      return computed
    }
    const value = this.#sum()
    this.#depth--
    if (isEnd(this.#text()) || this.#at >= this.#tokens.length) return value
    this.#skip()
    return computed
  }

  #count(): void {
    if (++this.#work > maxWork) throw tooLong()
  }

  /** Skips to the end of what is being read. */
  #skip(): void {
    for (let depth = 0; this.#at < this.#tokens.length; this.#at++) {
      this.#count()
      const text = this.#text()
      if (depth === 0 && isEnd(text)) return
      depth += nesting(text)
    }
  }

  #sum(): unknown {
    let value = this.#product()
    for (;;) {
      if (this.#takes('+')) value = arithmetic(value, this.#product(), (a, b) => a + b)
      else if (this.#takes('-')) value = arithmetic(value, this.#product(), (a, b) => a - b)
      else return value
    }
  }

  #product(): unknown {
    let value = this.#power()
    for (;;) {
      if (this.#takes('*')) value = arithmetic(value, this.#power(), (a, b) => a * b)
      else if (this.#takes('/')) value = arithmetic(value, this.#power(), (a, b) => a / b)
      else if (this.#takes('//')) value = arithmetic(value, this.#power(), (a, b) => Math.floor(a / b))
      else return value
    }
  }

  #power(): unknown {
    if (this.#takes('-')) return arithmetic(0, this.#power(), (a, b) => a - b)
    if (this.#takes('+')) return this.#power()
    const base = this.#postfix()
    return this.#takes('**') ? arithmetic(base, this.#power(), (a, b) => a ** b) : base
  }

  /** `name.name(…)[…]` */
  #postfix(): unknown {
    const from = this.#at
    let value = this.#atom()
    let name = this.#text(from)
    for (;;) {
      if (this.#takes('.')) {
        name = `${name}.${this.#text()}`
        this.#at++
        value = computed
      } else if (this.#takes('(')) value = this.#call(name, from)
      else if (this.#takes('[')) value = itemOf(value, this.#items(']')[0])
      else return value
    }
  }

  #atom(): unknown {
    const token = this.#tokens[this.#at]
    if (token === undefined) return computed
    if (token.kind === 'value') return this.#literal()
    if (isEnd(token.text)) return computed
    this.#at++
    if (token.kind === 'name') return ['.', '('].includes(this.#text()) ? computed : this.#lookUp(token.text)
    if (token.text === '[') return this.#items(']')
    if (token.text === '{') return this.#dict()
    return token.text === '(' ? this.#bracket() : computed
  }

  /** A tuple, or one value in brackets. */
  #bracket(): unknown {
    const items = this.#items(')')
    const isTuple = items.length !== 1 || this.#text(this.#at - 2) === ','
    return isTuple ? items : items[0]
  }

  /** Reads a literal; texts beside each other are one. */
  #literal(): unknown {
    let value: unknown
    for (let token = this.#tokens[this.#at]; token?.kind === 'value'; token = this.#tokens[++this.#at])
      value = value === undefined ? token.value : joined(value, token.value)
    return value
  }

  #items(closer: string): unknown[] {
    const items: unknown[] = []
    while (this.#at < this.#tokens.length && !this.#takes(closer)) {
      items.push(this.#expression())
      if (!this.#takes(',') && this.#text() !== closer) this.#step(items)
    }
    return items
  }

  /** Steps over a sign that no literal has (a slice, another bracket), after which the rest is unknown. */
  #step(items: unknown[]): void {
    this.#at++
    items[items.length - 1] = computed
  }

  #dict(): unknown {
    const entries: (readonly [key: string, value: unknown])[] = []
    const unread: string[] = []
    while (this.#at < this.#tokens.length && !this.#takes('}')) {
      if (this.#takes('**')) this.#spread(entries, unread)
      else {
        const key = this.#expression()
        const value = this.#takes(':') ? this.#expression() : computed
        if (typeof key === 'string') entries.push([key, value])
      }
      if (!this.#takes(',') && this.#text() !== '}') this.#at++
    }
    return withUnread(entries, unread)
  }

  /** Reads the expression behind `**`. */
  #spread(entries: (readonly [key: string, value: unknown])[], unread: string[]): void {
    const from = this.#at
    const value = this.#expression()
    const written = this.#tokens.slice(from, this.#at).map(({ text }) => text)
    const isChanged = this.#changed.has(this.#text(from))
    const brought = spreadOf(isChanged ? computed : value, `**${written.join('')}`)
    entries.push(...brought.entries)
    unread.push(...brought.unread)
  }

  #call(name: string, from: number): unknown {
    const bracket = this.#at
    const args: unknown[] = []
    const keywords: (readonly [name: string, value: unknown])[] = []
    const unread: string[] = []
    while (this.#at < this.#tokens.length && !this.#takes(')')) {
      const keyword = this.#keyword()
      if (keyword !== null) keywords.push([keyword, this.#expression()])
      else if (this.#takes('**')) this.#spread(keywords, unread)
      else args.push(this.#expression())
      if (!this.#takes(',') && this.#text() !== ')') this.#at++
    }
    const target = this.#target(from)
    const call = new PythonCall({ name, args, keywords: Object.fromEntries(keywords), target, unread })
    const literal = entryOf(literalCalls, name)?.(call)
    if (literal === undefined) this.#calls.set(bracket, call)
    return literal ?? call
  }

  /** `name=` before an argument; null: it has a place. */
  #keyword(): string | null {
    const name = this.#text()
    if (name === '' || this.#text(this.#at + 1) !== '=') return null
    this.#at += 2
    return name
  }

  /** `target=call(…)`, `"target": call(…)` */
  #target(from: number): string | null {
    const [sign, before] = [this.#text(from - 1), this.#tokens[from - 2]]
    if (sign === '=' && before?.kind === 'name') return before.text
    return sign === ':' && before?.kind === 'value' && typeof before.value === 'string' ? before.value : null
  }
}

/** Returns true at the end of an expression. */
const isEnd = (text: string): boolean => [',', ')', ']', '}', ':', ';', '=', newLine].includes(text)

/** Errors: AppError 'config/invalid' for a file that is too long. */
export const readPython = (text: string): PythonSource => new Reader(tokensOf(text)).read()
