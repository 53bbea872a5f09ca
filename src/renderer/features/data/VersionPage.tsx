import { Ellipsis, FolderOpen, Pencil, Play, Plus, Trash2 } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { shell } from '#renderer/client/connection.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { useAddVersion, useLastDataSet } from './useData.ts'
import { link, navigate, setQuery, useRoute } from '#renderer/client/route.ts'
import { formatBytes, formatCount, formatDate, plural } from '#renderer/client/format.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { Menu } from '#renderer/kit/Menu.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { Tabs, type Tab } from '#renderer/kit/Tabs.tsx'
import { DeleteDataSet } from './DeleteDataSet.tsx'
import { DifficultyTab } from './DifficultyTab.tsx'
import { findVersion, versionNumber, type DataSet } from './dataSetItems.ts'
import { LengthsTab } from './LengthsTab.tsx'
import type { Opened } from './opened.ts'
import { ProblemRows } from './ProblemRows.tsx'
import { PromptTab } from './PromptTab.tsx'
import { RenameDataSet } from './RenameDataSet.tsx'
import { RowsTab } from './RowsTab.tsx'
import { SplitTab } from './SplitTab.tsx'

const tabIds = ['rows', 'prompt', 'lengths', 'split', 'difficulty', 'problems'] as const
type TabId = (typeof tabIds)[number]

/** One version of a data set, from its rows to what runs will make of them. */
export function VersionPage({ versionId }: { versionId: string }) {
  const list = useAnswer('datasets.list', undefined)
  const opened = useAnswer('datasets.version', { versionId })
  const found = findVersion(list.data, versionId)
  if (opened.error !== null) {
    return (
      <Page title={found?.dataSet.name ?? 'Data'}>
        <ErrorNote
          error={opened.error}
          action={<Button onClick={() => navigate('/data')}>All data sets</Button>}
        />
      </Page>
    )
  }
  if (opened.data === undefined || list.data === undefined) {
    return (
      <Page title={found?.dataSet.name ?? 'Data'} isFull>
        <Loading />
      </Page>
    )
  }
  return <Version opened={opened.data} dataSet={found?.dataSet} />
}

function Version({ opened, dataSet }: { opened: Opened; dataSet: DataSet | undefined }) {
  const { version, problems } = opened
  const { query } = useRoute()
  const tab = tabIds.find((id) => id === query.get('tab')) ?? 'rows'
  const { id } = opened.version
  const [last, setLast] = useLastDataSet()
  // Once for each version that is opened: another window may open another one meanwhile.
  const noted = useRef<string | null>(null)
  useEffect(() => {
    if (noted.current === id) return
    noted.current = id
    if (last !== id) setLast(id)
  }, [id, last, setLast])
  return (
    <Page
      isFull
      title={
        <>
          <a href={link('/data')} className="font-normal text-muted hover:text-text">
            Data
          </a>
          <span className="px-2 font-normal text-faint">/</span>
          {dataSet?.name ?? 'Data set'}
        </>
      }
      about={<Facts opened={opened} dataSet={dataSet} />}
      main={
        <>
          {dataSet !== undefined && <Actions dataSet={dataSet} directory={version.directory} />}
          <Button
            variant="primary"
            icon={<Play size={13} aria-hidden />}
            onClick={() => navigate('/new-run', { data: version.id })}
          >
            Train on this
          </Button>
        </>
      }
    >
      <Tabs<TabId>
        label="About this data set"
        value={tab}
        onChange={(id) => setQuery({ tab: id })}
        tabs={tabsOf(version.problems)}
        className="flex flex-col"
        isPage
      >
        {tab === 'rows' && <RowsTab version={version} />}
        {tab === 'prompt' && <PromptTab opened={opened} />}
        {tab === 'lengths' && <LengthsTab opened={opened} />}
        {tab === 'split' && <SplitTab opened={opened} />}
        {tab === 'difficulty' && <DifficultyTab opened={opened} />}
        {tab === 'problems' && <Problems count={version.problems} problems={problems} />}
      </Tabs>
    </Page>
  )
}

const tabsOf = (problems: number): readonly Tab<TabId>[] => [
  { id: 'rows', label: 'Rows' },
  { id: 'prompt', label: 'Prompt' },
  { id: 'lengths', label: 'Lengths' },
  { id: 'split', label: 'Split' },
  { id: 'difficulty', label: 'Difficulty' },
  {
    id: 'problems',
    label: 'Problems',
    mark: problems > 0 && <Badge tone="caution">{formatCount(problems)}</Badge>,
  },
]

function Facts({ opened: { version }, dataSet }: { opened: Opened; dataSet: DataSet | undefined }) {
  return (
    <>
      {dataSet !== undefined && dataSet.versions.length > 1 && (
        <Select
          small
          aria-label="Version"
          value={version.id}
          options={dataSet.versions.map(({ id, createdAt }) => ({
            value: id,
            label: `Version ${String(versionNumber(dataSet.versions, id))} · ${formatDate(createdAt)}`,
          }))}
          onChange={(id) => navigate(`/data/${id}`)}
          className="shrink-0"
        />
      )}
      <span className="truncate tabular-nums">
        {plural(version.rows, 'row')} · {formatBytes(version.sizeBytes)}
      </span>
    </>
  )
}

function Actions({ dataSet, directory }: { dataSet: DataSet; directory: string }) {
  const [asked, setAsked] = useState<'rename' | 'delete' | null>(null)
  const addVersion = useAddVersion(dataSet.id)
  const close = () => setAsked(null)
  return (
    <>
      <Menu
        groups={[
          [
            {
              label: 'New version from a file',
              icon: <Plus size={13} aria-hidden />,
              onSelect: addVersion,
            },
            { label: 'Rename', icon: <Pencil size={13} aria-hidden />, onSelect: () => setAsked('rename') },
            ...(shell === null
              ? []
              : [
                  {
                    label: 'Show in folder',
                    icon: <FolderOpen size={13} aria-hidden />,
                    onSelect: () => void shell?.reveal(directory),
                  },
                ]),
          ],
          [
            {
              label: 'Delete',
              icon: <Trash2 size={13} aria-hidden />,
              isDangerous: true,
              onSelect: () => setAsked('delete'),
            },
          ],
        ]}
      >
        <IconButton label="More actions" icon={<Ellipsis size={16} aria-hidden />} />
      </Menu>
      {asked === 'rename' && <RenameDataSet dataSet={dataSet} onClose={close} />}
      {asked === 'delete' && <DeleteDataSet dataSet={dataSet} onClose={close} />}
    </>
  )
}

function Problems({ count, problems }: { count: number; problems: Opened['problems'] }) {
  if (count === 0) return <p className="px-page py-6 text-muted">Every row of the file could be read.</p>
  return (
    <>
      <p className="px-page py-3 text-muted">
        {plural(count, 'row')} of the file could not be read and {count === 1 ? 'was' : 'were'} left out
        {problems.length < count && `; the first ${formatCount(problems.length)} are listed`}. Correct the
        file and import it as a new version to have them too.
      </p>
      <ProblemRows problems={problems} />
    </>
  )
}
