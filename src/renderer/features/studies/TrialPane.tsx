import { Award, ExternalLink } from 'lucide-react'
import type { ReactNode } from 'react'
import type { StudyTrial } from '#shared/api/studies.ts'
import { labelOf } from '#shared/config/fields.ts'
import { metricLabel } from '#shared/metrics.ts'
import { searchedKeys } from '#shared/studies.ts'
import { LineMark } from '#renderer/charts/marks.tsx'
import { formatDuration, formatReward, formatShort } from '#renderer/client/format.ts'
import { useCommand } from '#renderer/client/api.tsx'
import { link, navigate } from '#renderer/client/route.ts'
import { useRunStyles } from '#renderer/client/runs.ts'
import { toast } from '#renderer/client/toasts.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { KeyValue } from '#renderer/kit/Page.tsx'
import { lastPlace, lastResult, spentBy, stateOf, wayTo } from '#renderer/parts/lineage.ts'
import { changeWords, stateLooks, trialTitle, trialValue } from '#renderer/parts/studyWords.ts'
import type { TreeProps } from './LineageTree.tsx'

interface TrialPaneProps extends TreeProps {
  readonly trial: StudyTrial
}

/** Saves a trial's result as a named adapter, to export or continue from. */
function PromoteButton({ id, trial }: { id: string; trial: number }) {
  const promote = useCommand('studies.promote', {
    onDone: ({ name }) =>
      toast({
        title: `Promoted to the adapter ${name}`,
        tone: 'good',
        action: { label: 'Show models', run: () => navigate('/models') },
      }),
  })
  return (
    <Button
      small
      icon={Award}
      disabled={promote.isRunning}
      title="Copies the checkpoint of its last result to an adapter with a name"
      onClick={() => void promote.run({ id, trial })}
    >
      Promote
    </Button>
  )
}

/** One trial: its result, its ancestors and its descendants. */
export function TrialPane({ study, lineage, trial, onChoose }: TrialPaneProps) {
  const style = useRunStyles()(trial.runId ?? '')
  const { tone, words } = stateLooks[stateOf(trial, study)]
  const { tokens, seconds } = spentBy(trial)
  const entries: (readonly [string, ReactNode])[] = [
    ...originOf({ study, trial, onChoose }),
    ...searchedKeys(study.search).flatMap((key) =>
      key in trial.settings ? [[labelOf(key), trialValue(trial.settings[key])] as const] : [],
    ),
    ['Tokens', formatShort(tokens)],
    ['Time', formatDuration(1000 * seconds)],
  ]
  const error = trial.results.find((result) => result.error !== undefined)?.error
  return (
    <section
      aria-label="Chosen trial"
      className="flex min-h-0 grow flex-col gap-3 overflow-auto px-4 py-3"
      tabIndex={-1}
    >
      <header className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <LineMark {...style} />
        <h2 className="font-semibold">{trialTitle(study, trial)}</h2>
        <Badge tone={tone}>{words}</Badge>
        {trial.index === study.best?.trial && <Badge tone="good">Best</Badge>}
        {trial.runId !== null && (
          <a
            href={link(`/runs/${trial.runId}/overview`)}
            className="ml-auto inline-flex items-center gap-1 text-accent-ink hover:underline"
          >
            Open run
            <ExternalLink size={12} aria-hidden />
          </a>
        )}
      </header>
      {error !== undefined && <p className="text-bad">{error}</p>}
      <Results study={study} lineage={lineage} trial={trial} />
      {lastResult(trial)?.fitness != null && (
        <div>
          <PromoteButton id={study.id} trial={trial.index} />
        </div>
      )}
      <KeyValue entries={entries} />
    </section>
  )
}

type OriginProps = Omit<TrialPaneProps, 'lineage'>

/** Origin of a population member: its parent, its mutations, and its own clones. */
function originOf({ study, trial, onChoose }: OriginProps): (readonly [string, ReactNode])[] {
  if (study.search.kind !== 'population') return []
  const parent = study.trials[trial.parent?.index ?? -1]
  const clones = study.trials.filter((each) => each.parent?.index === trial.index)
  const named = (other: StudyTrial) => (
    <button
      key={other.index}
      type="button"
      onClick={() => onChoose(other)}
      className="mr-2 text-accent-ink hover:underline"
    >
      {trialTitle(study, other)}
    </button>
  )
  return [
    [
      'Cloned from',
      parent === undefined ? (
        'none; it is one of the first'
      ) : (
        <>
          {named(parent)}at step {trial.parent?.step}
        </>
      ),
    ],
    ...(parent === undefined
      ? []
      : [['Mutated', trial.mutation === null ? 'nothing' : changeWords(trial.mutation)] as const]),
    ...(clones.length === 0 ? [] : [['Clones', clones.map(named)] as const]),
  ]
}

/** Fitness measurements, its ancestors’ first. */
function Results({ study, lineage, trial }: Omit<TrialPaneProps, 'onChoose'>) {
  const last = lastPlace(lineage, trial)
  const way = last === undefined ? [] : wayTo(last).filter(({ result }) => result !== undefined)
  if (way.length === 0) return <p className="text-muted">No result yet.</p>
  return (
    <table className="w-full text-sm tabular-nums">
      <thead className="text-left text-muted">
        <tr className="border-b border-line">
          <th scope="col" className="font-medium">
            Step
          </th>
          <th scope="col" className="font-medium">
            Trained by
          </th>
          <th scope="col" className="text-right font-medium">
            {metricLabel(study.search.fitness.metric)}
          </th>
        </tr>
      </thead>
      <tbody>
        {way.map(({ key, step, trial: own, result }) => (
          <tr key={key} className="border-b border-line">
            <td className="font-mono">{step}</td>
            <td className={own === trial ? undefined : 'text-muted'}>{trialTitle(study, own)}</td>
            <td className="text-right font-mono">{formatReward(result?.fitness)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
