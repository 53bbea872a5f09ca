import { Award, Copy, FileDown, Play, Square, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { StudyEntry } from '#shared/api/studies.ts'
import { metricLabel } from '#shared/metrics.ts'
import { meanEstimate } from '#shared/statistics.ts'
import { useApi, useCommand } from '#renderer/client/api.tsx'
import { fileNameOf, saveText } from '#renderer/client/download.ts'
import { asError, toast, toastError } from '#renderer/client/toasts.ts'
import {
  formatCount,
  formatDuration,
  formatReach,
  formatReward,
  formatShort,
  noNumber,
  plural,
} from '#renderer/client/format.ts'
import { etaWords } from '#renderer/client/live.ts'
import { link, navigate } from '#renderer/client/route.ts'
import { useRunFacts } from '#renderer/client/runs.ts'
import { StatusBadge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import { MoreMenu } from '#renderer/kit/Menu.tsx'
import { Progress } from '#renderer/kit/states.tsx'
import { lastResult } from '#renderer/parts/lineage.ts'
import { kindTitles, trialsWords, trialTitle } from '#renderer/parts/studyWords.ts'

export function StudyFacts({ study }: { study: StudyEntry }) {
  const { search, steps, parallel } = study
  const facts = [
    kindTitles[search.kind],
    search.kind === 'population'
      ? `${plural(search.size, 'member')}, generations of ${plural(search.every, 'step')}`
      : trialsWords(study),
    `${plural(steps, 'step')} each`,
    `${formatCount(parallel)} at a time`,
  ]
  return (
    <>
      <StatusBadge status={study.status} />
      <span className="min-w-0 truncate" title={facts.join(' · ')}>
        {facts.join(' · ')}
      </span>
    </>
  )
}

export function StudyActions({ study }: { study: StudyEntry }) {
  const { id, status } = study
  const [isAsking, setAsking] = useState(false)
  const stop = useCommand('studies.stop')
  const resume = useCommand('studies.resume')
  const remove = useCommand('studies.delete', { onDone: () => navigate('/runs/studies') })
  const save = useSavedConfig()
  const isRunning = status === 'running'
  const isBusy = stop.isRunning || resume.isRunning || remove.isRunning
  return (
    <div className="flex shrink-0 items-center gap-2">
      {(isRunning || status === 'waiting') && (
        <Button icon={Square} iconSize={13} disabled={isBusy} onClick={() => void stop.run({ id })}>
          {stop.isRunning ? 'Stopping after this step' : 'Stop'}
        </Button>
      )}
      {!isRunning && status !== 'finished' && (
        <Button variant="primary" icon={Play} disabled={isBusy} onClick={() => void resume.run({ id })}>
          Resume
        </Button>
      )}
      {study.best !== null && <Promote id={id} />}
      <MoreMenu
        groups={[
          [
            {
              label: 'Start again with changes',
              icon: Copy,
              run: () => navigate('/new-run', { study: id }),
            },
            ...(study.best === null
              ? []
              : [{ label: 'Save the config of the best trial', icon: FileDown, run: () => save(study) }]),
          ],
          [
            {
              label: isRunning ? 'Delete (stop it first)' : 'Delete',
              icon: Trash2,
              isDangerous: true,
              isDisabled: isRunning || isBusy,
              run: () => setAsking(true),
            },
          ],
        ]}
      />
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Delete this study?"
        action="Delete study"
        onConfirm={() => void remove.run({ id })}
      >
        What it says of its trials will be gone: who was cloned from whom, and what each came to. Their runs
        stay, as runs of their own, and so do promoted adapters.
      </ConfirmDialog>
    </div>
  )
}

/** Exports the best trial as a model. */
function Promote({ id }: { id: string }) {
  const promote = useCommand('studies.promote', {
    onDone(adapter) {
      toast({ title: `The best trial is now the adapter “${adapter.name}”.`, tone: 'good' })
      navigate('/models', { adapter: adapter.name })
    },
  })
  return (
    <Button
      icon={Award}
      disabled={promote.isRunning}
      title="Copies the checkpoint of the best trial to Models, ready to export, compare or continue"
      onClick={() => void promote.run({ id })}
    >
      Promote best
    </Button>
  )
}

/** Returns what saves the config of the best trial as that of a run. */
function useSavedConfig() {
  const client = useApi()
  return ({ id, name, search }: StudyEntry) => {
    client.call('studies.exportConfig', { id }).then(
      ({ config, trial }) => {
        const text = `${JSON.stringify(config, null, 2)}\n`
        const file = `${fileNameOf(name ?? search.kind)}-trial-${String(trial + 1)}.json`
        saveText(text, file, 'application/json')
        toast({ title: 'The config of the best trial was saved.', detail: 'Start it with `turnwise train`.' })
      },
      (thrown: unknown) => toastError(asError(thrown)),
    )
  }
}

export function StudyNumbers({ study }: { study: StudyEntry }) {
  const { trained, plannedSteps } = study
  const left = useTimeLeft(study)
  return (
    <dl className="flex flex-wrap gap-x-8 gap-y-2">
      {study.search.kind === 'seeds' ? <Mean study={study} /> : <Best study={study} />}
      <div className="w-44">
        <dt className="text-sm text-muted">Trained</dt>
        <dd className="tabular-nums">
          {formatCount(trained.steps)} <span className="text-faint">of {plural(plannedSteps, 'step')}</span>
          <Progress
            label="Steps trained"
            value={plannedSteps === 0 ? null : trained.steps / plannedSteps}
            className="mt-1"
          />
        </dd>
      </div>
      <div>
        <dt className="text-sm text-muted">Training time</dt>
        <dd className="tabular-nums">
          {trained.steps === 0 ? noNumber : formatDuration(1000 * trained.seconds)}
          {left !== null && <span className="block text-sm text-faint">{left} left</span>}
        </dd>
      </div>
      <div>
        <dt className="text-sm text-muted">Tokens</dt>
        <dd className="tabular-nums">{trained.steps === 0 ? noNumber : formatShort(trained.tokens)}</dd>
      </div>
    </dl>
  )
}

function Best({ study }: { study: StudyEntry }) {
  const { best, trials, search } = study
  const trial = trials[best?.trial ?? -1]
  return (
    <div>
      <dt className="text-sm text-muted">Best {metricLabel(search.fitness.metric).toLowerCase()}</dt>
      <dd className="tabular-nums">
        <span className="text-lg font-semibold">{formatReward(best?.fitness)}</span>
        {best !== null && trial !== undefined && (
          <span className="block text-sm">
            <a href={link(`/runs/${best.runId ?? ''}/overview`)} className="text-accent-ink hover:underline">
              {trialTitle(study, trial)}
            </a>{' '}
            <span className="text-faint">at step {best.step}</span>
          </span>
        )}
      </dd>
    </div>
  )
}

/** Mean over the seeds that finished. */
function Mean({ study }: { study: StudyEntry }) {
  const values = study.trials.flatMap((trial) => {
    const last = lastResult(trial)
    return last?.step === study.steps && last.fitness !== null ? [last.fitness] : []
  })
  const mean = meanEstimate(values)
  return (
    <div>
      <dt className="text-sm text-muted">Mean {metricLabel(study.search.fitness.metric).toLowerCase()}</dt>
      <dd className="tabular-nums">
        <span className="text-lg font-semibold">{formatReward(mean?.value)}</span>
        <span className="text-muted">{formatReach(mean)}</span>
        <span className="block text-sm text-faint">
          {mean?.interval == null
            ? `over ${plural(values.length, 'seed')}`
            : `95 % interval of ${plural(values.length, 'seed')}`}
        </span>
      </dd>
    </div>
  )
}

/** Remaining time from measurements; null if unknown or if nothing trains. */
function useTimeLeft({
  status,
  trained,
  plannedSteps,
  parallel,
  pending,
  trials,
}: StudyEntry): string | null {
  const onTheWay = pending.flatMap(({ trial: index }) => trials[index] ?? [])
  const runIds = onTheWay.flatMap(({ runId }) => runId ?? [])
  const steps = useRunFacts(runIds, ({ id, step }) => ({ id, step }))
  if (status !== 'running' || trained.steps === 0) return null
  const begun = onTheWay.map((trial) => {
    const from = lastResult(trial)?.step ?? trial.parent?.step ?? 0
    return Math.max(0, (steps.find(({ id }) => id === trial.runId)?.step ?? 0) - from)
  })
  const left = plannedSteps - trained.steps - begun.reduce((sum, own) => sum + own, 0)
  if (left <= 0) return null
  const ms = (1000 * left * (trained.seconds / trained.steps)) / Math.min(parallel, pending.length)
  return etaWords({ lowMs: 0.85 * ms, highMs: 1.15 * ms })
}
