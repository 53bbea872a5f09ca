import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { useEta, useConnection, useLoad, type Connection, type Load } from '#renderer/client/live.ts'
import { link } from '#renderer/client/route.ts'
import { useRuns, type RunEntry, type WorkerView } from '#renderer/client/runs.ts'
import { useTaskWords } from '#renderer/client/tasks.ts'
import { formatBytes, formatDuration, formatNumber, formatShare, plural } from '#renderer/client/format.ts'
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
  const { runs, workers, isLoaded } = useRuns()
  const atWork = workers.flatMap((worker) => {
    const run = runs.find(({ id }) => id === worker.runId)
    return run === undefined ? [] : [{ run, worker }]
  })
  const tasks = useTaskWords()
  const { data: evaluations } = useAnswer('evaluations.list', {})
  const evaluating = evaluations?.find(({ status }) => status === 'running')
  const queued = runs.filter(({ status }) => status === 'queued').length
  const [first] = atWork
  return (
    <footer className="flex h-6.5 shrink-0 items-center gap-4 overflow-hidden border-t border-line bg-panel px-3 text-sm whitespace-nowrap text-muted tabular-nums">
      <ConnectionState {...connection} />
      {/* What was known when the connection ended may be so no longer. */}
      {isConnected && (
        <>
          {isLoaded && first === undefined && tasks === '' && evaluating === undefined && (
            <span className="phone:hidden">Nothing is training</span>
          )}
          {first !== undefined && <AtWork {...first} others={atWork.length - 1} />}
          {evaluating !== undefined && <Evaluating {...evaluating} />}
          {tasks !== '' && <span className="min-w-0 truncate">{tasks}</span>}
          {queued > 0 && <a href={link('/')}>{plural(queued, 'run')} waiting</a>}
          <span className="grow" />
          <Server />
          {load !== null && <Meters load={load} />}
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
    <a href={link('/settings/server')} className="min-w-0 truncate hover:underline">
      Serving {status.model}
      {status.active > 0 && `, ${plural(status.active, 'request')}`}
    </a>
  )
}

function ConnectionState({ state, problem }: Connection) {
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
      className={classes('inline-flex items-center gap-1.5', !isConnected && 'text-caution')}
    >
      <span aria-hidden className={classes('size-2 rounded-full', isConnected ? 'bg-good' : 'bg-caution')} />
      <span className="truncate">{words[state]}</span>
    </span>
  )
}

function AtWork({ run, worker, others }: { run: RunEntry; worker: WorkerView; others: number }) {
  const eta = useEta(run.id)
  const device = deviceLoadWords(useLoad(), run.id)
  return (
    <span className="inline-flex min-w-0 items-center gap-2">
      <a
        href={link(`/runs/${run.id}/overview`)}
        className="min-w-12 truncate font-medium text-text hover:underline"
      >
        {runTitle(run)}
      </a>
      <span>step {stepWords(run)}</span>
      <span>{worker.isSilent ? 'is not responding' : phaseWords(run.phase, worker)}</span>
      <Progress label="Steps of the run" value={stepShare(run)} className="w-24" />
      {eta !== null && (
        <span>
          {eta.secondsPerStep !== null && `${formatNumber(eta.secondsPerStep)} s/step · `}
          {eta.left} left{eta.later}
        </span>
      )}
      {device !== '' && <span className="min-w-0 truncate narrow:hidden">{device}</span>}
      {others > 0 && <span>and {plural(others, 'run')} more</span>}
    </span>
  )
}

function Evaluating({ id, title, done, total, secondsLeft }: Answer<'evaluations.get'>) {
  return (
    <span className="inline-flex min-w-0 items-center gap-2">
      <a href={link(`/playground/evaluate/${id}`)} className="min-w-12 truncate hover:underline">
        Evaluating {title}
      </a>
      <Progress label="Prompts evaluated" value={done / total} className="w-16" />
      {secondsLeft !== null && <span>{formatDuration(1000 * Math.ceil(secondsLeft))} left</span>}
    </span>
  )
}

function Meters({ load: { cpuShare, memory, disk, ...network } }: { load: Load }) {
  return (
    <>
      <span className="phone:hidden">CPU {formatShare(cpuShare)}</span>
      <span className="narrow:hidden">
        Memory {formatBytes(memory.usedBytes)} of {formatBytes(memory.totalBytes)}
      </span>
      <span className="narrow:hidden">Disk {formatBytes(disk.freeBytes)} free</span>
      <Tooltip text={`${networkWords(network).since} None is made unless you request one.`}>
        <a href={link('/settings/privacy')} className="hover:underline">
          {networkWords(network).total}
        </a>
      </Tooltip>
    </>
  )
}
