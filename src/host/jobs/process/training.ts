/** Trains one run in its process: reports growth of the log and the phase of the current step until the run ends or is stopped. */
import type { PhaseProgress, StepPhase } from '#shared/events.ts'
import { AppError } from '#shared/errors.ts'
import type { TrainingNews, TrainingOrder, TrainingRequest } from '#host/runs/trainingJob.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import type { Tools } from '#host/processes/job.ts'

const heartbeatMs = 2000
/** Steps can be shorter than anybody can read. */
const phaseEveryMs = 250

/** Errors: as `runTraining`. */
export async function trainRun(
  request: TrainingRequest,
  { say, onOrder, onLost }: Tools<TrainingNews, TrainingOrder>,
): Promise<void> {
  const control = createControl()
  const stop = () => control.stop()
  process.on('SIGTERM', stop)
  // Without a host nobody can ask for anything any more: finish the step, keep a checkpoint, end.
  onLost(stop)
  onOrder((order) => {
    if (order.type === 'pause') control.requestPause()
    else if (order.type === 'unpause') control.unpause(order.changes)
    else control.stop()
  })
  const heartbeat = setInterval(() => void say({ type: 'alive' }), heartbeatMs)
  try {
    for await (const event of runTraining(request, { ...control, onPhase: phaseTeller(say) })) {
      await say({ type: 'grown', phase: event.type === 'status' ? event.phase : null })
    }
  } catch (error) {
    if (!(error instanceof AppError))
      process.stderr.write(`${String(error instanceof Error ? error.stack : error)}\n`)
    throw error
  } finally {
    clearInterval(heartbeat)
  }
}

/** Reports phases, at most once per interval and only the newest. */
function phaseTeller(say: Tools<TrainingNews>['say']): (phase: StepPhase, progress?: PhaseProgress) => void {
  let latest: TrainingNews | null = null
  let timer: NodeJS.Timeout | null = null
  const tell = () => {
    timer = null
    if (latest === null) return
    void say(latest)
    latest = null
    timer = setTimeout(tell, phaseEveryMs).unref()
  }
  return (phase, progress) => {
    latest = { type: 'phase', phase, progress: progress ?? null }
    if (timer === null) tell()
  }
}
