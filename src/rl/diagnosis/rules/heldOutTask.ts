import type { Finding } from '#shared/diagnosis.ts'
import { sampleVariance } from '#rl/algorithms/terms/statistics.ts'
import { surely } from '../chance.ts'
import type { DiagnosedRun } from '../diagnosedRun.ts'
import { change, percent } from '../rule.ts'

/** Prompts of either kind, each counted once. */
const enough = 10
/** Of how alike prompts of one kind are: another share of the same exercises is above it, another task below. */
const unlike = 0.7

/** The prompts of held-out rows are not worded like those of training: what is measured is not what is learned. */
export function heldOutTask({ samples, heldOutPrompts }: DiagnosedRun): Finding[] {
  const trained = wordsOfEach(samples.map(({ prompt }) => prompt))
  const heldOut = wordsOfEach(heldOutPrompts)
  if (trained.length < 2 * enough || heldOut.length < enough) return []
  const said = informative([...trained, ...heldOut])
  const alike = alikeness(countsOf(trained, said), countsOf(heldOut, said))
  if (!(alike < unlike) || !(1 - alike > surely * errorOf(trained, heldOut, said))) return []
  const steps = samples.map(({ step }) => step)
  const span = { fromStep: Math.min(...steps), toStep: Math.max(...steps) }
  return [
    {
      id: 'held-out-other-task',
      severity: 'warning',
      words: `The validation rows belong to another task: in wording their prompts are ${percent(alike)} as alike to those of training as prompts of one task are to each other. The eval reward does not say how well this run learns.`,
      evidence: [{ of: 'wording alike, validation and training prompts', value: alike, ...span }],
      proposals: [change('Choose validation rows of the same task, or a share of the training rows.', {})],
    },
  ]
}

type Words = readonly string[]

const wordsOfEach = (prompts: readonly string[]): Words[] => [...new Set(prompts)].map(wordsOf)

/** Each once; numbers are one word, whatever they are. */
const wordsOf = (prompt: string): Words => [
  ...new Set(
    prompt
      .toLowerCase()
      .replace(/\d+/g, '0')
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [],
  ),
]

/** Words that some prompts have and others have not: the frame of a template says nothing. */
function informative(prompts: readonly Words[]): ReadonlySet<string> {
  const counts = Map.groupBy(prompts.flat(), (word) => word)
  return new Set([...counts].filter(([, { length }]) => length < prompts.length).map(([word]) => word))
}

interface Counts {
  /** In how many of the prompts each word stands. */
  readonly of: ReadonlyMap<string, number>
  readonly prompts: number
}

function countsOf(prompts: readonly Words[], said: ReadonlySet<string>): Counts {
  const words = Map.groupBy(prompts.flat(), (word) => word)
  const of = [...words].flatMap(([word, { length }]) => (said.has(word) ? [[word, length] as const] : []))
  return { of: new Map(of), prompts: prompts.length }
}

function without({ of, prompts }: Counts, words: Words): Counts {
  const left = new Set(words)
  return {
    of: new Map([...of].map(([word, count]) => [word, left.has(word) ? count - 1 : count])),
    prompts: prompts - 1,
  }
}

/**
 * How many words two prompts of different kinds share, by how many two of the same kind do: about 1 where both are
 * samples of one task, however few they are; NaN where prompts of a kind share no words.
 */
function alikeness(a: Counts, b: Counts): number {
  const shared = [...a.of].reduce((sum, [word, count]) => sum + count * (b.of.get(word) ?? 0), 0)
  return shared / (a.prompts * b.prompts) / Math.sqrt(sharedWithin(a) * sharedWithin(b))
}

/** Words that two different ones of the prompts share, on average over the pairs. */
const sharedWithin = ({ of, prompts }: Counts): number =>
  [...of.values()].reduce((sum, count) => sum + count * (count - 1), 0) / (prompts * (prompts - 1))

/** Standard error by the jackknife (Efron and Stein 1981): how far it moves when prompts are left out one at a time. */
function errorOf(trained: readonly Words[], heldOut: readonly Words[], said: ReadonlySet<string>): number {
  const [a, b] = [countsOf(trained, said), countsOf(heldOut, said)]
  const variance =
    jackknifeVariance(trained.map((words) => alikeness(without(a, words), b))) +
    jackknifeVariance(heldOut.map((words) => alikeness(a, without(b, words))))
  return Math.sqrt(variance)
}

const jackknifeVariance = (values: readonly number[]): number =>
  ((values.length - 1) ** 2 / values.length) * sampleVariance(values)
