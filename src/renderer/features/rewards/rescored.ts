/** Stored samples under another version: what they earned then, and what they would earn now. */
import type { Answer } from '#renderer/client/api.tsx'
import { meanOf } from './results.ts'

type Sample = Answer<'samples.list'>[number]
type Rescored = Answer<'samples.rescore'>['scores'][number]

export interface Change {
  readonly sample: Sample
  readonly before: number | null
  readonly after: number | null
  readonly error: string | null
}

export interface Comparison {
  readonly samples: number
  readonly changed: number
  readonly failed: number
  /** Over samples that had and have a reward; null without any. */
  readonly meanBefore: number | null
  readonly meanAfter: number | null
  /** The largest difference first. */
  readonly changes: readonly Change[]
}

/** The sum of the parts that apply; null where none does. */
const totalOf = (parts: Readonly<Record<string, number | null>>): number | null => {
  const values = Object.values(parts).filter((value) => value !== null)
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0)
}

/** Parts of one entry of the config: its own name, or the names of its functions behind it. */
const partsOf = (parts: Sample['parts'], name: string): Sample['parts'] =>
  Object.fromEntries(Object.entries(parts).filter(([part]) => part === name || part.startsWith(`${name}.`)))

const tolerance = 1e-9

const difference = ({ before, after }: Change): number =>
  before === null || after === null ? (before === after ? 0 : Infinity) : Math.abs(after - before)

/** `name`: the part of the run's reward that the code was; a run with other rewards beside it is compared by that part. */
export function compareScores(
  samples: readonly Sample[],
  scores: readonly Rescored[],
  name: string | null,
): Comparison {
  const byId = new Map(samples.map((sample) => [sample.id, sample]))
  const all = scores.flatMap(({ sampleId, parts, error }): Change[] => {
    const sample = byId.get(sampleId)
    if (sample === undefined) return []
    const before = name === null ? sample.reward : totalOf(partsOf(sample.parts, name))
    return [{ sample, before, after: totalOf(parts), error }]
  })
  const both = all.filter(({ before, after }) => before !== null && after !== null)
  return {
    samples: all.length,
    changed: all.filter((change) => change.error === null && difference(change) > tolerance).length,
    failed: all.filter(({ error }) => error !== null).length,
    meanBefore: meanOf(both.map(({ before }) => before ?? 0)),
    meanAfter: meanOf(both.map(({ after }) => after ?? 0)),
    changes: all
      .filter((change) => change.error !== null || difference(change) > tolerance)
      .sort((a, b) => difference(b) - difference(a)),
  }
}
