/**
 * The expression graph. A model is an immutable expression of `Value`s: inputs, constants, weights on disk, and the
 * results of ops. Nothing is computed here; names appear only when the graph is written.
 *
 * Reading order: shape.ts (symbolic dimensions) → this file → ../ops (what can be said) → gradient.ts (the walk that
 * derives the backward expression) → substitute.ts (cutting an expression at values) → onnx.ts (writing it).
 */
import type { Shape } from './shape.ts'

export type Dtype =
  'float32' | 'float64' | 'float16' | 'bfloat16' | 'int64' | 'int32' | 'uint8' | 'int8' | 'uint4' | 'bool'

export interface TensorType {
  readonly dtype: Dtype
  readonly shape: Shape
}

/** One result of a node; compared by identity. */
export interface Value extends TensorType {
  readonly node: Node
  /** Index among the node's outputs. */
  readonly output: number
}

/** An ONNX attribute; a `Float` is written as float32 whatever its digits. */
export type Attribute =
  | { readonly int: number }
  | { readonly float: number }
  | { readonly ints: readonly number[] }
  | { readonly text: string }
export type Attributes = Readonly<Record<string, Attribute>>

export type Node = OpNode | CompositeNode | LoopNode | ChoiceNode | InputNode | ConstantNode | WeightNode

interface NodeBase {
  readonly outputs: readonly Value[]
}

/** The application of one ONNX operator. */
export interface OpNode extends NodeBase {
  readonly kind: 'op'
  readonly op: Op
  readonly inputs: readonly (Value | null)[]
  readonly attributes: Attributes
}

/** Several nodes that share one hand-written gradient, cheaper than the derived one; written as its expansion. */
export interface CompositeNode extends NodeBase {
  readonly kind: 'composite'
  readonly op: CompositeOp
  readonly inputs: readonly Value[]
  readonly expansion: readonly Value[]
}

/**
 * A body that is computed once for every turn; the memory of a turn serves the next one. Its outputs are the last state of
 * what turns hand on to each other, then what every turn gives, stacked. It has no gradient: the composite around it does.
 */
export interface LoopNode extends NodeBase {
  readonly kind: 'loop'
  /** The number of turns ([1] i64), what the body reads, and the first state of what turns hand on. */
  readonly inputs: readonly Value[]
  readonly body: LoopBody
}

export interface LoopBody {
  /** The input that says which turn it is: i64 without axes. */
  readonly turn: Value
  /** Inputs in place of the values around the loop. */
  readonly reads: readonly Value[]
  /** Inputs that stand for the values the previous turn handed on. */
  readonly carried: readonly Value[]
  readonly next: readonly Value[]
  readonly stacked: readonly Value[]
}

/** One of two bodies, of which the condition says at every run which is computed. It has no gradient. */
export interface ChoiceNode extends NodeBase {
  readonly kind: 'choice'
  /** The condition ([1] bool), and what the bodies read. */
  readonly inputs: readonly Value[]
  readonly bodies: ChoiceBodies
}

export interface ChoiceBodies {
  /** Inputs in place of the values around the choice. */
  readonly reads: readonly Value[]
  readonly met: readonly Value[]
  readonly otherwise: readonly Value[]
}

/** Fed at every run. */
export interface InputNode extends NodeBase {
  readonly kind: 'input'
  readonly name: string
}

/** Small data written into the graph. */
export interface ConstantNode extends NodeBase {
  readonly kind: 'constant'
  readonly data: Float32Array | Float64Array | BigInt64Array
}

/** Bytes that stay where they lie on disk and are mapped by the runtime. */
export interface WeightNode extends NodeBase {
  readonly kind: 'weight'
  readonly name: string
  readonly file: string
  readonly offset: number
  readonly byteLength: number
}

export interface VjpArguments<N extends OpNode | CompositeNode> {
  readonly node: N
  /** ∂loss/∂output of each output; null where the output does not reach the loss. */
  readonly cotangents: readonly (Value | null)[]
}

/**
 * ∂loss/∂input of each input; null where there is no gradient. A broadcast input may get the broadcast shape: the walk
 * sums it back.
 */
export type VjpRule<N extends OpNode | CompositeNode> = (args: VjpArguments<N>) => readonly (Value | null)[]

/** An operator. `vjp` is a rule, or a sentence that says why there is no gradient. */
export interface Op {
  /** Name in Turnwise, unique in the registry. */
  readonly name: string
  /** ONNX operator type and domain. */
  readonly type: string
  readonly domain: '' | 'com.microsoft'
  readonly vjp: VjpRule<OpNode> | string
  /**
   * The same computation in operators that every provider has a kernel for; present only where this one is an extension
   * that some lack.
   */
  readonly lowered?: (node: OpNode) => readonly Value[]
}

export interface CompositeOp {
  readonly name: string
  readonly vjp: VjpRule<CompositeNode>
}

type Draft<N> = N extends NodeBase ? Omit<N, 'outputs'> : never

/** Ties a node and its output values together; both are frozen from then on. */
function finish(draft: Draft<Node>, types: readonly TensorType[]): Node {
  const outputs: Value[] = []
  const node = { ...draft, outputs } as Node
  types.forEach(({ dtype, shape }, output) => outputs.push(Object.freeze({ node, output, dtype, shape })))
  Object.freeze(outputs)
  return Object.freeze(node)
}

