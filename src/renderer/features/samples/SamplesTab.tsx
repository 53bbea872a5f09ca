import { useMemo } from 'react'
import type { RunConfig } from '#shared/runConfig.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { useKeys } from '#renderer/client/keys.ts'
import { setQuery, useRoute } from '#renderer/client/route.ts'
import type { RunEntry, StoredEvent } from '#renderer/client/runs.ts'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { EmptyState, ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { experiencesOf } from '#renderer/parts/runFacts.ts'
import { plural } from '#renderer/client/format.ts'
import { SparkLine } from '#renderer/charts/Spark.tsx'
import { useSamplePages, useSampleSteps, useSeenUntil, type SampleRequest } from './useSamples.ts'
import { isFiltered, noFilter, readAddress, requestOf, type SampleAddress } from './address.ts'
import { CompletionPane } from './CompletionPane.tsx'
import { GroupPane, type GroupPaneProps, cardHeight, GroupHeader, SampleCard } from './GroupPane.tsx'
import {
  groupsOf,
  isTruncated,
  neighbour,
  rewardRange,
  stepShown,
  type Sample,
  type SampleGroup,
} from '#renderer/parts/groups.ts'
import { PromptList } from './PromptList.tsx'
import { SampleToolbar } from './SampleToolbar.tsx'
import { VirtualList } from './VirtualList.tsx'

interface Props {
  readonly run: RunEntry
  readonly config: RunConfig | null
  readonly events: readonly StoredEvent[]
}

/** Outputs of the model: prompts on the left, the completions of one beside them, one completion token by token. */
export function SamplesTab({ run, config, events }: Props) {
  const { query } = useRoute()
  const address = useMemo(() => readAddress(query), [query])
  const steps = useSampleSteps(run.id, address.source)
  const step = stepShown(steps, address.step)
  const revision = events.filter(({ event }) => event.type === 'resumed').length
  const { pages, groups, range, newer, showNewest } = useGroups(run.id, { address, steps, step, revision })
  const chosen = chosenGroup(groups, address)
  const members = useSamplePages(chosen === undefined ? null : memberRequest(run.id, chosen), revision)
  const group = useMemo(() => wholeGroup(chosen, members.samples), [chosen, members.samples])
  const sample = group?.samples.find(({ id }) => id === address.sample) ?? group?.samples[0]
  useSampleKeys({ steps, step, groups, chosen, group, sample })
  return (
    <>
      <SampleToolbar run={run} address={address} steps={steps} step={step} />
      {pages.error !== null && <ErrorNote error={pages.error} className="m-4" />}
      {steps.length === 0 && !pages.isLoaded ? (
        <Loading label="Reading the samples" shape="table" />
      ) : pages.isLoaded && groups.length === 0 ? (
        <Nothing
          address={address}
          run={run}
          hasSteps={steps.length > 0}
          shown={config?.shownTrajectories ?? 0}
        />
      ) : (
        <SplitPane id="samples" sizes={[22, 32, 46]} minimums={[190, 250, 340]}>
          <PromptList
            {...{ groups, range, newer }}
            chosenKey={chosen?.key ?? null}
            hasSteps={address.range !== null}
            hasMore={pages.hasMore}
            onMore={pages.loadMore}
            onNewer={showNewest}
            onChoose={choose}
          />
          <MiddlePane
            {...{ config, address, chosen, group, revision }}
            sampleId={sample?.id ?? null}
            onMore={members.loadMore}
          />
          <CompletionPane run={run} config={config} sample={sample} group={group} colour={address.colour} />
        </SplitPane>
      )}
    </>
  )
}

interface MiddleProps extends Omit<GroupPaneProps, 'groupSize'> {
  readonly config: RunConfig | null
  readonly chosen: SampleGroup | undefined
  readonly revision: number
}

/** Completions of a prompt in one step, or the same prompt over time. */
function MiddlePane({ config, address, chosen, group, sampleId, revision, onMore }: MiddleProps) {
  const { data: algorithms } = useAnswer('settings.algorithms', undefined)
  if (address.view === 'time' && chosen !== undefined)
    return <FilmStrip runId={chosen.runId} group={chosen} sampleId={sampleId} revision={revision} />
  const isGrouped =
    address.source === 'rollout' &&
    config !== null &&
    experiencesOf(config, algorithms ?? []).includes('rollout')
  const groupSize = isGrouped ? config.rollout.groupSize : null
  return (
    <GroupPane group={group} sampleId={sampleId} address={address} groupSize={groupSize} onMore={onMore} />
  )
}

const choose = (group: SampleGroup | undefined) => group && setQuery(addressOf(group))

interface Place {
  readonly address: SampleAddress
  readonly steps: readonly number[]
  readonly step: number | null
  readonly revision: number
}

/** Lists the left pane. A list of all steps stays fixed while the run continues. */
function useGroups(runId: string, { address, steps, step, revision }: Place) {
  const { until, showNewest } = useSeenUntil(steps.at(-1) ?? null)
  const pages = useSamplePages(requestFor(runId, address, step, until), revision)
  const { samples } = pages
  const { isCutOff } = address.filter
  const groups = useMemo(
    () => groupsOf(isCutOff ? samples.filter(isTruncated) : samples),
    [samples, isCutOff],
  )
  const range = useMemo(() => rewardRange(groups), [groups])
  const newer = address.range === 'all' ? steps.filter((each) => each > (until ?? Infinity)).length : 0
  return { pages, groups, range, newer, showNewest }
}

interface Chosen {
  readonly steps: readonly number[]
  readonly step: number | null
  readonly groups: readonly SampleGroup[]
  readonly chosen: SampleGroup | undefined
  readonly group: SampleGroup | undefined
  readonly sample: Sample | undefined
}

/** Keys: [ and ] through the steps, J and K through the completions and on to the next prompt. */
function useSampleKeys({ steps, step, groups, chosen, group, sample }: Chosen): void {
  const goStep = (by: 1 | -1) => {
    const next = neighbour(steps, step === null ? -1 : steps.indexOf(step), by)
    if (next !== undefined) setQuery({ step: String(next), sample: null, steps: null, from: null, to: null })
  }
  const goSample = (by: 1 | -1) => {
    const next = group && sample ? neighbour(group.samples, group.samples.indexOf(sample), by) : undefined
    // The current view stays, though the run goes on.
    if (next) setQuery({ sample: String(next.id), row: String(next.row), step: String(next.step) })
    else
      choose(
        neighbour(
          groups,
          groups.findIndex(({ key }) => key === chosen?.key),
          by,
        ),
      )
  }
  useKeys({
    previousStep: () => goStep(-1),
    nextStep: () => goStep(1),
    nextRow: () => goSample(1),
    previousRow: () => goSample(-1),
  })
}

function requestFor(
  runId: string,
  { source, range, filter }: SampleAddress,
  step: number | null,
  until: number | null,
): SampleRequest | null {
  const base = { runId, source, ...requestOf(filter) }
  if (range === 'all') return until === null ? null : { ...base, toStep: until }
  if (range !== null) return { ...base, fromStep: range[0], toStep: range[1] }
  return step === null ? null : { ...base, step }
}

const memberRequest = (runId: string, { step, source, row }: SampleGroup): SampleRequest => ({
  runId,
  step,
  source,
  row,
})

/** Selects a group by the sample of the address, else by its row, else the first. */
function chosenGroup(
  groups: readonly SampleGroup[],
  { sample, row, step }: SampleAddress,
): SampleGroup | undefined {
  const bySample =
    sample === null ? undefined : groups.find(({ samples }) => samples.some(({ id }) => id === sample))
  const ofRow = groups.filter((group) => group.row === row)
  return bySample ?? ofRow.find((group) => group.step === step) ?? ofRow[0] ?? groups[0]
}

function wholeGroup(group: SampleGroup | undefined, members: readonly Sample[]): SampleGroup | undefined {
  if (group === undefined) return undefined
  return groupsOf(members).find(({ key }) => key === group.key) ?? group
}

const addressOf = ({ row, step, samples }: SampleGroup) => ({
  row: String(row),
  step: String(step),
  sample: samples[0] === undefined ? null : String(samples[0].id),
})

interface NothingProps {
  readonly address: SampleAddress
  readonly run: RunEntry
  readonly hasSteps: boolean
  /** Number of trajectories that the run reports per step. */
  readonly shown: number
}

function Nothing({ address, run, hasSteps, shown }: NothingProps) {
  if (isFiltered(address.filter)) {
    return (
      <EmptyState
        title="No samples match the filter"
        action={
          <button
            type="button"
            className="text-accent-ink hover:underline"
            onClick={() => setQuery(noFilter)}
          >
            Clear filter
          </button>
        }
      />
    )
  }
  if (hasSteps) return <EmptyState title="No samples of these steps" />
  if (address.source === 'evaluation')
    return <EmptyState title="Completions on the validation split appear with the first evaluation" />
  return (
    <EmptyState title={shown === 0 ? 'This run keeps no samples' : 'The first samples appear after step 1'}>
      {shown === 0
        ? '“shownTrajectories” is 0 in its settings; a fork with another number keeps some.'
        : run.status === 'running' &&
          'Each shows what the model wrote, how it was scored and what each token learned.'}
    </EmptyState>
  )
}

interface FilmStripProps {
  readonly runId: string
  readonly group: SampleGroup
  readonly sampleId: number | null
  readonly revision: number
}

/** Same prompt from step to step: the first completion of each group, for validation rows the greedy one. */
function FilmStrip({ runId, group: { row, source }, sampleId, revision }: FilmStripProps) {
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
        <span>
          {groups.length < 2 ? 'The prompt has been drawn once so far.' : 'Mean reward, step by step'}
        </span>
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
