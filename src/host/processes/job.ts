/**
 * Jobs: work in a process of its own, which may load ONNX Runtime, may crash and may be ended at any time. A feature names
 * its job here beside the code that asks for it; `jobs/process/jobProcess.ts` is the one script that such a process runs,
 * and `performers.ts` beside it lists the code of each job. Answers travel over Node's channel, or over Electron's
 * (`src/main/utilityJob.ts`).
 */
import { AppError } from '#shared/errors.ts'
import { forkProcess, jobScript } from './childProcess.ts'
import {
  Inbox,
  unpackError,
  type ErrorEnvelope,
  type WorkerEnvironment,
  type WorkerExit,
  type WorkerProcess,
} from './messages.ts'
import { processMeter } from './processorTime.ts'
import { Overrun, withinLimit, type WorkLimit } from './workLimit.ts'

/** Name of a job, and the types of its input and of the items it yields. */
export interface Job<Name extends string, Input, Item, Order = never> {
  readonly name: Name
  /** True if the job goes on when its host is gone, until it ends by itself. */
  readonly outlivesHost?: true
  /** Resident bytes above which the process is killed. */
  readonly maxBytes?: number
  /** Carrier of the types; never set. */
  readonly types?: readonly [input: Input, item: Item, order: Order]
}

export type ToJob<Input, Order> =
  { readonly type: 'start'; readonly input: Input } | { readonly type: 'order'; readonly order: Order }

export type FromJob<Item> =
  | { readonly type: 'item'; readonly item: Item }
  | { readonly type: 'done' }
  | { readonly type: 'failed'; readonly error: ErrorEnvelope }

export type JobProcess<Input, Item, Order = never> = WorkerProcess<ToJob<Input, Order>, FromJob<Item>>

/** Functions available to the code of a job in its process. */
export interface Tools<Item, Order = never> {
  /** Resolves when the item is on its way to the host. */
  readonly say: (item: Item) => Promise<void>
  /** Handles orders of the host, including those that came before. */
  readonly onOrder: (handler: (order: Order) => void) => void
  /** Runs when the host is gone; where nothing is set, the process ends. */
  readonly onLost: (handler: () => void) => void
}

/** Resolves when the job is done; what it throws reaches the asker. */
export type Perform<Input, Item, Order> = (input: Input, tools: Tools<Item, Order>) => Promise<void>

export interface JobOptions {
  /** Variables added to those of this process. */
  readonly environment?: WorkerEnvironment
  /** File that the process itself appends stdout and stderr to; absent: those of this process. */
  readonly logFile?: string
}

/** Starts a process that waits for the input of one job. */
export type StartJob = <Input, Item, Order>(
  job: Job<string, Input, Item, Order>,
  options?: JobOptions,
) => JobProcess<Input, Item, Order>

/** Arguments of the script of jobs. */
export const jobArguments = ({ name, ...life }: Job<string, unknown, unknown, unknown>): string[] => [
  name,
  JSON.stringify(life),
]

/** Starts child processes of Node; tests give another script. */
export const jobStarter =
  (script: string = jobScript()): StartJob =>
  (job, { logFile, environment } = {}) =>
    forkProcess(script, { arguments: jobArguments(job), logFile, environment })

/**
 * Yields the items of a job as they come; leaving the loop or aborting ends the process. Errors: the error of the job;
 * those of `deathOf` when the process died; an Overrun when an item took it more than `limit`.
 */
export type Ask = <Input, Item>(
  job: Job<string, Input, Item>,
  input: Input,
  signal: AbortSignal,
  limit?: WorkLimit,
) => AsyncGenerator<Item>

/** The part of a host that can have a job done. */
export interface Asking {
  readonly ask: Ask
}

/** `environment` is read for each process, as it may change. */
export const createAsk = (start: StartJob, environment: () => WorkerEnvironment = () => ({})): Ask =>
  async function* <Input, Item>(
    job: Job<string, Input, Item>,
    input: Input,
    signal: AbortSignal,
    limit?: WorkLimit,
  ): AsyncGenerator<Item> {
    if (signal.aborted) return
    const process = start(job, { environment: environment() })
    const inbox = new Inbox<FromJob<Item>>()
    const kill = () => process.kill()
    process.onMessage((message) => inbox.add(message))
    void process.ended.then((exit) => inbox.add({ type: 'failed', error: deathOf(job.name, exit) }))
    signal.addEventListener('abort', kill)
    process.send({ type: 'start', input })
    const meter = processMeter(() => process.pid)
    try {
      for (;;) {
        const next = inbox.next()
        const message = await (limit === undefined ? next : withinLimit(next, meter, limit))
        if (message instanceof Overrun) throw message
        if (message.type === 'done' || hasGoneAway(signal)) return
        if (message.type === 'failed') throw unpackError(message.error)
        yield message.item
      }
    } finally {
      signal.removeEventListener('abort', kill)
      kill()
      if (hasGoneAway(signal)) await process.ended // what it leaves behind can be cleared then
    }
  }

/** A function: it changes while the loop waits. */
const hasGoneAway = ({ aborted }: AbortSignal): boolean => aborted

/** Returns the first item of a job that has one. Errors: as asking; AppError 'api/cancelled'. */
export async function firstItem<Item>(items: AsyncIterable<Item>): Promise<Item> {
  for await (const item of items) return item
  throw new AppError('api/cancelled', 'The request was cancelled.')
}

/** Describes a process that ended before its job was done: 'runtime/killed' by the system, else 'runtime/failed'. */
export function deathOf(name: string, { failure, signal, exitCode }: WorkerExit): ErrorEnvelope {
  if (failure !== null)
    return { code: 'runtime/failed', message: `The ${name} process could not be started: ${failure}.` }
  const how = signal === null ? `status ${exitCode ?? 'unknown'}` : `signal ${signal}`
  const message = `The ${name} process ended unexpectedly (${how}).`
  return signal === 'SIGKILL'
    ? {
        code: 'runtime/killed',
        message,
        hint: 'The system may have been short of memory: use a smaller model or batch, or stop a run first.',
      }
    : { code: 'runtime/failed', message }
}
