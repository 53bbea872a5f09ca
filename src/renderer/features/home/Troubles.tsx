import { useNow } from '#renderer/client/live.ts'
import { link } from '#renderer/client/route.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { formatAgo } from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'
import { StatusBadge } from '#renderer/kit/Badge.tsx'
import { Panel } from '#renderer/kit/Panel.tsx'
import { troublesOf } from './troubles.ts'

/** Runs someone should look at; nothing where all is well. */
export function Troubles({ runs }: { runs: readonly RunEntry[] }) {
  const now = useNow(30_000)
  const troubles = troublesOf(runs, now)
  if (troubles.length === 0) return null
  return (
    <Panel title="Needs attention" isFlush>
      <ul className="divide-y divide-line">
        {troubles.map(({ run, words }) => (
          <li key={run.id}>
            <a
              href={link(`/runs/${run.id}/overview`)}
              className="flex items-start gap-3 px-3 py-2 -outline-offset-2 hover:bg-panel phone:flex-wrap"
            >
              <StatusBadge status={run.status} finding={run.finding} />
              <span className="min-w-0 grow">
                <span className="block truncate font-medium">{runTitle(run)}</span>
                <span className="line-clamp-2 text-sm text-muted">{words}</span>
              </span>
              <span className="shrink-0 text-sm text-faint">{formatAgo(run.updatedAt, now)}</span>
            </a>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
