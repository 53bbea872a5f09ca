import { FlaskConical } from 'lucide-react'
import type { StudySummary, UnreadableStudy } from '#shared/api/studies.ts'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { formatCount, formatReward, plural } from '#renderer/client/format.ts'
import { useNow } from '#renderer/client/live.ts'
import { link, navigate } from '#renderer/client/route.ts'
import { StatusBadge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { EmptyState, ErrorNote, Loading, Progress } from '#renderer/kit/states.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { metricLabel } from '#shared/metrics.ts'
import { studyKinds } from '#shared/studies.ts'
import { NewRunButton } from '#renderer/parts/NewRunButton.tsx'
import { kindTitles, kindWords, studyTitle } from '#renderer/parts/studyWords.ts'
import { numberColumn, mutedColumn, agoColumn, plainColumn } from '#renderer/kit/columns.tsx'

/** Populations, sweeps and runs over seeds. */
export function StudiesScreen() {
  const { data, error, refetch } = useAnswer('studies.list', undefined)
  const open = data?.studies.filter(({ status }) => status === 'running').length ?? 0
  return (
    <Page
      isFull
      about={open === 0 ? undefined : `${String(open)} running`}
      main={<NewRunButton variant="primary" />}
    >
      {error !== null && (
        <ErrorNote error={error} className="m-8" action={<Button onClick={refetch}>Try again</Button>} />
      )}
      {data === undefined && error === null && <Loading shape="table" />}
      {data !== undefined && (
        <>
          <Damaged studies={data.unreadable} />
          {data.studies.length === 0 ? <NoStudies /> : <StudiesTable studies={data.studies} />}
        </>
      )}
    </Page>
  )
}

/** Lists studies that could not be read, and why. */
function Damaged({ studies }: { studies: readonly UnreadableStudy[] }) {
  const remove = useCommand('studies.delete')
  if (studies.length === 0) return null
  return (
    <div className="flex max-h-1/2 shrink-0 flex-col gap-2 overflow-auto px-page py-3">
      {studies.map(({ id, error }) => (
        <ErrorNote
          key={id}
          error={error}
          action={
            <Button small disabled={remove.isRunning} onClick={() => void remove.run({ id })}>
              Delete the study
            </Button>
          }
        />
      ))}
    </div>
  )
}

const NoStudies = () => (
  <EmptyState
    icon={FlaskConical}
    title="Several runs that answer one question"
    action={
      <Button variant="primary" onClick={() => navigate('/new-run', { kind: 'sweep' })}>
        Set up a sweep
      </Button>
    }
  >
    <dl className="flex flex-col gap-2 text-left">
      {studyKinds.map((kind) => (
        <div key={kind}>
          <dt>
            <a
              href={link('/new-run', { kind })}
              className="font-medium text-accent-ink underline underline-offset-2"
            >
              {kindTitles[kind]}
            </a>
          </dt>
          <dd>{kindWords[kind]}</dd>
        </div>
      ))}
    </dl>
  </EmptyState>
)

function StudiesTable({ studies }: { studies: readonly StudySummary[] }) {
  const now = useNow(30_000)
  return (
    <Table
      label="Studies"
      rows={studies}
      columns={columnsAt(now)}
      rowKey={({ id }) => id}
      rowHeight={36}
      onOpen={({ id }) => navigate(`/runs/studies/${id}`)}
      className="px-4"
    />
  )
}

const columnsAt = (now: number): readonly Column<StudySummary>[] => [
  plainColumn(
    ['name', 'Name', 'minmax(180px, 1.8fr)'],
    (study) => (
      <a
        href={link(`/runs/studies/${study.id}`)}
        tabIndex={-1}
        title={studyTitle(study)}
        className="font-medium hover:underline"
      >
        {studyTitle(study)}
      </a>
    ),
    studyTitle,
  ),
  plainColumn(
    ['kind', 'Kind', '112px'],
    ({ kind }) => kindTitles[kind],
    ({ kind }) => kind,
  ),
  plainColumn(
    ['status', 'Status', '112px'],
    ({ status }) => <StatusBadge status={status} />,
    ({ status }) => status,
  ),
  plainColumn(
    ['progress', 'Trained', 'minmax(96px, 1fr)'],
    (study) => <TrainedCell study={study} />,
    trainedShare,
  ),
  numberColumn(['trials', 'Trials', '80px'], ({ trials }) => trials, formatCount),
  numberColumn(['best', 'Best', '88px'], ({ best }) => best?.fitness, formatReward),
  mutedColumn(['metric', 'Compared by', 'minmax(104px, 1fr)'], ({ metric }) => metricLabel(metric)),
  agoColumn(['made', 'Made', '96px'], ({ createdAt }) => createdAt, now),
]

const trainedShare = ({ trained, plannedSteps }: StudySummary): number =>
  plannedSteps === 0 ? 0 : trained.steps / plannedSteps

const TrainedCell = ({ study }: { study: StudySummary }) => (
  <span
    className="flex items-center gap-2"
    title={`${formatCount(study.trained.steps)} of ${plural(study.plannedSteps, 'step')}`}
  >
    <Progress label={`Steps of ${studyTitle(study)}`} value={trainedShare(study)} className="grow" />
  </span>
)
