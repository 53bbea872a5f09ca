/** Compares the values of two expressions. */
import { fingerprint, Incomputable, isRationalFunction, rationalOf } from './fingerprint.ts'
import { holds, isApply, type MathTree } from './mathTree.ts'
import { isSameValue, numericValue } from './numericValue.ts'
import { isNear, order, quotient, size, whole, type Rational, type Written } from './rational.ts'

/** `tolerance` as `isNear` has it, where one of the two is a decimal. */
export function isSameScalar(a: MathTree, b: MathTree, tolerance: number): boolean {
  const isSame = isSameNumber(a, b, tolerance)
  const [hundredths, others] = [hundredthsOf(a), hundredthsOf(b)]
  if (isSame || (hundredths === null) === (others === null)) return isSame
  const [share, plain] = hundredths === null ? [others!, a] : [hundredths, b]
  return isAboveOne(plain) && isSameNumber(share, plain, tolerance)
}

/** The expression before a percent sign. */
const hundredthsOf = (tree: MathTree): MathTree | null => (isApply(tree, 'percent') ? tree.of[0]! : null)

/** Data sets write 50 for 50 %; what could be a share of 1 is taken for one. */
function isAboveOne(tree: MathTree): boolean {
  const value = rationalOf(tree)
  return value !== null && order(size(value), whole(1n)) > 0
}

function isSameNumber(a: MathTree, b: MathTree, tolerance: number): boolean {
  return isIdentical(a, b) || isRounded(a, b, tolerance) || (!isDecided(a, b) && agree(a, b))
}

function isIdentical(a: MathTree, b: MathTree): boolean {
  try {
    return fingerprint(a) === fingerprint(b)
  } catch (error) {
    if (error instanceof Incomputable) return false
    throw error
  }
}

const isDecided = (a: MathTree, b: MathTree): boolean => isRationalFunction(a) && isRationalFunction(b)

const points = [0, 1, 2, 3]
/** A value at fewer points says too little. */
const fewest = 2

/** Returns true if values agree at the sample points, of constants at one. */
function agree(a: MathTree, b: MathTree): boolean {
  const isConstant = !holds(a, isVariable) && !holds(b, isVariable)
  let agreed = 0
  for (const point of isConstant ? points.slice(0, 1) : points) {
    try {
      if (!isSameValue(numericValue(a, point), numericValue(b, point))) return false
      agreed++
    } catch (error) {
      if (!(error instanceof Incomputable)) throw error
    }
  }
  return agreed >= (isConstant ? 1 : fewest)
}

export const isVariable = (tree: MathTree): boolean =>
  tree.kind === 'symbol' && !['\\pi', 'e', 'i'].includes(tree.name)

/** Compares a decimal with the number that it is rounded from. */
function isRounded(a: MathTree, b: MathTree, tolerance: number): boolean {
  const [first, second] = [writtenOf(a), writtenOf(b)]
  return first !== null && second !== null && isNear(first, second, tolerance)
}

/** A constant; its place is that of a decimal alone, with its sign and percent. */
function writtenOf(tree: MathTree): Written | null {
  const exact = rationalOf(tree)
  if (exact !== null) return { value: exact, place: placeOf(tree) }
  if (holds(tree, isVariable)) return null
  try {
    const { re, im } = numericValue(tree, 0)
    if (im.mantissa !== 0n || Math.abs(re.exponent) > 2000) return null
    const scale = 1n << BigInt(Math.abs(re.exponent))
    const value: Rational =
      re.exponent < 0 ? { above: re.mantissa, below: scale } : { above: re.mantissa * scale, below: 1n }
    return { value, place: null }
  } catch (error) {
    if (error instanceof Incomputable) return null
    throw error
  }
}

function placeOf(tree: MathTree): Rational | null {
  if (tree.kind === 'number') return tree.place
  if (tree.kind !== 'apply' || tree.of.length !== 1) return null
  const place = placeOf(tree.of[0]!)
  if (tree.name === 'negate') return place
  return tree.name === 'percent' ? place && quotient(place, whole(100n)) : null
}
