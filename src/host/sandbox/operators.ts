/**
 * Operators on tensors. JavaScript's operators know numbers only, so that a loss written as
 * `min(ratio * A, clip(ratio, 0.8, 1.2) * A)` could not be traced. In code of a loss every operator is therefore replaced by a
 * call (`a * b` becomes `__op("*", a, b)`), which does with numbers what the operator does. Lines stay where they are.
 */
import { type Node, parse } from 'acorn'

/** Text that is inserted at a position of the original. */
interface Edit {
  readonly at: number
  /** Number of characters removed from the original. */
  readonly removed: number
  readonly text: string
  /** Rank among the edits at one position; the lowest comes first. */
  readonly order: number
}

export interface Rewritten {
  readonly code: string
  /** Column (from 1) in the original of a place in the rewritten code; line and columns from 1. */
  readonly columnOf: (line: number, column: number) => number
}

type Parts = Node & Readonly<Record<string, unknown>>

const arithmetic = ['+', '-', '*', '/', '%', '**']
const comparisons = ['<', '<=', '>', '>=', '==', '===', '!=', '!==']
const overloaded = new Set([...arithmetic, ...comparisons])

/** Errors: SyntaxError with acorn's `loc`. */
export function withTensorOperators(code: string): Rewritten {
  const edits: Edit[] = []
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }) as unknown as Parts, code, edits)
  edits.sort((a, b) => a.at - b.at || a.order - b.order)
  let rewritten = ''
  let from = 0
  for (const { at, removed, text } of edits) {
    rewritten += code.slice(from, at) + text
    from = at + removed
  }
  return { code: rewritten + code.slice(from), columnOf: columnsOf(code, edits) }
}

function visit(node: Parts, code: string, edits: Edit[]): void {
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, code, edits)
  rewriters[node.type]?.(node, code, edits)
}

const isNode = (value: unknown): value is Parts =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'

type Rewriter = (node: Parts, code: string, edits: Edit[]) => void

const rewriters: Readonly<Record<string, Rewriter | undefined>> = {
  BinaryExpression(node, code, edits) {
    const operator = String(node['operator'])
    if (!overloaded.has(operator)) return
    const at = operatorPlace(code, part(node, 'left').end, operator)
    wrap(edits, node, `__op("${operator}", `)
    edits.push({ at, removed: operator.length, text: ',', order: 0 })
  },
  LogicalExpression(node, code, edits) {
    const operator = String(node['operator'])
    const right = part(node, 'right')
    if (operator === '??' || /\b(await|yield)\b/.test(code.slice(right.start, right.end))) return
    const at = operatorPlace(code, part(node, 'left').end, operator)
    wrap(edits, node, `__logic("${operator}", `)
    edits.push({ at, removed: operator.length, text: ', () =>', order: 0 })
  },
  UnaryExpression(node, _, edits) {
    const operator = String(node['operator'])
    if (operator !== '-' && operator !== '!' && operator !== '+') return
    wrap(edits, node, `__unary("${operator}", `, { removed: 1 })
  },
  AssignmentExpression(node, code, edits) {
    const operator = String(node['operator']).slice(0, -1)
    const target = part(node, 'left')
    if (!arithmetic.includes(operator) || target.type !== 'Identifier') return
    const name = code.slice(target.start, target.end)
    const at = operatorPlace(code, target.end, `${operator}=`)
    edits.push({ at, removed: operator.length + 1, text: `= __op("${operator}", ${name},`, order: 0 })
    edits.push({ at: node.end, removed: 0, text: ')', order: -size(node) })
  },
  ConditionalExpression: testOf,
  IfStatement: testOf,
  WhileStatement: testOf,
  DoWhileStatement: testOf,
  ForStatement: testOf,
}

function testOf(node: Parts, _: string, edits: Edit[]): void {
  const test = node['test']
  // Outside what the test itself is wrapped in.
  if (isNode(test)) wrap(edits, test, '__test(', { outer: 0.5 })
}

/** `call(… )` around a node; `removed` characters of it go. What is around more comes first, and ends last. */
function wrap(edits: Edit[], node: Node, call: string, { removed = 0, outer = 0 } = {}): void {
  edits.push({ at: node.start, removed, text: call, order: -size(node) - outer })
  edits.push({ at: node.end, removed: 0, text: ')', order: size(node) + outer - 1e9 })
}

const size = ({ start, end }: Node): number => end - start
const part = (node: Parts, name: string): Parts => node[name] as Parts

/** Finds an operator after its left operand, beyond closing parentheses and comments. */
function operatorPlace(code: string, from: number, operator: string): number {
  const between = /(?:[\s)]|\/\*[^]*?\*\/|\/\/[^\n]*)*/y
  between.lastIndex = from
  between.exec(code)
  const at = between.lastIndex
  if (!code.startsWith(operator, at)) throw new Error(`Expected “${operator}” at ${at}.`)
  return at
}

function columnsOf(code: string, edits: readonly Edit[]): Rewritten['columnOf'] {
  return (line, column) => {
    const start = lineStart(code, line)
    const end = code.indexOf('\n', start)
    let [original, rewritten] = [start, 0]
    for (const { at, removed, text } of edits) {
      if (at < start || (end !== -1 && at > end)) continue
      if (rewritten + (at - original) >= column - 1) break
      rewritten += at - original + text.length
      original = at + removed
    }
    return Math.max(1, original + Math.max(0, column - 1 - rewritten) - start + 1)
  }
}

function lineStart(code: string, line: number): number {
  let start = 0
  for (let i = 1; i < line; i++) start = code.indexOf('\n', start) + 1
  return start
}
