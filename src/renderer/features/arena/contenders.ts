/** Who stands in a column of the arena, as the address of the page has it. */
import type { ModelChoice } from '#renderer/client/modelChoice.ts'

/** At most so many side by side. */
export const mostColumns = 4
export const columnKeys = ['a', 'b', 'c', 'd'] as const

/** A model's name or path, or `run_…@step` with the run's model in front: `starter~run_…@30`. */
export function writeChoice({ model, adapter }: ModelChoice): string {
  if (adapter === undefined) return model
  return 'path' in adapter ? `${model}~${adapter.path}` : `${model}~${adapter.runId}@${String(adapter.step)}`
}

export function readChoice(text: string): ModelChoice | null {
  if (text === '') return null
  const [model = '', trained] = text.split('~', 2)
  if (trained === undefined) return { model }
  const checkpoint = /^(run_[0-9a-f-]{36})@(\d+)$/.exec(trained)
  if (checkpoint === null) return { model, adapter: { path: trained } }
  return { model, adapter: { runId: checkpoint[1] ?? '', step: Number(checkpoint[2]) } }
}

/** The order in which hidden columns are shown: drawn anew for every prompt, so that a place tells nothing. */
export function shuffled(count: number, random: () => number): readonly number[] {
  const order = Array.from({ length: count }, (_, i) => i)
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[order[i], order[j]] = [order[j] ?? j, order[i] ?? i]
  }
  return order
}

/** Prompts to choose from, as the address has them. */
export const writePrompts = (prompts: readonly string[]): string => JSON.stringify(prompts)

export function readPrompts(text: string | null): readonly string[] {
  try {
    const prompts: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(prompts) ? prompts.filter((prompt) => typeof prompt === 'string') : []
  } catch {
    return []
  }
}
