import { expect, test } from 'vitest'
import type { StudyEntry, StudyTrial } from '#shared/api/studies.ts'
import { parseStudyConfig } from '#shared/studies.ts'
import { chosenOf } from '#renderer/charts/parallelAxes.ts'
import { trialLines } from '#renderer/features/studies/searchedSettings.ts'

const rate = 'optimization.learningRate'

interface Tried {
  readonly settings: StudyTrial['settings']
  /** Step and fitness. */
  readonly results: readonly (readonly [number, number | null])[]
}

const studyOf = (file: object, tried: readonly Tried[], start = {}) =>
  ({
    search: parseStudyConfig(file).search,
    start,
    trials: tried.map(({ settings, results }, index) => ({
      index,
      member: index,
      generation: 0,
      settings,
      parent: null,
      mutation: null,
      runId: index === 0 ? null : `run_${String(index)}`,
      results: results.map(([step, fitness]) => ({ trial: index, step, fitness, tokens: 1, seconds: 1 })),
    })),
  }) as unknown as StudyEntry

const parameters = {
  [rate]: { min: 1e-6, max: 1e-2 },
  algorithm: { values: [{ id: 'grpo', settings: { klCoefficient: 0.1 } }, { id: 'rloo' }] },
  'rollout.groupSize': { values: [16, 4, 8] },
}

const sweep = (...tried: readonly Tried[]) => trialLines(studyOf({ sweep: { parameters } }, tried))

test('axes are those of the search: logarithms, names in order, nested settings by their id', () => {
  const algorithm = { id: 'rloo' }
  const { axes, lines } = sweep({
    settings: { [rate]: 1e-4, algorithm, 'rollout.groupSize': 16 },
    results: [[10, 0.5]],
  })
  expect(axes.map(({ label, range, names }) => [label, range ?? names])).toEqual([
    ['Learning rate', { min: 1e-6, max: 1e-2, isLog: true }],
    ['Algorithm', ['grpo', 'rloo']],
    ['Group size', ['4', '8', '16']],
    ['Eval reward', { min: 0.5, max: 0.5, isLog: false }],
  ])
  expect(Object.values(lines[0]?.values ?? {})).toEqual([1e-4, 'rloo', '16', 10, 0.5])
})

test('one `id` twice is told by the whole setting', () => {
  const values = [0, 1].map((klCoefficient) => ({ id: 'grpo', settings: { klCoefficient } }))
  const { axes } = trialLines(studyOf({ sweep: { parameters: { algorithm: { values } } } }, []))
  expect(axes[0]?.names).toEqual(values.map((value) => JSON.stringify(value)))
})

test('the best is drawn last, failed ones first and in red; the step has an axis where it differs', () => {
  const settings = { [rate]: 1e-4 }
  const { axes, lines } = sweep(
    {
      settings,
      results: [
        [3, 0.2],
        [9, 0.9],
      ],
    },
    { settings, results: [[3, 0]] },
    { settings, results: [[3, null]] },
    { settings, results: [] },
  )
  expect(lines.map(({ label }) => label)).toEqual(['Trial 3', 'Trial 2', 'Trial 1'])
  expect(lines[0]?.color).toBe('var(--bad)')
  expect(lines[2]?.color).toContain('var(--accent) 100%')
  expect(lines[1]?.color).toContain('var(--accent) 0%')
  expect(axes.at(-2)).toMatchObject({ label: 'Step', range: { min: 3, max: 9 } })
  const failed = chosenOf(axes, lines, { [axes.at(-1)?.key ?? '']: [0, 1] })
  expect(failed.map(({ label }) => label)).toEqual(['Trial 2', 'Trial 1'])
})

test('where less is better, the least is drawn last', () => {
  const settings = { [rate]: 1e-4 }
  const file = { sweep: { parameters, fitness: { metric: 'kl', goal: 'min' } } }
  const study = studyOf(file, [
    { settings, results: [[3, 0.1]] },
    { settings, results: [[3, 0.7]] },
  ])
  expect(trialLines(study).lines.map(({ label }) => label)).toEqual(['Trial 2', 'Trial 1'])
})

test('members that begin as the config says have its values', () => {
  const mutation = { parameters: { [rate]: { min: 1e-6, max: 1e-2 } } }
  const file = { population: { size: 2, every: 5, initial: 'same', mutation } }
  const { lines } = trialLines(
    studyOf(file, [{ settings: { seed: 1 }, results: [[5, 0.1]] }], { [rate]: 1e-3 }),
  )
  expect(lines[0]).toMatchObject({ id: 'trial 0', values: { [rate]: 1e-3 } })
})
