/** What the steps of a tokenizer.json have in common: reading their settings, and their patterns. */
import * as untypedLibrary from '@huggingface/tokenizers'
import { isRecord } from '../pipelineLimits.ts'

/** One step as the file gives it; `type` says which. */
export type StepConfig = Readonly<Record<string, unknown>>

/** The library's translation of Oniguruma's syntax into JavaScript's; its own types do not name it. */
const { SplitPreTokenizer } = untypedLibrary as unknown as {
  readonly SplitPreTokenizer: new (config: StepConfig) => { readonly pattern: RegExp | null }
}

/**
 * The steps of a stage in order, sequences opened; an empty list where there is none, null where the file is not as
 * expected.
 */
export function flatten(stage: unknown, listName: string): StepConfig[] | null {
  if (stage === null || stage === undefined) return []
  if (!isRecord(stage)) return null
  if (stage['type'] !== 'Sequence') return [stage]
  const list = stage[listName]
  if (!Array.isArray(list)) return null
  const steps = list.map((step: unknown) => (isRecord(step) ? flatten(step, listName) : null))
  return steps.some((step) => step === null) ? null : steps.flatMap((step) => step ?? [])
}

/** A global pattern from {"String": …} or {"Regex": …}; null for anything else. Errors: SyntaxError. */
export function readPattern(pattern: unknown): RegExp | null {
  if (!isRecord(pattern)) return null
  const { String: literal, Regex: source } = pattern
  if (typeof literal === 'string' && literal !== '') {
    return new RegExp(literal.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`), 'gu')
  }
  if (typeof source !== 'string') return null
  return new SplitPreTokenizer({ pattern: { Regex: source }, behavior: 'Isolated', invert: false }).pattern
}

/** Turns each step into its function; null as soon as one step is unknown. */
export function mapKnown<Step, Result>(
  steps: readonly Step[],
  create: (step: Step) => Result | null,
): Result[] | null {
  const made: Result[] = []
  for (const step of steps) {
    const result = create(step)
    if (result === null) return null
    made.push(result)
  }
  return made
}
