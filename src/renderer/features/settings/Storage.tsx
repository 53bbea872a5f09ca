import { useState } from 'react'
import { useAnswer, useCommand, type Answer } from '#renderer/client/api.tsx'
import { useLoad } from '#renderer/client/live.ts'
import { link } from '#renderer/client/route.ts'
import { useRunFiles } from '#renderer/parts/useRunFiles.ts'
import { useRuns, type RunEntry } from '#renderer/client/runs.ts'
import { toast } from '#renderer/client/toasts.ts'
import { formatBytes, plural, lastPart } from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Disclosure } from '#renderer/kit/Disclosure.tsx'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import { CopyButton, ErrorNote, Loading, Progress } from '#renderer/kit/states.tsx'
import { DeleteRuns } from '#renderer/parts/DeleteRuns.tsx'
import { Section } from './Section.tsx'

/** Disk use, and what can be removed. */
export function StorageSection() {
  const { data: info } = useAnswer('system.info', undefined)
  const { data: folders, error, refetch } = useAnswer('system.storage', undefined, { staleMs: 0 })
  const load = useLoad()
  const total = folders?.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) ?? 0
  const free = load?.disk.freeBytes
  const hasUploads = folders?.some(({ folder, sizeBytes }) => lastPart(folder) === 'uploads' && sizeBytes > 0)
  return (
    <>
      <Section
        title="Data directory"
        about="Turnwise keeps everything in this folder, and never removes anything outside it."
      >
        {info !== undefined && (
          <p className="flex items-center gap-1">
            <code className="min-w-0 truncate rounded bg-raised px-2 py-1 font-mono text-sm">
              {info.dataDirectory}
            </code>
            <CopyButton text={info.dataDirectory} label="Copy the path" />
          </p>
        )}
        {free !== undefined && (
          <p className="mt-1 text-sm text-faint">
            {formatBytes(total)} in use, {formatBytes(free)} free on the disk. To keep it elsewhere, start
            Turnwise with TURNWISE_HOME set to another folder.
          </p>
        )}
      </Section>
      <Section
        title="What takes space"
        actions={
          <div className="flex gap-2">
            {hasUploads && <Clear command="system.clearUploads" onDone={refetch} />}
            <Clear command="system.clearCache" onDone={refetch} />
          </div>
        }
      >
        {error !== null && <ErrorNote error={error} />}
        {folders === undefined && error === null && <Loading label="Measuring" />}
        <Folders folders={folders ?? []} total={total} />
      </Section>
      <RunSizes onDeleted={refetch} />
    </>
  )
}

interface FoldersProps {
  readonly folders: Answer<'system.storage'>
  readonly total: number
}

function Folders({ folders, total }: FoldersProps) {
  const empty = folders.filter(({ sizeBytes }) => sizeBytes === 0)
  return (
    <>
      <FolderList folders={folders.filter(({ sizeBytes }) => sizeBytes > 0)} total={total} />
      {empty.length > 0 && (
        <Disclosure title={plural(empty.length, 'empty folder')} className="mt-2">
          <FolderList folders={empty} total={total} />
        </Disclosure>
      )}
    </>
  )
}

const FolderList = ({ folders, total }: FoldersProps) => (
  <ul className="divide-y divide-line rounded border border-line">
    {folders
      .toSorted((a, b) => b.sizeBytes - a.sizeBytes)
      .map(({ folder, sizeBytes, description }) => (
        <li key={folder} className="grid grid-cols-[minmax(0,1fr)_120px_88px] items-center gap-4 px-3 py-2">
          <div className="min-w-0">
            <p className="truncate font-medium" title={folder}>
              {lastPart(folder)}
            </p>
            <p className="text-sm text-muted text-pretty">{description}</p>
          </div>
          <Progress label={`Share of ${lastPart(folder)}`} value={total === 0 ? 0 : sizeBytes / total} />
          <span className="text-right font-mono text-sm tabular-nums">{formatBytes(sizeBytes)}</span>
        </li>
      ))}
  </ul>
)

const clearing = {
  'system.clearCache': {
    title: 'Clear the cache',
    about:
      'Converted weights are removed and made again when a model is next used, which takes a moment. Runs, data and models stay.',
  },
  'system.clearUploads': {
    title: 'Clear uploads',
    about:
      'Removes uploaded files that were not imported, such as those of a closed tab. Files open in another tab must be chosen again.',
  },
} as const

function Clear({ command, onDone }: { command: keyof typeof clearing; onDone: () => void }) {
  const [isAsking, setAsking] = useState(false)
  const { run, isRunning } = useCommand(command, {
    onDone: ({ freedBytes }) => {
      toast({ title: `${formatBytes(freedBytes)} freed.`, tone: 'good' })
      onDone()
    },
  })
  const { title, about } = clearing[command]
  return (
    <>
      <Button small disabled={isRunning} onClick={() => setAsking(true)}>
        {title}
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`${title}?`}
        action={title}
        isDangerous={false}
        onConfirm={() => {
          setAsking(false)
          void run(undefined)
        }}
      >
        {about}
      </ConfirmDialog>
    </>
  )
}

const maxRuns = 100

function RunSizes({ onDeleted }: { onDeleted: () => void }) {
  const { runs } = useRuns()
  const [newest] = useState(() => runs.slice(0, maxRuns).map(({ id }) => id))
  const shown = newest.length === 0 ? runs.slice(0, maxRuns).map(({ id }) => id) : newest
  const found = useRunFiles(shown)
  const [deleting, setDeleting] = useState<RunEntry | null>(null)
  if (runs.length === 0) return null
  const sizes = (found ?? [])
    .flatMap(({ runId, files }) => {
      const run = runs.find(({ id }) => id === runId)
      return run === undefined
        ? []
        : [{ run, bytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) }]
    })
    .sort((a, b) => b.bytes - a.bytes)
  return (
    <Section
      title="Runs"
      about={
        runs.length > maxRuns ? `The newest ${plural(maxRuns, 'run')}, largest first.` : 'The largest first.'
      }
    >
      {found === null && <Loading label="Measuring" />}
      <ul className="divide-y divide-line rounded border border-line">
        {sizes.map(({ run, bytes }) => (
          <li key={run.id} className="flex h-9 items-center gap-4 px-3">
            <a href={link(`/runs/${run.id}/checkpoints`)} className="min-w-0 grow truncate hover:underline">
              {runTitle(run)}
            </a>
            <span className="font-mono text-sm tabular-nums">{formatBytes(bytes)}</span>
            <Button
              small
              variant="quiet"
              aria-label={`Delete ${runTitle(run)}`}
              onClick={() => setDeleting(run)}
            >
              Delete
            </Button>
          </li>
        ))}
      </ul>
      {deleting !== null && (
        <DeleteRuns runs={[deleting]} onClose={() => setDeleting(null)} onDeleted={onDeleted} />
      )}
    </Section>
  )
}
