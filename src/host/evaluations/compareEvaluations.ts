/** Compares two evaluations: says if B is better than A, or what keeps that from being told. */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Comparison, EvaluatedPrompt, EvaluationEntry } from '#shared/api/evaluations.ts'
import { plural } from '#shared/plural.ts'
import { pairedDifference, shareDifference, welchDifference, type Difference } from '#shared/statistics.ts'
import { areShares, promptReward } from './summary.ts'

type Facts = Pick<EvaluationEntry, 'title' | 'config' | 'samples' | 'greedy' | 'judge' | 'status'>

export interface Compared {
  readonly entry: Facts
  readonly prompts: readonly EvaluatedPrompt[]
}

/**
 * Compares mean rewards, B − A: paired over the prompts of both where there are such, else by two independent means.
 */
export function compareEvaluations(a: Compared, b: Compared): Comparison {
  if (a.entry.judge !== b.entry.judge) {
    return refused(
      'They used different rewards, environments or workflows, so their means are not comparable. Evaluate both with the same ones.',
    )
  }
  const [rewardsA, rewardsB] = [rewardsByKey(a), rewardsByKey(b)]
  const shared = [...rewardsA.keys()].filter((key) => rewardsB.has(key))
  const notes = [...unfinishedNotes(a, b), ...samplingNotes(a.entry, b.entry)]
  if (shared.length === 0) {
    const differenceOf = areShares([...a.prompts, ...b.prompts]) ? shareDifference : welchDifference
    const difference = differenceOf([...rewardsB.values()], [...rewardsA.values()])
    const counts = `${plural(rewardsA.size, 'prompt')} of A and ${rewardsB.size} of B`
    if (difference === null) return refused(`There are too few prompts to compare: ${counts}.`)
    notes.unshift(
      'They have no prompts in common, so the comparison is unpaired (Welch’s t test); part of the difference may come from the prompts.',
    )
    return told(difference, 'unpaired', { notes, counts, prompts: 0 })
  }
  const differences = shared.map((key) => (rewardsB.get(key) ?? 0) - (rewardsA.get(key) ?? 0))
  const difference = pairedDifference(differences)
  if (difference === null) return refused('There are no prompts to compare.')
  const others = Math.max(rewardsA.size, rewardsB.size) - shared.length
  if (others > 0) notes.push(`Only the ${plural(shared.length, 'prompt')} that both answered are compared.`)
  return told(difference, 'paired', {
    notes,
    counts: plural(shared.length, 'prompt'),
    prompts: shared.length,
  })
}

interface Telling {
  readonly notes: readonly string[]
  readonly counts: string
  readonly prompts: number
}

function told(found: Difference, method: 'paired' | 'unpaired', telling: Telling): Comparison {
  const { difference, interval, pValue } = found
  const isReal = pValue < 0.05
  const verdict = isReal ? (difference > 0 ? 'better' : 'worse') : 'alike'
  const { notes, prompts } = telling
  return {
    verdict,
    words: words(found, verdict, telling),
    notes: [...notes],
    method,
    prompts,
    difference,
    interval,
    pValue,
  }
}

function words(
  { difference, interval, pValue }: Difference,
  verdict: 'better' | 'worse' | 'alike',
  { counts }: Telling,
): string {
  const range = interval === null ? '' : ` (95 % CI ${signed(interval.low)} to ${signed(interval.high)})`
  const chance = pValue < 0.001 ? 'p < 0.001' : `p = ${pValue.toFixed(3)}`
  if (verdict !== 'alike') {
    return `B is ${verdict} by ${figure(Math.abs(difference))} on ${counts}${range}; the difference is larger than chance would give, ${chance}.`
  }
  const few = interval === null ? ' With fewer than six prompts this test cannot reach significance.' : ''
  return `They cannot be told apart on ${counts}: B − A is ${signed(difference)}${range}, ${chance}.${few}`
}

/** Three decimals, as rewards have them everywhere; fewer where these would only be a long row of digits. */
const figure = (value: number): string =>
  value < 1000 ? value.toFixed(3) : String(Number(value.toPrecision(3)))
const signed = (value: number): string => `${value < 0 ? '−' : '+'}${figure(Math.abs(value))}`

const refused = (sentence: string): Comparison => ({
  verdict: 'refused',
  words: sentence,
  notes: [],
  method: null,
  difference: null,
  interval: null,
  pValue: null,
  prompts: 0,
})

/** Mean reward of each prompt, by a key that identifies the same prompt in another evaluation. */
function rewardsByKey({ entry, prompts }: Compared): ReadonlyMap<string, number> {
  const seen = new Map<string, number>()
  const rewards = new Map<string, number>()
  for (const prompt of prompts) {
    const content = contentKey(prompt, entry)
    const before = seen.get(content) ?? 0
    seen.set(content, before + 1)
    const reward = promptReward(prompt)
    // The same row again is a prompt of its own.
    if (reward !== null) rewards.set(`${content} ${before}`, reward)
  }
  return rewards
}

/**
 * Identifies a prompt by its columns and the way they become a prompt, since models of other families mark it up
 * otherwise. An episode also counts its chance.
 */
function contentKey({ columns, row }: EvaluatedPrompt, { config }: Facts): string {
  const sorted = Object.entries(columns).sort(([a], [b]) => (a < b ? -1 : 1))
  const asked = config.environment === null ? config.data.prompt : [config.seed, row]
  return createHash('sha256')
    .update(JSON.stringify([sorted, asked]))
    .digest('hex')
}

const unfinishedNotes = (a: Compared, b: Compared): string[] =>
  [['A', a] as const, ['B', b] as const].flatMap(([letter, { entry, prompts }]) =>
    entry.status === 'finished'
      ? []
      : [`${letter} is not finished; the ${plural(prompts.length, 'prompt')} it has so far are used.`],
  )

const drawnBy = [
  ...['temperature', 'topK', 'topP', 'minP', 'repetitionPenalty', 'minNewTokens', 'stopStrings'],
] as const satisfies readonly (keyof Facts['config']['rollout'])[]

function samplingNotes(a: Facts, b: Facts): string[] {
  if (a.greedy !== b.greedy) {
    const [first, second] = a.greedy ? ['A', 'B'] : ['B', 'A']
    return [
      `${first} used greedy decoding and ${second} sampling; part of the difference may come from that.`,
    ]
  }
  const [rolloutA, rolloutB] = [a.config.rollout, b.config.rollout]
  const isSame = a.greedy || drawnBy.every((name) => isDeepStrictEqual(rolloutA[name], rolloutB[name]))
  const limits = `A had at most ${plural(rolloutA.maxNewTokens, 'new token')} and B ${rolloutB.maxNewTokens}`
  return [
    ...(rolloutA.maxNewTokens === rolloutB.maxNewTokens
      ? []
      : [`${limits}; part of the difference may come from that.`]),
    ...(isSame ? [] : ['Their sampling settings differ; part of the difference may come from that.']),
  ]
}
