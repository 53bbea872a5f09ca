/** What the searches of W&B (wandbSweep.ts) and Optuna (optunaSweep.ts) are read into, before names are translated. */
import type { JsonObject } from '#shared/config/paths.ts'
import type { NumericRange, Parameter } from '#shared/studies.ts'
import { tidy } from './links.ts'
import type { ImportNote } from './importNotes.ts'

/** A setting that is searched, by a name of its own program. */
export interface FoundParameter<Range = Parameter> {
  /** What it may be called; the first that means something here counts. */
  readonly names: readonly string[]
  readonly range: Range
}

export interface FoundSweep {
  readonly from: 'wandb' | 'optuna'
  readonly name: string | null
  /** What the file sets for every trial. */
  readonly fixed: ReadonlyMap<string, unknown>
  readonly parameters: readonly FoundParameter[]
  /** The rest of the section. */
  readonly section: JsonObject
  /** Name and direction of the metric; null: the file does not say. */
  readonly metric: { readonly name: string | null; readonly goal: 'max' | 'min' }
  readonly notes: readonly ImportNote[]
}

export const leftOut = (name: string, text: string): ImportNote => ({ kind: 'left-out', name, text })
export const changed = (name: string, text: string): ImportNote => ({ kind: 'changed', name, text })

/** More values than this are a range. */
const mostSteps = 64

/** Multiples of `step`, counted from `origin`, within the limits. */
export function stepped(
  name: string,
  range: NumericRange,
  { step, origin, notes }: { readonly step: number; readonly origin: number; readonly notes: ImportNote[] },
): Parameter {
  const { min, max, scale } = range
  if (step === 1 && Number.isInteger(min) && Number.isInteger(max)) return { ...range, whole: true }
  const [first, last] = [Math.ceil((min - origin) / step - 1e-9), Math.floor((max - origin) / step + 1e-9)]
  const count = last - first + 1
  if (count >= 1 && count <= mostSteps && scale === 'linear') {
    const values = Array.from({ length: count }, (_, i) => tidy(origin + (first + i) * step))
    notes.push(changed(name, `${name}: its steps of ${step} became a list of ${count} values.`))
    return { values }
  }
  notes.push(changed(name, `${name}: values between its steps of ${step} are tried too.`))
  return range
}
