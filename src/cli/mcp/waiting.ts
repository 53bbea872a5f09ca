/** Tools that take a while: they report progress and end with what they found, or when their time is over. */
import type { Api } from '#shared/api/api.ts'
import type { Client } from '#shared/api/client.ts'
import type { InputOf } from '#shared/api/contract.ts'
import { isEnded } from '#shared/runs.ts'

/** Connection of a call that waits to its caller. */
export interface Waiting {
  /** Aborts when the caller has cancelled or left. */
  readonly signal: AbortSignal
  readonly report: (done: number, total: number | null, words: string) => void
}

interface Limits {
  readonly runId: string
  readonly untilStep?: number | undefined
  readonly seconds: number
}

/** Follows a run until it has taken a step, has ended, or the time is over. */
export async function settled(client: Client<Api>, input: unknown, waiting: Waiting): Promise<unknown> {
  const { runId, untilStep = Infinity, seconds } = input as Limits
  const { signal, report } = waiting
  const current = () => client.call('runs.get', { runId }, { signal })
  const news = (limit: AbortSignal) => client.follow('runs.watch', undefined, { signal: limit })
  await untilTrue(news, seconds, signal, async ({ workers }) => {
    const { step, steps, status } = await current()
    report(step, steps, `${status}, step ${step}${steps === null ? '' : ` of ${steps}`}`)
    // One that was resumed has its former status until its process has begun.
    return step >= untilStep || (isEnded(status) && workers.every((worker) => worker.runId !== runId))
  })
  const { config: _config, manifest: _manifest, ...run } = await current()
  const metrics = await client.call('metrics.latest', { runId }, { signal })
  return { hasEnded: isEnded(run.status), run, metrics }
}

/** Starts an evaluation and follows it until it has ended or the time is over; it goes on in any case. */
export async function evaluated(client: Client<Api>, input: unknown, waiting: Waiting): Promise<unknown> {
  const { seconds, ...request } = input as InputOf<Api, 'evaluations.start'> & Pick<Limits, 'seconds'>
  const { signal, report } = waiting
  const { id } = await client.call('evaluations.start', request, { signal })
  const entry = () => client.call('evaluations.get', { id }, { signal })
  const news = (limit: AbortSignal) => client.follow('evaluations.watch', undefined, { signal: limit })
  await untilTrue(news, seconds, signal, async () => {
    const { done, total, status } = await entry()
    report(done, total, `${status}, ${done} of ${total} prompts`)
    return status !== 'waiting' && status !== 'running'
  })
  return entry()
}

/** Writes an export to its end and returns its report. */
export async function exported(client: Client<Api>, input: unknown, waiting: Waiting): Promise<unknown> {
  const { signal, report } = waiting
  let parts = 0
  for await (const item of client.stream('checkpoints.export', input as InputOf<Api, 'checkpoints.export'>, {
    signal,
  })) {
    if ('result' in item) return item.result
    report(++parts, null, item.progress.phase)
  }
  throw new Error('Expected a report at the end of an export.')
}

/** Reads a feed until one of its items will do or the time is over. Errors: those of the feed, also when the caller has cancelled. */
async function untilTrue<Item>(
  news: (limit: AbortSignal) => AsyncIterable<Item>,
  seconds: number,
  signal: AbortSignal,
  isEnough: (item: Item) => Promise<boolean>,
): Promise<void> {
  const time = AbortSignal.timeout(seconds * 1000)
  try {
    for await (const item of news(AbortSignal.any([time, signal]))) if (await isEnough(item)) return
  } catch (error) {
    if (signal.aborted || !time.aborted) throw error
  }
}
