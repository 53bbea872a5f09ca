import { TriangleAlert } from 'lucide-react'
import { useMemo } from 'react'
import { formatCount, plural } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { SparkBars } from '#renderer/charts/Spark.tsx'
import { distinctWords, isScored, rewardText, type SampleGroup } from '#renderer/parts/groups.ts'
import { VirtualList } from './VirtualList.tsx'

interface Props {
  readonly groups: readonly SampleGroup[]
  readonly range: readonly [number, number]
  readonly chosenKey: string | null
  /** True if groups belong to several steps. */
  readonly hasSteps: boolean
  readonly hasMore: boolean
  readonly onMore: () => void
  /** Number of steps that arrived since the list was opened. */
  readonly newer: number
  readonly onNewer: () => void
  readonly onChoose: (group: SampleGroup) => void
}

const rowHeight = 52
/** Largest number of bars; more would be thinner than a pixel. */
const maxBars = 32

/** Lists prompts, each with the rewards of its group as bars. */
export function PromptList(props: Props) {
  const { groups, range, chosenKey, hasSteps, hasMore, onMore, newer, onNewer, onChoose } = props
  const words = useMemo(() => distinctWords(groups.map(({ prompt }) => prompt)), [groups])
  return (
    <section aria-label="Prompts" className="flex min-h-0 grow flex-col">
      <header className="flex h-9 shrink-0 items-center gap-2 border-b border-line bg-panel px-4 text-sm text-muted">
        <h2 className="min-w-0 truncate font-medium">
          {hasMore ? `${formatCount(groups.length)}+ prompts` : plural(groups.length, 'prompt')}
        </h2>
        {newer > 0 && (
          <Button small variant="quiet" className="ml-auto" onClick={onNewer}>
            Show {newer} newer
          </Button>
        )}
      </header>
      <VirtualList
        label="Prompts"
        items={groups}
        itemKey={({ key }) => key}
        itemHeight={rowHeight}
        chosenKey={chosenKey}
        onChoose={onChoose}
        onEnd={onMore}
      >
        {(group, i, isChosen) => <Item {...{ group, isChosen, range, hasSteps }} words={words[i]} />}
      </VirtualList>
    </section>
  )
}

interface ItemProps extends Pick<Props, 'range' | 'hasSteps'> {
  readonly group: SampleGroup
  readonly words: string | undefined
  readonly isChosen: boolean
}

const Item = ({ group, words, isChosen, range, hasSteps }: ItemProps) => (
  <div
    className={classes(
      'flex h-full flex-col justify-center gap-0.5 border-b border-line px-4',
      isChosen && 'bg-accent-soft',
    )}
  >
    <p dir="auto" className="truncate" title={words}>
      {words}
    </p>
    <div className="flex h-[18px] items-center gap-2 text-sm text-muted">
      {group.samples.some(isScored) && (
        <>
          <SparkBars
            values={group.samples.slice(0, maxBars).map(({ reward }) => reward)}
            range={range}
            width={Math.min(96, group.samples.length * 10)}
            height={16}
            label={`Rewards ${group.samples
              .slice(0, maxBars)
              .map(({ reward }) => rewardText(reward))
              .join(', ')}`}
          />
          <span className="font-mono tabular-nums" title="Mean reward">
            {rewardText(group.meanReward)}
          </span>
        </>
      )}
      {group.samples.some(({ failures }) => failures.length > 0) && (
        <TriangleAlert size={12} className="text-caution" aria-label="A reward function failed" />
      )}
      <span className="ml-auto truncate text-faint tabular-nums">
        {hasSteps ? `step ${String(group.step)}` : group.rowWords}
      </span>
    </div>
  </div>
)
