/**
 * Starting, watching and stopping training processes. A run has a process of its own, so that a native crash or the
 * system's out-of-memory killer ends the run and not the program that shows it.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { RunEvent } from '#shared/events.ts'
import { AppError } from '#shared/errors.ts'
import { unpackError, type FromTrainer, type ToTrainer, type TrainingRequest } from './messages.ts'

export interface StopSignals {
  /** Stop after the current step and keep a checkpoint. */
  readonly gently: AbortSignal
  /** Kill the process; what was not yet in a checkpoint is done again on resume. */
  readonly now: AbortSignal
}

/**
 * Trains in a process of its own and yields its events. Errors: what the trainer threw; AppError 'runtime/failed' when
 * the process died, 'run/stopped' when it was told to stop at once.
 */
export async function* launchTraining(
  request: TrainingRequest,
  signals: StopSignals,
): AsyncGenerator<RunEvent> {
  const child = fork(path.join(import.meta.dirname, `trainingProcess${path.extname(import.meta.filename)}`), {
    serialization: 'advanced',
    // The trainer's stdout is for accidents of native libraries only: it must not mix with our JSON.
    stdio: ['ignore', 2, 'inherit', 'ipc'],
  })
  const tell = (message: ToTrainer) => {
    if (child.connected) child.send(message)
  }
  const askToStop = () => tell({ type: 'stop' })
  const kill = () => void child.kill('SIGKILL')
  signals.gently.addEventListener('abort', askToStop)
  signals.now.addEventListener('abort', kill)
  try {
    tell({ type: 'start', request })
    if (signals.gently.aborted) askToStop()
    yield* eventsOf(child, { isWanted: signals.now, runId: path.basename(request.runDirectory) })
  } finally {
    signals.gently.removeEventListener('abort', askToStop)
    signals.now.removeEventListener('abort', kill)
    // Left early (a consumer that broke off or failed): nobody else would end the process.
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit')
      kill()
      await gone
    }
  }
}

interface Ending {
  /** Aborted when the process was killed on purpose. */
  readonly isWanted: AbortSignal
  readonly runId: string
}

async function* eventsOf(child: ChildProcess, { isWanted, runId }: Ending): AsyncGenerator<RunEvent> {
  for await (const message of messagesOf(child)) {
    if (message.type === 'event') yield message.event
    else if (message.type === 'failed') throw unpackError(message.error)
    else return
  }
  const remedy = `Its checkpoints are whole; go on from the last one with: turnwise resume ${runId}`
  if (isWanted.aborted) throw new AppError('run/stopped', 'Stopped at once.', remedy)
  const { signalCode, exitCode } = child
  const how = signalCode === null ? `status ${exitCode ?? 'unknown'}` : `signal ${signalCode}`
  const cause =
    signalCode === 'SIGKILL' ? 'The system may have been short of memory: try a smaller batch. ' : ''
  throw new AppError(
    'runtime/failed',
    `The training process ended unexpectedly (${how}).`,
    `${cause}${remedy}`,
  )
}

/** The messages of a process in order, until it is gone. */
async function* messagesOf(child: ChildProcess): AsyncGenerator<FromTrainer> {
  const waiting: (FromTrainer | null)[] = []
  let wake = () => {}
  const arrived = (message: FromTrainer | null) => {
    waiting.push(message)
    wake()
  }
  child.on('message', arrived)
  const left = () => {
    arrived(null)
  }
  // Messages may still come between the exit and the end of the channel.
  void Promise.all([once(child, 'exit'), once(child, 'disconnect')]).then(left, left)
  for (;;) {
    const message = waiting.shift()
    if (message === null) return
    if (message !== undefined) yield message
    else await new Promise<void>((resolve) => (wake = resolve))
  }
}
