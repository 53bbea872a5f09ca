/** Operations of a program as code, and what to write instead of one whose result is not finite. */
import type { LossNode, LossProgram } from '#shared/losses.ts'
import type { LossRow } from '../algorithms/types.ts'
import type { Evaluation } from './evaluate.ts'

const infix: Partial<Record<LossNode['op'], string>> = {
  ...{ add: '+', subtract: '-', multiply: '*', divide: '/', power: '**' },
  ...{ less: '<', 'less-equal': '<=', greater: '>', 'greater-equal': '>=' },
  ...{ equal: '===', 'not-equal': '!==', and: '&&', or: '||' },
}
const names: Partial<Record<LossNode['op'], string>> = {
  ...{ minimum: 'min', maximum: 'max', 'stop-gradient': 'stopGradient' },
}
const longest = 60

const prefix: Partial<Record<LossNode['op'], string>> = { negative: '-', not: '!' }

/** Writes an operation as one would type it; null if that is too long to be read. */
function expressionOf(program: LossProgram, k: number): string | null {
  const node = program.nodes[k]!
  if (node.op === 'number' || node.op === 'input') return node.value
  const operands = node.of.map((operand) => expressionOf(program, operand))
  if (operands.includes(null)) return null
  const [operator, sign] = [infix[node.op], prefix[node.op]]
  const bracketed = node.of.map((operand, i) =>
    program.nodes[operand]!.op in infix ? `(${operands[i]!})` : operands[i]!,
  )
  const call = () => `${names[node.op] ?? node.op}(${operands.join(', ')})`
  const signed = sign === undefined ? call() : `${sign}${bracketed.join('')}`
  const text = operator === undefined ? signed : bracketed.join(` ${operator} `)
  return text.length <= longest ? text : null
}

/** Sentences for an operation that overflows or has no finite slope, from the texts of itself and its operands. */
const remedies: Partial<Record<LossNode['op'], (whole: string, a: string, b: string) => string>> = {
  exp: (whole, a) => `${whole} overflows: write clip(${a}, -30, 30) for ${a}`,
  expm1: (whole, a) => `${whole} overflows: write clip(${a}, -30, 30) for ${a}`,
  log: (whole, a) => `${whole} is the logarithm of 0: write log(max(${a}, 1e-8))`,
  log1p: (whole, a) => `${whole} is the logarithm of 0: write log1p(max(${a}, -1 + 1e-8))`,
  sqrt: (whole, a) => `${whole} has no finite slope at 0: write sqrt(max(${a}, 1e-12))`,
  divide: (whole, a, b) => `${whole} divides by 0: write (${a}) / max(${b}, 1e-8)`,
  power: (whole, a, b) => `${whole} is not finite at 0: write max(${a}, 1e-8) ** (${b})`,
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
  const isSteep = (k: number) => program.nodes[k]!.op === 'sqrt' && entries(k).includes(0)
  const began = program.nodes.findIndex(
    ({ of }, k) => of.length > 0 && of.every(isFinite) && (!isFinite(k) || isSteep(k)),
  )
  if (began < 0) return null
  const { op, of } = program.nodes[began]!
  const [whole, a, b = ''] = [began, ...of].map((k) => expressionOf(program, k))
  return whole == null || a == null || b === null ? null : (remedies[op]?.(whole, a, b) ?? null)
}
