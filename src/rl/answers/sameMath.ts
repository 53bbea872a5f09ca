/** Compares two mathematical answers: values, lists and sets of them, intervals, matrices, equations. */
import { fingerprint, Incomputable } from './fingerprint.ts'
import {
  apply,
  childrenOf,
  holds,
  isApply,
  type ApplyTree,
  type GroupTree,
  type MathTree,
  type RelationTree,
} from './mathTree.ts'
import { isMutual } from './mathCommands.ts'
import { product, type Rational } from './rational.ts'
import { isSameScalar, isVariable } from './sameScalar.ts'

/** `tolerance` as `isNear` has it, where a decimal is compared. */
export function isSameMath(expected: MathTree, found: MathTree, tolerance: number): boolean {
  const [a, b] = [withoutSigns(expected), withoutSigns(found)]
  const [x, y] = unnamed(a, b)
  if (x.kind === 'relation' || y.kind === 'relation') return isSameRelation(x, y, tolerance)
  if (isSetOperation(x) || isSetOperation(y)) return isSameOperation(x, y, tolerance)
  if (x.kind === 'group' || y.kind === 'group') return isSameGroup(x, y, tolerance)
  if (x.kind === 'matrix' || y.kind === 'matrix') return isSameMatrix(x, y, tolerance)
  return isSameScalar(x, y, tolerance)
}

/** Returns the answer in another unit, `factor` of which are one of its own; null for anything without a value. */
export function inUnit(tree: MathTree, factor: Rational): MathTree | null {
  if (tree.kind === 'number')
    return { ...tree, value: product(tree.value, factor), place: tree.place && product(tree.place, factor) }
  if (isApply(tree, 'negate')) return apply('negate', inUnit(tree.of[0]!, factor)!)
  if (isScalar(tree)) return apply('multiply', { kind: 'number', value: factor, place: null }, tree)
  if (tree.kind !== 'group') return isEquation(tree) ? inUnit(tree.sides.at(-1)!, factor) : null
  const items = tree.items.map((item) => inUnit(item, factor))
  return items.every((item) => item !== null) ? { ...tree, items } : null
}

const isPlusMinus = (tree: MathTree): boolean => isApply(tree, 'plus-minus') || isApply(tree, 'minus-plus')

/** 2 ± √3 is two values; every ± of an expression has the same sign, and every ∓ the other. */
function withoutSigns(tree: MathTree): MathTree {
  if (tree.kind === 'group')
    return {
      ...tree,
      items: tree.items.flatMap((item) => (holds(item, isPlusMinus) ? bothSigns(item) : [item])),
    }
  if (!holds(tree, isPlusMinus)) return tree
  if (tree.kind === 'relation' && tree.operators.join() === '=' && !holds(tree.sides[0]!, isPlusMinus))
    return { ...tree, sides: [tree.sides[0]!, withoutSigns(tree.sides[1]!)] }
  return { kind: 'group', open: '', close: '', items: bothSigns(tree) }
}

const bothSigns = (tree: MathTree): MathTree[] => [true, false].map((isUpper) => signed(tree, isUpper))

function signed(tree: MathTree, isUpper: boolean): MathTree {
  if (tree.kind === 'relation') return { ...tree, sides: tree.sides.map((side) => signed(side, isUpper)) }
  if (tree.kind === 'group') return { ...tree, items: tree.items.map((item) => signed(item, isUpper)) }
  if (tree.kind !== 'apply') return tree
  const of = tree.of.map((child) => signed(child, isUpper))
  if (!isPlusMinus(tree)) return apply(tree.name, ...of)
  return isApply(tree, 'plus-minus') === isUpper ? of[0]! : apply('negate', of[0]!)
}

const isEquation = (tree: MathTree): tree is RelationTree =>
  tree.kind === 'relation' && tree.operators.every((operator) => operator === '=' || operator === 'in')

/** “x =” is left out where one of the two only has what x is. */
function unnamed(a: MathTree, b: MathTree): readonly [MathTree, MathTree] {
  if (isEquation(a) === isEquation(b)) return [lastTwo(a), lastTwo(b)]
  return [isEquation(a) ? valueOf(a, b) : a, isEquation(b) ? valueOf(b, a) : b]
}

/** Reduces x = 1/2 = 0.5 to the name and the last value. */
function lastTwo(tree: MathTree): MathTree {
  if (!isEquation(tree) || tree.sides.length < 3 || !isName(tree.sides[0]!)) return tree
  return { kind: 'relation', operators: ['='], sides: [tree.sides[0]!, tree.sides.at(-1)!] }
}

function valueOf(equation: RelationTree, other: MathTree): MathTree {
  const [first, last] = [equation.sides[0]!, equation.sides.at(-1)!]
  if (isName(first) && other.kind !== 'relation') return last
  if (isComputed(equation) && other.kind !== 'relation') return isName(last) ? equation.sides.at(-2)! : last
  return isName(first) && equation.operators.includes('in') ? last : equation
}

