/**
 * Evolution of a population: after every generation the best member goes on, winners of tournaments are cloned, and some settings
 * mutate. As AgileRL does it for LLMs (`TournamentSelection`, `Mutations` with `rl_hp` alone), but for two faults there: whole numbers
 * stay whole, and a learning rate that mutates is always the optimizer's.
 */
import type { JsonObject } from '#shared/config/paths.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { Population, StudyPlan, Trial, TrialMutation, TrialResult } from '#shared/studies.ts'
import { bestOf, resultsByTrial, type StudySubject, type Wave } from './trials.ts'
import { haltonPoint, mutatedValue, valueAtUnit } from './ranges.ts'

/** [members] 0 for the lowest fitness, ascending; of equals, the later one ranks higher. */
export function ranksOf(fitness: readonly number[]): number[] {
  const order = fitness.map((_, i) => i).toSorted((a, b) => fitness[a]! - fitness[b]!)
  const ranks = new Array<number>(fitness.length).fill(0)
  order.forEach((member, rank) => (ranks[member] = rank))
  return ranks
}

/** Returns the one of highest rank among the drawn members (a member may be drawn twice). */
export function tournamentWinner(ranks: readonly number[], drawn: readonly number[]): number {
  const [first, ...others] = drawn
  if (first === undefined) throw new Error('Expected at least one member in a tournament.')
  return others.reduce((best, member) => (ranks[member]! > ranks[best]! ? member : best), first)
}

export interface Successor {
  /** Number of the new member; the best keeps its own, others count on from the highest there was. */
  readonly member: number
  /** Position in the old population of the member it is a copy of. */
  readonly parent: number
}

export interface TournamentOptions {
  readonly tournament: number
  readonly size: number
  readonly elitism: boolean
  readonly random: Pick<SequentialRandom, 'integer'>
}

/**
 * The next population: the best member first where there is elitism, then winners of tournaments. members, fitness: [members];
 * -Infinity: it failed, and can neither go on nor be cloned; at least one did not.
 */
export function selectSuccessors(
  members: readonly number[],
  fitness: readonly number[],
  { tournament, size, elitism, random }: TournamentOptions,
): Successor[] {
  const ranks = ranksOf(fitness)
  const best = ranks.indexOf(ranks.length - 1)
  const elite = elitism ? [{ member: members[best]!, parent: best }] : []
  const highest = Math.max(...members)
  const healthy = fitness.flatMap((each, place) => (each === -Infinity ? [] : [place]))
  const winners = Array.from({ length: size - elite.length }, (_, slot) => {
    const drawn = Array.from({ length: tournament }, () => healthy[random.integer(healthy.length)]!)
    return { member: highest + 1 + slot, parent: tournamentWinner(ranks, drawn) }
  })
  return [...elite, ...winners]
}

interface Mutable {
  readonly ranges: Population['mutation']['parameters']
  readonly random: Pick<SequentialRandom, 'integer' | 'uniform'>
}

/** One of the settings that have a range, and what it becomes; null where none has. */
export function drawMutation(
  settings: Readonly<Record<string, unknown>>,
  { ranges, random }: Mutable,
): TrialMutation | null {
  const names = Object.keys(ranges).filter((name) => typeof settings[name] === 'number')
  const key = names[random.integer(Math.max(names.length, 1))]
  if (key === undefined) return null
  const from = settings[key] as number
  return { key, from, to: mutatedValue(from, ranges[key]!, random.uniform()) }
}

type PopulationSubject = StudySubject<Population>

/** Generation after generation, as far as the results go. */
export function planPopulation(subject: PopulationSubject, results: readonly TrialResult[]): StudyPlan {
  const { search, steps } = subject
  const known = resultsByTrial(results)
  const trials = firstMembers(subject)
  let living: readonly Trial[] = trials
  for (let generation = 0; ; generation++) {
    const until = Math.min((generation + 1) * search.every, steps)
    const resultOf = (trial: Trial) => known.get(trial.index)?.find(({ step }) => step === until)
    const missing = living.filter((trial) => resultOf(trial) === undefined)
    const pending = missing.map(({ index: trial }) => ({ trial, until }))
    const outcomes = living.map(resultOf)
    const hasFailed = outcomes.every((result) => result?.fitness === null)
    const isOver = pending.length === 0 && (until >= steps || hasFailed)
    if (pending.length > 0 || isOver)
      return { trials, pending, best: bestOf(results, search.fitness), isOver }
    const worth = outcomes.map((result) => worthOf(result?.fitness ?? null, search))
    living = nextGeneration(subject, { living, worth, generation: generation + 1, step: until, trials })
  }
}

/** Returns the waves; each wave is a generation. */
export const populationWaves = ({ search: { size, every }, steps }: PopulationSubject): Wave[] =>
  Array.from({ length: Math.ceil(steps / every) }, (_, generation) => ({
    size,
    from: generation * every,
    until: Math.min((generation + 1) * every, steps),
  }))

/** Value by which members are ranked: more is better. */
const worthOf = (fitness: number | null, { fitness: { goal } }: Population): number => {
  if (fitness === null) return -Infinity
  return goal === 'max' ? fitness : -fitness
}

function firstMembers({ search, seed }: PopulationSubject): Trial[] {
  const ranges = Object.entries(search.mutation.parameters)
  return Array.from({ length: search.size }, (_, index) => {
    const units = haltonPoint(index, ranges.length, seed)
    const spread = ranges.map(([key, range], i) => [key, valueAtUnit(range, units[i] ?? 0)])
    const settings = search.initial === 'spread' ? (Object.fromEntries(spread) as JsonObject) : {}
    return memberTrial({ index, member: index, generation: 0, settings, parent: null, mutation: null }, seed)
  })
}

/** Gives every trial a random stream of its own. */
const memberTrial = (trial: Trial, seed: number): Trial => ({
  ...trial,
  settings: { ...trial.settings, seed: seed + trial.index },
})

interface Generation {
  readonly living: readonly Trial[]
  /** [living] */
  readonly worth: readonly number[]
  /** Number of the generation that begins. */
  readonly generation: number
  /** Step at which the one before it ended. */
  readonly step: number
  /** Trials so far; new members are added. */
  readonly trials: Trial[]
}

function nextGeneration(
  { search, seed, start }: PopulationSubject,
  { living, worth, generation, step, trials }: Generation,
): Trial[] {
  const random = new SequentialRandom(randomStream(seed, generation))
  const { size, tournament, elitism, mutation } = search
  const members = living.map(({ member }) => member)
  const successors = selectSuccessors(members, worth, { tournament, size, elitism, random })
  return successors.map(({ member, parent: place }, slot) => {
    const parent = living[place]!
    const isElite = elitism && slot === 0
    const mayMutate = mutation.elite || !isElite
    // Drawn for every member, so that what one may do changes nothing for the others.
    const isMutated = random.uniform() < mutation.probability
    const drawn = drawMutation({ ...start, ...parent.settings }, { ranges: mutation.parameters, random })
    const mutated = mayMutate && isMutated ? drawn : null
    // The member trains on as it is.
    if (isElite && mutated === null) return parent
    const changed = mutated === null ? {} : { [mutated.key]: mutated.to }
    const trial = memberTrial(
      {
        index: trials.length,
        member,
        generation,
        mutation: mutated,
        settings: { ...parent.settings, ...changed },
        parent: { index: parent.index, step },
      },
      seed,
    )
    trials.push(trial)
    return trial
  })
}
