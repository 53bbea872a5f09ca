/**
 * Exact comparison of expressions: each is computed at a fixed point of a prime field (Schwartz 1980, Zippel 1979). Equal
 * rational functions have equal results, different ones have not, but for a chance of about their degree in 2¹²⁴. Roots,
 * functions and constants such as π are computed as if they were unknowns of their own: equal results prove equality, and
 * different ones prove the opposite only of expressions without them.
 */
import { isApply, type MathTree } from './mathTree.ts'
import { fraction, isWhole, negated, product, quotient, size, sum, whole, type Rational } from './rational.ts'

/** The largest prime below the first 38 digits of π that is 1 modulo 4, so that −1 has a root. */
const prime = 31415926535897932384626433832795028841n
const rootOfMinusOne = 6284416675421676223778832279132862108n

/** Error for a value that cannot be computed, such as a division by 0, or would take too long. */
export class Incomputable extends Error {}

const reduced = (value: bigint): bigint => ((value % prime) + prime) % prime

function power(base: bigint, exponent: bigint): bigint {
  let [result, square, left] = [1n, base, exponent]
  for (; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * square) % prime
    square = (square * square) % prime
  }
  return result
}

function inverse(value: bigint): bigint {
  if (value === 0n) throw new Incomputable()
  return power(value, prime - 2n)
}

/** A value without any pattern for a name applied to values. */
function unknown(name: string, values: readonly bigint[]): bigint {
  let mixed = 0n
  for (const character of name) mixed = (mixed * 0x110001n + BigInt(character.codePointAt(0)!) + 7n) % prime
  for (const value of values) mixed = power(mixed + value + 0x9e3779b97f4a7c15n, 5n)
  return power(mixed + 0x6a09e667f3bcc908n, 0x10001n)
}

type Operation = (of: readonly bigint[], tree: MathTree & { kind: 'apply' }) => bigint

const operations: Readonly<Record<string, Operation>> = {
  add: ([a, b]) => reduced(a! + b!),
  multiply: ([a, b]) => reduced(a! * b!),
  divide: ([a, b]) => reduced(a! * inverse(b!)),
  negate: ([a]) => reduced(-a!),
  percent: ([a]) => reduced(a! * inverse(100n)),
  power: (of, tree) => powerOf(of, tree),
  factorial: (of, tree) => factorialOf(of, tree),
}

const numberAt = ({ above, below }: Rational): bigint => reduced(above * inverse(reduced(below)))

/**
 * Returns the same value for the same expression, at the point of the field that belongs to its names. Errors:
 * Incomputable.
 */
export function fingerprint(tree: MathTree): bigint {
  if (tree.kind === 'number') return numberAt(tree.value)
  if (tree.kind === 'symbol') return tree.name === 'i' ? rootOfMinusOne : unknown(tree.name, [])
  if (tree.kind === 'apply') {
    const exact = rationalOf(tree)
    if (exact !== null) return numberAt(exact)
    const of = tree.of.map(fingerprint)
    return operations[tree.name]?.(of, tree) ?? unknown(tree.name, of)
  }
  if (tree.kind === 'group') return unknown(`group ${tree.open}${tree.close}`, tree.items.map(fingerprint))
  if (tree.kind === 'relation') return unknown(tree.operators.join(' '), tree.sides.map(fingerprint))
  return unknown(`matrix ${tree.rows.length}`, tree.rows.flat().map(fingerprint))
}

function powerOf(of: readonly bigint[], { of: [, exponentTree] }: MathTree & { kind: 'apply' }): bigint {
  const base = of[0]!
  const exponent = rationalOf(exponentTree!)
  if (exponent === null || !isWhole(exponent)) return unknown('power', of)
  if (base === 0n && exponent.above <= 0n) throw new Incomputable()
  return exponent.above < 0n ? inverse(power(base, -exponent.above)) : power(base, exponent.above)
}

const largestFactorial = 2500n

