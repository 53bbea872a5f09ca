/**
 * How long a real model learns until it is good: examples/additions, to held-out rewards of 0.3, 0.45 and 0.6, Turnwise beside TRL.
 *
 *   PEERS_PYTHON=PYTHON node bench/learning/timeToResult.ts MODEL DATA_DIRECTORY [--seeds 1,2,3] [--only turnwise,trl] [--threads 2]
 *
 * MODEL is a Hugging Face folder in f32; PYTHON has bench/peers/requirements.txt, and PEERS_TCMALLOC names the allocator that PyTorch's
 * tuning guide advises. Contestants: `turnwise` trains with the example's config, `turnwise-no-kl` without a KL term, which TRL has not
 * by default; `trl` with the same rows, prompts, reward, batch, lengths, adapter and learning rate, else with TRL's defaults;
 * `trl-default-rate` with TRL's learning rate. All answer the held-out rows greedily after every few steps.
 *
 * On a busy machine only processor seconds mean something, and those of one thread, since threads that wait for each other use some.
 * What has ended in the results (`--out FILE`) is not repeated, so an interrupted bench continues. Prints a table: steps,
 * processor seconds and, in parentheses, seconds. Exit code 1 where the two sides do not prompt or reward alike.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import type { JsonObject } from '#shared/config/paths.ts'
import type { RunEvent, TrajectorySample } from '#shared/events.ts'
import { makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { familyMeter } from '#host/processes/processorTime.ts'

/** Held-out rewards, the last of which ends a course: reached where two evaluations in a row average to it. */
const marks = [0.3, 0.45, 0.6]
const steps = 60
const here = import.meta.dirname
const example = path.join(here, '../../examples/additions')
const inExample = (name: string): string => path.join(example, name)
const trl = path.join(here, '../peers/learn_trl.py')

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '1,2,3' },
    only: { type: 'string', default: 'turnwise,trl' },
    threads: { type: 'string', default: '1' },
    out: { type: 'string', default: path.join(here, 'results/timeToResult.json') },
  },
})
const [model, home] = positionals.map((each) => path.resolve(each))
const { PEERS_PYTHON: python, PEERS_TCMALLOC: allocator } = process.env
if (model === undefined || home === undefined || python === undefined)
  throw new Error('Name a model and a data directory, and a Python in PEERS_PYTHON.')
const files = { run: path.join(home, 'additions.json'), completions: path.join(home, 'completions.jsonl') }
const threads = Number(flags.threads)
const results = flags.out

/** What is read of the example's config. */
interface Config {
  readonly data: {
    readonly train: string
    readonly heldOut: string
    readonly prompt: { readonly messages: readonly object[] }
  }
  readonly rollout: { readonly promptsPerStep: number; readonly maxNewTokens: number }
  readonly optimization: { readonly learningRate: number }
  readonly evaluation: { readonly every: number }
}
const config = JSON.parse(readFileSync(inExample('run.json'), 'utf8')) as Config

/** What either side says of its course. */
type Said =
  | { readonly type: 'prompt'; readonly text: string }
  | { readonly type: 'step'; readonly step: number; readonly reward: number; readonly rollout: number }
  | { readonly type: 'evaluation'; readonly step: number; readonly reward: number }

/** Processor seconds are those of the process and all that it has started. */
interface Taken {
  seconds: number
  processorSeconds: number
}

/** What was taken since the process began, without evaluations. */
interface Point extends Readonly<Taken> {
  readonly step: number
  /** Mean of greedy answers to the held-out rows. */
  readonly reward: number
}

interface Course {
  readonly contestant: string
  readonly seed: number
  readonly learningRate: number
  readonly threads: number
  /** False: interrupted, and begun anew next time. */
  hasEnded: boolean
  /** Of the first held-out row; null: not known yet. */
  prompt: string | null
  readonly evaluations: Taken
  readonly curve: Point[]
  /** Mean reward of the completions of every step, and seconds spent on generating them. */
  readonly rewards: number[]
  readonly rolloutSeconds: number[]
}

interface Results {
  readonly marks: readonly number[]
  readonly steps: number
  /** Written by hand: the machine, and what else was up. */
  readonly notes?: string
  readonly courses: readonly Course[]
}

interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

interface Contestant {
  readonly learningRate: number
  readonly start: (seed: number) => Program
  readonly read: (line: string) => readonly Said[]
}

const { learningRate } = config.optimization
const contestants: Readonly<Record<string, Contestant>> = {
  turnwise: startOurs({}),
  'turnwise-no-kl': startOurs({ algorithm: { id: 'grpo', settings: { klCoefficient: 0 } } }),
  trl: startTrl(learningRate),
  'trl-default-rate': startTrl(1e-6),
}

