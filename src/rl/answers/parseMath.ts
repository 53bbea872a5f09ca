/**
 * Parses LaTeX and plain mathematics into a tree. Reading guide: `list` holds values with commas between, then come
 * relations, sums, products, powers and what they are made of, each a method that reads as far as it can.
 */
import { mathTokens } from './mathTokens.ts'
import { isUnspaced, withExponents } from './plainText.ts'
import { TokenReader, Unreadable } from './tokenReader.ts'
import { withUnits } from './unitTokens.ts'
import {
  bars,
  bigOperators,
  closers,
  closing,
  forms,
  functions,
  names,
  prefixes,
  relations,
  separators,
  setOperations,
  type CommandForm,
} from './mathCommands.ts'
import { apply, isApply, symbol, type MathTree } from './mathTree.ts'
import { bare, grouped, indexed, isCount, isList, numberTree, related, withSign } from './makeTree.ts'

const deepest = 60

/** Parsed text with the words behind its values, such as their units. */
export interface ParsedMath {
  readonly tree: MathTree
  readonly words: readonly string[]
}

/**
 * Parses a text; null where it is not mathematics, or not of a known kind. Letters may be `units` behind a number, or
 * always variables.
 */
export function parseMath(text: string, letters: 'units' | 'variables' = 'units'): ParsedMath | null {
  const read = mathTokens(withExponents(text))
  if (read === null || read.length === 0) return null
  const tokens = letters === 'units' ? withUnits(read) : read
  try {
    return new Parser(tokens).whole()
  } catch (error) {
    if (error instanceof Unreadable) return null
    throw error
  }
}

class Parser extends TokenReader {
  #depth = 0
  /** Open bars: inside |…| the next bar closes. */
  #bars: string[] = []
  whole(): ParsedMath {
    const tree = this.#lists()
    if (this.at < this.tokens.length && !/^[.,;:]$/.test(this.next)) throw new Unreadable()
    if (this.at < this.tokens.length - 1) throw new Unreadable()
    return { tree, words: this.words }
  }

