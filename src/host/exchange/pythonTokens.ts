/** The words of a Python file: names, signs, and literals with their values. */
import { type AppError, invalidConfig } from '#shared/errors.ts'

/** A value that only running the file could tell. */
export const computed = Symbol('computed')

export type Token = Word & {
  /** Characters before it in its line. */
  readonly column: number
}

type Word =
  | { readonly kind: 'name' | 'sign'; readonly text: string }
  | { readonly kind: 'value'; readonly text: string; readonly value: unknown }

const tokenPattern =
  /(?<space>[ \t\r\f]+|\\\r?\n|#[^\n]*)|(?<line>\n)|(?<text>[rRbBuUfF]{0,2}(?:'''[\s\S]*?'''|"""[\s\S]*?"""|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))|(?<number>(?:0[xX][\da-fA-F_]+|(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:[eE][+-]?\d+)?)[jJ]?)|(?<name>[\p{L}_][\p{L}\p{N}_]*)|(?<sign>\*\*|\/\/|==|!=|<=|>=|->|:=|<<|>>|[-+*/%@&|^~]=|[-+*/%@&|^~<>()[\]{},:.;=])|(?<other>[\s\S])/gu

const maxTokens = 200_000
export const newLine = '\n'

/** Line ends inside brackets mean nothing. Errors: AppError 'config/invalid' for more than anyone writes. */
export function tokensOf(source: string): Token[] {
  const tokens: Token[] = []
  let depth = 0
  let lineStart = 0
  for (const { groups = {}, index } of source.matchAll(tokenPattern)) {
    if (tokens.length > maxTokens) throw tooLong()
    const word = wordOf(groups)
    const column = index - lineStart
    if (word?.text === newLine) lineStart = index + 1
    if (word === null || (depth > 0 && word.text === newLine)) continue
    if (word.kind === 'sign') depth = Math.max(0, depth + nesting(word.text))
    tokens.push({ ...word, column })
  }
  return tokens
}

/** null: space between words. */
function wordOf(groups: Readonly<Record<string, string | undefined>>): Word | null {
  const { text, number, name, sign, line, other } = groups
  if (text !== undefined) return { kind: 'value', text, value: textValue(text) }
  if (number !== undefined) return { kind: 'value', text: number, value: numberValue(number) }
  if (name !== undefined) return { kind: 'name', text: name }
  const found = sign ?? line ?? other
  return found === undefined ? null : { kind: 'sign', text: found }
}

/** Change of nesting depth after a sign. */
export function nesting(sign: string): -1 | 0 | 1 {
  if (sign === '') return 0
  if ('([{'.includes(sign)) return 1
  return ')]}'.includes(sign) ? -1 : 0
}

export const tooLong = (): AppError =>
  invalidConfig('The Python file is too long to be read for its settings.')

function numberValue(text: string): unknown {
  const value = Number(text.replaceAll('_', ''))
  return Number.isFinite(value) ? value : computed
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\n': '' }

function textValue(text: string): unknown {
  const [, prefix = '', quoted = ''] = /^([a-z]*)([\s\S]*)$/i.exec(text) ?? []
  const quote = /^('''|""")/.test(quoted) ? 3 : 1
  const inside = quoted.slice(quote, -quote)
  if (/f/i.test(prefix) && /[{}]/.test(inside)) return computed
  if (/r/i.test(prefix)) return inside
  return inside.replaceAll(/\\([\s\S])/g, (_, sign: string) => escapes[sign] ?? sign)
}

/**
 * Finds what a file runs under a condition only: in `if`, `elif`, `else` and `except`, by the indentation of its lines.
 * Returns places of tokens. `if __name__ == "__main__"` does not count, since the file itself is started.
 */
export function conditionalPlaces(tokens: readonly Token[]): ReadonlySet<number> {
  const places = new Set<number>()
  let blocks: readonly { readonly column: number; readonly isConditional: boolean }[] = []
  tokens.forEach(({ text, column }, at) => {
    if (text === newLine) return
    if (at === 0 || tokens[at - 1]?.text === newLine) {
      blocks = blocks.filter((block) => block.column < column)
      if (isCondition(tokens, at)) blocks = [...blocks, { column, isConditional: !isMain(tokens, at) }]
    }
    if (blocks.some(({ isConditional }) => isConditional)) places.add(at)
  })
  return places
}

const isCondition = (tokens: readonly Token[], at: number): boolean =>
  tokens[at]?.kind === 'name' && ['if', 'elif', 'else', 'except'].includes(tokens[at].text)

const isMain = (tokens: readonly Token[], at: number): boolean => tokens[at + 1]?.text === '__name__'
