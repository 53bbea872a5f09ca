/** AdamW and the norm of a gradient as programs, in single operations: each rounds to f32 in the same way on every device. */
import type { Program } from '../graph/onnx.ts'
import { constant, input, integers, type Value } from '../graph/value.ts'
import { add, div, mul, sqrt, sub } from '../ops/arithmetic.ts'
import { concat, reshape, slice } from '../ops/layout.ts'
import type { AdamWFactors } from './adamw.ts'
import { BLOCK } from './optimizer.ts'

/** Names of the program's results. */
export const movedNames = { values: 'next values', first: 'next first', second: 'next second' } as const

const number = (name: keyof AdamWFactors): Value => input(name, 'float32', [1])
const list = (name: string): Value => input(name, 'float32', ['P'])

/** Steps AdamW: `values`, `first` and `second` after an update, from the `gradient` (all [P]) and the factors ([1] each). */
export function adamwProgram(): Program {
  const gradient = mul(list('gradient'), number('scale'))
  const [values, before] = [list('values'), { first: list('first'), second: list('second') }]
  const first = add(mul(number('beta1'), before.first), mul(number('rest1'), gradient))
  const square = mul(mul(number('rest2'), gradient), gradient)
  const second = add(mul(number('beta2'), before.second), square)
  // lr·m̂ / (√v̂ + ε) with m̂ = m/(1−β₁ᵗ), v̂ = v/(1−β₂ᵗ)
  const divisor = add(div(sqrt(second), number('secondRoot')), number('epsilon'))
  const moved = add(mul(number('decay'), values), div(mul(number('stepSize'), first), divisor))
  return { [movedNames.values]: sub(values, moved), [movedNames.first]: first, [movedNames.second]: second }
}

/** `sums` of the blocks of a `gradient` [length] that is multiplied with `unit` [1]: what `blockSums` has. */
export function squaresProgram(length: number): Program {
  const blocks = Math.ceil(length / BLOCK)
  const gradient = input('gradient', 'float32', [length])
  const missing = blocks * BLOCK - length
  const rest = constant(new Array<number>(missing).fill(0), [missing])
  const whole = missing === 0 ? gradient : concat([gradient, rest], 0)
  const scaled = mul(reshape(whole, [blocks, BLOCK]), input('unit', 'float32', [1]))
  let sums = mul(scaled, scaled)
  for (let half = BLOCK / 2; half >= 1; half /= 2) {
    const [start, end] = [0, half].map((from) => columns(sums, from, half)) as [Value, Value]
    sums = add(start, end)
  }
  return { sums: reshape(sums, [blocks]) }
}

const columns = (x: Value, start: number, length: number): Value =>
  slice(x, { axis: 1, start: integers([start]), end: integers([start + length]), length })
