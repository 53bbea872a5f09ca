import { CircleAlert, CircleCheck, CircleSlash } from 'lucide-react'
import { useMemo, useState } from 'react'
import { formatNumber, plural } from '#renderer/client/format.ts'
import { ColouredTokens } from '#renderer/parts/ColouredTokens.tsx'
import { tokenRows, type TokenValue } from '#renderer/parts/tokenRows.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { KeyValue } from '#renderer/kit/Page.tsx'
import { cellText } from './bench.ts'
import type { EpisodeEnd, EpisodeTrajectory } from './episode.ts'

const ends = {
  returned: { icon: CircleCheck, tone: 'text-good' },
  rejected: { icon: CircleSlash, tone: 'text-caution' },
  failed: { icon: CircleAlert, tone: 'text-bad' },
} as const

/** Result of an episode: trajectories, or the reason why there are none. */
export function EpisodeEndView({ end }: { end: EpisodeEnd }) {
  const [colour, setColour] = useState<TokenValue | 'none'>('action')
  const { icon: Icon, tone } = ends[end.end]
  return (
    <section aria-label="Result" data-part className="flex scroll-mt-4 flex-col gap-3">
      <p className="flex items-start gap-2">
        <Icon size={16} aria-hidden className={`mt-0.5 shrink-0 ${tone}`} />
        <span>{endWords(end)}</span>
      </p>
      {end.trajectories.map((trajectory, i) => (
        <TrajectoryCard
          key={i}
          title={end.trajectories.length === 1 ? 'Trajectory' : `Trajectory ${String(i + 1)}`}
          trajectory={trajectory}
          isGrouped={end.trajectories.some(({ group }) => group !== trajectory.group)}
          colour={colour}
          onColour={setColour}
        />
      ))}
    </section>
  )
}

function endWords({ end, failure, requests, rounds, trajectories }: EpisodeEnd): string {
  const count = `${plural(requests, 'request')} in ${plural(rounds, 'round')}`
  if (end === 'failed') return `The episode failed after ${count}: ${failure ?? ''}`
  if (end === 'rejected') return `The episode was rejected after ${count}: nothing is learned from it.`
  return `${plural(trajectories.length, 'trajectory', 'trajectories')} after ${count}.`
}

interface TrajectoryCardProps {
  readonly title: string
  readonly trajectory: EpisodeTrajectory
  /** True if it is compared with some of the other trajectories only. */
  readonly isGrouped: boolean
  readonly colour: TokenValue | 'none'
  readonly onColour: (colour: TokenValue | 'none') => void
}

function TrajectoryCard({ title, trajectory, isGrouped, colour, onColour }: TrajectoryCardProps) {
  const { arrays, reward, baseline, group, truncated, turnRewards, failures } = trajectory
  const rows = useMemo(() => tokenRows(arrays), [arrays])
  const facts = factsOf(trajectory)
  return (
    <section aria-label={title} className="rounded border border-line">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-panel px-3 py-1.5 text-sm text-muted tabular-nums">
        <h3 className="font-medium text-text">{title}</h3>
        <span className="flex items-center gap-1">
          reward <RewardBadge value={reward} />
        </span>
        {turnRewards.length > 1 && <span>by turn {turnRewards.map(formatNumber).join(', ')}</span>}
        {baseline !== null && <span>baseline {formatNumber(baseline)}</span>}
        {isGrouped && <span>group {group}</span>}
        {truncated && <Badge tone="caution">truncated</Badge>}
        <span className="ml-auto">
          {rows.filter(({ isAction }) => isAction).length} of {plural(rows.length, 'token')} learned from
        </span>
      </header>
      <div className="px-3 py-2">
        <ColouredTokens rows={rows} colour={colour} onColour={onColour} />
        {failures.map((failure) => (
          <p key={failure} className="text-sm text-caution">
            {failure}
          </p>
        ))}
        {facts.length > 0 && <KeyValue entries={facts} />}
      </div>
    </section>
  )
}

/** Lists logged values, and the parts of the reward if there are several. */
function factsOf({ parts, logged, metrics }: EpisodeTrajectory): (readonly [string, string])[] {
  const several = Object.keys(parts).length > 1 ? Object.entries(parts) : []
  return [
    ...several.map(([name, value]) => [name, value === null ? 'none' : formatNumber(value)] as const),
    ...Object.entries(metrics).map(([name, value]) => [name, formatNumber(value)] as const),
    ...Object.entries(logged).map(([name, value]) => [name, cellText(value)] as const),
  ]
}

export const RewardBadge = ({ value }: { value: number | null }) => (
  <Badge tone={value === null ? 'plain' : value > 0 ? 'good' : value < 0 ? 'bad' : 'plain'}>
    {value === null ? 'none' : formatNumber(value)}
  </Badge>
)