  #lists(): MathTree {
    const lists = this.#separated(';', () => this.#list())
    return lists.length === 1 ? lists[0]! : bare(lists)
  }

  #list(): MathTree {
    const items: MathTree[] = []
    do {
      while (this.take(...separators));
      items.push(this.#relation())
    } while (this.#startsItem())
    return items.length === 1 ? items[0]! : bare(items)
  }

  #startsItem(): boolean {
    const isSeparated = separators.includes(this.next)
    return isSeparated && this.at < this.tokens.length - 1
  }

  #separated(separator: string, read: () => MathTree): MathTree[] {
    const items = [read()]
    while (this.next === separator && this.at < this.tokens.length - 1) {
      this.at++
      items.push(read())
    }
    return items
  }

  #relation(): MathTree {
    const from = this.words.length
    const [sides, operators]: [MathTree[], string[]] = [[this.#union()], []]
    this.skipWords()
    for (let operator = relations[this.next]; operator !== undefined; operator = relations[this.next]) {
      this.at++
      // The unit of an equation is that of its last side.
      this.words.length = from
      operators.push(operator)
      sides.push(this.#union())
      this.skipWords()
    }
    return related(operators, sides)
  }

  #union(): MathTree {
    let total = this.#sum()
    for (let name = setOperations[this.next]; name !== undefined; name = setOperations[this.next]) {
      this.at++
      total = apply(name, total, this.#sum())
    }
    return total
  }

  #sum(): MathTree {
    if (++this.#depth > deepest) throw new Unreadable()
    let total = this.#signed()
    for (;;) {
      const sign = ['+', '-', '\\pm', '\\mp'].find((each) => this.take(each))
      if (sign === undefined) break
      const term = this.#ratio()
      total = sign === '+' ? apply('add', total, term) : apply('add', total, withSign(sign, term))
    }
    this.#depth--
    return total
  }

  #signed(): MathTree {
    const sign = ['+', '-', '\\pm', '\\mp'].find((each) => this.take(each))
    if (sign === undefined || sign === '+') return this.#ratio()
    if (this.next === '-') throw new Unreadable()
    return withSign(sign, this.#ratio())
  }

  /** Reads a ratio: the quotient of two values, or several values each divided by the first. */
  #ratio(): MathTree {
    const first = this.#product()
    const others: MathTree[] = []
    while (this.take(':', '\\colon')) others.push(this.#product())
    if (others.length < 2) return others.reduce((a, b) => apply('divide', a, b), first)
    return apply('ratio', ...others.map((other) => apply('divide', other, first)))
  }

  #product(): MathTree {
    let total = this.#factor()
    for (;;) {
      if (this.take('*', '\\cdot', '\\times', '\\ast')) total = apply('multiply', total, this.#signedFactor())
      else if (this.take('/', '\\div')) total = apply('divide', total, this.#signedFactor())
      else if (this.#continuesProduct()) total = this.#joined(total)
      else return total
    }
  }

  #signedFactor(): MathTree {
    return this.take('-') ? apply('negate', this.#factor()) : this.#factor()
  }

  /** 3\frac{1}{2} and 1 1/2 are mixed numbers; other values side by side are multiplied. */
  #joined(total: MathTree): MathTree {
    const isFraction = /^\\[dtc]?frac$/.test(this.next)
    if (this.tokens[this.at]?.type === 'number') return this.#mixed(total)
    const factor = this.#factor()
    const isPart = isFraction && isApply(factor, 'divide') && factor.of.every(({ kind }) => kind === 'number')
    return isPart && isCount(total) ? apply('add', total, factor) : apply('multiply', total, factor)
  }

  #mixed(total: MathTree): MathTree {
    const above = this.#factor()
    if (!isCount(total) || !this.take('/')) throw new Unreadable()
    return apply('add', total, apply('divide', above, this.#factor()))
  }

  #continuesProduct(): boolean {
    const token = this.tokens[this.at]
    if (token === undefined || token.type === 'words') return false
    if (token.type === 'number' || token.type === 'name') return true
    if (token.text in bars) return this.#bars.at(-1) !== token.text
    if (token.type === 'sign') return ['(', '[', '{'].includes(token.text)
    const isBetween = token.text in relations || token.text in setOperations
    return !isBetween && !closing.has(token.text) && !separators.includes(token.text)
  }

  #factor(): MathTree {
    let base = this.#postfixed(this.#primary())
    while (this.take('^')) {
      if (this.#degree()) continue
      base = this.#postfixed(apply('power', base, this.#argument()))
    }
    return base
  }

  /** A degree sign changes no number. */
  #degree(): boolean {
    const isBraced = this.next === '{' && /^\\(?:circ|degree)$/.test(this.tokens[this.at + 1]?.text ?? '')
    if (isBraced) this.at++
    const isDegree = this.take('\\circ', '\\degree')
    if (isBraced) this.expect('}')
    return isDegree
  }

  #postfixed(base: MathTree): MathTree {
    if (this.take('!')) return this.#postfixed(apply('factorial', base))
    if (this.take('\\%', '%', '\\percent', '\\percentage', '\\pct'))
      return this.#postfixed(apply('percent', base))
    if (this.take('\\circ', '\\degree', '\\degrees')) return this.#postfixed(base)
    const isDeclared =
      this.tokens[this.at]?.type === 'words' && /^(?:percent(?:age)?|pct|%)$/.test(this.tokens[this.at]!.text)
    if (!isDeclared) return base
    this.at++
    return apply('percent', base)
  }

  #primary(): MathTree {
    const token = this.tokens[this.at]
    if (token === undefined) throw new Unreadable()
    if (token.type === 'words') return this.#declared()
    if (token.text in closers) return this.#group(token.text)
    if (token.text in bars) return this.#barred(token.text)
    this.at++
    if (token.type === 'number') return this.#inBase(numberTree(token.text))
    if (token.type === 'name') return this.#named(token.text)
    if (token.type === 'command') return this.#command(token.text)
    throw new Unreadable()
  }

  /** Reads a number in another base: 204_5 is written to the base 5, and differs from 204. */
  #inBase(number: MathTree): MathTree {
    return this.take('_') ? apply('in-base', number, this.#argument()) : number
  }

  /** Reads words before a value, which say what it is: \text{area} = 3; words alone are a name. */
  #declared(): MathTree {
    let words = this.tokens[this.at++]!.text
    // “No” is one answer, “no solution” another.
    if (/^no$/i.test(words) && this.tokens[this.at]?.type === 'words')
      words = `${words} ${this.tokens[this.at++]!.text}`
    // A sentence of a script without spaces.
    if (isUnspaced(words) && this.at < this.tokens.length) throw new Unreadable()
    return symbol(words.toLowerCase())
  }

  #group(open: string): MathTree {
    if (++this.#depth > deepest) throw new Unreadable()
    this.at++
    const barsBefore = this.#bars
    this.#bars = []
    const isEmpty = closers[open]!.includes(this.next)
    const inside = isEmpty ? bare([]) : this.#lists()
    this.skipWords()
    const close = this.next
    this.expect(...closers[open]!)
    this.#bars = barsBefore
    this.#depth--
    if (isList(inside)) return grouped(open, close, inside.items)
    return open === '\\{' ? grouped(open, close, [inside]) : inside
  }

  #barred(open: string): MathTree {
    const [close, name] = bars[open]!
    this.at++
    this.#bars = [...this.#bars, close]
    const inside = this.#sum()
    this.#bars = this.#bars.slice(0, -1)
    this.expect(close)
    return apply(name, inside)
  }

  /** Reads a name with its index and primes; of a function, also its argument. */
  #named(name: string): MathTree {
    const own = this.take('_') ? indexed(name, this.#argument()) : symbol(name)
    let primes = ''
    while (this.take("'")) primes += "'"
    const primed = primes === '' ? own : apply(`prime${primes}`, own)
    if (!/^[fghFG]$/.test(name) || this.next !== '(') return primed
    return apply('call', primed, this.#group('('))
  }

  /** Parses the argument of ^, _, \frac or \sqrt: a group in braces, else one digit or name. */
  #argument(): MathTree {
    const token = this.tokens[this.at]
    if (token?.type === 'number' && token.text.length > 1) return this.#firstDigit(token.text)
    if (token?.text === '{') return this.#group('{')
    if (this.take('-')) return apply('negate', this.#argument())
    return this.#primary()
  }

  /** \frac12 is a half; a power in plain text, 2^10, has all of its digits. */
  #firstDigit(digits: string): MathTree {
    const isPower = /^[\^_]$/.test(this.tokens[this.at - 1]?.text ?? '')
    const isRest = /^\\[dtc]?frac$/.test(this.tokens[this.at - 1]?.text ?? '') && digits.length === 2
    if (!isPower && isRest) {
      this.at++
      return bare([numberTree(digits[0]!), numberTree(digits[1]!)])
    }
    this.at++
    return numberTree(digits)
  }

  #command(name: string): MathTree {
    if (functions.has(name)) return this.#function(name.slice(1))
    if (bigOperators.has(name)) return this.#bigOperator(name.slice(1))
    const form = forms.find(([pattern]) => pattern.test(name))?.[1]
    if (form !== undefined) return this.#form(form, name)
    if (prefixes.has(name)) return this.#prefixed(name)
    if (!names.has(name)) throw new Unreadable()
    return this.#named(name.replace(/^\\inf(?:inity)?$/, '\\infty').replace(/^\\varnothing$/, '\\emptyset'))
  }

  /** Angle ABC is another one than BAC. */
  #prefixed(prefix: string): MathTree {
    let name = prefix
    for (; this.tokens[this.at]?.type === 'name'; this.at++) name += ` ${this.next}`
    if (name === prefix) throw new Unreadable()
    return this.take('_') ? indexed(name, this.#argument()) : symbol(name)
  }

  #form(form: CommandForm, name: string): MathTree {
    if (form === 'fraction') return this.#fraction()
    if (form === 'root') return this.#root()
    if (form === 'matrix') return this.#matrix()
    if (form === 'accent') return apply(`accent ${name}`, this.#argument())
    return form === 'look' ? this.#argument() : apply(form, this.#argument(), this.#argument())
  }

  #fraction(): MathTree {
    const above = this.#argument()
    if (above.kind === 'group' && above.open === '' && above.items.length === 2)
      return apply('divide', above.items[0]!, above.items[1]!)
    return apply('divide', above, this.#argument())
  }

  #root(): MathTree {
    if (!this.take('[')) return apply('sqrt', this.#argument())
    const index = this.#sum()
    this.expect(']')
    return apply('root', this.#argument(), index)
  }

  #function(name: string): MathTree {
    const base = this.take('_') ? [this.#argument()] : []
    const exponent = this.take('^') ? this.#argument() : null
    const argument = this.next === '(' || this.next === '{' ? this.#factor() : this.#openArgument()
    if (exponent === null) return apply(name, argument, ...base)
    const isInverse = isApply(exponent, 'negate') && /^(?:sin|cos|tan)$/.test(name)
    return isInverse
      ? apply(`arc${name}`, argument)
      : apply('power', apply(name, argument, ...base), exponent)
  }

  /** \sin 2x \cos x: up to the next function or operation. */
  #openArgument(): MathTree {
    let argument = this.#factor()
    while (this.#continuesProduct() && !functions.has(this.next) && this.next !== '(')
      argument = apply('multiply', argument, this.#factor())
    return argument
  }

  #bigOperator(name: string): MathTree {
    const bounds: MathTree[] = []
    while (this.next === '_' || this.next === '^') {
      this.at++
      bounds.push(this.#argument())
    }
    return apply(name, ...bounds, this.#product())
  }

  #matrix(): MathTree {
    const name = this.braced()
    if (!/^[pbvBV]?matrix$|^array$/.test(name)) throw new Unreadable()
    if (name === 'array' && this.next === '{') this.braced()
    const rows: MathTree[][] = [[]]
    while (!this.take('\\end')) {
      if (this.take('\\\\')) rows.push([])
      else if (!this.take('&')) rows.at(-1)!.push(this.#relation())
    }
    this.braced()
    return {
      kind: 'matrix',
      isDeterminant: name === 'vmatrix',
      rows: rows.filter(({ length }) => length > 0),
    }
  }
}
