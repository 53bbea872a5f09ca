import type { Finding } from '#shared/diagnosis.ts'
import type { DiagnosedRun } from '../diagnosedRun.ts'
import { change, percent } from '../rule.ts'

/** Prompts of either kind, each counted once. */
const enough = 10
/** Of how alike two halves of the training prompts are: held-out rows of the same task are as alike as those. */
const unlike = 0.5

/** The prompts of held-out rows are not worded like those of training: what is measured is not what is learned. */
export function heldOutTask({ samples, heldOutPrompts }: DiagnosedRun): Finding[] {
  const trained = [...new Set(samples.map(({ prompt }) => prompt))]
  const heldOut = [...new Set(heldOutPrompts)]
  if (trained.length < 2 * enough || heldOut.length < enough) return []
  const said = informative([...trained, ...heldOut])
  const halves = [0, 1].map((half) => trained.filter((_, i) => i % 2 === half))
  const among = alikeness(halves[0] ?? [], halves[1] ?? [], said)
  const between = alikeness(trained, heldOut, said)
  if (!(between < unlike * among)) return []
  const steps = samples.map(({ step }) => step)
  const span = { fromStep: Math.min(...steps), toStep: Math.max(...steps) }
  return [
    {
      id: 'held-out-other-task',
      severity: 'warning',
      words: `The validation rows belong to another task: their prompts are ${percent(between)} alike in wording to those of training, which are ${percent(among)} alike among themselves. The eval reward does not say how well this run learns.`,
      evidence: [
        { of: 'wording alike, held-out and training prompts', value: between, ...span },
        { of: 'wording alike, training prompts', value: among, ...span },
      ],
      proposals: [change('Choose validation rows of the same task, or a share of the training rows.', {})],
    },
  ]
}

/** Words that some prompts have and others have not: the frame of a template says nothing. */
function informative(prompts: readonly string[]): ReadonlySet<string> {
  const counts = Map.groupBy(prompts.flatMap(wordsOf), (word) => word)
  return new Set([...counts].filter(([, { length }]) => length < prompts.length).map(([word]) => word))
}

/** Each once; numbers are one word, whatever they are. */
const wordsOf = (prompt: string): string[] => [
  ...new Set(
    prompt
      .toLowerCase()
      .replace(/\d+/g, '0')
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [],
  ),
]

/** Cosine between the shares of prompts that each word stands in, 0 to 1; NaN where there are no words. */
function alikeness(some: readonly string[], others: readonly string[], said: ReadonlySet<string>): number {
  const [a, b] = [shares(some, said), shares(others, said)]
  const dot = [...a].reduce((sum, [word, share]) => sum + share * (b.get(word) ?? 0), 0)
  return dot / (lengthOf(a) * lengthOf(b))
}

function shares(prompts: readonly string[], said: ReadonlySet<string>): ReadonlyMap<string, number> {
  const words = prompts.flatMap(wordsOf).filter((word) => said.has(word))
  const counts = Map.groupBy(words, (word) => word)
  return new Map([...counts].map(([word, { length }]) => [word, length / prompts.length]))
}

const lengthOf = (shareOf: ReadonlyMap<string, number>): number =>
  Math.sqrt([...shareOf.values()].reduce((sum, share) => sum + share ** 2, 0))