function startOurs(more: JsonObject): Contestant {
  const { data } = config
  const settings = {
    ...config,
    ...more,
    model,
    data: { ...data, train: inExample(data.train), heldOut: inExample(data.heldOut) },
    rewards: [{ function: inExample('reward.js') }],
    device: { kind: 'cpu', threads },
    steps,
  }
  const program = path.join(here, '../../bin/turnwise.mjs')
  const args = [program, '--json', '--data-dir', path.dirname(files.run), 'train', files.run]
  const start = (seed: number) => {
    writeFileSync(files.run, JSON.stringify({ ...settings, seed }))
    return { command: process.execPath, args, env: process.env }
  }
  return { learningRate, start, read: readOurs }
}

function readOurs(line: string): Said[] {
  const event = JSON.parse(line) as RunEvent
  if (event.type === 'step') {
    const { reward = NaN, 'time/rollout': rollout = NaN } = event.metrics
    return [{ type: 'step', step: event.step, reward, rollout }]
  }
  if (event.type === 'evaluation')
    return [{ type: 'evaluation', step: event.step, reward: event.metrics.eval_reward ?? NaN }]
  return event.type === 'samples' ? remember(event.samples, event.source) : []
}

function startTrl(rate: number): Contestant {
  const { data, rollout, evaluation } = config
  const settings = {
    model,
    train: inExample(data.train),
    'held-out': inExample(data.heldOut),
    messages: JSON.stringify(data.prompt.messages),
    'per-step': rollout.promptsPerStep,
    'new-tokens': rollout.maxNewTokens,
    'evaluate-every': evaluation.every,
    'learning-rate': rate,
    threads,
    steps,
  }
  const start = (seed: number) => ({
    command: python ?? '',
    args: [
      trl,
      ...Object.entries({ ...settings, seed }).flatMap(([name, value]) => [`--${name}`, String(value)]),
    ],
    env: allocator === undefined ? process.env : { ...process.env, LD_PRELOAD: allocator },
  })
  return { learningRate: rate, start, read: (line) => [JSON.parse(line) as Said] }
}

