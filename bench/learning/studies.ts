/**
 * How good the settings are that studies find: the demo task, learning rates from 3e-5 to 3e-2, four seeds.
 *
 *   node bench/learning/studies.ts DATA_DIRECTORY [TRIALS_AT_A_TIME]
 *
 * For each seed: a grid of fixed learning rates, a population of six that trains as long as six of these runs, and a sweep with early
 * stopping that may spend a third of the grid's tokens. All choose by the same validation rows; what they chose is compared on rows that
 * none of them has seen. What is finished in the data directory is not repeated, so an interrupted bench continues. Writes
 * results/studies.json and prints a table. Exit code 1 where a population or sweep ends more than 0.03 below the grid's best, or not
 * above the grid's median.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { EvaluationEntry } from '#shared/api/evaluations.ts'
import type { StudyEntry } from '#shared/api/studies.ts'
import type { JsonObject } from '#shared/config/paths.ts'
import { createHost } from '#host/createHost.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { compareEvaluations } from '#host/evaluations/compareEvaluations.ts'
import { comparedOf } from '#host/api/evaluationsService.ts'
import { makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import type { Host } from '#host/host.ts'
import { makeDemoData, type DemoRow } from '../../scripts/starter/corpus.ts'
import { rowCounts, seeds as dataSeeds } from '../../scripts/starter/recipe.ts'

const seeds = [1, 2, 3, 4]
const steps = 30
const gridPoints = 7
const rate = 'optimization.learningRate'
const parameters = { [rate]: { min: 3e-5, max: 3e-2 } }
const rows = { validation: 1000, test: 2000 }
const margin = 0.03
const results = path.join(import.meta.dirname, 'results/studies.json')

const [, , home, parallel = '1'] = process.argv
if (home === undefined) throw new Error('Name a data directory: node bench/learning/studies.ts DIRECTORY.')
const dataDirectory = path.resolve(home)
const files = writeRows()
await using host = createHost({ dataDirectory, servesQueue: false })

interface Candidate {
  readonly learningRate: number
  /** Mean reward of greedy answers: on the rows it was chosen by, and on the others. */
  readonly validation: number
  readonly test: number
}

interface Chosen extends Candidate {
  /** Of all its trials. */
  readonly tokens: number
  readonly steps: number
  /** Reward on the test rows minus that of the grid's best, with the standard error of this paired difference. */
  readonly difference: number
  readonly standardError: number
}

interface Recorded {
  readonly seed: number
  readonly grid: readonly Candidate[]
  readonly gridTokens: number
  readonly best: Candidate
  /** Of the grid, on the test rows. */
  readonly median: number
  readonly population: Chosen
  readonly sweep: Chosen
}

async function compared(seed: number): Promise<Recorded> {
  const grid = await studied(`grid, seed ${seed}`, seed, {
    sweep: { method: 'grid', points: gridPoints, parameters },
  })
  const gridTokens = tokensOf(grid)
  const population = await studied(`population, seed ${seed}`, seed, {
    population: { size: 6, every: 5, mutation: { parameters } },
  })
  const sweep = await studied(`sweep, seed ${seed}`, seed, {
    sweep: {
      method: 'random',
      trials: 6,
      parameters,
      early: { method: 'halving', from: 6, keep: 2 },
      budget: { tokens: Math.floor(gridTokens / 3) },
    },
  })
  const tests = new Map<number, EvaluationEntry>()
  for (const { index } of grid.trials) tests.set(index, await tested(grid, index))
  const candidates = grid.trials.map(({ index }) => candidateOf(grid, index, tests.get(index)))
  const best = candidates[grid.best?.trial ?? -1]
  const bestTest = tests.get(grid.best?.trial ?? -1)
  if (best === undefined || bestTest === undefined) throw new Error('Every run of the grid failed.')
  const ordered = candidates.map(({ test }) => test).toSorted((a, b) => a - b)
  const median = ordered[(ordered.length - 1) / 2] ?? NaN
  const chosen = { population: await chosenBy(population, bestTest), sweep: await chosenBy(sweep, bestTest) }
  return { seed, grid: candidates, gridTokens, best, median, ...chosen }
}

/** Trains the study, or what is left of it. */
async function studied(name: string, seed: number, search: JsonObject): Promise<StudyEntry> {
  const known = host.studies.list().studies.find((study) => study.name === name)
  if (known?.status === 'finished') return known
  if (known !== undefined) host.studies.resume(known.id)
  const file = { ...runConfig(seed), name, parallel: Number(parallel), ...search }
  const { id } = known ?? (await host.studies.start(file, dataDirectory))
  const study = await host.studies.ended(id)
  const { best, status, error } = study
  if (status !== 'finished' || best === null) throw new Error(`${name}: ${error?.message ?? status}`)
  console.error(`${name}: ${best.fitness} at ${rateOf(study, best.trial)}`)
  return study
}

