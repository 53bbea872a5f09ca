/**
 * Calculates how much memory a program takes while it runs, from its expression alone: follows ONNX Runtime's execution
 * order and buffer-reuse rules step by step, for given lengths of the symbolic axes.
 */
import { bodyOf, inputsOf, cpuDialect, type Body, type Dialect, type Program } from './onnx.ts'
import { resolve } from './substitute.ts'
import type { Dim } from './shape.ts'
import { outputOf, type Dtype, type OpNode, type Value } from './value.ts'

/** Lengths of symbolic axes by their names. */
export type Lengths = Readonly<Record<string, number>>

export interface ProgramMemory {
  /** Bytes of the inputs, which exist from beginning to end. */
  readonly inputBytes: number
  /** Most bytes of results and intermediate values that exist at once. */
  readonly workingBytes: number
}

const bitsOf: Readonly<Record<Dtype, number>> = {
  float32: 32,
  float64: 64,
  float16: 16,
  bfloat16: 16,
  int64: 64,
  int32: 32,
  uint8: 8,
  int8: 8,
  uint4: 4,
  bool: 8,
}

/** The runtime's allocator gives out no less. */
const GRANULE = 256

/** Results that are their first input under another shape. */
const aliases = new Set(['Reshape', 'Flatten', 'Identity'])

/** Operators that may write over an input of the same size, if nobody reads it after them. */
const inPlace = new Set([
  ...['Add', 'Sub', 'Mul', 'Div', 'Neg', 'Abs', 'Exp', 'Log', 'Sqrt', 'Reciprocal'],
  ...['Tanh', 'Sigmoid', 'Erf', 'Softmax'],
])

/** A length such as `7*T` or `P+S`. */
function lengthOf(dim: Dim, lengths: Lengths): number {
  if (typeof dim === 'number') return dim
  const ofFactor = (factor: string): number => {
    const length = /^\d+$/.test(factor) ? Number(factor) : lengths[factor]
    if (length === undefined) throw new Error(`Expected a length of the axis ${factor}.`)
    return length
  }
  return dim
    .split('+')
    .map((term) => term.split('*').reduce((total, factor) => total * ofFactor(factor), 1))
    .reduce((total, term) => total + term, 0)
}

export const bytesOf = ({ dtype, shape }: Value, lengths: Lengths): number =>
  Math.ceil((shape.reduce<number>((all, dim) => all * lengthOf(dim, lengths), 1) * bitsOf[dtype]) / 8)

export function inputsAndOutputs(program: Program): {
  readonly inputs: ReadonlyMap<string, Value>
  readonly outputs: ReadonlyMap<string, Value>
} {
  const body = bodyOf(program, '', { dialect: cpuDialect, inputNames: new Map() })
  return { inputs: namedInputs(body), outputs: new Map(Object.entries(program)) }
}

/** Returns the inputs by name; several nodes may read one input, each by a node of its own. */
const namedInputs = (body: Body): ReadonlyMap<string, Value> =>
  new Map(inputsOf(body).map((node) => [node.name, outputOf(node)]))

/** Memory of a run of the program, without the weights, as a function of the lengths. */
export function memoryOf(
  program: Program,
  dialect: Dialect = cpuDialect,
): (lengths: Lengths) => ProgramMemory {
  const body = bodyOf(program, '', { dialect, inputNames: new Map() })
  const inputs = namedInputs(body).values().toArray()
  const results = body.outputs.map(([, value]) => resolve(value))
  const steps = executionOrder(stepsOf(body))
  const buffers = new Allocation(results).of(steps)
  return (lengths) => ({
    inputBytes: inputs.reduce((sum, value) => sum + bytesOf(value, lengths), 0),
    workingBytes: largestSum(buffers, steps.length, lengths),
  })
}

/** A node as the runtime has it: values are numbers that stand for a result. */
interface Step {
  readonly type: string
  readonly reads: readonly Value[]
  readonly makes: readonly Value[]
}

/**
 * Lists the steps as the nodes are written. Every reader of a dequantised matrix gets its own dequantised copy: the
 * runtime repeats the node, behind all others.
 */
function stepsOf({ nodes }: Body): Step[] {
  const steps = nodes
    .filter((node): node is OpNode => node.kind === 'op')
    .map(({ op, inputs, outputs }) => ({
      type: op.type,
      reads: inputs.flatMap((value) => (value ? [resolve(value)] : [])),
      makes: outputs,
    }))
  const dequantized = new Map(
    steps.flatMap((step) => (step.type === 'DequantizeLinear' ? [[step.makes[0]!, step] as const] : [])),
  )
  const met = new Set<Value>()
  const repeated: Step[] = []
  const written = steps.map((step) => {
    const reads = step.reads.map((value) => {
      const source = dequantized.get(value)
      if (!source || !met.has(value)) return (met.add(value), value)
      const again: Value = { ...value }
      repeated.push({ ...source, makes: [again] })
      return again
    })
    return { ...step, reads }
  })
  return [...written, ...repeated]
}

/**
 * The runtime walks back from the results, those written last first, and computes of a node's inputs the one first that was
 * written last.
 */
function executionOrder(steps: readonly Step[]): Step[] {
  const makerOf = new Map(steps.flatMap((step, place) => step.makes.map((value) => [value, place] as const)))
  const readsOf = (place: number): number[] =>
    [...new Set(steps[place]!.reads.flatMap((value) => makerOf.get(value) ?? []))].sort((a, b) => a - b)
  const isRead = new Set(steps.flatMap((_, place) => readsOf(place)))
  const order: Step[] = []
  const seen = new Set<number>()
  const stack = steps.flatMap((_, place) => (isRead.has(place) ? [] : [{ place, isDone: false }]))
  for (let item = stack.pop(); item; item = stack.pop()) {
    const { place, isDone } = item
    if (isDone) order.push(steps[place]!)
    if (isDone || seen.has(place)) continue
    seen.add(place)
    stack.push({ place, isDone: true })
    for (const read of readsOf(place)) if (!seen.has(read)) stack.push({ place: read, isDone: false })
  }
  return order
}

