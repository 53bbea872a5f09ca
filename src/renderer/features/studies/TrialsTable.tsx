import { useMemo, useState, type ReactNode } from 'react'
import type { StudyEntry, StudyTrial } from '#shared/api/studies.ts'
import { labelOf } from '#shared/config/fields.ts'
import { metricLabel } from '#shared/metrics.ts'
import { searchedKeys } from '#shared/studies.ts'
import { useFront, usePointing } from '#renderer/charts/front.tsx'
import { LineMark } from '#renderer/charts/marks.tsx'
import { formatCount, formatDuration, formatReward, formatShort, plural } from '#renderer/client/format.ts'
import { link, navigate } from '#renderer/client/route.ts'
import { useRunStyles } from '#renderer/client/runs.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Checkbox } from '#renderer/kit/choices.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { lastResult, lineId, spentBy, stateOf } from '#renderer/parts/lineage.ts'
import { changeWords, stateLooks, trialTitle, trialValue } from '#renderer/parts/studyWords.ts'
import { numberColumn, plainColumn, figureColumn, unnamedColumn } from '#renderer/kit/columns.tsx'

interface TrialsProps {
  readonly study: StudyEntry
  readonly trials: readonly StudyTrial[]
  readonly actions?: ReactNode
  readonly onChoose: (trial: StudyTrial) => void
}

/** Limit of Compare. */
export const maxCompared = 64

/** Lists trials with settings and results; ticked ones can be compared. */
export function TrialsTable({ study, trials, actions, onChoose }: TrialsProps) {
  const styleOf = useRunStyles()
  const front = useFront()
  const pointing = usePointing()
  const [ticked, setTicked] = useState<ReadonlySet<number>>(() => new Set())
  const begun = trials.filter(({ runId }) => runId !== null)
  const chosen = begun.filter(({ index }) => ticked.has(index))
  const columns = useMemo(() => {
    const toggle = (index: number) =>
      setTicked((before) => {
        const next = new Set(before)
        if (!next.delete(index)) next.add(index)
        return next
      })
    return columnsOf({ study, styleOf, ticked, toggle })
  }, [study, styleOf, ticked])
  return (
    <>
      <TrialsToolbar {...{ study, actions, begun, chosen }} onTick={setTicked} />
      <Table
        label="Trials"
        rows={trials}
        columns={columns}
        rowKey={({ index }) => String(index)}
        initialSorting={{ columnId: 'fitness', isDescending: study.search.fitness.goal === 'max' }}
        onOpen={onChoose}
        onPoint={(trial) => pointing?.point(trial === null ? null : lineId(trial))}
        isSelected={(trial) => lineId(trial) === front}
      />
    </>
  )
}

interface ToolbarProps extends Pick<TrialsProps, 'study' | 'actions'> {
  readonly begun: readonly StudyTrial[]
  readonly chosen: readonly StudyTrial[]
  readonly onTick: (ticked: ReadonlySet<number>) => void
}

/** Compares the ticked trials, and ticks all or none. */
function TrialsToolbar({ study, actions, begun, chosen, onTick }: ToolbarProps) {
  const compare = () => {
    const runs = chosen.map(({ runId }) => runId).slice(0, maxCompared)
    navigate('/runs/compare', { runs: runs.join(',') })
  }
  return (
    <div
      role="toolbar"
      aria-label="Trials"
      className="flex min-h-10 shrink-0 flex-wrap items-center gap-2 border-b border-line px-4 py-1"
    >
      {actions}
      {(actions === undefined || chosen.length >= 2) && (
        <Button
          small
          variant={chosen.length < 2 ? 'plain' : 'primary'}
          disabled={chosen.length < 2}
          onClick={compare}
        >
          {chosen.length < 2 ? 'Compare' : `Compare ${plural(Math.min(maxCompared, chosen.length), 'run')}`}
        </Button>
      )}
      <Button
        small
        variant="quiet"
        disabled={begun.length === 0}
        onClick={() => onTick(new Set(begun.slice(-maxCompared).map(({ index }) => index)))}
      >
        {begun.length > maxCompared ? `Select the newest ${String(maxCompared)}` : 'Select all'}
      </Button>
      {chosen.length > 0 && (
        <Button small variant="quiet" onClick={() => onTick(new Set())}>
          Clear selection
        </Button>
      )}
      <a
        className="ml-auto text-sm text-accent-ink hover:underline"
        href={link('/runs', { study: study.id })}
      >
        Show in Runs
      </a>
    </div>
  )
}

