/**
 * Whether rollouts that run while the policy learns cost anything of what is learned: the demo task on rollout servers, three
 * seeds, with rollouts and updates taking turns (`rollout.maxStaleness` 0) and with rollouts one step ahead (1).
 *
 *   node bench/learning/staleness.ts DATA_DIRECTORY vllm|sglang ADAPTER_FOLDER URL…
 *
 * The servers serve resources/starter (docs/remote-rollouts.md says how). What is finished in results/staleness.json is not
 * repeated, so an interrupted bench continues. Prints a table. Exit code 1 where the held-out reward is further from that of
 * 0 than twice the standard error of the difference, or the staleness is not what the setting says.
 */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { JsonObject } from '#shared/config/paths.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { createRunFolder } from '#host/workFolder/runFolder.ts'
import { createControl, runTraining } from '#host/training/entry.ts'

const seeds = [1, 2, 3]
const limits = [0, 1]
const steps = 30
const results = path.join(import.meta.dirname, 'results/staleness.json')

const [, , home, kind, adapterFolder, ...url] = process.argv
if (home === undefined || adapterFolder === undefined || url.length === 0)
  throw new Error('Name a data directory, the kind of server, a folder and addresses.')
const dataDirectory = path.resolve(home)

interface Trained {
  readonly maxStaleness: number
  readonly seed: number
  /** Greedy answers to the held-out rows before the first and after the last step. */
  readonly rewardBefore: number
  readonly rewardAfter: number
  /** Of every step. */
  readonly staleness: readonly number[]
  readonly warnings: readonly string[]
  /** Mean over steps: magnitudes in nats per token, share of tokens at the cap, seconds. */
  readonly logpDifference: number
  readonly serverLogpDifference: number
  readonly cappedShare: number
  readonly stepSeconds: number
  readonly waitSeconds: number
  readonly handoverSeconds: number
}

type Numbers = Readonly<Record<string, number | undefined>>

async function trained(maxStaleness: number, seed: number): Promise<Trained> {
  const demo = JSON.parse(readFileSync(path.join(resourcesDirectory, 'demo/run.json'), 'utf8')) as JsonObject
  const { data, rollout } = demo as Record<'data' | 'rollout', JsonObject>
  const inDemo = (name: string) => path.join(resourcesDirectory, 'demo', name)
  const run = createRunFolder(dataDirectory, {
    ...demo,
    model: path.join(resourcesDirectory, 'starter'),
    seed,
    steps,
    data: { ...data, train: inDemo('train.jsonl'), heldOut: inDemo('heldout.jsonl') },
    rollout: { ...rollout, maxStaleness, server: { kind, url, adapterFolder } },
    evaluation: { every: steps },
    checkpoints: { every: steps },
    device: { kind: 'cpu', threads: 1 },
  })
  const request = {
    runDirectory: run.directory,
    cacheDirectory: path.join(dataDirectory, 'cache'),
    resumeFrom: null,
  }
  const metrics: Numbers[] = []
  const rewards: number[] = []
  const warnings: string[] = []
  for await (const event of runTraining(request, createControl())) {
    if (event.type === 'step') metrics.push(event.metrics)
    if (event.type === 'warning') warnings.push(event.message)
    if (event.type === 'evaluation') rewards.push(event.metrics.eval_reward ?? NaN)
  }
  const meanOf = (name: string) => mean(metrics.flatMap((own) => own[name] ?? []))
  return {
    maxStaleness,
    seed,
    rewardBefore: rewards[0] ?? NaN,
    rewardAfter: rewards.at(-1) ?? NaN,
    staleness: metrics.map((own) => own['rollout/staleness'] ?? 0),
    warnings,
    logpDifference: meanOf('sampling/sampling_logp_difference/mean'),
    serverLogpDifference: meanOf('sampling/server_logp_difference/mean'),
    cappedShare: meanOf('sampling/importance_sampling_ratio/capped'),
    stepSeconds: meanOf('step_time'),
    waitSeconds: meanOf('time/rollout'),
    handoverSeconds: meanOf('time/handover'),
  }
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** Sample standard deviation. */
function deviation(values: readonly number[]): number {
  const middle = mean(values)
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1))
}

async function versionAt(address: string): Promise<string> {
  const answer = (await (await fetch(`${address}/version`)).json()) as { readonly version?: string }
  return answer.version ?? 'unknown'
}

function printTable(runs: readonly Trained[]): void {
  const cells = (values: readonly (string | number)[]) => console.log(`| ${values.join(' | ')} |`)
  const of = (limit: number) => runs.filter(({ maxStaleness }) => maxStaleness === limit)
  const after = (limit: number) => of(limit).map(({ rewardAfter }) => rewardAfter)
  cells(['maxStaleness', 'reward after', 'mean', 'logprob difference', 'capped', 'step (s)', 'waits (s)'])
  cells(Array.from({ length: 7 }, () => '---'))
  for (const limit of limits) {
    const own = of(limit)
    const numbers = (name: 'logpDifference' | 'cappedShare' | 'stepSeconds' | 'waitSeconds') =>
      mean(own.map((run) => run[name])).toPrecision(3)
    const rewards = after(limit).map((value) => value.toFixed(3))
    const summary = `${mean(after(limit)).toFixed(3)} ± ${deviation(after(limit)).toFixed(3)}`
    cells([
      ...[limit, rewards.join(', '), summary, numbers('logpDifference'), numbers('cappedShare')],
      ...[numbers('stepSeconds'), numbers('waitSeconds')],
    ])
    const noise = Math.sqrt((deviation(after(0)) ** 2 + deviation(after(limit)) ** 2) / seeds.length)
    const isRight = own.every(({ staleness }) =>
      staleness.every((value, step) => value === Math.min(step, limit)),
    )
    if (Math.abs(mean(after(limit)) - mean(after(0))) <= 2 * noise && isRight) continue
    console.log(`maxStaleness ${limit} ${isRight ? 'learns otherwise' : 'has another staleness'}.`)
    process.exitCode = 1
  }
}

interface Results {
  readonly server: { readonly kind: string | undefined; readonly versions: readonly string[] }
  readonly steps: number
  readonly runs: readonly Trained[]
}

const server = { kind, versions: await Promise.all(url.map(versionAt)) }
const known = existsSync(results) ? (JSON.parse(readFileSync(results, 'utf8')) as Results).runs : []
const runs = [...known]
for (const seed of seeds) {
  for (const maxStaleness of limits) {
    if (runs.some((run) => run.seed === seed && run.maxStaleness === maxStaleness)) continue
    runs.push(await trained(maxStaleness, seed))
    console.error(JSON.stringify(runs.at(-1)))
    makeFolder(path.dirname(results))
    writeFileAtomic(results, `${JSON.stringify({ server, steps, runs } satisfies Results, null, 2)}\n`)
  }
}
printTable(runs)
