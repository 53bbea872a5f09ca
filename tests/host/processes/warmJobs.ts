/**
 * Starts jobs in processes that take one after another: where a test is about what a job comes to, its code is loaded, and
 * compiled by Node, once for many. Tests of processes themselves, of their memory and of how they end start each as the
 * product does (`jobStarter`).
 */
import path from 'node:path'
import { forkProcess, ownScript } from '#host/processes/childProcess.ts'
import { isLastWord } from '#host/processes/hostChannel.ts'
import { jobArguments, jobStarter, type Job, type JobOptions, type StartJob } from '#host/processes/job.ts'
import type { WorkerExit, WorkerProcess } from '#host/processes/messages.ts'

/** What a warm process hears before the messages of a job. */
export interface Beginning {
  readonly type: 'begin'
  readonly name: string
  readonly logFile: string | undefined
}

interface Warm {
  readonly key: string
  readonly process: WorkerProcess<unknown, unknown>
  /** Hears the messages of the job that it has. */
  hear: (message: unknown) => void
}

const script = ownScript(path.join(import.meta.dirname, 'warmProcess.ts'))
const idle: Warm[] = []
/** Kept waiting at most: each holds the memory that its largest job took. */
const maxIdle = 2

const startCold = jobStarter()

/** Processes are alike where everything is that they were started with. */
function keyOf({ environment }: JobOptions): string {
  const variables = Object.entries({ ...process.env, ...environment })
  const own = variables.filter(([name]) => !name.startsWith('VITEST'))
  return JSON.stringify([own, process.cwd()])
}

function startWarm(key: string, { environment }: JobOptions): Warm {
  const warm: Warm = { key, process: forkProcess(script, { arguments: [], environment }), hear: () => {} }
  warm.process.onMessage((message) => warm.hear(message))
  void warm.process.ended.then(() => {
    if (idle.includes(warm)) idle.splice(idle.indexOf(warm), 1)
  })
  return warm
}

const takeIdle = (key: string): Warm | undefined => {
  const at = idle.findIndex((warm) => warm.key === key)
  return at === -1 ? undefined : idle.splice(at, 1)[0]
}

function giveBack(warm: Warm): void {
  idle.push(warm)
  if (idle.length > maxIdle) idle.shift()?.process.kill()
}

/** A job with a limit of memory has a process of its own, as what others left there would count. */
export const startWarmJob: StartJob = <Input, Item, Order>(
  job: Job<string, Input, Item, Order>,
  options: JobOptions = {},
) => {
  if (job.maxBytes !== undefined) return startCold(job, options)
  const key = keyOf(options)
  const warm = takeIdle(key) ?? startWarm(key, options)
  const own = warm.process
  const listeners: ((message: never) => void)[] = []
  const { promise: ended, resolve: end } = Promise.withResolvers<WorkerExit>()
  let isOver = false
  let isKilled = false
  const over = (exit: WorkerExit) => {
    isOver = true
    end(exit)
  }
  void own.ended.then(over)
  warm.hear = (message) => {
    for (const listener of listeners) listener(message as never)
    // The last word of a process that was killed meanwhile is on its way still; nobody may get that process.
    if (!isLastWord(message) || isKilled) return
    over({ exitCode: 0, signal: null, failure: null })
    giveBack(warm)
  }
  own.send({ type: 'begin', name: jobArguments(job)[0] ?? '', logFile: options.logFile } satisfies Beginning)
  return {
    pid: own.pid,
    send(message) {
      if (!isOver) own.send(message)
    },
    kill() {
      if (isOver) return
      isKilled = true
      own.kill()
    },
    onMessage: (listener) => void listeners.push(listener),
    ended,
  }
}
