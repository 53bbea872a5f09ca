import { useState } from 'react'
import { Button } from '#renderer/kit/Button.tsx'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { Loading } from '#renderer/kit/states.tsx'
import { Panel } from '#renderer/kit/Panel.tsx'
import { QueueList } from '#renderer/features/queue/QueueList.tsx'
import { AtWork } from './AtWork.tsx'
import { BestPerTask } from './BestPerTask.tsx'
import { DeviceHealth } from './DeviceHealth.tsx'
import { FirstRunCard } from './FirstRunCard.tsx'
import { RecentRuns } from './RecentRuns.tsx'
import { Troubles } from './Troubles.tsx'
import { plural } from '#renderer/client/format.ts'
import { goToNewRun } from '#renderer/client/route.ts'
import { useRuns } from '#renderer/client/runs.ts'
import { sampleTag, useRemoveSample } from './useSampleRun.ts'

/** Where a person starts: the first minute, then what happened last and what waits. */
export function HomeScreen() {
  const { runs, isLoaded } = useRuns()
  if (!isLoaded) return <Loading />
  return (
    <Page
      title="Home"
      main={
        <Button variant={runs.length === 0 ? 'plain' : 'primary'} onClick={goToNewRun}>
          New run
        </Button>
      }
    >
      {runs.length === 0 ? (
        <FirstRunCard />
      ) : (
        <div className="grid grid-cols-[minmax(0,1fr)_320px] items-start gap-6 narrow:grid-cols-[minmax(0,1fr)]">
          <div className="flex min-w-0 flex-col gap-6">
            <AtWork />
            <Troubles runs={runs} />
            <RecentRuns runs={runs} />
            <BestPerTask runs={runs} />
          </div>
          <div className="flex min-w-0 flex-col gap-6">
            <Panel title="Queue">
              <QueueList />
            </Panel>
            <DeviceHealth />
            <SampleNote />
          </div>
        </div>
      )}
    </Page>
  )
}

/** The sample is marked as such and goes away with one click. */
function SampleNote() {
  const { runs } = useRuns()
  const remove = useRemoveSample()
  const [isAsking, setAsking] = useState(false)
  const samples = runs.filter(({ tags }) => tags.includes(sampleTag))
  if (samples.length === 0) return null
  return (
    <section className="flex items-center gap-3 rounded border border-line px-3 py-2">
      <p className="grow text-muted">{plural(samples.length, 'run')} of the sample</p>
      <Button small onClick={() => setAsking(true)}>
        Remove the sample
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Remove the sample?"
        action="Remove the sample"
        onConfirm={() => remove(samples.map(({ id }) => id))}
      >
        {plural(samples.length, 'run')} with checkpoints and metrics will be deleted. Your own runs, data
        sets, rewards and models stay as they are.
      </ConfirmDialog>
    </section>
  )
}
