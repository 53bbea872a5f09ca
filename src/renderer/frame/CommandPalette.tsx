import { Command } from 'cmdk'
import { ArrowRight, Boxes, ChartLine, Code, Table2 } from 'lucide-react'
import { Dialog as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { useAddFile } from '#renderer/client/adding.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { goToNewRun, navigate } from '#renderer/client/route.ts'
import { useRuns } from '#renderer/client/runs.ts'
import { useTheme } from '#renderer/client/theme.ts'
import { useWindow } from '#renderer/client/window.ts'
import { runTitle } from '#renderer/client/words.ts'
import { kindTitles } from '#renderer/parts/studyWords.ts'
import { studyKinds } from '#shared/studies.ts'
import { libraryRoute } from '#renderer/parts/rewardLibrary.ts'
import { StatusBadge } from '#renderer/kit/Badge.tsx'
import { paletteEntries } from '#shared/places.ts'
import { placeIcons } from './screens.ts'

const maxRuns = 50

/** Searches everything by name: places, actions, runs, data sets, rewards, models. */
export function CommandPalette() {
  const { isPaletteOpen, closeAll } = useWindow()
  return (
    <Radix.Root open={isPaletteOpen} onOpenChange={(open) => !open && closeAll()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-[rgb(0_0_0/0.45)] animate-appear" />
        <Radix.Content
          data-modal=""
          aria-describedby={undefined}
          className="fixed top-[12vh] left-1/2 z-50 w-150 max-w-[calc(100vw-32px)] -translate-x-1/2 overflow-hidden rounded border border-line bg-bg shadow-float animate-appear"
        >
          <Radix.Title className="sr-only">Search and commands</Radix.Title>
          <PaletteList onDone={closeAll} />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

/** Closes the palette, then acts. */
type Then = (act: () => void) => () => void

function PaletteList({ onDone }: { onDone: () => void }) {
  const then: Then = (act) => () => {
    onDone()
    act()
  }
  return (
    <Command label="Search and commands" className="flex flex-col">
      <Command.Input
        placeholder="Search places, runs, data, rewards, models"
        aria-label="Search places, runs, data, rewards, models"
        className="h-11 border-b border-line bg-transparent px-4 text-lg outline-none placeholder:text-faint"
      />
      <Command.List className="max-h-[50vh] overflow-auto p-1 [&_[cmdk-group-heading]]:px-3 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-faint">
        <Command.Empty className="p-4 text-muted">No matches.</Command.Empty>
        <Actions then={then} />
        <Places then={then} />
        <Runs then={then} />
        <Library then={then} />
      </Command.List>
    </Command>
  )
}

function Actions({ then }: { then: Then }) {
  const { chooseAndAdd } = useAddFile()
  const { openKeySheet } = useWindow()
  const [, setTheme] = useTheme()
  return (
    <Command.Group heading="Actions">
      <Entry value="New run" onSelect={then(goToNewRun)} />
      {studyKinds.map((kind) => (
        <Entry
          key={kind}
          value={`New ${kindTitles[kind].toLowerCase()}`}
          onSelect={then(() => navigate('/new-run', { kind }))}
        />
      ))}
      <Entry value="Add data" onSelect={then(chooseAndAdd)} />
      <Entry value="Show the keys" onSelect={then(openKeySheet)} />
      <Entry value="Light theme" onSelect={then(() => setTheme('light'))} />
      <Entry value="Dark theme" onSelect={then(() => setTheme('dark'))} />
      <Entry value="Theme of the system" onSelect={then(() => setTheme('system'))} />
    </Command.Group>
  )
}

const Places = ({ then }: { then: Then }) => (
  <Command.Group heading="Places">
    {paletteEntries.map(({ title, address, place, words }) => {
      const Icon = placeIcons[place]
      return (
        <Entry
          key={title}
          value={title}
          words={words}
          icon={<Icon size={14} aria-hidden />}
          onSelect={then(() => navigate(address))}
        />
      )
    })}
  </Command.Group>
)

function Runs({ then }: { then: Then }) {
  const { runs } = useRuns()
  return (
    <Command.Group heading="Runs">
      {runs.slice(0, maxRuns).map((run) => (
        <Entry
          key={run.id}
          value={`${runTitle(run)} ${run.tags.join(' ')} ${run.id}`}
          icon={<ChartLine size={14} aria-hidden />}
          aside={<StatusBadge status={run.status} />}
          onSelect={then(() => navigate(`/runs/${run.id}/overview`))}
        >
          {runTitle(run)}
        </Entry>
      ))}
    </Command.Group>
  )
}

function Library({ then }: { then: Then }) {
  const { data: dataSets } = useAnswer('datasets.list', undefined)
  const { data: rewards } = useAnswer('rewards.list', {})
  const { data: models } = useAnswer('models.list', undefined)
  const go = (path: string) => then(() => navigate(path))
  return (
    <>
      <Command.Group heading="Data">
        {dataSets?.map(({ id, name, versions: [latest] }) => (
          <Entry
            key={id}
            value={`${name} ${id}`}
            icon={<Table2 size={14} aria-hidden />}
            onSelect={go(latest === undefined ? '/data' : `/data/${latest.id}`)}
          >
            {name}
          </Entry>
        ))}
      </Command.Group>
      <Command.Group heading="Rewards, environments, workflows and losses">
        {rewards?.map(({ id, name, kind }) => (
          <Entry
            key={id}
            value={`${name} ${id}`}
            icon={<Code size={14} aria-hidden />}
            onSelect={go(libraryRoute(kind, id))}
          >
            {name}
          </Entry>
        ))}
      </Command.Group>
      <Command.Group heading="Models">
        {models?.map(({ name, directory }) => (
          <Entry
            key={directory}
            value={`${name} ${directory}`}
            icon={<Boxes size={14} aria-hidden />}
            onSelect={go(`/models/${encodeURIComponent(name)}`)}
          >
            {name}
          </Entry>
        ))}
      </Command.Group>
    </>
  )
}

interface EntryProps {
  readonly value: string
  /** Other words that find it. */
  readonly words?: readonly string[]
  readonly icon?: ReactNode
  readonly aside?: ReactNode
  readonly onSelect: () => void
  readonly children?: ReactNode
}

const Entry = ({
  value,
  words = [],
  icon = <ArrowRight size={14} aria-hidden />,
  aside,
  onSelect,
  children,
}: EntryProps) => (
  <Command.Item
    value={value}
    keywords={[...words]}
    onSelect={onSelect}
    className="flex h-8 items-center gap-2 rounded-sm px-3 data-[selected=true]:bg-raised"
  >
    <span className="text-faint">{icon}</span>
    <span className="min-w-0 grow truncate">{children ?? value}</span>
    {aside}
  </Command.Item>
)