/** Returns true if an equation computes a number, as 2 + 4 = 6 does; 6 = x says what x is. */
const isComputed = ({ operators, sides }: RelationTree): boolean =>
  operators.every((operator) => operator === '=') &&
  sides.every((side, i) => !holds(side, isVariable) || (i === sides.length - 1 && isName(side)))

/** Returns true if a side names a quantity: x, f(x), |AB|, (x, y), A : B; it computes nothing with numbers. */
const isName = (tree: MathTree): boolean => {
  const isSum = isApply(tree, 'add') || isApply(tree, 'negate')
  const isIndexed = isApply(tree, 'call') || isApply(tree, 'index')
  if (isIndexed) return true
  return tree.kind !== 'number' && tree.kind !== 'relation' && !isSum && childrenOf(tree).every(isName)
}

function isSameRelation(a: MathTree, b: MathTree, tolerance: number): boolean {
  const [first, second] = [intervalOf(a), intervalOf(b)]
  if (first !== null && second !== null) return isSameUnion(first, second, tolerance)
  if (a.kind !== 'relation' || b.kind !== 'relation') return false
  if (isEquation(a) && isEquation(b)) return isSameEquation(a, b, tolerance)
  if (isSameInequality(a, b, tolerance)) return true
  const isEitherWay = b.operators.every((operator) => operator in mirrored || isMutual(operator))
  return (isEitherWay ? [b, flipped(b)] : [b]).some(
    ({ operators, sides }) =>
      operators.join() === a.operators.join() &&
      a.sides.every((side, i) => isSameMath(side, sides[i]!, tolerance)),
  )
}

/** −x > −1 is x < 1. */
function isSameInequality(a: RelationTree, b: RelationTree, tolerance: number): boolean {
  if (a.sides.length !== 2 || b.sides.length !== 2 || ![...a.sides, ...b.sides].every(isScalar)) return false
  const [own, other] = [a.operators[0]!, b.operators[0]!]
  const [x, y] = [differenceOf(a), differenceOf(b)]
  if (own === other && isSameScalar(x, y, tolerance)) return true
  return mirrored[own] === other && isSameScalar(x, apply('negate', y), tolerance)
}

const differenceOf = ({ sides: [left, right] }: RelationTree): MathTree =>
  apply('add', left!, apply('negate', right!))

const mirrored: Readonly<Record<string, string>> = { '<': '>', '>': '<', '<=': '>=', '>=': '<=' }

const flipped = ({ operators, sides }: RelationTree): RelationTree => ({
  kind: 'relation',
  operators: [...operators].reverse().map((operator) => mirrored[operator] ?? operator),
  sides: [...sides].reverse(),
})

/** Returns true if both sides are the same, the names included, or one equation is a multiple of the other. */
function isSameEquation(a: RelationTree, b: RelationTree, tolerance: number): boolean {
  const isSame = (x: MathTree, y: MathTree) => isSameMath(x, y, tolerance)
  if (a.sides.length !== b.sides.length) return false
  if (a.sides.every((side, i) => isSame(side, b.sides[i]!))) return true
  const isMembership = [...a.operators, ...b.operators].includes('in')
  return a.sides.length === 2 && !isMembership && [...a.sides, ...b.sides].every(isScalar) && isMultiple(a, b)
}

const isScalar = ({ kind }: MathTree): boolean => kind === 'number' || kind === 'symbol' || kind === 'apply'

/**
 * Returns true if the quotient of the two differences is the same number everywhere, also when the names are replaced
 * by others.
 */
function isMultiple(a: RelationTree, b: RelationTree): boolean {
  const [x, y] = [differenceOf(a), differenceOf(b)]
  try {
    const [here, there] = [fingerprint(x), fingerprint(y)]
    if (here === 0n || there === 0n) return false
    return fingerprint(apply('multiply', x, elsewhere(y))) === fingerprint(apply('multiply', elsewhere(x), y))
  } catch (error) {
    if (error instanceof Incomputable) return false
    throw error
  }
}

function elsewhere(tree: MathTree): MathTree {
  if (tree.kind === 'symbol')
    return /^(?:\\pi|e|i)$/.test(tree.name) ? tree : { ...tree, name: `${tree.name} elsewhere` }
  return tree.kind === 'apply' ? apply(tree.name, ...tree.of.map(elsewhere)) : tree
}

const infinity: MathTree = { kind: 'symbol', name: '\\infty' }

/**
 * Returns the interval of −2 ≤ x < 7 or x > 3, or the tree itself if it is an interval or a union of them; null for
 * others.
 */
