import type { Problem } from '#shared/errors.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { useCheckpointFolder } from './useNewRun.ts'
import { useRuns } from '#renderer/client/runs.ts'
import { formatBytes, formatCount, formatShort, lastPart } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { KeyValue } from '#renderer/kit/Panel.tsx'
import type { ModelChoice } from '#renderer/client/modelChoice.ts'
import { ModelPicker } from '#renderer/features/models/ModelPicker.tsx'
import { valueAt, type JsonObject } from '#shared/config/paths.ts'
import { startingFrom } from './startAdapter.ts'
import { wrongWords } from './problems.ts'

interface ModelStepProps {
  readonly config: JsonObject
  readonly isFork: boolean
  readonly problems: readonly Problem[]
  readonly onModel: (model: string) => void
  readonly onChange: (change: (config: JsonObject) => JsonObject) => void
}

/** The model that learns, and what its adapter begins as. */
export function ModelStep({ config, isFork, problems, onModel, onChange }: ModelStepProps) {
  const model = typeof config['model'] === 'string' ? config['model'] : null
  const initial = valueAt(config, 'adapter.initial')
  const start = typeof initial === 'string' ? initial : null
  const { runs } = useRuns()
  const trained = start === null ? undefined : runs.find(({ directory }) => start.startsWith(directory))
  const { data: checkpoints } = useAnswer(
    'checkpoints.list',
    { runId: trained?.id ?? '' },
    { enabled: trained !== undefined },
  )
  const step = checkpoints?.find(({ directory }) => directory === start)?.step
  const adapter =
    trained !== undefined && step !== undefined
      ? { runId: trained.id, step }
      : start === null
        ? null
        : { path: start }
  const value = model === null ? null : { model, ...(adapter === null ? {} : { adapter }) }
  const startFrom = useStartFrom(onChange, onModel)
  return (
    <div className="grid gap-4">
      <Field label="Model" error={wrongWords(problems)} className="max-w-140">
        {(ids) => (
          <ModelPicker
            {...ids}
            withCheckpoints={!isFork}
            value={value}
            onChange={(choice) => void startFrom(choice)}
          />
        )}
      </Field>
      {model !== null && <ModelFactsView model={model} />}
      {start !== null && !isFork && (
        <p className="flex flex-wrap items-center gap-2 text-sm text-muted">
          The adapter begins as{' '}
          {step === undefined ? lastPart(start) : `the checkpoint of step ${String(step)}`}. Its step count
          and optimizer begin anew; to go on exactly, fork the run.
          <Button small onClick={() => onChange((now) => startingFrom(now, undefined))}>
            Start fresh
          </Button>
        </p>
      )}
    </div>
  )
}

/** A base model, or the checkpoint of a run as the adapter to begin with. */
function useStartFrom(onChange: ModelStepProps['onChange'], onModel: ModelStepProps['onModel']) {
  const folderOf = useCheckpointFolder()
  return async ({ model, adapter }: ModelChoice) => {
    onModel(model)
    const initial =
      adapter === undefined
        ? undefined
        : 'path' in adapter
          ? adapter.path
          : await folderOf(adapter.runId, adapter.step)
    onChange((config) => startingFrom(config, initial))
  }
}

function ModelFactsView({ model }: { model: string }) {
  const { data, error } = useAnswer('models.info', { model })
  if (error !== null || data === undefined) return null
  return (
    <KeyValue
      className="max-w-140"
      entries={[
        [
          'Architecture',
          `${data.architecture} · ${String(data.layers)} layers of width ${formatCount(data.hiddenSize)}`,
        ],
        ['Parameters', formatShort(data.parameters)],
        ['Reads at most', `${formatCount(data.contextLength)} tokens`],
        ['On disk', `${formatBytes(data.sizeBytes)} · ${data.dtypes.join(', ')}`],
        ['Chat template', data.hasChatTemplate ? 'yes' : 'none: prompts are plain text'],
        ...(data.license === null ? [] : [['Licence', data.license] as const]),
      ]}
    />
  )
}
