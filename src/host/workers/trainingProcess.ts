/** The script of a training process: takes one request, reports every event, ends. Started by launch.ts. */
import { runTraining } from './entry.ts'
import { packError, type FromTrainer, type ToTrainer, type TrainingRequest } from './messages.ts'

const stop = new AbortController()

// A Ctrl-C reaches every process of the terminal; this one leaves it to the host to say what it means.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => stop.abort())
// Without a host nobody listens any more: finish the step, keep a checkpoint, end.
process.on('disconnect', () => stop.abort())

process.on('message', (message: ToTrainer) => {
  if (message.type === 'stop') stop.abort()
  else void serve(message.request)
})

async function serve(request: TrainingRequest): Promise<void> {
  try {
    for await (const event of runTraining(request, stop.signal)) await report({ type: 'event', event })
    await report({ type: 'done' })
  } catch (error) {
    await report({ type: 'failed', error: packError(error) })
  }
  process.exit()
}

/** Resolves when the message is on its way; a host that is gone is no fault. */
function report(message: FromTrainer): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected) resolve()
    else process.send?.(message, undefined, undefined, () => resolve())
  })
}
