import { add } from './arithmetic.ts'
import { sumToShape } from './reduce.ts'
import { type Node, type Value, nodeInputs, topologicalOrder } from '../graph/value.ts'
import { sameShape, showShape } from '../graph/shape.ts'

/** A value of the forward expression and ∂loss/∂value to start from. */
export interface Seed {
  readonly value: Value
  readonly cotangent: Value
}

/**
 * Reverse-mode differentiation: ∂loss/∂target of each target, as expressions. Only nodes on a path from a seed to a
 * target are visited, so nothing is computed for frozen weights; broadcasting is undone here once, not in the rules.
 * A target that no seed reaches gets null. A node without a rule is an error that names the op and where it was needed.
 */
export function gradients(seeds: readonly Seed[], targets: readonly Value[]): (Value | null)[] {
  const order = topologicalOrder(
    seeds.map(({ value }) => value),
    false,
  )
  const relevant = dependents(order, targets)
  const cotangents = new Map<Value, Value>()
  const accumulate = (value: Value, cotangent: Value) => {
    const reduced = sameShape(cotangent.shape, value.shape) ? cotangent : sumToShape(cotangent, value.shape)
    const previous = cotangents.get(value)
    cotangents.set(value, previous ? add(previous, reduced) : reduced)
  }
  for (const { value, cotangent } of seeds) accumulate(value, cotangent)

  for (const node of [...order].reverse()) {
    if (!relevant.has(node) || (node.kind !== 'op' && node.kind !== 'composite')) continue
    const received = node.outputs.map((output) => cotangents.get(output) ?? null)
    if (received.every((cotangent) => cotangent === null)) continue
    const contributions = applyRule(node, received)
    nodeInputs(node).forEach((read, index) => {
      const contribution = contributions[index]
      if (read && contribution && (relevant.has(read.node) || targets.includes(read)))
        accumulate(read, contribution)
    })
  }
  return targets.map((target) => cotangents.get(target) ?? null)
}

function applyRule(
  node: Node & { kind: 'op' | 'composite' },
  cotangents: readonly (Value | null)[],
): readonly (Value | null)[] {
  if (node.kind === 'composite') return node.op.vjp({ node, cotangents })
  if (typeof node.op.vjp === 'string') {
    const shapes = node.inputs.map((read) => (read ? showShape(read.shape) : 'none')).join(', ')
    throw new Error(
      `No VJP for ${node.op.name} (needed with inputs ${shapes}): ${node.op.vjp} Add a rule in src/engine/ops.`,
    )
  }
  return node.op.vjp({ node, cotangents })
}

/** Nodes whose results depend on a target. */
function dependents(order: readonly Node[], targets: readonly Value[]): Set<Node> {
  const targetNodes = new Set(targets.map(({ node }) => node))
  const result = new Set<Node>()
  for (const node of order) {
    if (targetNodes.has(node) || nodeInputs(node).some((read) => read && result.has(read.node)))
      result.add(node)
  }
  return result
}
