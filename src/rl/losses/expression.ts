/** Operations of a program as code, and what to write instead of one whose result is not finite. */
import { lossOperations } from '#shared/lossLanguage.ts'
import type { LossProgram } from '#shared/losses.ts'
import type { LossRow } from '../algorithms/types.ts'
import type { Evaluation } from './evaluate.ts'
import { factsOf } from './program.ts'

const longest = 60

/** Writes an operation as one would type it; null if that is too long to be read. */
function expressionOf(program: LossProgram, k: number): string | null {
  const node = program.nodes[k]!
  if (node.op === 'number' || node.op === 'input') return node.value
  const operands = node.of.map((operand) => expressionOf(program, operand))
  if (operands.includes(null)) return null
  const { form, as } = lossOperations[node.op]
  const bracketed = node.of.map((operand, i) =>
    factsOf(program.nodes[operand]!)?.form === 'infix' ? `(${operands[i]!})` : operands[i]!,
  )
  const text =
    form === 'infix'
      ? bracketed.join(` ${as} `)
      : form === 'prefix'
        ? `${as}${bracketed.join('')}`
        : `${as}(${operands.join(', ')})`
  return text.length <= longest ? text : null
}

/** Finds where a result that is not finite began, and says what to write instead; null if that takes more than a line. */
export function remedyFor(
  program: LossProgram,
  evaluation: Evaluation,
  rows: readonly LossRow[],
): string | null {
  const isAction = rows.flatMap(({ actionMask }) => Array.from(actionMask, (is) => is === 1))
  const entries = (k: number): readonly number[] => {
    const data = Array.from(evaluation.valuesOf(k))
    return program.nodes[k]!.per === 'token' ? data.filter((_, i) => isAction[i]) : data
  }
  const isFinite = (k: number) => entries(k).every(Number.isFinite)
  const isSteep = (k: number) => {
    const { steepAt } = factsOf(program.nodes[k]!) ?? {}
    return steepAt !== undefined && entries(k).includes(steepAt)
  }
  const began = program.nodes.findIndex(
    ({ of }, k) => of.length > 0 && of.every(isFinite) && (!isFinite(k) || isSteep(k)),
  )
  if (began < 0) return null
  const node = program.nodes[began]!
  const [whole, a, b = ''] = [began, ...node.of].map((k) => expressionOf(program, k))
  return whole == null || a == null || b === null ? null : (factsOf(node)?.remedy?.(whole, a, b) ?? null)
}
