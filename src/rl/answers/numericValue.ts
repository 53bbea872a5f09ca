/** Values of expressions as complex numbers with some 70 digits, for what holds roots, functions, e or π. */
import { randomStream } from '#shared/random.ts'
import * as real from './bigFloat.ts'
import { Incomputable, rationalOf } from './fingerprint.ts'
import type { ApplyTree, MathTree } from './mathTree.ts'
import { isWhole, whole, type Rational } from './rational.ts'

export interface Complex {
  readonly re: real.Real
  readonly im: real.Real
}

/** Number of bits by which one part must be smaller than the other to count as rounding. */
const noise = 200

function complex(re: real.Real, im: real.Real = real.zero): Complex {
  if (real.scaleOf(im) < real.scaleOf(re) - noise) return { re, im: real.zero }
  return real.scaleOf(re) < real.scaleOf(im) - noise ? { re: real.zero, im } : { re, im }
}

const fromNumber = (value: number): Complex =>
  complex({ mantissa: BigInt(Math.round(value * 2 ** 40)), exponent: -40 })
const one = complex(real.one)
const imaginary = complex(real.zero, real.one)
const half = fromNumber(0.5)
const isNothing = ({ re, im }: Complex): boolean => real.isZero(re) && real.isZero(im)

const add = (a: Complex, b: Complex): Complex => complex(real.plus(a.re, b.re), real.plus(a.im, b.im))
const negate = ({ re, im }: Complex): Complex => ({ re: real.negative(re), im: real.negative(im) })
const subtract = (a: Complex, b: Complex): Complex => add(a, negate(b))
const multiply = (a: Complex, b: Complex): Complex =>
  complex(
    real.plus(real.times(a.re, b.re), real.negative(real.times(a.im, b.im))),
    real.plus(real.times(a.re, b.im), real.times(a.im, b.re)),
  )
const squaredSize = ({ re, im }: Complex): real.Real => real.plainSum(real.times(re, re), real.times(im, im))
function divide(a: Complex, b: Complex): Complex {
  const length = squaredSize(b)
  const { re, im } = multiply(a, { re: b.re, im: real.negative(b.im) })
  return complex(real.dividedBy(re, length), real.dividedBy(im, length))
}

function exponential({ re, im }: Complex): Complex {
  const [length, [cosine, sine]] = [real.exponential(re), real.cosineAndSine(im)]
  return complex(real.times(length, cosine), real.times(length, sine))
}

function logarithm(a: Complex): Complex {
  if (isNothing(a)) throw new Incomputable()
  const length = real.naturalLogarithm(squaredSize(a))
  return complex(real.times(length, { mantissa: 1n, exponent: -1 }), real.angle(a.im, a.re))
}

function squareRoot(a: Complex): Complex {
  if (!real.isZero(a.im)) return exponential(multiply(half, logarithm(a)))
  return real.isNegative(a.re) ? complex(real.zero, real.root(real.negative(a.re))) : complex(real.root(a.re))
}

function power(base: Complex, exponent: Complex): Complex {
  if (!isNothing(base)) return exponential(multiply(exponent, logarithm(base)))
  if (real.isNegative(exponent.re) || real.isZero(exponent.re)) throw new Incomputable()
  return base
}

function wholePower(base: Complex, exponent: bigint): Complex {
  if (exponent < 0n) return divide(one, wholePower(base, -exponent))
  if (exponent > 1n << 40n || (isNothing(base) && exponent === 0n)) throw new Incomputable()
  let [result, square] = [one, base]
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = multiply(result, square)
    if (left > 1n) square = multiply(square, square)
  }
  return result
}

/** An odd root of a negative number is negative, as schools teach it. */
function rootOf(a: Complex, index: Complex, wholeIndex: bigint | null): Complex {
  const isOdd = wholeIndex !== null && wholeIndex % 2n === 1n && !isNothing(a)
  if (isOdd && real.isZero(a.im) && real.isNegative(a.re)) return negate(rootOf(negate(a), index, wholeIndex))
  return power(a, divide(one, index))
}

const halved = (a: Complex): Complex => multiply(half, a)
const turned = (a: Complex): Complex => multiply(imaginary, a)
const cosine = (a: Complex): Complex => halved(add(exponential(turned(a)), exponential(negate(turned(a)))))
const sine = (a: Complex): Complex =>
  divide(halved(subtract(exponential(turned(a)), exponential(negate(turned(a))))), imaginary)
