import { TriangleAlert } from 'lucide-react'
import { useMemo, useState, type ReactNode } from 'react'
import { sampleGroup } from '#shared/labelGroups.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { setQuery } from '#renderer/client/route.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { formatDelta, plural, formatNumber } from '#renderer/client/format.ts'
import { CopyButton, ErrorNote } from '#renderer/kit/states.tsx'
import { rewardWeights } from '#renderer/parts/runFacts.ts'
import type { SampleAddress } from './address.ts'
import { ColouredTokens } from '#renderer/parts/ColouredTokens.tsx'
import { EditedCopy, rewardTerms } from './EditedCopy.tsx'
import {
  advantageReach,
  isScored,
  policyWords,
  stopWords,
  type Sample,
  type SampleGroup,
} from '#renderer/parts/groups.ts'
import { JudgeAnswers, judgedIn } from './JudgeAnswers.tsx'
import { LoggedColumns, OriginRow } from './OriginRow.tsx'
import { LabelButtons } from '#renderer/parts/LabelButtons.tsx'
import { LabelTally } from '#renderer/parts/LabelTally.tsx'
import { labelOf, useLabels, type Answered } from '#renderer/parts/useLabels.ts'
import { tokenRows } from '#renderer/parts/tokenRows.ts'

interface Props {
  readonly run: RunEntry
  readonly config: RunConfig | null
  readonly sample: Sample | undefined
  readonly group: SampleGroup | undefined
  readonly colour: SampleAddress['colour']
}

const none: ReadonlyMap<string, number> = new Map()

/** One completion: its tokens, its reward with the reasons, and an editable copy for experiments. */
export function CompletionPane({ config, sample, group, colour }: Props) {
  const weights = useMemo(() => (config === null ? none : rewardWeights(config)), [config])
  if (sample === undefined) return <p className="p-4 text-muted">Choose a completion.</p>
  return <Shown key={sample.id} {...{ config, sample, group, colour, weights }} />
}

type ShownProps = Omit<Props, 'run' | 'sample'> & {
  readonly sample: Sample
  readonly weights: ReadonlyMap<string, number>
}

function Shown({ config, sample, group, colour, weights }: ShownProps) {
  const labels = useLabels(sampleGroup(sample))
  const label = labelOf(labels, sample.position, sample.completion)
  const [edited, setEdited] = useState<string | null>(null)
  const edit = () => {
    // Without a step in the address the newest is shown: pin this one, so that the next does not replace it.
    setQuery({ step: String(sample.step), sample: String(sample.id) })
    setEdited(label?.edit ?? sample.completion)
  }
  const answered: Answered = { kind: 'sample', sampleId: sample.id }
  return (
    <div className="flex min-h-0 grow flex-col">
      <Parts {...{ config, sample, group, colour, weights }}>
        <EditedCopy
          {...{ sample, answered, label }}
          isScored={weights.size > 0}
          text={edited}
          onText={setEdited}
          onEdit={edit}
        />
      </Parts>
      <LabelTally
        scope={sample.runId}
        place="This run"
        className="shrink-0 border-t border-line bg-panel px-4 py-1"
      >
        <span className="inline-flex gap-1">
          <LabelButtons
            scope={sample.runId}
            {...{ answered, label }}
            title={sampleTitle(sample, group)}
            prefer={(group?.samples.length ?? 0) > 1 ? 'button' : null}
            hasKeys
            onEdit={edit}
          />
        </span>
      </LabelTally>
    </div>
  )
}

const sampleTitle = (sample: Sample, group: SampleGroup | undefined): string =>
  `completion ${String((group?.samples.findIndex(({ id }) => id === sample.id) ?? 0) + 1)}`

function Parts({ config, sample, group, colour, weights, children }: ShownProps & { children: ReactNode }) {
  const { judged, others } = judgedIn(sample, config)
  return (
    <section aria-label="Completion" className="flex min-h-0 grow flex-col overflow-auto">
      <Tokens
        isAhead={sample.source === 'rollout' && (config?.rollout.maxStaleness ?? 0) > 0}
        {...{ sample, group, colour }}
      />
      {isScored(sample) && (
        <Part title="Reward">
          <RewardTerms sample={sample} weights={weights} />
        </Part>
      )}
      {judged.length > 0 && (
        <Part title="What the judge said">
          <JudgeAnswers judged={judged} />
        </Part>
      )}
      {children}
      {Object.keys(others).length > 0 && (
        <Part title="Logged by the reward">
          <LoggedColumns logged={others} />
        </Part>
      )}
      <OriginRow sample={sample} />
    </section>
  )
}

