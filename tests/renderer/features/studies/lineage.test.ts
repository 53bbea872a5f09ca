import { expect, test } from 'vitest'
import type { StudyEntry, StudyTrial } from '#shared/api/studies.ts'
import { parseStudyConfig } from '#shared/studies.ts'
import {
  familyOf,
  lineageOf,
  neighbourOf,
  stateOf,
  wayTo,
  type Lineage,
  type Place,
} from '#renderer/parts/lineage.ts'

const rate = 'optimization.learningRate'
const { search } = parseStudyConfig({
  population: { size: 3, every: 10, mutation: { parameters: { [rate]: { min: 1e-4, max: 1e-2 } } } },
})

/** fitness: at the ends of generations, from the one in which it begins. */
function trial(index: number, generation: number, fitness: (number | null)[], parent?: number): StudyTrial {
  const begun = generation * 10
  return {
    index,
    member: index,
    generation,
    settings: {},
    mutation: null,
    runId: `run_${String(index)}`,
    parent: parent === undefined ? null : { index: parent, step: begun },
    results: fitness.map((each, i) => ({
      trial: index,
      step: begun + 10 * (i + 1),
      fitness: each,
      tokens: 5,
      seconds: 2,
      ...(each === null ? { error: 'no number' } : {}),
    })),
  }
}

/** Trial 1 is the best and trains on; 3 and 4 are clones of it and of 2; the second generation is under way. */
const study: StudyEntry = {
  id: 'st_1',
  name: null,
  createdAt: 0,
  status: 'running',
  error: null,
  search,
  steps: 30,
  parallel: 1,
  start: {},
  trained: { steps: 30, tokens: 15, seconds: 6 },
  plannedSteps: 90,
  trials: [
    trial(0, 0, [null]),
    trial(1, 0, [0.7, 0.6]),
    trial(2, 0, [0.5]),
    trial(3, 1, [], 1),
    trial(4, 1, [0.9], 2),
  ],
  pending: [{ trial: 3, until: 20 }],
  best: null,
  file: {},
}
const lineage = lineageOf(study)
const keys = (places: readonly Place[]) => places.map(({ key }) => key)
const placeAt = (key: string, of: Lineage = lineage): Place => {
  const place = of.byKey.get(key)
  if (place === undefined) throw new Error(`Expected ${key}.`)
  return place
}

test('generations hold the best first, failures and what is still to come last', () => {
  expect(lineage.generations.map(({ step, places }) => [step, keys(places)])).toEqual([
    [10, ['1@10', '2@10', '0@10']],
    [20, ['4@20', '1@20', '3@20']],
  ])
  const fewest = { ...study, search: { ...search, fitness: { ...search.fitness, goal: 'min' as const } } }
  expect(keys(lineageOf(fewest).generations[0]?.places ?? [])).toEqual(['2@10', '1@10', '0@10'])
})

test('of equals the later one stands first, as in selection', () => {
  const equals = { ...study, trials: [trial(0, 0, [0.5]), trial(1, 0, [0.5])], pending: [] }
  expect(keys(lineageOf(equals).generations[0]?.places ?? [])).toEqual(['1@10', '0@10'])
})

test('a way leads through parents, itself later on before its clones', () => {
  expect(keys(wayTo(placeAt('4@20')))).toEqual(['2@10', '4@20'])
  expect(keys(placeAt('1@10').next)).toEqual(['1@20', '3@20'])
  expect(keys(placeAt('0@10').next)).toEqual([])
})

test('a family is its ancestors and its descendants, not its siblings', () => {
  expect(familyOf(lineage, 'run_3')).toEqual(new Set(['1@10', '3@20']))
  expect(familyOf(lineage, 'run_1')).toEqual(new Set(['1@10', '1@20', '3@20']))
  expect([familyOf(lineage, null), familyOf(lineage, 'best')]).toEqual([null, null])
})

test('arrows lead along lines and up and down in a generation, and nowhere beyond', () => {
  const from = (key: string, pressed: string) => neighbourOf(lineage, placeAt(key), pressed)?.key ?? null
  expect(from('1@10', 'ArrowRight')).toBe('1@20')
  expect(from('3@20', 'ArrowLeft')).toBe('1@10')
  expect(from('1@10', 'ArrowDown')).toBe('2@10')
  expect(from('2@10', 'ArrowUp')).toBe('1@10')
  expect(from('0@10', 'End')).toBe('4@20')
  expect([from('1@10', 'ArrowUp'), from('0@10', 'ArrowRight'), from('0@10', 'a')]).toEqual([null, null, null])
})

test('what became of each trial', () => {
  const states = study.trials.map((each) => stateOf(each, study))
  expect(states).toEqual(['failed', 'ended', 'ended', 'training', 'ended'])
  const stopped = { ...study, status: 'stopped' as const, steps: 20 }
  expect(stopped.trials.map((each) => stateOf(each, stopped))).toEqual([
    ...['failed', 'finished', 'ended', 'left', 'finished'],
  ])
  const waiting = { ...stopped, status: 'waiting' as const }
  expect(waiting.trials.map((each) => stateOf(each, waiting))[3]).toBe('waiting')
})
