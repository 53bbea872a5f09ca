/** Pieces of trees, as a parser puts them together. */
import { apply, symbol, type GroupTree, type MathTree } from './mathTree.ts'
import { placeOf } from './literal.ts'
import { decimal, isWhole } from './rational.ts'

export const numberTree = (digits: string): MathTree => {
  const plain = digits.replaceAll(',', '')
  return { kind: 'number', value: decimal(plain), place: placeOf(plain) }
}

/** Relation of sides, without the approximation that follows an exact value, as in “x = 1/3 ≈ 0.33”. */
export function related(operators: readonly string[], sides: readonly MathTree[]): MathTree {
  const exact = operators.indexOf('about')
  const end = exact > 0 ? exact : operators.length
  const kept = operators.slice(0, end).map((operator) => (operator === 'about' ? '=' : operator))
  return end === 0 ? sides[0]! : { kind: 'relation', operators: kept, sides: sides.slice(0, end + 1) }
}

export const bare = (items: readonly MathTree[]): GroupTree => ({ kind: 'group', open: '', close: '', items })
export const isList = (tree: MathTree): tree is GroupTree => tree.kind === 'group' && tree.open === ''

export function grouped(open: string, close: string, items: readonly MathTree[]): GroupTree {
  if (open === '{') return bare(items)
  if (open === '\\{') return { kind: 'group', open: '{', close: '}', items }
  if (open === '\\langle') return { kind: 'group', open: '(', close: ')', items }
  return { kind: 'group', open: open as '(' | '[', close: close as ')' | ']', items }
}

export const withSign = (sign: string, tree: MathTree): MathTree =>
  apply({ '-': 'negate', '\\pm': 'plus-minus', '\\mp': 'minus-plus' }[sign]!, tree)

export const isCount = (tree: MathTree): boolean =>
  tree.kind === 'number' && isWhole(tree.value) && tree.place === null

/** x_1 is a name of its own, whatever else x is. */
export const indexed = (name: string, index: MathTree): MathTree =>
  index.kind === 'number' && index.place === null
    ? symbol(`${name}_${index.value.above}`)
    : apply('index', symbol(name), index)