const Part = ({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) => (
  <section aria-label={title} className="border-t border-line px-4 py-3">
    <header className="mb-2 flex min-h-6 items-center gap-2">
      <h3 className="font-medium">{title}</h3>
      {aside}
    </header>
    {children}
  </section>
)

type TokensProps = Pick<Props, 'group' | 'colour'> & {
  readonly sample: Sample
  /** True if rollouts run ahead of learning, which raises the question of the generating policy. */
  readonly isAhead: boolean
}

/** Shows the text, coloured if the run recorded its tokens. */
function Tokens({ sample, group, colour, isAhead }: TokensProps) {
  const { data: arrays, error } = useAnswer(
    'samples.arrays',
    { sampleId: sample.id },
    { enabled: sample.hasArrays },
  )
  const rows = useMemo(() => (arrays === undefined ? null : tokenRows(arrays)), [arrays])
  return (
    <>
      <header className="flex min-h-9 shrink-0 items-start gap-3 border-b border-line bg-panel px-4 py-1.5 text-sm text-muted tabular-nums">
        <div className="flex min-h-6 grow flex-wrap items-center gap-x-3">
          <h2 className="font-medium">
            Completion{' '}
            {group === undefined
              ? ''
              : `${String(group.samples.findIndex(({ id }) => id === sample.id) + 1)} of ${String(group.samples.length)}`}
          </h2>
          <span>{plural(sample.tokens, 'token')}</span>
          <span>{stopWords(sample.stopReason)}</span>
          {sample.advantage !== null && isScored(sample) && (
            <span>advantage {formatDelta(sample.advantage)}</span>
          )}
          {(isAhead || sample.version !== null) && <span>{policyWords(sample)}</span>}
        </div>
        <CopyButton text={sample.completion} label="Copy the completion" />
      </header>
      <div className="shrink-0 px-4 py-3">
        {error !== null && <ErrorNote error={error} className="mb-3" />}
        {rows === null ? (
          <PlainText sample={sample} isComing={sample.hasArrays && error === null} />
        ) : (
          <ColouredTokens
            rows={rows}
            colour={colour ?? (isScored(sample) ? 'advantage' : 'probability')}
            onColour={(next) => setQuery({ colour: next })}
            reach={group === undefined ? 0 : advantageReach(group.samples)}
          />
        )}
      </div>
    </>
  )
}

function PlainText({ sample, isComing }: { sample: Sample; isComing: boolean }) {
  return (
    <>
      <p dir="auto" className="font-mono break-words whitespace-pre-wrap text-muted">
        {sample.prompt}
      </p>
      <p dir="auto" className="mt-2 font-mono break-words whitespace-pre-wrap">
        {sample.completion}
      </p>
      {!isComing && <p className="mt-2 text-sm text-faint">The run recorded no token values.</p>}
    </>
  )
}

interface RewardTermsProps {
  readonly sample: Pick<Sample, 'reward' | 'parts' | 'failures'>
  readonly weights: ReadonlyMap<string, number>
}

const termHead = (
  <thead className="sr-only">
    <tr>
      <th>Function</th>
      <th>Value</th>
      <th>Weight</th>
      <th>Share</th>
    </tr>
  </thead>
)

/** Shows the reward as a sum, term by term, with its failures. */
function RewardTerms({ sample: { reward, parts, failures }, weights }: RewardTermsProps) {
  const terms = rewardTerms(parts, weights)
  return (
    <>
      <table className="text-left tabular-nums">
        {termHead}
        <tbody>
          {terms.map(({ name, value, weight, share }) => (
            <tr key={name}>
              <th scope="row" className="h-6 max-w-64 min-w-28 truncate pr-6 font-normal">
                {name}
              </th>
              <td className="pr-2 text-right font-mono text-sm">
                {value === null ? 'none' : formatNumber(value)}
              </td>
              <td className="pr-6 font-mono text-sm text-muted">
                {weight === null ? '' : `× ${formatNumber(weight)}`}
              </td>
              <td className="text-right font-mono text-sm">{share === null ? '' : formatNumber(share)}</td>
            </tr>
          ))}
          <tr className="border-t border-line font-medium">
            <th scope="row" className="h-6 pr-4 font-medium">
              Reward
            </th>
            <td colSpan={3} className="text-right font-mono text-sm">
              {reward === null ? 'none' : formatNumber(reward)}
            </td>
          </tr>
        </tbody>
      </table>
      {failures.length > 0 && (
        <ul className="mt-2 flex flex-col gap-1">
          {failures.map((failure, i) => (
            <li key={`${String(i)} ${failure}`} className="flex gap-2 text-sm text-caution">
              <TriangleAlert size={13} aria-hidden className="mt-0.5 shrink-0" />
              <span className="min-w-0 break-words">{failure}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