interface Columns {
  readonly study: StudyEntry
  readonly styleOf: ReturnType<typeof useRunStyles>
  readonly ticked: ReadonlySet<number>
  readonly toggle: (index: number) => void
}

function columnsOf(parts: Columns): readonly Column<StudyTrial>[] {
  const { study } = parts
  const keys = searchedKeys(study.search)
  return [
    ...nameColumns(parts),
    ...keys.map((key) => settingColumn(key, study.start[key])),
    ...(study.search.kind === 'population' ? lineageColumns(study) : []),
    ...resultColumns(study),
  ]
}

const nameColumns = ({ study, styleOf, ticked, toggle }: Columns): readonly Column<StudyTrial>[] => [
  unnamedColumn(['tick', 'Selected', '48px'], (trial) => (
    <span onClick={(event) => event.stopPropagation()}>
      <Checkbox
        aria-label={`Select ${trialTitle(study, trial)}`}
        disabled={trial.runId === null}
        checked={ticked.has(trial.index)}
        onChange={() => toggle(trial.index)}
      />
    </span>
  )),
  plainColumn(
    ['trial', study.search.kind === 'population' ? 'Member' : 'Trial', 'minmax(116px, 1fr)'],
    (trial) => (
      <span className="flex items-center gap-2">
        <LineMark {...styleOf(trial.runId ?? '')} />
        {trial.runId === null ? (
          trialTitle(study, trial)
        ) : (
          <a
            href={link(`/runs/${trial.runId}/overview`)}
            className="font-medium hover:underline"
            onClick={(event) => event.stopPropagation()}
          >
            {trialTitle(study, trial)}
          </a>
        )}
      </span>
    ),
    ({ index }) => index,
  ),
  plainColumn(
    ['status', 'Status', '100px'],
    (trial) => {
      const { tone, words } = stateLooks[stateOf(trial, study)]
      return <Badge tone={tone}>{words}</Badge>
    },
    (trial) => stateOf(trial, study),
  ),
  numberColumn(
    ['fitness', metricLabel(study.search.fitness.metric), '104px'],
    (trial) => lastResult(trial)?.fitness,
    formatReward,
  ),
]

/** Column of a setting; `start`: its value in the config. */
function settingColumn(key: string, start: unknown): Column<StudyTrial> {
  const valueOf = ({ settings }: StudyTrial) => settings[key] ?? start
  return {
    id: key,
    title: <span title={key}>{labelOf(key)}</span>,
    width: 'minmax(104px, 1fr)',
    isNumber: true,
    sortBy(trial) {
      const value = valueOf(trial)
      return typeof value === 'number' ? value : value === undefined ? null : trialValue(value)
    },
    cell: (trial) => <span title={JSON.stringify(valueOf(trial))}>{trialValue(valueOf(trial))}</span>,
  }
}

const lineageColumns = (study: StudyEntry): readonly Column<StudyTrial>[] => [
  numberColumn(['generation', 'Generation', '96px'], ({ generation }) => generation + 1, String),
  {
    id: 'parent',
    title: 'Cloned from',
    width: '116px',
    sortBy: ({ parent }) => parent?.index ?? null,
    cell({ parent }) {
      const from = study.trials[parent?.index ?? -1]
      return from === undefined ? <span className="text-faint">–</span> : trialTitle(study, from)
    },
  },
  plainColumn(
    ['mutation', 'Mutated', 'minmax(180px, 1.5fr)'],
    ({ mutation }) =>
      mutation === null ? (
        <span className="text-faint">–</span>
      ) : (
        <span title={changeWords(mutation)}>{changeWords(mutation)}</span>
      ),
    ({ mutation }) => mutation?.key ?? null,
  ),
]

const resultColumns = (study: StudyEntry): readonly Column<StudyTrial>[] => [
  figureColumn(
    ['step', 'Step', '88px'],
    (trial) => (
      <>
        {formatCount(lastResult(trial)?.step ?? 0)}
        <span className="text-faint"> / {formatCount(study.steps)}</span>
      </>
    ),
    (trial) => lastResult(trial)?.step ?? null,
  ),
  numberColumn(['tokens', 'Tokens', '88px'], (trial) => spentBy(trial).tokens, formatShort),
  numberColumn(['time', 'Time', '112px'], (trial) => 1000 * spentBy(trial).seconds, formatDuration),
]
