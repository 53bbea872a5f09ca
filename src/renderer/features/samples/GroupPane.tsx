import { meanOf } from '#shared/mean.ts'
import { TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { sampleGroup } from '#shared/labelGroups.ts'
import { setQuery } from '#renderer/client/route.ts'
import { formatCount, formatDelta, formatNumber, plural } from '#renderer/client/format.ts'
import { classes } from '#renderer/kit/classes.ts'
import { Segmented } from '#renderer/kit/choices.tsx'
import type { SampleAddress } from './address.ts'
import {
  ageWords,
  isScored,
  isTruncated,
  policyWords,
  rewardText,
  stopWords,
  type Sample,
  type SampleGroup,
} from '#renderer/parts/groups.ts'
import { labelOf, useLabels, type Label } from '#renderer/parts/useLabels.ts'
import { VirtualList } from './VirtualList.tsx'

export interface GroupPaneProps {
  readonly group: SampleGroup | undefined
  readonly sampleId: number | null
  readonly address: SampleAddress
  /** Completions generated per group, of which the run may keep fewer; null: unknown. */
  readonly groupSize: number | null
  readonly onMore: () => void
}

/** Returns the height in px that the longest completion needs, up to three lines. */
export const cardHeight = (samples: readonly Sample[], charactersPerLine = 34): number => {
  const longest = samples.reduce(
    (most, { completion }) => Math.max(most, linesOf(completion, charactersPerLine)),
    1,
  )
  return 33 + 18 * Math.min(3, longest)
}

const linesOf = (text: string, width: number): number =>
  text.split('\n').reduce((lines, line) => lines + Math.max(1, Math.ceil(line.length / width)), 0)

/** Completions of one prompt in one step, with their rewards. */
export function GroupPane({ group, sampleId, address, groupSize, onMore }: GroupPaneProps) {
  const samples = group?.samples ?? []
  const labels = useLabels(group === undefined ? null : sampleGroup(group))
  const spread = spreadOf(samples)
  const isPart = groupSize !== null && samples.length < groupSize
  const teaches = samples.some(({ advantage }) => advantage !== null && advantage !== 0)
  return (
    <section aria-label="Completions" className="flex min-h-0 grow flex-col">
      <GroupHeader view={address.view}>
        {isPart ? (
          <span title="The setting “shownTrajectories” is the number of completions kept per step.">
            {samples.length} of {groupSize} kept
          </span>
        ) : (
          groupWords(samples.length)
        )}
        {spread !== null && !isPart && (
          <span className={classes('ml-2', spread === 0 && !teaches ? 'text-caution' : 'text-faint')}>
            {spread > 0
              ? `reward std ${formatNumber(spread)}`
              : teaches
                ? 'all the same reward'
                : 'zero variance, nothing to learn'}
          </span>
        )}
      </GroupHeader>
      <VirtualList
        label="Completions"
        items={samples}
        itemKey={({ id }) => String(id)}
        itemHeight={cardHeight(samples)}
        chosenKey={sampleId === null ? null : String(sampleId)}
        onChoose={({ id, step, row }) =>
          setQuery({ sample: String(id), row: String(row), step: String(step) })
        }
        onEnd={onMore}
      >
        {(sample, _i, isChosen) => (
          <SampleCard
            sample={sample}
            isChosen={isChosen}
            label={labelOf(labels, sample.position, sample.completion)}
          />
        )}
      </VirtualList>
    </section>
  )
}

const groupWords = (count: number): string => (count === 1 ? 'One completion' : `Group of ${String(count)}`)

export function GroupHeader({ view, children }: { view: SampleAddress['view']; children: ReactNode }) {
  return (
    <header className="flex h-9 shrink-0 items-center gap-2 border-b border-line bg-panel pr-1 pl-4 text-sm text-muted">
      <h2 className="min-w-0 grow truncate font-medium">{children}</h2>
      <Segmented
        label="Completions shown"
        value={view}
        onChange={(next) => setQuery({ view: next === 'group' ? null : next })}
        options={{ group: 'Group', time: 'Over time' }}
      />
    </header>
  )
}

/** Standard deviation of the rewards; null with fewer than two. */
function spreadOf(samples: readonly Sample[]): number | null {
  const rewards = samples.map(({ reward }) => reward).filter((reward) => reward !== null)
  const mean = meanOf(rewards)
  if (mean === null || rewards.length < 2) return null
  const squares = rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0)
  const spread = Math.sqrt(squares / (rewards.length - 1))
  return spread < 1e-9 ? 0 : spread
}

interface CardProps {
  readonly sample: Sample
  readonly isChosen: boolean
  readonly place?: string
  readonly label?: Label | undefined
}

const failedMark = (
  <TriangleAlert
    size={12}
    className="shrink-0 self-center text-caution"
    aria-label="A reward function failed"
  />
)

export function SampleCard({ sample, isChosen, place, label }: CardProps) {
  const { reward, advantage, tokens, stopReason, completion, failures } = sample
  const age = ageWords(sample)
  return (
    <div
      className={classes(
        'flex h-full flex-col gap-1 border-b border-line px-4 py-1.5',
        isChosen && 'bg-accent-soft',
      )}
    >
      <p className="flex h-[18px] items-baseline gap-2 overflow-hidden text-sm whitespace-nowrap tabular-nums">
        {place !== undefined && <span className="min-w-14 text-muted">{place}</span>}
        {isScored(sample) && <RewardMark reward={reward} />}
        {advantage !== null && isScored(sample) && (
          <span className="text-muted" title="Advantage: how much better or worse than its baseline it was">
            advantage <span className="font-mono">{formatDelta(advantage)}</span>
          </span>
        )}
        <span className="text-faint">{plural(tokens, 'token')}</span>
        {age !== null && (
          <span
            className="text-faint"
            title={`${policyWords(sample)}; it is learned from in step ${formatCount(sample.step)}`}
          >
            {age}
          </span>
        )}
        {isTruncated(sample) && (
          <span className="truncate text-caution" title={stopWords(stopReason)}>
            truncated
          </span>
        )}
        {label !== undefined && <span className="text-accent-ink">{labelWords(label)}</span>}
        {failures.length > 0 && failedMark}
      </p>
      <p
        dir="auto"
        className="line-clamp-3 shrink-0 overflow-hidden font-mono text-sm break-words"
        title={completion.slice(0, 500)}
      >
        {completion === '' ? <span className="font-sans text-faint">(empty)</span> : completion}
      </p>
    </div>
  )
}

const labelWords = ({ rating, isPreferred, edit }: Label): string =>
  [rating, isPreferred && 'preferred', edit !== null && 'edited'].filter(Boolean).join(', ')

function RewardMark({ reward }: { reward: number | null }) {
  return (
    <span className="min-w-9 font-mono font-medium" title="Reward">
      {rewardText(reward)}
    </span>
  )
}
