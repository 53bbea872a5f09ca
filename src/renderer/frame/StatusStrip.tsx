import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { useEta, useConnection, useLoad, type Connection, type Load } from '#renderer/client/live.ts'
import { link } from '#renderer/client/route.ts'
import { atWorkOf, useRuns, type RunEntry, type WorkerView } from '#renderer/client/runs.ts'
import { useTaskWords } from '#renderer/client/tasks.ts'
import { formatBytes, formatDuration, formatShare, plural } from '#renderer/client/format.ts'
import {
  deviceLoadWords,
  networkWords,
  phaseWords,
  runTitle,
  stepShare,
  stepWords,
} from '#renderer/client/words.ts'
import { Progress } from '#renderer/kit/states.tsx'
import { Tooltip } from '#renderer/kit/Tooltip.tsx'
import { classes } from '#renderer/kit/classes.ts'

/** Status strip at the bottom of the window: what the machine is doing. */
export function StatusStrip() {
  const connection = useConnection()
  const isConnected = connection.state === 'connected'
  const load = useLoad()
  const view = useRuns()
  const { runs, isLoaded } = view
  const atWork = atWorkOf(view)
  const tasks = useTaskWords()
  const { data: evaluations } = useAnswer('evaluations.list', {})
  const evaluating = evaluations?.find(({ status }) => status === 'running')
  const queued = runs.filter(({ status }) => status === 'queued').length
  const [first] = atWork
  return (
    <footer className="@container flex h-6.5 shrink-0 items-center gap-4 overflow-hidden border-t border-line bg-panel px-3 text-sm whitespace-nowrap text-muted tabular-nums">
      <ConnectionState {...connection} isBrief={isConnected && first !== undefined} />
      {/* What was known when the connection ended may be so no longer. */}
      {isConnected && (
        <>
          {isLoaded && first === undefined && tasks === '' && evaluating === undefined && (
            <span className="phone:hidden">Nothing is training</span>
          )}
          {first !== undefined && <AtWork {...first} others={atWork.length - 1} />}
          {evaluating !== undefined && <Evaluating {...evaluating} isAlone={first === undefined} />}
          {tasks !== '' && <span className="min-w-0 truncate narrow:hidden">{tasks}</span>}
          {queued > 0 && (
            <a href={link('/')} className="shrink-0 @max-[1100px]:hidden">
              {plural(queued, 'run')} waiting
            </a>
          )}
          <span className="grow" />
          <Server />
          {load !== null && <Meters load={load} runId={first?.run.id ?? null} />}
        </>
      )}
    </footer>
  )
}

/** Shows a listening server at all times, one click away from where it can be stopped. */
function Server() {
  const { data: status } = useAnswer('serving.status', undefined)
  if (status?.state !== 'on') return null
  return (
    <a href={link('/settings/server')} className="min-w-0 truncate hover:underline narrow:hidden">
      Serving {status.model}
      {status.active > 0 && `, ${plural(status.active, 'request')}`}
    </a>
  )
}

function ConnectionState({ state, problem, isBrief }: Connection & { readonly isBrief: boolean }) {
  const trying =
    problem === null ? 'Connection to the host lost, trying again' : `${problem.message} Trying again`
  const words = {
    connecting: problem === null ? 'Connecting' : trying,
    connected: 'Connected',
    disconnected: trying,
    refused: problem?.message ?? 'Not connected',
  }
  const isConnected = state === 'connected'
  return (
    <span
      role="status"
      className={classes('inline-flex items-center gap-1.5', isConnected ? 'shrink-0' : 'text-caution')}
    >
      <span aria-hidden className={classes('size-2 rounded-full', isConnected ? 'bg-good' : 'bg-caution')} />
      <span className={classes('truncate', isBrief && 'phone:sr-only')}>{words[state]}</span>
    </span>
  )
}

/** Name, step and time left of the newest run at work, at every width; the rest as far as there is room. */
function AtWork({ run, worker, others }: { run: RunEntry; worker: WorkerView; others: number }) {
  const eta = useEta(run.id)
  return (
    <span className="inline-flex min-w-0 items-center gap-2 overflow-hidden">
      <a
        href={link(`/runs/${run.id}/overview`)}
        className="min-w-12 truncate font-medium text-text hover:underline"
      >
        {runTitle(run)}
      </a>
      <span className="shrink-0">step {stepWords(run)}</span>
      <span className="shrink-0 narrow:hidden">
        {worker.isSilent ? 'is not responding' : phaseWords(run.phase, worker)}
      </span>
      <Progress
        label="Steps of the run"
        value={stepShare(run)}
        className="w-24 shrink-0 @max-[1100px]:hidden"
      />
      {eta !== null && (
        <span className="shrink-0">
          {eta.left} left{eta.later}
        </span>
      )}
      {others > 0 && (
        <span className="shrink-0">
          <span className="phone:hidden">and {plural(others, 'run')} more</span>
          <span aria-hidden className="hidden phone:inline">
            +{others}
          </span>
        </span>
      )}
    </span>
  )
}

function Evaluating({
  id,
  title,
  done,
  total,
  secondsLeft,
  isAlone,
}: Answer<'evaluations.get'> & { readonly isAlone: boolean }) {
  return (
    <span
      className={classes(
        'inline-flex min-w-0 items-center gap-2 overflow-hidden',
        !isAlone && '@max-[1100px]:hidden',
      )}
    >
      <a href={link(`/playground/evaluate/${id}`)} className="min-w-12 truncate hover:underline">
        Evaluating {title}
      </a>
      <Progress label="Prompts evaluated" value={done / total} className="w-16 shrink-0" />
      {secondsLeft !== null && (
        <span className="shrink-0">{formatDuration(1000 * Math.ceil(secondsLeft))} left</span>
      )}
    </span>
  )
}

interface MetersProps {
  readonly load: Load
  /** Run whose own load is shown beside the machine's; null: none trains, which leaves room for more. */
  readonly runId: string | null
}

function Meters({ load, runId }: MetersProps) {
  const { cpuShare, memory, disk, ...network } = load
  const own = runId === null ? '' : deviceLoadWords(load, runId)
  const roomy = runId === null ? 'shrink-0 narrow:hidden' : 'shrink-0 @max-[1500px]:hidden'
  return (
    <>
      {own !== '' && <span className="shrink-0 @max-[1180px]:hidden">This run: {own}</span>}
      <span className="shrink-0 narrow:hidden">Machine: CPU {formatShare(cpuShare)}</span>
      <span className={roomy}>
        Memory {formatBytes(memory.usedBytes)} of {formatBytes(memory.totalBytes)}
      </span>
      <span className={roomy}>Disk {formatBytes(disk.freeBytes)} free</span>
      <Tooltip text={`${networkWords(network).since} None is made unless you request one.`}>
        <a
          href={link('/settings/privacy')}
          className={classes('shrink-0 hover:underline', runId !== null && 'phone:hidden')}
        >
          {networkWords(network).total}
        </a>
      </Tooltip>
    </>
  )
}
