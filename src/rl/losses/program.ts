/**
 * A user-written loss as a list of operations. Reading guide of this folder:
 *
 *   program.ts   (here) which parts of a program are used; shared/losses.ts defines a program
 *   layout.ts    which token belongs to which turn, sequence and group of a batch
 *   evaluate.ts  the value of a program and its gradient, on a batch
 *   expression.ts operations as code, for messages
 *   written.ts   program and advantages as an algorithm, which training treats like any other
 *   check.ts     whether a policy can learn from a loss, checked before it does, with alteredRows.ts; on a batch of the
 *                run, or on sampleBatch.ts if there is none; batchLoss.ts computes a loss in ways that must agree
 *   curves.ts    loss and dLoss/dlogp over the importance ratio, for charts
 *
 * The code runs once, in the sandbox, on tensors that record the operations on them; training evaluates the record. So the
 * user writes no derivative, a run never waits for the sandbox, and user code never touches the policy.
 */
import { type InputName, lossOperations, type Operation } from '#shared/lossLanguage.ts'
import type { LossNode, LossProgram } from '#shared/losses.ts'

/** Removes the operations that no result depends on, such as inputs that are named but not used. */
export function pruned({ nodes, terms, metrics }: LossProgram): LossProgram {
  const used = new Set<number>()
  const results = [...terms.flatMap(({ loss, weight }) => [loss, weight]), ...Object.values(metrics)]
  const waiting = results.filter((k) => typeof k === 'number')
  for (let k = waiting.pop(); k !== undefined; k = waiting.pop()) {
    if (used.has(k)) continue
    used.add(k)
    waiting.push(...nodes[k]!.of)
  }
  const kept = [...used].sort((a, b) => a - b)
  const places = new Map(kept.map((k, place) => [k, place]))
  const moved = (k: number) => places.get(k)!
  return {
    nodes: kept.map((k) => ({ ...nodes[k]!, of: nodes[k]!.of.map(moved) }) as LossNode),
    terms: terms.map(({ loss, weight }) => ({
      loss: moved(loss),
      weight: typeof weight === 'number' ? moved(weight) : weight,
    })),
    metrics: Object.fromEntries(Object.entries(metrics).map(([name, k]) => [name, moved(k)])),
  }
}

/** Inputs that the results depend on. */
export const inputsOf = (program: LossProgram): ReadonlySet<InputName> =>
  new Set(pruned(program).nodes.flatMap((node) => (node.op === 'input' ? [node.value] : [])))

/** Returns the entry of an operation in the table; null for a number or an input. */
export const factsOf = ({ op }: LossNode): Operation | null =>
  op === 'number' || op === 'input' ? null : lossOperations[op]

/**
 * Operations that are 0 on every batch, because a factor is the number 0. A term with such a coefficient is left out, as
 * trainers leave out a KL term with β = 0: it counts for nothing even where the rest of it is infinite.
 */
export function alwaysZero({ nodes }: LossProgram): ReadonlySet<number> {
  const zeros = new Set<number>()
  for (const [k, node] of nodes.entries()) {
    const isZero =
      node.op === 'number'
        ? Number(node.value) === 0
        : node.of.slice(0, factsOf(node)?.keepsZero ?? 0).some((factor) => zeros.has(factor))
    if (isZero) zeros.add(k)
  }
  return zeros
}
