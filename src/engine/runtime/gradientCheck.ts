/** Compares gradient rules with finite differences. */
import type { Device } from '#shared/device.ts'
import { SequentialRandom, randomStream } from '#shared/random.ts'
import { gradients } from '../ops/gradient.ts'
import type { Dim, Shape } from '../graph/shape.ts'
import { type Value, input } from '../graph/value.ts'
import { type CaseInput, type GradientCase, caseLengths } from '../ops/gradientCase.ts'
import { Tensor } from './onnxRuntime.ts'
import { type Feed, Session, int64s } from './session.ts'

type Dtype = GradientCase['dtype']

type ByDtype = Readonly<Record<Dtype, number>>

/** Large enough to drown rounding, small enough that the fifth derivative does not show. */
const stepOf = ({ tf32 }: Device): ByDtype => ({ float64: 5e-4, float32: tf32 === true ? 0.05 : 1e-2 })

/** The largest error a correct rule has, with room: what rounding leaves in each type. */
export const gradientLimits = ({ tf32 }: Device): ByDtype => ({
  float64: 1e-9,
  float32: tf32 === true ? 2e-2 : 1e-4,
})

/** A dimension when it runs: a sum of products. */
function lengthOf(dim: Dim): number {
  const terms = String(dim).split('+')
  return terms.reduce(
    (total, term) => total + term.split('*').reduce((size, part) => size * lengthOfPart(part), 1),
    0,
  )
}

function lengthOfPart(part: string): number {
  const length = caseLengths[part] ?? Number(part)
  if (Number.isNaN(length)) throw new Error(`Expected a length for the symbol ${part}.`)
  return length
}

/**
 * The type that a case is checked in. Devices learn in f32 and lack kernels in f64, whose nodes the CPU would compute, or nothing
 * (CUDA's ScatterND adds in f32 alone).
 */
export const checkedIn = (gradientCase: GradientCase, device: Device): Dtype =>
  device.kind === 'cpu' ? gradientCase.dtype : 'float32'

const lengthsOf = (shape: Shape): number[] => shape.map(lengthOf)

function feed(dtype: Dtype | 'int64', values: ArrayLike<number>, dims: readonly number[]): Feed {
  if (dtype === 'int64') return int64s(Int32Array.from(values), dims)
  return dtype === 'float64'
    ? new Tensor('float64', Float64Array.from(values), dims)
    : new Tensor('float32', Float32Array.from(values), dims)
}

export const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  let sum = 0
  for (let index = 0; index < a.length; index++) sum += a[index]! * b[index]!
  return sum
}

/**
 * The derivative along `v` at 0 of a function given at multiples of `v`: central differences of fourth order,
 * (8(f(h) − f(−h)) − (f(2h) − f(−2h))) / 12h.
 */
export async function directionalDerivative(
  at: (step: number) => Promise<ArrayLike<number>>,
  step: number,
): Promise<Float64Array> {
  const near = [await at(step), await at(-step)] as const
  const far = [await at(2 * step), await at(-2 * step)] as const
  return Float64Array.from({ length: near[0].length }, (_, index) => {
    const [inner, outer] = [near[0][index]! - near[1][index]!, far[0][index]! - far[1][index]!]
    return (8 * inner - outer) / (12 * step)
  })
}

/**
 * Measures how far a case's gradient rule is from the function: |uᵀ(Jv) − (Jᵀu)ᵀv| / ‖Jv‖ for one random direction v of
 * all inputs and one random cotangent u.
 */
export async function gradientError(given: GradientCase, seed: number, device: Device): Promise<number> {
  const gradientCase = { ...given, dtype: checkedIn(given, device) }
  const { dtype, inputs, build } = gradientCase
  const random = new SequentialRandom(randomStream(seed))
  const values = inputs.map(({ kind, shape }, index) =>
    input(`input ${String(index)}`, kind === 'integer' ? 'int64' : dtype, shape),
  )
  const built = build(values)
  const outputs = Object.fromEntries(built.map((value, index) => [`output ${String(index)}`, value]))
  const points = inputs.map((item) => startingPoint(item, random))
  const directions = inputs.map((item, index) =>
    Float64Array.from(points[index]!, () => (item.kind === 'real' ? random.normal() : 0)),
  )
  const feedsAt = (step: number) =>
    Object.fromEntries(
      inputs.map(({ kind, shape }, index) => {
        const moved = points[index]!.map((value, at) => value + step * directions[index]![at]!)
        return [`input ${String(index)}`, feed(kind === 'integer' ? 'int64' : dtype, moved, lengthsOf(shape))]
      }),
    )

  using forward = await Session.create({
    name: gradientCase.name,
    program: outputs,
    device,
    purpose: 'learn',
  })
  const evaluate = async (step: number) => concatenated(await forward.run(feedsAt(step)), built.length)
  const derivative = await directionalDerivative(evaluate, stepOf(device)[dtype])
  const cotangents = Float64Array.from(derivative, () => random.normal())

  const result = await runBackward(gradientCase, { values, built, cotangents, feeds: feedsAt(0), device })
  let byRule = 0
  result.forEach((gradient, index) => (byRule += dot(gradient, directions[index]!)))
  return Math.abs(dot(cotangents, derivative) - byRule) / Math.sqrt(dot(derivative, derivative))
}

function startingPoint(item: CaseInput, random: SequentialRandom): Float64Array {
  const size = lengthsOf(item.shape).reduce((total, length) => total * length, 1)
  if (item.kind !== 'real') {
    if (item.values.length !== size)
      throw new Error(`Expected ${String(size)} values, got ${String(item.values.length)}.`)
    return Float64Array.from(item.values)
  }
  return Float64Array.from({ length: size }, () => item.from + (item.to - item.from) * random.uniform())
}

const concatenated = (results: Readonly<Record<string, ArrayLike<number>>>, count: number): Float64Array =>
  Float64Array.from(
    Array.from({ length: count }, (_, index) => Array.from(results[`output ${String(index)}`]!)).flat(),
  )

interface BackwardRequest {
  readonly values: readonly Value[]
  readonly built: readonly Value[]
  /** Cotangents of all outputs, one after the other. */
  readonly cotangents: Float64Array
  readonly feeds: Readonly<Record<string, Feed>>
  readonly device: Device
}

/** Gradient of Σ cotangent · output for each input; empty where there is none. */
async function runBackward(
  { name, dtype, inputs }: GradientCase,
  { values, built, cotangents, feeds, device }: BackwardRequest,
): Promise<ArrayLike<number>[]> {
  const seedFeeds: Record<string, Feed> = {}
  let start = 0
  const seeds = built.map((value, index) => {
    const dims = lengthsOf(value.shape)
    const size = dims.reduce((total, length) => total * length, 1)
    seedFeeds[`cotangent ${String(index)}`] = feed(dtype, cotangents.subarray(start, start + size), dims)
    start += size
    return { value, cotangent: input(`cotangent ${String(index)}`, dtype, value.shape) }
  })
  const targets = values.map((value, index) => (inputs[index]!.kind === 'real' ? value : null))
  const derived = gradients(
    seeds,
    targets.filter((value) => value !== null),
  )
  const program: Record<string, Value> = {}
  targets
    .filter((value) => value !== null)
    .forEach((value, index) => {
      const gradient = derived[index]
      if (gradient) program[String(values.indexOf(value))] = gradient
    })
  using backward = await Session.create({ name: `gradient of ${name}`, program, device, purpose: 'learn' })
  const results = await backward.run({ ...feeds, ...seedFeeds })
  return values.map((_, index) => results[String(index)] ?? [])
}
