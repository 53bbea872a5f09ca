import type { Attribute, Op, OpNode, Value, VjpRule } from '../graph/value.ts'

interface OpOptions {
  readonly type?: string
  readonly domain?: Op['domain']
  readonly lowered?: Op['lowered']
}

/** Declares an operator: a gradient rule, or a sentence that says why it has none. */
export const defineOp = (name: string, vjp: VjpRule<OpNode> | string, options: OpOptions = {}): Op => ({
  name,
  type: options.type ?? name,
  domain: options.domain ?? '',
  vjp,
  ...(options.lowered ? { lowered: options.lowered } : {}),
})

/** The i-th input of a node; an error if the op was built without it. */
export function inputOf(node: { readonly inputs: readonly (Value | null)[] }, index: number): Value {
  const value = node.inputs[index]
  if (!value) throw new Error(`Expected input ${String(index)}.`)
  return value
}

/** The first cotangent; the walk never calls a rule without any. */
export function onlyCotangent(cotangents: readonly (Value | null)[]): Value {
  const cotangent = cotangents[0]
  if (!cotangent) throw new Error('Expected a cotangent for the first output.')
  return cotangent
}

export const int = (value: number): Attribute => ({ int: value })
export const float = (value: number): Attribute => ({ float: value })
export const text = (value: string): Attribute => ({ text: value })
export const ints = (values: readonly number[]): Attribute => ({ ints: values })
