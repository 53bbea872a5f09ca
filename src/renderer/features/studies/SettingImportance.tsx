import type { StudyEntry, StudyImportance } from '#shared/api/studies.ts'
import { labelOf } from '#shared/config/fields.ts'
import { metricLabel } from '#shared/metrics.ts'
import type { Estimate } from '#shared/statistics.ts'
import { IntervalBar, scaleOf } from '#renderer/charts/IntervalBar.tsx'
import { useAnswer } from '#renderer/client/api.tsx'
import { plural } from '#renderer/client/format.ts'
import { Panel } from '#renderer/kit/Page.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'
import { Help } from '#renderer/kit/Tooltip.tsx'

/** Importance of each searched setting, as a share of the variance of fitness with its 95 % interval. */
export function SettingImportance({ study }: { readonly study: StudyEntry }) {
  const { data: importance, error } = useAnswer('studies.importance', { id: study.id }, { keep: true })
  return (
    <Panel
      title="Importance"
      actions={
        <Help about="importance">
          By how much a forest fitted to settings and {metricLabel(study.search.fitness.metric)} predicts a
          result worse without knowing the setting, as a share of the variance. What settings do together
          counts for each of them. A setting without influence comes to about 0; few results understate the
          others.
        </Help>
      }
    >
      {error !== null && <ErrorNote error={error} />}
      {importance && <Shares study={study} importance={importance} />}
    </Panel>
  )
}

function Shares({ study, importance }: { study: StudyEntry; importance: StudyImportance }) {
  const { settings } = importance
  const scale = scaleOf(settings.map(estimateOf))
  return (
    <>
      {settings.length > 0 && (
        <ul className="mb-2 flex flex-col gap-2">
          {settings.map((setting) => (
            <li key={setting.key} className="grid grid-cols-[minmax(0,1fr)_7.5rem] items-center gap-x-3">
              <span className="truncate" title={setting.key}>
                {labelOf(setting.key)}
              </span>
              <span className="text-right font-mono text-sm tabular-nums">{percentOf(setting.share)}</span>
              <IntervalBar estimate={estimateOf(setting)} scale={scale} />
              <span className="text-right text-sm text-muted">{verdictOf(setting)}</span>
            </li>
          ))}
        </ul>
      )}
      <p className="text-sm text-pretty text-faint">{groundOf(study, importance)}</p>
    </>
  )
}

/** Formats a share; values below 0 are due to chance. */
const percentOf = (share: number): string => `${String(Math.round(100 * Math.max(0, share)))} %`

type Setting = StudyImportance['settings'][number]

const estimateOf = ({ share, interval }: Setting): Estimate => ({ value: share, interval })

function verdictOf({ interval, better, correlation }: Setting): string {
  if (interval === null || interval.low <= 0) return 'may be chance'
  return better === null ? (correlation === null ? '' : 'no one direction') : `${better} is better`
}

function groundOf({ search }: StudyEntry, { results, needed, step, explained }: StudyImportance): string {
  if (explained === null)
    return results < needed
      ? `${plural(results, 'result')} so far. It takes ${String(needed)} to tell what each setting does.`
      : 'All results are the same.'
  const metric = metricLabel(search.fitness.metric)
  const of =
    step === null
      ? `what each generation added to “${metric}”, over ${plural(results, 'result')}`
      : `“${metric}” at step ${String(step)}, over ${plural(results, 'trial')}`
  return `Shares of the variance of ${of}, with 95 % intervals. All settings together account for ${percentOf(explained)}; the rest is chance, or takes more trials to see.`
}
