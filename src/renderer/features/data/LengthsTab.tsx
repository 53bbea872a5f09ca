import { useEffect, useState } from 'react'
import { fittingNewTokens, defaultNewTokens } from '#shared/config/settings.ts'
import { useAnswer, useTask, type Answer } from '#renderer/client/api.tsx'
import { useCompletionLength } from '#renderer/features/newRun/useNewRun.ts'
import { formatCount, formatNumber, formatPercent, plural } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { KeyValue } from '#renderer/kit/Page.tsx'
import { Busy, ErrorNote, TaskProgress } from '#renderer/kit/states.tsx'
import { ModelPicker } from '#renderer/parts/ModelPicker.tsx'
import { Histogram } from '#renderer/charts/Histogram.tsx'
import { usePreviewModel, usePrompt, type Opened } from './usePrompt.ts'
import { cutBeyond, type PromptForm } from '#renderer/parts/preparation.ts'
import { NumberField } from '#renderer/kit/inputs.tsx'

/** Distribution of prompt lengths in tokens, and the number of rows a limit would drop. */
export function LengthsTab({ opened }: { opened: Opened }) {
  const [model, setModel] = usePreviewModel()
  const { prompt, preparation, change } = usePrompt(opened)
  return (
    <div className="max-w-320 px-page py-4">
      <div className="mb-4 flex items-center gap-3">
        <span className="text-sm text-muted">Tokens of</span>
        <div className="w-64">
          <ModelPicker
            label="Model whose tokens are counted"
            value={model === null ? null : { model }}
            onChange={(choice) => setModel(choice.model)}
          />
        </div>
      </div>
      {model === null ? (
        <p className="text-muted">Add a model to count tokens.</p>
      ) : (
        <Measured
          key={`${model} ${JSON.stringify(prompt)}`}
          versionId={opened.version.id}
          model={model}
          prompt={prompt}
          limit={preparation.maxPromptTokens}
          onLimit={(maxPromptTokens) => change({ maxPromptTokens })}
        />
      )}
    </div>
  )
}

interface MeasuredProps {
  readonly versionId: string
  readonly model: string
  readonly prompt: PromptForm
  readonly limit: number | null
  readonly onLimit: (limit: number | null) => void
}

function Measured({ versionId, model, prompt, limit, onLimit }: MeasuredProps) {
  const { start, cancel, last, state, error } = useTask('datasets.histogram')
  // Keyed above: model and prompt stay the same for the life of this component.
  const [asked] = useState({ versionId, model, prompt })
  useEffect(() => start(asked), [start, asked])
  const { data: info } = useAnswer('models.info', { model })
  const context = info?.contextLength ?? null
  const chosen = useCompletionLength()
  const completion = chosen ?? (context === null ? defaultNewTokens : fittingNewTokens(context))
  if (error !== null) return <ErrorNote error={error} />
  if (last === undefined) return <Busy label="Measuring" />
  const { histogram, progress } = last
  return (
    <div className="flex flex-col gap-4">
      {state === 'running' && <TaskProgress progress={progress} onCancel={cancel} />}
      {histogram === null ? (
        <p className="text-muted">No row has a prompt yet. See the Prompt tab.</p>
      ) : (
        <Chart {...{ limit, onLimit, context, completion }} lengths={histogram} />
      )}
    </div>
  )
}

interface ChartProps {
  readonly lengths: NonNullable<Answer<'datasets.histogram'>['histogram']>
  readonly limit: number | null
  readonly onLimit: (limit: number | null) => void
  readonly context: number | null
  readonly completion: number
}

function Chart({ lengths, limit, onLimit, context, completion }: ChartProps) {
  const { rows, problems, min, mean, median, p95, max, bins } = lengths
  // Not saved while the line is being dragged.
  const line = limit ?? max
  const room = context === null ? Infinity : context - completion
  const cut = cutBeyond(lengths.lengths, Math.min(line, room))
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_260px] gap-8 narrow:grid-cols-[minmax(0,1fr)]">
      <figure className="min-w-0">
        <figcaption className="mb-1 text-sm text-muted">Rows by prompt length in tokens</figcaption>
        <Histogram
          label={`Prompt lengths of ${plural(rows, 'row')}: from ${formatNumber(min)} to ${formatNumber(max)} tokens, median ${formatNumber(median)}`}
          bins={bins}
          unit="tokens"
          line={line}
          onLine={(at) => onLimit(at >= max ? null : at)}
          marks={[
            { at: median, label: 'median' },
            ...(context === null ? [] : [{ at: context, label: 'context of the model' }]),
          ]}
        />
      </figure>
      <div className="flex flex-col gap-6">
        <div>
          <LimitField {...{ limit, onLimit, max }} />
          <p className="mt-2 tabular-nums" role="status">
            {cut.rows === 0 ? (
              'No row is left out.'
            ) : (
              <>
                {plural(cut.rows, 'row')} left out ({formatPercent(cut.share)})
              </>
            )}
          </p>
          {context !== null && room < line && (
            <p className="mt-1 text-sm text-muted text-pretty">
              {room > 0
                ? `With completions of up to ${formatCount(completion)} tokens, the prompt may have ${formatCount(room)} of the model’s ${formatCount(context)} tokens.`
                : `Completions of up to ${formatCount(completion)} tokens, as New run has them, leave no room for a prompt.`}
            </p>
          )}
        </div>
        <KeyValue
          entries={[
            ['Rows measured', formatCount(rows)],
            ['Shortest', `${formatNumber(min)} tokens`],
            ['Mean', `${formatNumber(mean)} tokens`],
            ['Median', `${formatNumber(median)} tokens`],
            ['95 % up to', `${formatNumber(p95)} tokens`],
            ['Longest', `${formatNumber(max)} tokens`],
            context !== null && ['Model reads', `${formatCount(context)} tokens`],
            problems > 0 && ['Without a prompt', plural(problems, 'row')],
          ]}
        />
      </div>
    </div>
  )
}

interface LimitFieldProps extends Pick<ChartProps, 'limit' | 'onLimit'> {
  readonly max: number
}

const LimitField = ({ limit, onLimit, max }: LimitFieldProps) => (
  <NumberField
    label="Max prompt tokens"
    help="Rows with longer prompts are left out of a run. The model must read the prompt and still have room for its completion."
    note={limit === null ? 'No limit but the model’s context.' : undefined}
    aside={
      limit !== null && (
        <Button small variant="quiet" onClick={() => onLimit(null)}>
          No limit
        </Button>
      )
    }
    value={limit}
    placeholder={formatNumber(max)}
    onChange={(value) => onLimit(value === null || value < 1 ? null : Math.round(value))}
  />
)