export const outputOf = (node: Node, index = 0): Value => {
  const value = node.outputs[index]
  if (!value)
    throw new Error(`Expected output ${String(index)} of a node with ${String(node.outputs.length)}.`)
  return value
}

/** Applies an operator; the caller states the types of the results. */
export function apply(
  op: Op,
  inputs: readonly (Value | null)[],
  attributes: Attributes,
  types: readonly TensorType[],
): readonly Value[] {
  return finish({ kind: 'op', op, inputs, attributes }, types).outputs
}

/** Groups an expansion under one gradient rule. */
export function compose(
  op: CompositeOp,
  inputs: readonly Value[],
  expansion: readonly Value[],
): readonly Value[] {
  return finish({ kind: 'composite', op, inputs, expansion }, expansion).outputs
}

export interface LoopRequest {
  /** [1] i64 */
  readonly turns: Value
  readonly reads: readonly Value[]
  /** First state of the values that turns hand on to each other. */
  readonly initial: readonly Value[]
  /** A turn, from its number ([] i64), the values read and the state handed on. */
  readonly body: (
    turn: Value,
    reads: readonly Value[],
    carried: readonly Value[],
  ) => { readonly next: readonly Value[]; readonly stacked: readonly Value[] }
}

/** Repeats a body; the last state and the stacked values of all turns, [turns, …] each. */
export function loop({ turns, reads, initial, body }: LoopRequest): {
  readonly last: readonly Value[]
  readonly stacked: readonly Value[]
} {
  const own = {
    turn: input('turn', 'int64', []),
    reads: standIns(reads, 'read'),
    carried: standIns(initial, 'carried'),
  }
  const outputs = repeat([turns, ...reads, ...initial], { ...own, ...body(own.turn, own.reads, own.carried) })
  return { last: outputs.slice(0, initial.length), stacked: outputs.slice(initial.length) }
}

const standIns = (values: readonly Value[], name: string) =>
  values.map(({ dtype, shape }, index) => input(`${name} ${String(index)}`, dtype, shape))

/** Loops over an existing body. */
export function repeat(inputs: readonly Value[], body: LoopBody): readonly Value[] {
  const stacked = body.stacked.map(({ dtype, shape }) => ({ dtype, shape: ['turns', ...shape] }))
  return finish({ kind: 'loop', inputs, body }, [...body.next, ...stacked]).outputs
}

/** Computes `met` or `otherwise`, which give values of the same types, from the values read. */
export function choose({
  condition,
  reads,
  met,
  otherwise,
}: {
  readonly condition: Value
  readonly reads: readonly Value[]
  readonly met: (reads: readonly Value[]) => readonly Value[]
  readonly otherwise: (reads: readonly Value[]) => readonly Value[]
}): readonly Value[] {
  const own = standIns(reads, 'read')
  return decide([condition, ...reads], { reads: own, met: met(own), otherwise: otherwise(own) })
}

/** Chooses between existing bodies. */
export const decide = (inputs: readonly Value[], bodies: ChoiceBodies): readonly Value[] =>
  finish({ kind: 'choice', inputs, bodies }, bodies.met).outputs

export const input = (name: string, dtype: Dtype, shape: Shape): Value =>
  outputOf(finish({ kind: 'input', name }, [{ dtype, shape }]))

/** A float constant of the given shape, row-major. */
export const constant = (
  values: readonly number[],
  shape: readonly number[],
  dtype: 'float32' | 'float64' = 'float32',
): Value =>
  outputOf(
    finish(
      { kind: 'constant', data: dtype === 'float64' ? Float64Array.from(values) : Float32Array.from(values) },
      [{ dtype, shape }],
    ),
  )

/** A one-dimensional integer constant, such as the axes of a reduction. */
export const integers = (values: readonly number[]): Value =>
  outputOf(
    finish({ kind: 'constant', data: BigInt64Array.from(values, BigInt) }, [
      { dtype: 'int64', shape: [values.length] },
    ]),
  )

export interface WeightLocation extends Pick<WeightNode, 'file' | 'offset' | 'byteLength'> {
  readonly shape: readonly number[]
}

export const weight = (
  name: string,
  { shape, ...location }: WeightLocation,
  dtype: Dtype = 'float32',
): Value => outputOf(finish({ kind: 'weight', name, ...location }, [{ dtype, shape }]))

/** Returns what a node reads; a composite reads its expansion only when written, not when differentiated. */
export const nodeInputs = (node: Node): readonly (Value | null)[] => ('inputs' in node ? node.inputs : [])

/** Returns all nodes needed for `values`, inputs before users. `inside` also enters composites. */
export function topologicalOrder(values: readonly Value[], inside: boolean): Node[] {
  const order: Node[] = []
  const seen = new Set<Node>()
  const stack = values.map(({ node }) => ({ node, expanded: false })).reverse()
  for (let item = stack.pop(); item; item = stack.pop()) {
    if (item.expanded) order.push(item.node)
    if (item.expanded || seen.has(item.node)) continue
    seen.add(item.node)
    const reads = inside && item.node.kind === 'composite' ? item.node.expansion : nodeInputs(item.node)
    const unseen = reads.flatMap((read) =>
      read && !seen.has(read.node) ? [{ node: read.node, expanded: false }] : [],
    )
    stack.push({ node: item.node, expanded: true }, ...unseen.reverse())
  }
  return order
}
