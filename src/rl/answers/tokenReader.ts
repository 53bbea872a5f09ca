/** Reads tokens one after the other, for a parser. */
import type { MathToken } from './mathTokens.ts'

/** Error for a text that is not mathematics, or not of a known kind. */
export class Unreadable extends Error {}

export class TokenReader {
  protected at = 0
  protected words: string[] = []
  protected readonly tokens: readonly MathToken[]

  constructor(tokens: readonly MathToken[]) {
    this.tokens = tokens
  }

  protected get next(): string {
    const token = this.tokens[this.at]
    return token === undefined || token.type === 'words' ? '' : token.text
  }

  protected take(...texts: readonly string[]): boolean {
    const isNext = this.at < this.tokens.length && texts.includes(this.next)
    if (isNext) this.at++
    return isNext
  }

  protected expect(...texts: readonly string[]): void {
    if (!this.take(...texts)) throw new Unreadable()
  }

  /** Units and other words; cm² is written with a power behind them. */
  protected skipWords(): void {
    const skipped: string[] = []
    while (this.tokens[this.at]?.type === 'words') {
      const [words, sign, power] = this.tokens.slice(this.at, this.at + 3)
      const isRaised = sign?.text === '^' && power?.type === 'number'
      skipped.push(isRaised ? `${words!.text}^${power.text}` : words!.text)
      this.at += isRaised ? 3 : 1
    }
    if (skipped.length > 0) this.words.push(skipped.join(' '))
  }

  /** Reads the name in {…}. */
  protected braced(): string {
    this.expect('{')
    let name = ''
    for (; !this.take('}'); this.at++) name += this.tokens[this.at]?.text ?? this.end()
    return name
  }

  private end(): never {
    throw new Unreadable()
  }
}
