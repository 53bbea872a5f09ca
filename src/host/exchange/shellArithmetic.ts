/** Works out the whole-number arithmetic of a shell: `1024 * (2 + n)`. */

const tokens = /\s*(\d+|[A-Za-z_]\w*|\*\*|[-+*/%()])/y
const maxTokens = 500

class Sum {
  readonly #signs: readonly string[]
  readonly #valueOf: (name: string) => number | null
  #at = 0

  constructor(signs: readonly string[], valueOf: (name: string) => number | null) {
    this.#signs = signs
    this.#valueOf = valueOf
  }

  whole(): number {
    const value = this.#sum()
    return this.#at === this.#signs.length ? value : NaN
  }

  #takes(...signs: readonly string[]): string | null {
    const sign = this.#signs[this.#at]
    if (sign === undefined || !signs.includes(sign)) return null
    this.#at++
    return sign
  }

  #sum(): number {
    let value = this.#product()
    for (let sign = this.#takes('+', '-'); sign !== null; sign = this.#takes('+', '-'))
      value = sign === '+' ? value + this.#product() : value - this.#product()
    return value
  }

  #product(): number {
    let value = this.#power()
    for (let sign = this.#takes('*', '/', '%'); sign !== null; sign = this.#takes('*', '/', '%')) {
      const other = this.#power()
      value = sign === '*' ? value * other : sign === '/' ? Math.trunc(value / other) : value % other
    }
    return value
  }

  #power(): number {
    const base = this.#atom()
    return this.#takes('**') === null ? base : base ** this.#power()
  }

  #atom(): number {
    if (this.#takes('-') !== null) return -this.#atom()
    if (this.#takes('+') !== null) return this.#atom()
    if (this.#takes('(') !== null) {
      const value = this.#sum()
      return this.#takes(')') === null ? NaN : value
    }
    const sign = this.#signs[this.#at++] ?? ''
    if (/^\d/.test(sign)) return Number(sign)
    return this.#valueOf(sign) ?? NaN
  }
}

/** null where a name in it has no whole number, or it is more than sums and products. */
export function arithmeticValue(text: string, valueOf: (name: string) => number | null): number | null {
  const signs: string[] = []
  tokens.lastIndex = 0
  for (let found = tokens.exec(text); found !== null; found = tokens.exec(text)) {
    signs.push(found[1] ?? '')
    if (signs.length > maxTokens) return null
    if (text.slice(tokens.lastIndex).trim() === '') break
  }
  if (text.slice(signs.length === 0 ? 0 : tokens.lastIndex).trim() !== '' || signs.length === 0) return null
  const value = new Sum(signs, valueOf).whole()
  return Number.isSafeInteger(value) ? value : null
}