const hyperbolicCosine = (a: Complex): Complex => cosine(turned(a))
const hyperbolicSine = (a: Complex): Complex => negate(turned(sine(turned(a))))
const arcSine = (a: Complex): Complex =>
  negate(turned(logarithm(add(turned(a), squareRoot(subtract(one, multiply(a, a)))))))
const arcTangent = (a: Complex): Complex =>
  halved(turned(subtract(logarithm(subtract(one, turned(a))), logarithm(add(one, turned(a))))))
const rightAngle = halved(complex(real.pi))

/** A logarithm without a base may be any: laws of logarithms hold, but it has no value of its own. */
const unknownBase = fromNumber(0.73908513321516)

const functions: Readonly<Record<string, (a: Complex, b?: Complex) => Complex>> = {
  add: (a, b) => add(a, b!),
  multiply: (a, b) => multiply(a, b!),
  divide: (a, b) => divide(a, b!),
  negate,
  sqrt: squareRoot,
  exp: exponential,
  ln: logarithm,
  sin: sine,
  cos: cosine,
  sinh: hyperbolicSine,
  cosh: hyperbolicCosine,
  arcsin: arcSine,
  arctan: arcTangent,
  percent: (a) => divide(a, fromNumber(100)),
  abs: (a) =>
    real.isZero(a.im)
      ? complex(real.isNegative(a.re) ? real.negative(a.re) : a.re)
      : complex(real.root(squaredSize(a))),
  tan: (a) => divide(sine(a), cosine(a)),
  cot: (a) => divide(cosine(a), sine(a)),
  sec: (a) => divide(one, cosine(a)),
  csc: (a) => divide(one, sine(a)),
  tanh: (a) => divide(hyperbolicSine(a), hyperbolicCosine(a)),
  arccos: (a) => subtract(rightAngle, arcSine(a)),
  log: (a, base) =>
    base === undefined ? multiply(unknownBase, logarithm(a)) : divide(logarithm(a), logarithm(base)),
  lg: (a) => divide(logarithm(a), logarithm(fromNumber(10))),
}

const constants: Readonly<Record<string, Complex>> = {
  '\\pi': complex(real.pi),
  e: exponential(one),
  i: imaginary,
}

/** Returns the value at one of the sample points. Errors: Incomputable for a tree that has none. */
export function numericValue(tree: MathTree, point: number): Complex {
  if (tree.kind === 'symbol') return constants[tree.name] ?? sampled(tree.name, point)
  const exact = rationalOf(tree)
  if (exact !== null) return complex(real.realOf(exact))
  if (tree.kind !== 'apply') throw new Incomputable()
  return computed(
    tree,
    tree.of.map((child) => numericValue(child, point)),
  )
}

function computed({ name, of }: ApplyTree, [a, b]: readonly Complex[]): Complex {
  if (a === undefined) throw new Incomputable()
  if (b === undefined) return (functions[name] ?? refuse)(a)
  const last = rationalOf(of[1]!)
  if (name === 'power') return powerOf(a, b, last)
  if (name === 'root') return rootOf(a, b, last !== null && isWhole(last) ? last.above : null)
  return (functions[name] ?? refuse)(a, b)
}

const refuse = (): never => {
  throw new Incomputable()
}

/** A power whose denominator is odd is that of an odd root. */
function powerOf(base: Complex, exponent: Complex, exact: Rational | null): Complex {
  if (exact === null || exact.below % 2n === 0n) return power(base, exponent)
  if (isWhole(exact)) return wholePower(base, exact.above)
  return wholePower(rootOf(base, complex(real.realOf(whole(exact.below))), exact.below), exact.above)
}

/** Draws a point between −2.25 and 2.25, not near 0; positive at the first point. */
function sampled(name: string, point: number): Complex {
  if (name.startsWith('\\infty') || (name.length > 1 && !name.startsWith('\\') && !name.includes('_')))
    throw new Incomputable()
  const stream = randomStream(point, ...Array.from(name, (character) => character.codePointAt(0)!))
  const size = 0.25 + 2 * stream.uniformAt(0)
  return fromNumber(point > 0 && stream.uniformAt(1) < 0.5 ? -size : size)
}

/** Values agree in this many bits, and differ by rounding alone. */
const agreement = 150

export function isSameValue(a: Complex, b: Complex): boolean {
  const largest = Math.max(...[a.re, a.im, b.re, b.im].map(real.scaleOf))
  const gaps = [real.plainSum(a.re, real.negative(b.re)), real.plainSum(a.im, real.negative(b.im))].map(
    real.scaleOf,
  )
  return gaps.every((gap) => gap <= largest - agreement)
}