function intervalOf(tree: MathTree): MathTree | null {
  if (tree.kind === 'group') return tree.items.length === 2 && isTuple(tree) ? tree : null
  if (tree.kind !== 'relation') return isApply(tree, 'union') ? tree : null
  if (tree.operators.join() === 'in' && isName(tree.sides[0]!)) return intervalOf(tree.sides[1]!)
  return rangeOf(tree.operators.every((operator) => operator.startsWith('>')) ? flipped(tree) : tree)
}

function rangeOf({ operators, sides }: RelationTree): MathTree | null {
  if (!operators.every((operator) => operator.startsWith('<')) || sides.length > 3) return null
  const [first, second, third] = sides as [MathTree, MathTree, MathTree?]
  if (third !== undefined) return isName(second) ? interval(first, operators, third) : null
  if (isName(first)) return interval(apply('negate', infinity), ['<', operators[0]!], second)
  return isName(second) ? interval(first, [operators[0]!, '<'], infinity) : null
}

const interval = (from: MathTree, [lower, upper]: readonly string[], to: MathTree): GroupTree => ({
  kind: 'group',
  items: [from, to],
  open: lower === '<' ? '(' : '[',
  close: upper === '<' ? ')' : ']',
})

const partsOf = (tree: MathTree): readonly MathTree[] =>
  isApply(tree, 'union') ? tree.of.flatMap(partsOf) : [tree]

const isSameUnion = (a: MathTree, b: MathTree, tolerance: number): boolean =>
  isSameSet(partsOf(a), partsOf(b), tolerance)

const isSetOperation = (tree: MathTree): tree is ApplyTree =>
  isApply(tree, 'union') || isApply(tree, 'intersection') || isApply(tree, 'without')

function isSameOperation(a: MathTree, b: MathTree, tolerance: number): boolean {
  if ([a, b].some((tree) => isApply(tree, 'union'))) return isSameUnion(a, b, tolerance)
  if (!isSetOperation(a) || !isSetOperation(b) || a.name !== b.name) return false
  if (a.name === 'intersection') return isSameSet(a.of, b.of, tolerance)
  return a.of.every((part, i) => isSameMath(part, b.of[i]!, tolerance))
}

/** The same values, in any order and however often. */
function isSameSet(a: readonly MathTree[], b: readonly MathTree[], tolerance: number): boolean {
  if (a.length > mostItems || b.length > mostItems) return false
  const [x, y] = [distinct(a, tolerance), distinct(b, tolerance)]
  return x.length === y.length && x.every((item) => y.some((other) => isSameMath(item, other, tolerance)))
}

const mostItems = 60

const distinct = (items: readonly MathTree[], tolerance: number): MathTree[] =>
  items.reduce<MathTree[]>(
    (kept, item) => (kept.some((other) => isSameMath(other, item, tolerance)) ? kept : [...kept, item]),
    [],
  )

/** Values with commas between are a set; in round or square brackets they have an order. */
function isSameGroup(a: MathTree, b: MathTree, tolerance: number): boolean {
  const [x, y] = [asGroup(a), asGroup(b)]
  if (x === null || y === null || !areAlike(x, y)) return false
  if (!isTuple(x) && !isTuple(y) && namesOf(x) === namesOf(y)) return isSameSet(x.items, y.items, tolerance)
  return (
    x.items.length === y.items.length && x.items.every((item, i) => isSameMath(item, y.items[i]!, tolerance))
  )
}

const isTuple = ({ open }: GroupTree): boolean => open === '(' || open === '['

/** Returns true if brackets match; a list without brackets may be a set or a tuple. */
const areAlike = (a: GroupTree, b: GroupTree): boolean =>
  a.open === '' || b.open === '' || (a.open === b.open && a.close === b.close)

/** 4 stands for {4}. */
const asGroup = (tree: MathTree): GroupTree | null => {
  if (tree.kind === 'group') return tree
  return isScalar(tree) ? { kind: 'group', open: '{', close: '}', items: [tree] } : null
}

/** Returns 2 where the values are those of different things, which a list without names must keep in order, else 1. */
function namesOf({ items }: GroupTree): number {
  const names = items.flatMap((item) =>
    isEquation(item) && isName(item.sides[0]!) ? [JSON.stringify(item.sides[0], replaced)] : [],
  )
  return new Set(names).size > 1 ? 2 : 1
}

const replaced = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)

function isSameMatrix(a: MathTree, b: MathTree, tolerance: number): boolean {
  if (a.kind !== 'matrix' || b.kind !== 'matrix' || a.isDeterminant !== b.isDeterminant) return false
  if (a.rows.length !== b.rows.length) return false
  return a.rows.every(
    (row, i) =>
      row.length === b.rows[i]!.length && row.every((cell, k) => isSameMath(cell, b.rows[i]![k]!, tolerance)),
  )
}
