/**
 * A chat template is a program that came with a model. It is rewritten before it runs: every loop and macro counts its
 * passes, `range` is bounded, and the clock stands still.
 */

/** A node of the template's syntax tree, as the template library builds it. */
export interface SyntaxNode {
  type: string
  [field: string]: unknown
}

/** Names a template cannot declare itself, as they are not identifiers. */
const [countName, rangeName, dateName] = ['#count', '#range', '#date']

const maxPasses = 50_000
const maxRange = 10_000

/** Makes `program` call the limits; answers the variables that each rendering must get afresh. */
export function limitLoops(program: SyntaxNode): () => Record<string, unknown> {
  rewrite(program)
  return () => {
    let passes = 0
    return {
      [countName]: () => {
        if (++passes > maxPasses) throw new Error(`it went round its loops more than ${maxPasses} times`)
        return ''
      },
      [rangeName]: boundedRange,
      [dateName]: frozenDate,
    }
  }
}

/** Walks the tree without recursion: its depth is the file's to choose. */
function rewrite(program: SyntaxNode): void {
  const waiting: unknown[] = [program]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value !== 'object' || value === null) continue
    if (value instanceof Map) waiting.push(...value)
    else visit(value as SyntaxNode, waiting)
  }
}

function visit(node: SyntaxNode, waiting: unknown[]): void {
  const isAttribute = node.type === 'MemberExpression' && node['computed'] === false
  for (const [field, child] of Object.entries(node)) {
    // In `message.range` the name is a key, not a variable.
    if (!(isAttribute && field === 'property')) waiting.push(child)
  }
  limitNode(node)
}

function limitNode(node: SyntaxNode): void {
  if (node.type === 'Identifier') {
    if (node['value'] === 'range') node['value'] = rangeName
    if (node['value'] === 'strftime_now') node['value'] = dateName
  }
  if ((node.type === 'For' || node.type === 'Macro') && Array.isArray(node['body'])) {
    const callee = { type: 'Identifier', value: countName }
    node['body'].unshift({ type: 'CallExpression', callee, args: [] })
  }
}

/** Python's range, up to `maxRange` numbers. */
function boundedRange(first: number, second?: number, step = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second]
  const length = Math.max(0, Math.ceil((stop - start) / step))
  if (!(length <= maxRange)) throw new Error(`it asked for a range of ${length} numbers`)
  return Array.from({ length }, (_, index) => start + index * step)
}

/**
 * Templates that write today's date would change a run's prompts at midnight, so that it could be neither resumed
 * nor replayed. They get the date that Llama 3's templates fall back to.
 */
function frozenDate(format: string): string {
  const parts: Readonly<Record<string, string>> = {
    d: '26',
    m: '07',
    Y: '2024',
    y: '24',
    b: 'Jul',
    B: 'July',
    A: 'Friday',
    a: 'Fri',
    H: '00',
    M: '00',
    S: '00',
  }
  return format.replace(/%(.)/g, (whole, letter: string) => parts[letter] ?? whole)
}