/**
 * The lengths of a result's axes as far as the runtime infers them before it knows any: null where it does not, such as an
 * axis that a reshape is left to find.
 */
class InferredShapes {
  readonly #known = new Map<Value, readonly (Dim | null)[]>()

  of(value: Value): readonly (Dim | null)[] {
    return this.#known.get(value) ?? value.shape
  }

  infer({ type, reads }: Step, made: Value): void {
    const inferred = type === 'Reshape' ? this.#reshaped(reads, made) : this.#joined(type, reads, made)
    this.#known.set(made, inferred)
  }

  #reshaped([from, target]: readonly Value[], made: Value): readonly (Dim | null)[] {
    const written = target?.node.kind === 'constant' ? Array.from(target.node.data, Number) : null
    const known = from ? this.of(from) : []
    return made.shape.map((dim, axis) =>
      typeof dim === 'number' ? dim : written?.[axis] === 0 ? (known[axis] ?? null) : null,
    )
  }

  #joined(type: string, reads: readonly Value[], made: Value): readonly (Dim | null)[] {
    const shapes = reads.map((value) => this.of(value))
    return made.shape.map((dim, axis) => {
      if (typeof dim === 'number') return dim
      if (!broadcasting.has(type)) return shapes.some((shape) => shape.includes(dim)) ? dim : null
      const facing = shapes.map((shape) => shape[axis - made.shape.length + shape.length])
      return facing.every((other) => other === undefined || other === 1 || other === dim) ? dim : null
    })
  }
}

const broadcasting = new Set(['Add', 'Sub', 'Mul', 'Div'])

interface Buffer {
  /** Value that the buffer was allocated for. */
  readonly first: Value
  /** First and last step between which it exists. */
  readonly from: number
  to: number
  /** Reads that are still to come. */
  uses: number
}

/**
 * Assigns a buffer to each result. A buffer that nobody reads any more is kept for a later result of the same shape,
 * and is not free until that one has been read, however long it takes.
 */
class Allocation {
  readonly #shapes = new InferredShapes()
  readonly #uses = new Map<Value, number>()
  /** Buffers of the values made so far. */
  readonly #buffers = new Map<Value, Buffer>()
  readonly #all: Buffer[] = []
  /** Latest first. */
  #unused: Buffer[] = []
  readonly #results: ReadonlySet<Value>

  constructor(results: readonly Value[]) {
    this.#results = new Set(results)
  }

  of(steps: readonly Step[]): readonly Buffer[] {
    for (const value of [...steps.flatMap(({ reads }) => reads), ...this.#results])
      this.#uses.set(value, (this.#uses.get(value) ?? 0) + 1)
    steps.forEach((step, at) => {
      for (const made of step.makes) this.#make(step, made, at)
      for (const value of step.reads) this.#read(value, at)
      for (const made of step.makes) if (!this.#uses.has(made)) this.#unused.unshift(this.#buffers.get(made)!)
    })
    for (const value of this.#results) {
      const buffer = this.#buffers.get(value)
      if (buffer) buffer.to = steps.length
    }
    return this.#all
  }

  #make(step: Step, made: Value, at: number): void {
    this.#shapes.infer(step, made)
    const uses = this.#uses.get(made) ?? 0
    const served = this.#serving(step, made)
    if (served) {
      served.uses += uses
      served.to = at
      this.#buffers.set(made, served)
      return
    }
    const buffer = { first: made, from: at, to: at, uses }
    this.#all.push(buffer)
    this.#buffers.set(made, buffer)
  }

  /** Returns an existing buffer that can become the result's. */
  #serving({ type, reads }: Step, made: Value): Buffer | undefined {
    if (this.#results.has(made)) return undefined
    if (aliases.has(type)) return reads[0] && this.#buffers.get(reads[0])
    const replaced = inPlace.has(type)
      ? reads.find((value) => this.#buffers.get(value)?.uses === 1 && this.#isAlike(value, made))
      : undefined
    if (replaced) return this.#buffers.get(replaced)
    const place = this.#unused.findIndex(({ first }) => this.#isAlike(first, made))
    return place < 0 ? undefined : this.#unused.splice(place, 1)[0]
  }

  #isAlike(a: Value, b: Value): boolean {
    const [one, other] = [this.#shapes.of(a), this.#shapes.of(b)]
    const isSame =
      one.length === other.length && one.every((dim, axis) => dim !== null && dim === other[axis])
    return a.dtype === b.dtype && isSame
  }

  #read(value: Value, at: number): void {
    const buffer = this.#buffers.get(value)
    if (!buffer) return
    buffer.to = Math.max(buffer.to, at)
    buffer.uses--
    if (buffer.uses === 0) this.#unused.unshift(buffer)
  }
}

/** Returns the most bytes that exist at one step. */
function largestSum(buffers: readonly Buffer[], steps: number, lengths: Lengths): number {
  const changes = new Float64Array(steps + 2)
  for (const { first, from, to } of buffers) {
    const bytes = Math.ceil(bytesOf(first, lengths) / GRANULE) * GRANULE
    changes[from]! += bytes
    changes[to + 1]! -= bytes
  }
  let now = 0
  return changes.reduce((most, change) => Math.max(most, (now += change)), 0)
}