function factorialOf(of: readonly bigint[], { of: [argument] }: MathTree & { kind: 'apply' }): bigint {
  const count = rationalOf(argument!)
  if (count === null || !isWhole(count) || count.above < 0n || count.above > largestFactorial)
    return unknown('factorial', of)
  let result = 1n
  for (let factor = 2n; factor <= count.above; factor++) result = (result * factor) % prime
  return result
}

/** Numbers longer than this are not written out. */
const mostBits = 4096

const isShort = ({ above, below }: Rational): boolean =>
  bitsOf(above) <= mostBits && bitsOf(below) <= mostBits
const bitsOf = (value: bigint): number => value.toString(16).length * 4

const known = new WeakMap<MathTree, Rational | null>()

/** The exact value of a constant without roots and functions; null for others, and for very long ones. */
export function rationalOf(tree: MathTree): Rational | null {
  const found = known.get(tree)
  if (found !== undefined) return found
  const value = exactValue(tree)
  known.set(tree, value)
  return value
}

function exactValue(tree: MathTree): Rational | null {
  if (tree.kind === 'number') return isShort(tree.value) ? tree.value : null
  if (tree.kind !== 'apply') return null
  const of: Rational[] = []
  for (const child of tree.of) {
    const value = rationalOf(child)
    if (value === null) return null
    of.push(value)
  }
  const [a, b] = of
  const value = a === undefined ? null : constantOf(tree.name, a, b)
  return value !== null && isShort(value) ? value : null
}

const ofTwo: Readonly<Record<string, (a: Rational, b: Rational) => Rational | null>> = {
  add: sum,
  multiply: product,
  divide: quotient,
  power: constantPower,
  binomial,
}
const ofOne: Readonly<Record<string, (a: Rational) => Rational | null>> = {
  negate: negated,
  abs: size,
  factorial: constantFactorial,
  percent: (a) => product(a, { above: 1n, below: 100n }),
  floor: floorOf,
  ceil: (a) => negated(floorOf(negated(a))),
}

function floorOf({ above, below }: Rational): Rational {
  const cut = above / below
  return whole(above < 0n && cut * below !== above ? cut - 1n : cut)
}

const constantOf = (name: string, a: Rational, b: Rational | undefined): Rational | null =>
  (b === undefined ? ofOne[name]?.(a) : ofTwo[name]?.(a, b)) ?? null

function constantFactorial({ above, below }: Rational): Rational | null {
  if (below !== 1n || above < 0n || above > 300n) return null
  let result = 1n
  for (let factor = 2n; factor <= above; factor++) result *= factor
  return whole(result)
}

function binomial({ above: n, below }: Rational, { above: k, below: other }: Rational): Rational | null {
  if (below !== 1n || other !== 1n || n < 0n || n > 1000n || k < 0n || k > n) return null
  let result = 1n
  for (let i = 1n; i <= k; i++) result = (result * (n - k + i)) / i
  return whole(result)
}

function constantPower(base: Rational, exponent: Rational): Rational | null {
  if (!isWhole(exponent)) return null
  const times = exponent.above < 0n ? -exponent.above : exponent.above
  const bits = Math.max(bitsOf(base.above), bitsOf(base.below))
  if (times > BigInt(mostBits) || bits * Number(times) > 4 * mostBits) return null
  return exponent.above < 0n
    ? fraction(base.below ** times, base.above ** times)
    : { above: base.above ** times, below: base.below ** times }
}

/** Names whose values are found in the field exactly; whatever else a tree holds makes it more than a rational function. */
export const isRationalFunction = (tree: MathTree): boolean =>
  tree.kind === 'number' ||
  (tree.kind === 'symbol' && !transcendental.has(tree.name)) ||
  (tree.kind === 'apply' &&
    tree.name in operations &&
    tree.of.every(isRationalFunction) &&
    hasWholePower(tree))

const transcendental = new Set(['e', '\\pi', '\\infty'])

const hasWholePower = (tree: MathTree): boolean => {
  if (!isApply(tree, 'power')) return true
  const exponent = rationalOf(tree.of[1]!)
  return exponent !== null && isWhole(exponent)
}
