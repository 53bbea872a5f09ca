/**
 * Every algorithm on the demo, one after the other, as a table:
 *
 *   node scripts/algorithms/demoMatrix.ts [ALGORITHM …]
 *
 * Every algorithm must raise the held-out reward by 0.2; SFT and ORPO must also lower the held-out loss, DPO and SimPO raise
 * the held-out margin, and KTO that of good answers over the reference. The chain does all of it in one run. Exit code 1 where one does not.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { readEvents } from '#host/workFolder/eventLog.ts'
import { algorithms } from '#rl/algorithms/registry.ts'

const program = path.join(import.meta.dirname, '../../bin/turnwise.mjs')
const chain = 'chain'

type Measured = Readonly<Record<string, number>>

interface Result {
  readonly seconds: number
  /** What evaluations said, in order. */
  readonly evaluations: readonly Measured[]
}

function train(algorithm: string, home: string): Result {
  const options = ['demo', '--algorithm', algorithm, '--json', '--data-dir', home]
  const text = execFileSync(process.execPath, [program, ...options], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { runId, seconds } = JSON.parse(text.trim().split('\n').at(-1) ?? '') as {
    readonly runId: string
    readonly seconds: number
  }
  const events = readEvents(path.join(home, 'runs', runId, 'events.jsonl'), ['evaluation'])
  return { seconds, evaluations: events.map(({ metrics }) => metrics as Measured) }
}

interface Check {
  readonly metric: string
  /** Gain it takes; negative where lower is better. */
  readonly gain: number
}

const reward: Check = { metric: 'eval_reward', gain: 0.2 }
const loss: Check = { metric: 'eval_loss', gain: -0.1 }
const margin: Check = { metric: 'eval_rewards/margins', gain: 0.1 }
const checksOf: Readonly<Record<string, readonly Check[]>> = {
  sft: [loss, reward],
  dpo: [margin, reward],
  orpo: [loss, reward],
  simpo: [margin, reward],
  kto: [{ metric: 'eval_rewards/chosen', gain: 0.02 }, reward],
  [chain]: [reward],
}

function judge({ evaluations }: Result, { metric, gain }: Check) {
  const values = evaluations.flatMap((measured) => measured[metric] ?? [])
  const [before = Number.NaN, after = Number.NaN] = [values[0], values.at(-1)]
  const passed = gain > 0 ? after - before >= gain : after - before <= gain
  return { metric, before, after, passed }
}

const known = [...algorithms.filter((each) => !each.configure({}).needs.teacher).map(({ id }) => id), chain]
const wanted = process.argv.length > 2 ? process.argv.slice(2) : known
const unknown = wanted.filter((id) => !known.includes(id))
if (unknown.length > 0) throw new Error(`Unknown: ${unknown.join(', ')}. Known: ${known.join(', ')}.`)

const home = mkdtempSync(path.join(tmpdir(), 'turnwise-demo-matrix-'))
process.on('exit', () => rmSync(home, { recursive: true, force: true }))
console.log('algorithm           measure                 before    after  seconds')
for (const algorithm of wanted) {
  const result = train(algorithm, home)
  for (const check of checksOf[algorithm] ?? [reward]) {
    const { metric, before, after, passed } = judge(result, check)
    if (!passed) process.exitCode = 1
    const figures = [before, after].map((value) => value.toFixed(3).padStart(9)).join('')
    const seconds = result.seconds.toFixed(0).padStart(9)
    console.log(
      `${algorithm.padEnd(20)}${metric.padEnd(21)}${figures}${seconds}${passed ? '' : '  not learned'}`,
    )
  }
}