/** The demo's, on one thread, evaluated where a study asks for it. */
function runConfig(seed: number): JsonObject {
  const demo = JSON.parse(readFileSync(path.join(resourcesDirectory, 'demo/run.json'), 'utf8')) as JsonObject
  const { data } = demo as { data: JsonObject }
  return {
    ...demo,
    model: 'starter',
    seed,
    steps,
    device: { kind: 'cpu', threads: 1 },
    data: { ...data, train: files.train, heldOut: files.validation },
    evaluation: { every: steps },
    checkpoints: { every: steps },
  }
}

/** The demo's generator, for more rows; no exercise is in two of the files. */
function writeRows() {
  const { train, heldout } = makeDemoData(dataSeeds.demo, {
    train: rowCounts.train,
    heldout: rows.validation + rows.test,
  })
  const written = (name: string, content: readonly DemoRow[]) => {
    const file = path.join(dataDirectory, `${name}.jsonl`)
    writeFileAtomic(file, content.map((row) => `${JSON.stringify(row)}\n`).join(''))
    return file
  }
  makeFolder(dataDirectory)
  return {
    train: written('train', train),
    validation: written('validation', heldout.slice(0, rows.validation)),
    test: written('test', heldout.slice(rows.validation)),
  }
}

/** The last checkpoint of a trial on the test rows. */
async function tested(study: StudyEntry, trial: number): Promise<EvaluationEntry> {
  const runId = study.trials[trial]?.runId ?? ''
  const known = host.evaluations.list(runId).find(({ status }) => status === 'finished')
  if (known !== undefined) return known
  const config = host.evaluations.sectionsOf(runId)
  const { id } = await host.evaluations.start(
    {
      subject: { runId, step: steps },
      samples: 1,
      greedy: true,
      limit: null,
      passAt: null,
      config: { ...config, data: { ...config.data, heldOut: files.test } },
    },
    { base: dataDirectory, by: null },
  )
  const entry = await endedEvaluation(host, id)
  if (entry.summary === null) throw new Error(entry.error?.message ?? `The evaluation is ${entry.status}.`)
  return entry
}

async function endedEvaluation({ evaluations, notifier }: Host, id: string): Promise<EvaluationEntry> {
  const { signal } = new AbortController()
  for (;;) {
    const { notifications } = notifier
    const entry = evaluations.get(id)
    if (entry.status !== 'waiting' && entry.status !== 'running') return entry
    await notifier.after(notifications, signal)
  }
}

const candidateOf = (study: StudyEntry, trial: number, test: EvaluationEntry | undefined): Candidate => ({
  learningRate: rateOf(study, trial),
  validation: study.trials[trial]?.results.at(-1)?.fitness ?? NaN,
  test: test?.summary?.reward?.value ?? NaN,
})

async function chosenBy(study: StudyEntry, gridBest: EvaluationEntry): Promise<Chosen> {
  const trial = study.best?.trial ?? -1
  const test = await tested(study, trial)
  const { difference, interval } = compareEvaluations(
    comparedOf(host, gridBest.id),
    comparedOf(host, test.id),
  )
  return {
    ...candidateOf(study, trial, test),
    tokens: tokensOf(study),
    steps: stepsOf(study),
    difference: difference ?? NaN,
    standardError: interval === null ? NaN : (interval.high - interval.low) / (2 * 1.96),
  }
}

const rateOf = ({ trials }: StudyEntry, trial: number): number => Number(trials[trial]?.settings[rate])

const tokensOf = ({ trials }: StudyEntry): number =>
  trials.flatMap(({ results }) => results).reduce((sum, { tokens }) => sum + tokens, 0)

/** A clone begins at its parent's step. */
const stepsOf = ({ trials }: StudyEntry): number =>
  trials.reduce((sum, { results, parent }) => sum + (results.at(-1)?.step ?? 0) - (parent?.step ?? 0), 0)

function printTable(recorded: readonly Recorded[]): void {
  const cells = (values: readonly (string | number)[]) => console.log(`| ${values.join(' | ')} |`)
  const told = (chosen: Chosen, { gridTokens }: Recorded) => [
    `${chosen.test.toFixed(3)} (${chosen.difference.toFixed(3)} ± ${chosen.standardError.toFixed(3)})`,
    `${Math.round((100 * chosen.tokens) / gridTokens)} %`,
  ]
  cells(['seed', 'grid: best', 'at', 'median', 'population', 'tokens', 'sweep', 'tokens'])
  cells(Array.from({ length: 8 }, () => '---'))
  for (const seed of recorded) {
    const { best, median, population, sweep } = seed
    const grid = [best.test.toFixed(3), best.learningRate, median.toFixed(3)]
    cells([seed.seed, ...grid, ...told(population, seed), ...told(sweep, seed)])
    for (const [name, { test, tokens }] of Object.entries({ population, sweep })) {
      if (best.test - test <= margin && test > median && (name !== 'sweep' || tokens <= seed.gridTokens / 3))
        continue
      console.log(`Seed ${seed.seed}: the ${name} misses its mark.`)
      process.exitCode = 1
    }
  }
}

const recorded: Recorded[] = []
for (const seed of seeds) recorded.push(await compared(seed))
makeFolder(path.dirname(results))
writeFileAtomic(results, `${JSON.stringify({ steps, parameters, rows, seeds: recorded }, null, 2)}\n`)
printTable(recorded)
