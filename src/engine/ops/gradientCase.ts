/** Inputs and expectations of a central-difference test of an op. */
import type { Shape } from '../graph/shape.ts'
import type { Value } from '../graph/value.ts'

/** Lengths that the cases' symbolic dimensions have when they run: all different, so that a mix-up shows. */
export const caseLengths: Readonly<Record<string, number>> = { B: 2, T: 5, N: 7, P: 3, M: 3, R: 2 }

/** Uniform random numbers that are differentiated. */
interface RealInput {
  readonly kind: 'real'
  readonly shape: Shape
  readonly from: number
  readonly to: number
}

/** Fixed numbers: indices, or tables and masks that nobody learns. */
interface FixedInput {
  readonly kind: 'integer' | 'constant'
  readonly shape: Shape
  readonly values: readonly number[]
}

export type CaseInput = RealInput | FixedInput

export interface GradientCase {
  /** The operator or composite that the case is about. */
  readonly op: string
  readonly name: string
  /** f64 where the runtime's CPU has all kernels in it. */
  readonly dtype: 'float64' | 'float32'
  readonly inputs: readonly CaseInput[]
  readonly build: (values: readonly Value[]) => readonly Value[]
}

type ValuesOf<Inputs> = { readonly [Index in keyof Inputs]: Value }

interface CaseDraft<Inputs extends readonly CaseInput[]> {
  readonly dtype?: GradientCase['dtype']
  readonly inputs: Inputs
  readonly build: (values: ValuesOf<Inputs>) => Value | readonly Value[]
}

/** `what` tells several cases of one op apart. */
export function gradientCase<const Inputs extends readonly CaseInput[]>(
  op: string,
  what: string,
  { dtype = 'float64', inputs, build }: CaseDraft<Inputs>,
): GradientCase {
  return {
    op,
    name: what === '' ? op : `${op}, ${what}`,
    dtype,
    inputs,
    build(values) {
      const built = build(values as ValuesOf<Inputs>)
      return 'node' in built ? [built] : built
    },
  }
}

export const real = (...shape: Shape): RealInput => ({ kind: 'real', shape, from: -1.5, to: 1.5 })
/** Away from zero, where logarithm, root and quotient are steep. */
export const positive = (...shape: Shape): RealInput => ({ kind: 'real', shape, from: 0.5, to: 2 })
export const integer = (shape: Shape, values: readonly number[]): FixedInput => ({
  kind: 'integer',
  shape,
  values,
})
export const constant = (shape: Shape, values: readonly number[]): FixedInput => ({
  kind: 'constant',
  shape,
  values,
})