const rowsOf = (name: string): readonly { readonly answer: string }[] =>
  readFileSync(inExample(name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { answer: string })
const answers = { rollout: rowsOf(config.data.train), evaluation: rowsOf(config.data.heldOut) }

/** Writes down completions as reward.js scored them, to compare with Python; tells how the first held-out row was prompted. */
function remember(samples: readonly TrajectorySample[], source: 'rollout' | 'evaluation'): Said[] {
  const lines = samples.map(({ row, completion, reward }) =>
    JSON.stringify({ completion, reward, answer: answers[source][row]?.answer }),
  )
  appendFileSync(files.completions, lines.map((line) => `${line}\n`).join(''))
  const first = source === 'evaluation' ? samples.find(({ row }) => row === 0) : undefined
  return first === undefined ? [] : [{ type: 'prompt', text: first.prompt }]
}

const known = existsSync(results) ? (JSON.parse(readFileSync(results, 'utf8')) as Results) : { courses: [] }
const courses: Course[] = [...known.courses]

function save(): void {
  makeFolder(path.dirname(results))
  writeFileAtomic(
    results,
    `${JSON.stringify({ ...known, marks, steps, courses } satisfies Results, null, 2)}\n`,
  )
}

const newCourse = (contestant: string, rate: number, seed: number): Course => ({
  contestant,
  seed,
  learningRate: rate,
  threads,
  hasEnded: false,
  prompt: null,
  evaluations: { seconds: 0, processorSeconds: 0 },
  curve: [],
  rewards: [],
  rolloutSeconds: [],
})

/** Begins a course, follows it to the goal or the last step, and ends its process. */
async function follow(
  name: string,
  { learningRate: rate, start, read }: Contestant,
  seed: number,
): Promise<void> {
  const course = newCourse(name, rate, seed)
  const others = courses.filter((own) => own.contestant !== name || own.seed !== seed)
  courses.splice(0, courses.length, ...others, course)
  const { command, args, env } = start(seed)
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const began = performance.now()
  const meter = familyMeter(() => child.pid ?? null)
  let before: Taken = { seconds: 0, processorSeconds: 0 }
  for await (const line of createInterface({ input: child.stdout })) {
    if (course.hasEnded) continue
    const processorSeconds = (await meter()).usedMs / 1000
    const now = { seconds: (performance.now() - began) / 1000, processorSeconds }
    for (const said of read(line)) record(course, said, { before, now })
    before = now
    if (isOver(course)) child.kill()
  }
  await ended
  if (!isOver(course)) throw new Error(`${name}, seed ${seed}, ended after ${course.rewards.length} steps.`)
}

/** A function, since the compiler takes it that nothing else changes a course. */
const isOver = ({ hasEnded }: Course): boolean => hasEnded

/** `before`: at the line before, with which an evaluation begins. */
function record(
  course: Course,
  said: Said,
  { before, now }: { readonly before: Taken; readonly now: Taken },
): void {
  if (said.type === 'prompt') course.prompt = said.text
  if (said.type === 'step') {
    course.rewards.push(said.reward)
    course.rolloutSeconds.push(said.rollout)
  }
  if (said.type !== 'evaluation') return
  const { curve, evaluations } = course
  const { step, reward } = said
  curve.push({ step, reward, ...difference(before, evaluations) })
  const own = difference(now, before)
  evaluations.seconds += own.seconds
  evaluations.processorSeconds += own.processorSeconds
  const isGood = marks.every((mark) => reachedAt(curve, mark) !== undefined)
  course.hasEnded = isGood || step >= steps
  save()
  console.error(JSON.stringify({ contestant: course.contestant, seed: course.seed, ...curve.at(-1) }))
}

/** A mean of tenths may lie below the mark by a rounding error. */
const reachedAt = (curve: readonly Point[], mark: number): Point | undefined =>
  curve.find(
    ({ reward }, index) => index > 0 && (reward + (curve[index - 1]?.reward ?? NaN)) / 2 >= mark - 1e-9,
  )

const difference = (a: Taken, b: Taken): Taken => ({
  seconds: a.seconds - b.seconds,
  processorSeconds: a.processorSeconds - b.processorSeconds,
})

/** Prompts of both sides, and what both rewards say of the completions that were written down. */
function checkAlike(): void {
  const prompts = new Set(courses.map(({ prompt }) => prompt).filter((prompt) => prompt !== null))
  if (prompts.size > 1) fail(`The two sides prompt differently: ${JSON.stringify([...prompts])}.`)
  if (!existsSync(files.completions)) return
  const recorded = readFileSync(files.completions, 'utf8').trim().split('\n')
  const output = execFileSync(python ?? '', [trl, '--score', files.completions], { encoding: 'utf8' })
  const { rewards } = JSON.parse(output) as { readonly rewards: readonly number[] }
  const other = recorded.filter(
    (line, index) => (JSON.parse(line) as { reward: number }).reward !== rewards[index],
  )
  if (other.length > 0 || rewards.length !== recorded.length)
    fail(`Python rewards ${other.length} of ${recorded.length} completions otherwise, such as ${other[0]}.`)
  console.log(`Both rewards agree on ${recorded.length - other.length} of ${recorded.length} completions.`)
}

function fail(message: string): void {
  console.log(message)
  process.exitCode = 1
}

function printTable(): void {
  const cells = (values: readonly (string | number)[]) => console.log(`| ${values.join(' | ')} |`)
  const told = ({ step, seconds, processorSeconds }: Point) =>
    `${step} steps, ${Math.round(processorSeconds)} s (${Math.round(seconds)} s)`
  const titles = ['', 'learning rate', 'seed', ...marks, 'last reward', 'at', 'rollouts', 'evaluations']
  cells(titles)
  cells(titles.map(() => '---'))
  for (const { contestant, learningRate: rate, seed, curve, evaluations, rolloutSeconds } of courses) {
    const last = curve.at(-1)
    if (last === undefined) continue
    const rollouts = rolloutSeconds.slice(0, last.step).reduce((sum, each) => sum + each, 0)
    const reached = marks.map((mark) => reachedAt(curve, mark)).map((point) => (point ? told(point) : '—'))
    const share = `${Math.round((100 * rollouts) / last.seconds)} %`
    const evaluated = `${Math.round(evaluations.processorSeconds)} s`
    cells([contestant, rate, seed, ...reached, last.reward.toFixed(3), told(last), share, evaluated])
  }
}

makeFolder(home)
for (const seed of flags.seeds.split(',').map(Number)) {
  for (const name of flags.only.split(',')) {
    const contestant = contestants[name]
    if (contestant === undefined) throw new Error(`There is no contestant ${name}.`)
    if (courses.some((own) => own.contestant === name && own.seed === seed && own.hasEnded)) continue
    await follow(name, contestant, seed)
  }
}
checkAlike()
printTable()
