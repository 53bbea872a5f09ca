import { useMemo, useState } from 'react'
import type { StudyEntry, StudyTrial } from '#shared/api/studies.ts'
import { metricLabel } from '#shared/metrics.ts'
import { CursorGroup } from '#renderer/charts/CursorGroup.tsx'
import { FrontGroup, useFront } from '#renderer/charts/front.tsx'
import { useAnswer } from '#renderer/client/api.tsx'
import { navigate, setQuery, useRoute } from '#renderer/client/route.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { EmptyState, ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { Tabs, type Tab } from '#renderer/kit/Tabs.tsx'
import { Curves, shownTrials } from './Curves.tsx'
import { FitnessChart } from './FitnessChart.tsx'
import { lineageOf, lineId } from '#renderer/parts/lineage.ts'
import { LineageTree, type TreeProps } from './LineageTree.tsx'
import { SearchedSettings } from './SearchedSettings.tsx'
import { StudyActions, StudyFacts, StudyNumbers } from './StudyHeader.tsx'
import { TrialPane } from './TrialPane.tsx'
import { TrialsTable } from './TrialsTable.tsx'
import { studyTitle } from '#renderer/parts/studyWords.ts'

/** One study: `/runs/studies/st_…?tab=&trial=`, the trial counted from 1. */
export function StudyScreen() {
  const { rest } = useRoute()
  const id = rest[0] ?? ''
  const { data: study, error } = useAnswer('studies.get', { id })
  if (study !== undefined) return <KnownStudy key={id} study={study} />
  if (error === null)
    return (
      <Page isFull title="…">
        <Loading label="Reading the study" shape="panels" />
      </Page>
    )
  return (
    <Page title="Study not found">
      <EmptyState
        title="There is no study to show at this address."
        action={
          <Button variant="primary" onClick={() => navigate('/runs/studies')}>
            Show all studies
          </Button>
        }
      >
        {error.message}
      </EmptyState>
    </Page>
  )
}

function KnownStudy({ study }: { study: StudyEntry }) {
  const { query } = useRoute()
  const lineage = useMemo(() => lineageOf(study), [study])
  const chosen = study.trials[Number(query.get('trial') ?? 0) - 1] ?? null
  const choose = (trial: StudyTrial) => setQuery({ trial: String(trial.index + 1) })
  const chooseLine = (id: string) => {
    const trial = study.trials.find((each) => lineId(each) === id)
    if (trial !== undefined) choose(trial)
  }
  return (
    <Page
      isFull
      title={studyTitle({ ...study, kind: study.search.kind })}
      about={<StudyFacts study={study} />}
      main={<StudyActions study={study} />}
    >
      {study.error !== null && <ErrorNote error={study.error} className="mx-page mt-3" />}
      <FrontGroup chosen={chosen === null ? null : lineId(chosen)} choose={chooseLine}>
        <SplitPane id="study" direction="vertical" sizes={[46, 54]} minimums={[220, 200]}>
          <Charts study={study} lineage={lineage} onChoose={chooseLine} />
          <SplitPane id="study-trials" sizes={[72, 28]} minimums={[360, 240]}>
            <Parts study={study} lineage={lineage} onChoose={choose} />
            <FrontTrial study={study} lineage={lineage} onChoose={choose} />
          </SplitPane>
        </SplitPane>
      </FrontGroup>
    </Page>
  )
}

const noNames: readonly string[] = []

/** Fitness of the trials, and the curves of their runs in between. */
function Charts({
  study,
  lineage,
  onChoose,
}: Omit<TreeProps, 'onChoose'> & { onChoose: (id: string) => void }) {
  const { metric } = study.search.fitness
  const isSeeds = study.search.kind === 'seeds'
  const [curve, setCurve] = useState(metric === 'reward' ? 'entropy' : 'reward')
  const runIds = useMemo(() => shownTrials(study).map(lineId), [study])
  const { data: names = noNames } = useAnswer(
    'metrics.names',
    { runIds },
    { enabled: runIds.length > 0, keep: true },
  )
  // What is drawn is among them, too, before its first value.
  const options = [...new Set([curve, ...names])].map((name) => ({ value: name, label: metricLabel(name) }))
  return (
    <div className="flex min-h-0 grow flex-col gap-3 overflow-auto px-page py-3">
      <div className="flex flex-wrap items-start gap-x-6 gap-y-2">
        <StudyNumbers study={study} />
        {names.length > 0 && (
          <label className="ml-auto flex items-center gap-2 text-muted">
            Curves of
            <Select value={curve} options={options} onChange={setCurve} />
          </label>
        )}
      </div>
      <div className="grid grid-cols-2 gap-3 narrow:grid-cols-1">
        {isSeeds ? (
          <Curves study={study} metric={metric} />
        ) : (
          <CursorGroup>
            <FitnessChart study={study} lineage={lineage} onChoose={onChoose} />
          </CursorGroup>
        )}
        <Curves study={study} metric={curve} />
      </div>
    </div>
  )
}

const tabsOf = ({ search }: StudyEntry): readonly Tab<'lineage' | 'trials' | 'settings'>[] => [
  ...(search.kind === 'population' ? [{ id: 'lineage' as const, label: 'Lineage' }] : []),
  { id: 'trials', label: search.kind === 'population' ? 'Members' : 'Trials' },
  ...(search.kind === 'seeds' ? [] : [{ id: 'settings' as const, label: 'Settings' }]),
]

function Parts({ study, lineage, onChoose }: TreeProps) {
  const { query } = useRoute()
  const tabs = tabsOf(study)
  const tab = tabs.find(({ id }) => id === query.get('tab'))?.id ?? tabs[0]?.id ?? 'trials'
  const shown = {
    lineage: <LineageTree study={study} lineage={lineage} onChoose={onChoose} />,
    trials: <TrialsTable study={study} trials={study.trials} onChoose={onChoose} />,
    settings: <SearchedSettings study={study} onChoose={onChoose} />,
  }
  return (
    <Tabs
      label="Parts of the study"
      tabs={tabs}
      value={tab}
      onChange={(id) => setQuery({ tab: id })}
      isPage
      className="flex flex-col overflow-hidden"
    >
      {shown[tab]}
    </Tabs>
  )
}

/** Highlighted trial, else the best. */
function FrontTrial({ study, lineage, onChoose }: TreeProps) {
  const front = useFront()
  const trial = study.trials.find((each) => lineId(each) === front) ?? study.trials[study.best?.trial ?? 0]
  return trial === undefined ? null : (
    <TrialPane study={study} lineage={lineage} trial={trial} onChoose={onChoose} />
  )
}
