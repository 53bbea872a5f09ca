import { Gauge } from 'lucide-react'
import { useState } from 'react'
import { useAnswer, useCommand, useTask, type Answer } from '#renderer/client/api.tsx'
import { plural } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { Busy, ErrorNote, Loading, TaskProgress } from '#renderer/kit/states.tsx'
import { FoundModels } from './FoundModels.tsx'
import { HubModelDialog } from './HubModelDialog.tsx'
import { measuredWords } from './hubWords.ts'
import { KnownModels } from './KnownModels.tsx'
import { noFilters, SearchForm, type Wanted } from './SearchForm.tsx'

type Answered = Answer<'hub.search'>

/** Models not yet on this machine: recommended ones, and a search of the hub. */
export function BrowsePage() {
  const [wanted, setWanted] = useState<Wanted>(noFilters)
  const [found, setFound] = useState<Answered | null>(null)
  const [address, setAddress] = useState<string | null>(null)
  // A search queries the hub: only when the user asks for it, never while typing, never again by itself.
  const search = useCommand('hub.search', { quiet: true, onDone: setFound })
  return (
    <Page isFull>
      <div className="flex min-h-0 grow flex-col overflow-auto">
        <SearchForm
          wanted={wanted}
          onChange={setWanted}
          onSearch={() => void search.run(inputOf(wanted))}
          onClear={() => {
            setWanted(noFilters)
            setFound(null)
          }}
          hasAsked={found !== null}
        />
        {search.error !== null && <ErrorNote error={search.error} className="mx-page my-3" />}
        {search.isRunning ? (
          <Busy label="Asking the hub" />
        ) : found === null ? (
          <Known onOpen={setAddress} />
        ) : (
          <Found found={found} onOpen={setAddress} />
        )}
      </div>
      {address !== null && <HubModelDialog address={address} onClose={() => setAddress(null)} />}
    </Page>
  )
}

const inputOf = ({ family, license, billions, words, onlyUsable }: Wanted) => ({
  words,
  onlyUsable,
  ...(family === '' ? {} : { family }),
  ...(license === '' ? {} : { license }),
  ...(billions === '' ? {} : { maxParameters: Number(billions) * 1e9 }),
})

interface ListProps {
  readonly onOpen: (address: string) => void
}

function Known({ onOpen }: ListProps) {
  const { data, error, refetch } = useAnswer('hub.known', undefined)
  if (error !== null) return <ErrorNote error={error} className="m-page" />
  if (data === undefined) return <Loading shape="table" />
  return (
    <>
      <Measured models={data} onMeasured={refetch} />
      <KnownModels models={data} onOpen={onOpen} />
    </>
  )
}

interface MeasuredProps {
  readonly models: Answer<'hub.known'>
  readonly onMeasured: () => void
}

/** Says where the speeds come from, or how to measure them. */
function Measured({ models, onMeasured }: MeasuredProps) {
  const speed = models.find((model) => model.speed !== null)?.speed ?? null
  return (
    <section
      aria-label="Speed of this machine"
      className="flex flex-wrap items-center gap-x-3 gap-y-2 px-page py-3"
    >
      <p className="min-w-0 grow basis-80 text-muted text-pretty">
        {speed === null
          ? 'How fast these models would be here is not known yet. A short measurement with a small random model tells; nothing is downloaded.'
          : measuredWords(speed)}
      </p>
      <Measuring action={speed === null ? 'Measure this machine' : 'Measure again'} onDone={onMeasured} />
    </section>
  )
}

function Measuring({ action, onDone }: { action: string; onDone: () => void }) {
  const task = useTask('system.measureSpeed')
  const { last, state, error } = task
  const [seen, setSeen] = useState(state)
  if (seen !== state) {
    setSeen(state)
    if (state === 'done') onDone()
  }
  if (state === 'running') {
    const progress = last !== undefined && 'progress' in last ? last.progress : null
    return (
      <div className="w-80 max-w-full">
        <TaskProgress
          progress={progress ?? { phase: 'Measuring', done: 0, total: null, unit: 'phases' }}
          onCancel={task.cancel}
        />
      </div>
    )
  }
  return (
    <>
      {error !== null && <ErrorNote error={error} />}
      <Button icon={Gauge} onClick={() => task.start(undefined)}>
        {action}
      </Button>
    </>
  )
}

function Found({ found: { models, hasMore }, onOpen }: ListProps & { found: Answered }) {
  return (
    <>
      <p className="px-page py-3 text-muted" role="status">
        {models.length === 0
          ? 'The hub has no such model: fewer words or other filters may find one.'
          : `${plural(models.length, 'model')}, most downloads first${hasMore ? '. The hub has more: give more words.' : '.'}`}
      </p>
      {models.length > 0 && <FoundModels models={models} onOpen={onOpen} />}
    </>
  )
}
