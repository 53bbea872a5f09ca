import { useMemo } from 'react'
import { setQuery } from '#renderer/client/route.ts'
import { useSamplePages } from './useSamples.ts'
import { plural } from '#renderer/client/format.ts'
import { SparkLine } from '#renderer/charts/Spark.tsx'
import { cardHeight, GroupHeader, SampleCard } from './GroupPane.tsx'
import { groupsOf, rewardRange, type SampleGroup } from './groups.ts'
import { VirtualList } from './VirtualList.tsx'

interface Props {
  readonly runId: string
  readonly group: SampleGroup
  readonly sampleId: number | null
  readonly revision: number
}

/** The same prompt from step to step: of each group its first completion, of validation rows the greedy one. */
export function FilmStrip({ runId, group: { row, source }, sampleId, revision }: Props) {
  const { samples, isLoaded, loadMore } = useSamplePages({ runId, row, source }, `${String(revision)} film`)
  const groups = useMemo(() => groupsOf(samples).toReversed(), [samples])
  const range = useMemo(() => rewardRange(groups), [groups])
  const frames = groups.map((group) => ({
    group,
    sample: group.samples.find(({ id }) => id === sampleId) ?? group.samples[0],
  }))
  const chosen = frames.find(({ sample }) => sample?.id === sampleId)
  return (
    <section aria-label="The same prompt over time" className="flex min-h-0 grow flex-col">
      <GroupHeader view="time">
        {isLoaded ? `Seen in ${plural(groups.length, 'step')}` : 'Looking'}
      </GroupHeader>
      <div className="flex shrink-0 items-center gap-3 border-b border-line px-4 py-2 text-sm text-muted">
        <SparkLine
          values={groups.map(({ meanReward }) => meanReward)}
          range={range}
          width={160}
          height={28}
          label="Mean reward of this prompt over the steps"
        />
        <span>{groups.length < 2 ? 'The prompt was drawn once so far.' : 'Mean reward, step by step'}</span>
      </div>
      <VirtualList
        label="Steps of this prompt"
        items={frames}
        itemKey={({ group }) => group.key}
        itemHeight={cardHeight(samples)}
        chosenKey={chosen?.group.key ?? null}
        onChoose={({ group, sample }) =>
          setQuery({
            step: String(group.step),
            row: String(group.row),
            sample: sample ? String(sample.id) : null,
          })
        }
        onEnd={loadMore}
      >
        {({ group, sample }, _i, isChosen) =>
          sample && <SampleCard sample={sample} isChosen={isChosen} place={`step ${String(group.step)}`} />
        }
      </VirtualList>
    </section>
  )
}
