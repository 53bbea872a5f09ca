/** Finds what a Python file runs under a condition only: in `if`, `elif`, `else` and `except`, by the indentation of its lines. */
import { newLine, type Token } from './pythonTokens.ts'

interface Block {
  readonly column: number
  readonly isConditional: boolean
}

/** Places of tokens. `if __name__ == "__main__"` is no condition, since the file is what is started. */
export function conditionalPlaces(tokens: readonly Token[]): ReadonlySet<number> {
  const places = new Set<number>()
  let blocks: readonly Block[] = []
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
