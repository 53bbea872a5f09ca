/** Logs as a training process writes them. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { packArray } from '#shared/packedArray.ts'
import type { Store } from '#host/store/store.ts'
import { createRandom } from './random.ts'

type Line = Readonly<Record<string, unknown> & { type: string }>

let clock = 1_700_000_000_000

/** A line as the log has it, each with a time of its own. */
export const lineOf = (event: Line): string => `${JSON.stringify({ at: clock++, ...event })}\n`

export function writeLog(file: string, ...events: readonly Line[]): void {
  appendFileSync(file, events.map(lineOf).join(''))
}

export const step = (
  number: number,
  metrics: Readonly<Record<string, number | null>>,
  steps = 100,
): Line => ({
  type: 'step',
  step: number,
  steps,
  metrics,
})

export const evaluation = (at: number, reward: number): Line => ({
  type: 'evaluation',
  step: at,
  rows: 8,
  metrics: { eval_reward: reward },
})

export const resumed = (keep: number): Line => ({ type: 'resumed', keep })

export const status = (phase: string, at = 0, steps = 100): Line => ({
  type: 'status',
  phase,
  step: at,
  steps,
})

export const checkpoint = (at: number): Line => ({
  type: 'checkpoint-saved',
  step: at,
  directory: `/checkpoints/${at}`,
  reward: at / 10,
  sizeBytes: 1000,
})

/** Two samples, the first with token arrays. */
export const samples = (at: number): Line => ({
  type: 'samples',
  step: at,
  source: 'rollout',
  samples: [
    {
      row: at,
      prompt: 'Größe? «1+1»',
      completion: `two\n${at}`,
      reward: 0.5,
      parts: { exact: 1, length: null },
      advantage: -0.25,
      tokens: 3,
      stopReason: 'stop-id',
      version: 2,
      logged: { answer: '2' },
      failures: ['length: it threw.'],
      arrays: {
        ids: packArray(Int32Array.of(1, 2, 3)),
        actionMask: packArray(Float32Array.of(0, 1)),
        logprobs: packArray(Float32Array.of(-0.5, at)),
        behaviorLogprobs: packArray(Float32Array.of(-0.5, -1.5)),
        referenceLogprobs: null,
        entropies: packArray(Float32Array.of(0.25, 0.125)),
        advantages: null,
        rewards: packArray(Float32Array.of(0, 0.75)),
      },
    },
    {
      row: at + 1,
      prompt: 'p',
      completion: '',
      reward: null,
      parts: {},
      advantage: null,
      tokens: 0,
      stopReason: 'length',
    },
  ],
})

/** Lines of a run with an eventful life. */
export function randomLines(seed: number, count: number): string[] {
  const random = createRandom(seed)
  let [at, length] = [0, 0]
  return Array.from({ length: count }, () => {
    const kind = random()
    length++
    if (kind < 0.08) {
      const keep = Math.floor(random() * (length + 3))
      length = Math.min(keep, length - 1) + 1
      at = Math.floor(random() * (at + 1))
      return lineOf(resumed(keep))
    }
    if (kind < 0.12) return 'damaged\n'
    if (kind < 0.2) return lineOf(samples(at))
    if (kind < 0.3) return lineOf(evaluation(at, random()))
    if (kind < 0.35) return lineOf(checkpoint(at))
    if (kind < 0.4) return lineOf(status('training', at))
    return lineOf(step(++at, { reward: random(), loss: random() < 0.1 ? null : random() }))
  })
}

/** A run that the store knows, and the path of its log, which is not there yet. */
export function newRun(store: Store, folder: string, id: string, createdAt = 1000): string {
  store.runs.add({
    id,
    home: folder,
    createdAt,
    config: JSON.stringify({ name: id, model: 'tiny', seed: 7, algorithm: { id: 'grpo' }, steps: 100 }),
  })
  return join(folder, `${id}.jsonl`)
}

/** Everything the history says of a run but ids and times of storing: to compare two ways to the same log. */
export function everythingOf(store: Store, runId: string): unknown {
  const { updatedAt: _updatedAt, ...run } = store.runs.get(runId)
  return {
    run,
    table: store.metrics.table(runId),
    series: store.metrics
      .names(runId)
      .map((metric) => store.metrics.series({ runIds: [runId], metric, maxPoints: 3 }).runs),
    latest: [...store.metrics.latest(runId)],
    samples: store.samples
      .list({ runId })
      .map(({ id, ...sample }) => ({ ...sample, arrays: store.samples.arrays(id) })),
    checkpoints: store.checkpoints.list(runId),
    events: store.events.list(runId).map(({ seq, event }) => ({ seq, event })),
  }
}
