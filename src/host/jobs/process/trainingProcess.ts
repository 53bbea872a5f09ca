/** The script of a training process: takes one request, says when there is news, ends. Started by the supervisor. */
import type { PhaseProgress, StepPhase } from '#shared/events.ts'
import { keepPrivate } from '#host/files/permissions.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { openHostChannel } from '#host/processes/hostChannel.ts'
import {
  packError,
  type FromTrainer,
  type ToTrainer,
  type TrainingRequest,
} from '#host/processes/messages.ts'

const heartbeatMs = 2000
/** Steps can be shorter than anybody can read. */
const phaseEveryMs = 250

keepPrivate()
const control = createControl()
const host = openHostChannel()

// A Ctrl-C reaches every process of the terminal; this one leaves it to the host to say what it means.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => control.stop())
// Without a host nobody can ask for anything any more: finish the step, keep a checkpoint, end.
host.onLost(() => control.stop())
host.listen((message) => {
  const answers: Readonly<Record<ToTrainer['type'], () => void>> = {
    start: () => message.type === 'start' && void serve(message.request),
    pause: () => control.requestPause(),
    unpause: () => message.type === 'unpause' && control.unpause(message.changes),
    stop: () => control.stop(),
  }
  answers[message.type]()
})

/** Of what comes faster only the newest is told, when it is time again. */
function phaseTeller(): (phase: StepPhase, progress?: PhaseProgress) => void {
  let latest: Extract<FromTrainer, { type: 'phase' }> | null = null
  let timer: NodeJS.Timeout | null = null
  const tell = () => {
    timer = null
    if (latest === null) return
    void host.report(latest)
    latest = null
    timer = setTimeout(tell, phaseEveryMs).unref()
  }
  return (phase, progress) => {
    latest = { type: 'phase', phase, progress: progress ?? null }
    if (timer === null) tell()
  }
}

async function serve(request: TrainingRequest): Promise<void> {
  const heartbeat = setInterval(() => void host.report({ type: 'alive' }), heartbeatMs)
  try {
    for await (const event of runTraining(request, { ...control, onPhase: phaseTeller() })) {
      await host.report({ type: 'grown', phase: event.type === 'status' ? event.phase : null })
    }
    await host.report({ type: 'done' })
  } catch (error) {
    const envelope = packError(error)
    if (envelope.code === null) process.stderr.write(`${envelope.stack ?? envelope.message}\n`)
    await host.report({ type: 'failed', error: envelope })
  }
  clearInterval(heartbeat)
  process.exit()
}
