/** Selection and mutation of a population. */
import { ranksOf, selectSuccessors, tournamentWinner } from '#rl/studies/population.ts'
import { mutatedValue } from '#rl/studies/ranges.ts'
import {
  asList,
  asNumber,
  asNumbers,
  asObject,
  exact,
  type GoldenCase,
  type Json,
  type JsonObject,
  underOnlyKey,
} from '../contract.ts'

function elitism(inputs: JsonObject): unknown {
  const results = asList(inputs.populations)
    .map(asObject)
    .map((population) => {
      const indices = asNumbers(population.indices)
      const rank = ranksOf(asNumbers(population.last_fitness))
      return { elite_index: indices[rank.indexOf(rank.length - 1)], rank, max_index: Math.max(...indices) }
    })
  const winners = asList(inputs.tournaments ?? [])
    .map(asObject)
    .map(({ rank, drawn }) => tournamentWinner(asNumbers(rank), asNumbers(drawn)))
  return { results, winners }
}

function selection({ cases }: JsonObject): unknown {
  const successors = asList(cases)
    .map(asObject)
    .map(({ members, fitness, size, tournament, drawn }) => {
      const draws = asList(drawn).flatMap(asNumbers)
      return selectSuccessors(asNumbers(members), asNumbers(fitness), {
        size: asNumber(size),
        tournament: asNumber(tournament),
        elitism: true,
        random: { integer: () => draws.shift() ?? NaN },
      })
    })
  return { successors }
}

/** One parameter, or a list of them under `cases`; the description fixes what the draws are called. */
function mutations(inputs: JsonObject, golden: GoldenCase): unknown {
  const answer =
    inputs.cases === undefined ? valuesOf(inputs) : asList(inputs.cases).map(asObject).map(valuesOf)
  return underOnlyKey(golden, answer)
}

function valuesOf(parameter: JsonObject): number[] {
  const [min, max] = boundsOf(parameter)
  const range = {
    min,
    max,
    scale: null,
    shrink: numberOr(parameter.shrink_factor, 0.8),
    grow: numberOr(parameter.grow_factor, 1.2),
    whole: typeof parameter.dtype === 'string' && parameter.dtype.startsWith('int'),
  }
  const draws = Object.entries(parameter).find(([name]) => /draw|uniform/.test(name))?.[1]
  let value = asNumber(parameter.initial ?? parameter.value)
  return asNumbers(draws).map((draw) => (value = mutatedValue(value, range, draw)))
}

function boundsOf({ bounds, min, max }: JsonObject): [number, number] {
  if (Array.isArray(bounds)) return asNumbers(bounds) as [number, number]
  const named = bounds === undefined ? { min, max } : asObject(bounds)
  return [asNumber(named.min), asNumber(named.max)]
}

const numberOr = (value: Json | undefined, fallback: number): number =>
  typeof value === 'number' ? value : fallback

export const evolutionContracts = {
  'tournament.elitism': exact(elitism),
  'tournament.select': exact(selection),
  'hpo.mutate_parameter': exact(mutations),
}
