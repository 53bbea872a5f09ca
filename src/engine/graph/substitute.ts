import type { Node, OpNode, Value } from './value.ts'
import { apply, compose, decide, outputOf, repeat, topologicalOrder } from './value.ts'

/**
 * Returns the same expressions with some values replaced, such as activations of the forward pass by inputs that carry
 * what was saved: everything that was needed only to compute them is gone.
 */
export function substitute(values: readonly Value[], replacements: ReadonlyMap<Value, Value>): Value[] {
  return rewrite(values, replacements, () => null)
}

/** The same expressions without the extensions that some providers have no kernel for: `Op.lowered`. */
export const lower = (values: readonly Value[]): Value[] =>
  rewrite(values, new Map(), (node) => node.op.lowered?.(node) ?? null)

function rewrite(
  values: readonly Value[],
  replacements: ReadonlyMap<Value, Value>,
  lowered: (node: OpNode) => readonly Value[] | null,
): Value[] {
  const rebuilt = new Map<Value, Value>(replacements)
  const read = (value: Value): Value => rebuilt.get(value) ?? value
  const changed = (value: Value | null): boolean => value !== null && rebuilt.has(value)

  for (const node of topologicalOrder(values, true)) {
    const copy = rebuild(node, read, changed)
    const own = copy?.[0]?.node ?? node
    const result = own.kind === 'op' ? (lowered(own) ?? copy) : copy
    node.outputs.forEach((output, index) => {
      const replacement = result?.[index]
      if (replacement && !rebuilt.has(output)) rebuilt.set(output, replacement)
    })
  }
  return values.map(read)
}

/** New outputs of a node that reads something replaced; null where it can stay. */
function rebuild(
  node: Node,
  read: (value: Value) => Value,
  changed: (value: Value | null) => boolean,
): readonly Value[] | null {
  if (node.kind === 'op' && node.inputs.some(changed)) {
    const inputs = node.inputs.map((value) => value && read(value))
    return apply(node.op, inputs, node.attributes, node.outputs)
  }
  if (node.kind === 'composite' && (node.expansion.some(changed) || node.inputs.some(changed))) {
    return compose(node.op, node.inputs.map(read), node.expansion.map(read))
  }
  if (node.kind === 'loop' && node.inputs.some(changed)) return repeat(node.inputs.map(read), node.body)
  if (node.kind === 'choice' && node.inputs.some(changed)) return decide(node.inputs.map(read), node.bodies)
  return null
}

/** The value a composite's output stands for; other values stand for themselves. */
export function resolve(value: Value): Value {
  let current = value
  while (current.node.kind === 'composite') {
    const inner = current.node.expansion[current.output]
    current = inner ?? outputOf(current.node, current.output)
  }
  return current
}
