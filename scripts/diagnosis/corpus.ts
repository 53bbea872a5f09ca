/**
 * Trains the corpus of broken and of healthy runs with the starter model and says of how many the diagnosis names the cause:
 *
 *   node scripts/diagnosis/corpus.ts [--of settings|causes] [--seed 1] [--only REGEXP] [--record FILE]
 *   node scripts/diagnosis/corpus.ts --score FILE
 *
 * A run takes some seconds, the corpus some minutes. `--record` keeps the numbers, a run a line, and `--score` judges such
 * a file again. tests/rl/diagnosis has two, compressed. `settings`: one setting is broken; `causes`: what no single setting shows.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { RunEvent, TrajectorySample } from '#shared/events.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { isRead } from '#rl/diagnosis/diagnosedRun.ts'
import { createRunFolder } from '#host/workFolder/runFolder.ts'
import { dataFolders, resourcesDirectory } from '#host/dataDirectory.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { brokenRuns, healthyRuns, type Case } from './cases.ts'
import { causesOf, soundOf } from './causes.ts'
import { judge, type RecordedRun, type RecordedSeries, type Verdict } from './recorded.ts'
import { soundConfig, writeTasks } from './tasks.ts'

const { values: options } = parseArgs({
  options: {
    of: { type: 'string', default: 'settings' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    record: { type: 'string' },
    score: { type: 'string' },
  },
})

function scoreAll(file: string): Verdict[] {
  const runs = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RecordedRun)
  return runs.map((run) => shown(judge(run)))
}

function shown(verdict: Verdict): Verdict {
  const { run, first, isRight } = verdict
  console.log(`${isRight ? 'right' : 'WRONG'}  seed ${run.seed}  ${run.name}: ${first ?? 'nothing'}`)
  return verdict
}

async function trainAll(): Promise<Verdict[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-corpus-'))
  const seed = Number(options.seed)
  const found: Verdict[] = []
  try {
    writeTasks(folder)
    const cases =
      options.of === 'causes' ? [...causesOf(seed), ...soundOf(seed)] : [...brokenRuns, ...healthyRuns]
    for (const each of cases.filter(({ name }) => new RegExp(options.only).test(name))) {
      const run = await train(each, seed, folder)
      if (options.record !== undefined) appendFileSync(options.record, `${JSON.stringify(run)}\n`)
      found.push(shown(judge(run)))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return found
}

async function train(
  { name, task, algorithm, changes, expected }: Case,
  seed: number,
  folder: string,
): Promise<RecordedRun> {
  const config = withChanges(soundConfig(task, algorithm, seed), changes)
  const { directory } = createRunFolder(folder, parseRunConfig(placed(config, folder)))
  const request = { runDirectory: directory, cacheDirectory: dataFolders(folder).cache, resumeFrom: null }
  const events: RunEvent[] = []
  for await (const event of runTraining(request, createControl())) events.push(event)
  rmSync(directory, { recursive: true })
  return {
    name,
    seed,
    expected,
    config: { model: 'starter', ...config },
    series: seriesOf(events),
    ...textsOf(events),
    checkpoints: events.flatMap((event) => (event.type === 'checkpoint-saved' ? [event.step] : [])),
  }
}

function withChanges(config: object, changes: Case['changes']): object {
  const whole = structuredClone(config) as Record<string, unknown>
  for (const [name, value] of Object.entries(changes)) {
    const keys = name.split('.')
    const last = keys.pop() ?? ''
    let section = whole
    for (const key of keys) section = (section[key] ??= {}) as Record<string, unknown>
    section[last] = value
  }
  return whole
}

/** With the paths of this machine. */
function placed(config: object, folder: string): unknown {
  const text = JSON.stringify({ ...config, model: path.join(resourcesDirectory, 'starter') })
  const at = (_: string, name: string) => JSON.stringify(path.join(folder, name))
  return JSON.parse(text.replace(/"([\w-]+\.(?:jsonl|ts))"/g, at))
}

function seriesOf(events: readonly RunEvent[]): RecordedRun['series'] {
  const points = events.flatMap((event) =>
    event.type === 'step' || event.type === 'evaluation'
      ? Object.entries(event.metrics).map(([name, value]) => ({
          name,
          step: event.step,
          value: rounded(value),
        }))
      : [],
  )
  const series = Map.groupBy(
    points.filter(({ name }) => isRead(name)),
    ({ name }) => name,
  )
  return Object.fromEntries([...series].map(([name, own]) => [name, compact(own)]))
}

const rounded = (value: number | undefined): number | null =>
  value !== undefined && Number.isFinite(value) ? Number(value.toPrecision(4)) : null

function compact(
  points: readonly { readonly step: number; readonly value: number | null }[],
): RecordedSeries {
  const from = points[0]?.step ?? 0
  return points.every(({ step }, i) => step === from + i)
    ? { from, values: points.map(({ value }) => value) }
    : points.map(({ step, value }) => [step, value])
}

/** As many of the last steps as a host looks at. */
function textsOf(events: readonly RunEvent[]): Pick<RecordedRun, 'samples' | 'heldOutPrompts'> {
  const kept = events.flatMap((event) => (event.type === 'samples' ? [event] : []))
  const rollouts = kept.filter(({ source }) => source === 'rollout')
  const heldOut = kept.filter(({ source }) => source === 'evaluation').flatMap(({ samples }) => samples)
  return {
    samples: rollouts
      .flatMap(({ step, samples }) => samples.map((sample) => ({ ...essence(sample), step })))
      .slice(-200),
    heldOutPrompts: [...new Set(heldOut.map(({ prompt }) => prompt))],
  }
}

const essence = ({ row, prompt, completion, reward, parts, logged, failures }: TrajectorySample) => ({
  row,
  prompt,
  completion,
  reward,
  parts,
  ...(logged === undefined ? {} : { logged }),
  ...(failures === undefined ? {} : { failures }),
})

const verdicts = options.score === undefined ? await trainAll() : scoreAll(options.score)
for (const [title, isBroken] of [
  ['broken', true],
  ['healthy', false],
] as const) {
  const own = verdicts.filter(({ run }) => (run.expected !== null) === isBroken)
  const right = own.filter(({ isRight }) => isRight).length
  console.log(`${right} of ${own.length} ${title} runs right`)
}
