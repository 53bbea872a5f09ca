import { Gauge, PackageOpen, MessagesSquare, Play, Swords, Trash2 } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { metricLabel } from '#shared/metrics.ts'
import { Address } from './ModelFacts.tsx'
import { link, navigate } from '#renderer/client/route.ts'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { formatBytes, formatCount, formatNumber, formatReward } from '#renderer/client/format.ts'
import { Actions } from '#renderer/kit/actions.tsx'
import { Badge } from '#renderer/kit/Badge.tsx'
import { MoreMenu, revealItems } from '#renderer/kit/Menu.tsx'
import { KeyValue, Panel } from '#renderer/kit/Page.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'
import { type AdapterOrigin, type ListedAdapter, baseOf } from '#renderer/client/modelChoice.ts'
import { toast } from '#renderer/client/toasts.ts'
import { writeChoice } from '#renderer/parts/candidates.ts'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'

/** One imported or promoted adapter. */
export function AdapterPage({ adapter }: { adapter: ListedAdapter }) {
  const { name, directory } = adapter
  const [isDeleting, setDeleting] = useState(false)
  const remove = useCommand('models.deleteAdapter', {
    onDone() {
      toast({ title: `“${name}” was deleted.` })
      navigate('/models')
    },
  })
  return (
    <div className="min-h-0 grow overflow-auto px-6 py-4">
      <header className="mb-4 flex min-h-7 items-center gap-2">
        <h2 className="truncate text-xl font-semibold">{name}</h2>
        <Badge>{'origin' in adapter && adapter.origin !== null ? 'Promoted' : 'Adapter'}</Badge>
        <span className="ml-auto flex items-center gap-2">
          {!('problem' in adapter) && <Uses adapter={adapter} />}
          <MoreMenu
            groups={[
              revealItems(directory),
              [{ label: 'Delete', icon: Trash2, isDangerous: true, run: () => setDeleting(true) }],
            ]}
          />
        </span>
      </header>
      <div className="max-w-180">
        {'problem' in adapter ? (
          <ErrorNote error={{ message: adapter.problem, hint: 'Delete it and import it again.' }} />
        ) : (
          <Card adapter={adapter} />
        )}
      </div>
      <ConfirmDialog
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        title={`Delete “${name}”?`}
        action="Delete adapter"
        onConfirm={() => void remove.run({ name })}
      >
        Its copy in Turnwise’s folder is removed. Finished runs that started from it stay; it cannot be
        deleted while an unfinished run needs it.
      </ConfirmDialog>
    </div>
  )
}

function Card({ adapter }: { adapter: Exclude<ListedAdapter, { problem: string }> }) {
  return (
    <Panel title="Card">
      <KeyValue
        entries={[
          [
            'Trained on',
            adapter.baseModel ?? adapter.origin?.model ?? <span className="text-faint">Not stated</span>,
          ],
          ...originEntries(adapter.origin),
          ['Rank', formatCount(adapter.rank)],
          ['Alpha', formatNumber(adapter.alpha)],
          ['Size', formatBytes(adapter.sizeBytes)],
          ['Folder', <Address key="folder" address={adapter.directory} label="Copy path" />],
        ]}
      />
      <p className="mt-3 text-muted text-pretty">
        A run that continues it keeps its rank, scale and projections and starts with a new optimizer. It can
        also be the reference policy of a run (reference.adapter), and be compared with its base model in a
        blind vote.
      </p>
    </Panel>
  )
}

/** Names the promoted trial; kept when the study and its runs are deleted. */
function originEntries(origin: AdapterOrigin | null): readonly (readonly [string, ReactNode])[] {
  if (origin === null) return []
  const { studyId, study, trial, step, metric, fitness, promotedAt } = origin
  return [
    [
      'Promoted from',
      <span key="study">
        <a href={link(`/runs/studies/${studyId}`)} className="text-accent-ink hover:underline">
          {study ?? 'a study'}
        </a>
        {`, trial ${String(trial + 1)} at step ${formatCount(step)}`}
      </span>,
    ],
    [metricLabel(metric), formatReward(fitness)],
    ['Promoted', new Date(promotedAt).toLocaleString()],
  ]
}

/** Continues training from the adapter, or compares it with its base model if that is present. */
function Uses({ adapter }: { adapter: ListedAdapter }) {
  const { data: models = [] } = useAnswer('models.list', undefined)
  const model = baseOf(adapter, models)
  const { directory, name } = adapter
  const choice = model === undefined ? '' : writeChoice({ model, adapter: { path: directory } })
  const isWithBase = model !== undefined
  return (
    <Actions
      actions={[
        isWithBase && {
          label: 'Chat',
          icon: MessagesSquare,
          run: () => navigate('/playground/chat', { a: choice }),
        },
        isWithBase && {
          label: 'Blind vote',
          icon: Swords,
          run: () => navigate('/playground/vote', { a: choice, b: model }),
        },
        isWithBase && {
          label: 'Evaluate…',
          icon: Gauge,
          run: () => navigate('/playground/evaluate', { new: 'any', a: choice }),
        },
        {
          label: 'Continue this adapter',
          icon: Play,
          isMain: true,
          run: () => navigate('/new-run', { ...(isWithBase ? { model } : {}), adapter: directory }),
        },
        'origin' in adapter &&
          adapter.origin !== null && {
            label: 'Export…',
            icon: PackageOpen,
            run: () => navigate('/models/export', { adapter: name }),
          },
      ]}
    />
  )
}
