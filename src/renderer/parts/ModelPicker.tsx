import { useAnswer } from '#renderer/client/api.tsx'
import { useAddModel, useChooseRun } from './useModels.ts'
import { useRuns } from '#renderer/client/runs.ts'
import { lastPart } from '#renderer/client/format.ts'
import { AddingPicker, type PickerFieldProps, type PickerItem } from '#renderer/kit/Picker.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import {
  baseOf,
  findModel,
  keeperOf,
  modelFacts,
  modelName,
  runOf,
  trainedRuns,
  type ListedAdapter,
  type ListedModel,
  type ModelChoice,
  checkpointOption,
} from '#renderer/client/modelChoice.ts'
import { useStudyTitles } from './StudyLink.tsx'
import { rowOf, trainedItem, trainedRows, TrialSelect, type TrainedRow } from './trainedRows.tsx'

export interface ModelPickerProps extends PickerFieldProps {
  readonly value: ModelChoice | null
  readonly onChange: (choice: ModelChoice) => void
  readonly withCheckpoints?: boolean
  /** Name or folder of a base model, to offer only that and adapters trained on it. */
  readonly on?: string | undefined
  readonly placeholder?: string
  readonly isDisabled?: boolean | undefined
}

/** Chooses a model of this machine, or a checkpoint of a run, by default the best one. */
export function ModelPicker(props: ModelPickerProps) {
  const { value, onChange, withCheckpoints = false, on, ...rest } = props
  const { label = 'Model', isInline = false, placeholder = 'Choose a model', isDisabled, ...ids } = rest
  const { data: listed = [] } = useAnswer('models.list', undefined)
  const { runs } = useRuns()
  const models = on === undefined ? listed : listed.filter((each) => each === findModel(listed, on))
  const addModel = useAddModel()
  const chooseRun = useChooseRun(onChange)
  const { data: imported = [] } = useAnswer('models.adapters', undefined, { enabled: withCheckpoints })
  const studies = useStudyTitles()
  const trained = (withCheckpoints ? trainedRuns(runs) : []).filter(
    ({ model }) => on === undefined || model === on || findModel(models, model) !== undefined,
  )
  const rows = trainedRows(trained, studies)
  const chosenRun = runOf(value)
  const row = rowOf(rows, chosenRun)
  const adapters = (withCheckpoints ? imported : []).filter((adapter) => {
    const base = baseOf(adapter, listed)
    return on === undefined || base === undefined || findModel(models, base) !== undefined
  })
  const list = {
    label,
    items: [
      ...models.map(modelItem),
      ...unlisted(value, models),
      ...rows.map((each) => runItem(each, models)),
      ...adapters.map(adapterItem),
    ],
    value: row?.run.id ?? keyOf(value, models),
    empty: 'No model yet. Add the folder of one.',
    onChange(key: string) {
      const run = trained.find(({ id }) => id === key)
      const adapter = adapters.find(({ directory }) => directory === key)
      if (run !== undefined) void chooseRun(run)
      else if (adapter === undefined) onChange({ model: key })
      else {
        // If it names none of the list, the selected one, or the first.
        const model = baseOf(adapter, models) ?? value?.model ?? models[0]?.name ?? 'starter'
        onChange({ model, adapter: { path: adapter.directory } })
      }
    },
  }
  return (
    <AddingPicker
      {...{ ...list, ...ids, isInline, placeholder, disabled: isDisabled ?? false }}
      addLabel="Add a model"
      onAdd={addModel}
      className="min-w-32 grow"
    >
      <TrialSelect {...{ row, isDisabled }} runId={chosenRun} onChoose={(run) => void chooseRun(run)} />
      <StepSelect {...{ value, onChange, isDisabled }} />
      <BaseSelect {...{ value, models, onChange }} />
    </AddingPicker>
  )
}

function keyOf(value: ModelChoice | null, models: readonly ListedModel[]): string | null {
  if (value === null) return null
  const { model, adapter } = value
  if (adapter !== undefined) return 'runId' in adapter ? adapter.runId : adapter.path
  return findModel(models, model)?.name ?? model
}

const modelItem = (model: ListedModel): PickerItem => ({
  key: model.name,
  title: model.name,
  group: keeperOf(model),
  ...('problem' in model ? { problem: model.problem } : { detail: modelFacts(model) }),
})

const adapterItem = (adapter: ListedAdapter): PickerItem => ({
  key: adapter.directory,
  title: adapter.name,
  group: 'Imported adapters',
  ...('problem' in adapter
    ? { problem: adapter.problem }
    : { detail: `rank ${String(adapter.rank)} · ${adapter.baseModel ?? 'base model not stated'}` }),
})

/** Adds a model given by the path of its folder. */
function unlisted(value: ModelChoice | null, models: readonly ListedModel[]): PickerItem[] {
  if (value === null || value.adapter !== undefined || findModel(models, value.model) !== undefined) return []
  return [{ key: value.model, title: lastPart(value.model), detail: value.model, group: 'Models' }]
}

const runItem = (row: TrainedRow, models: readonly ListedModel[]): PickerItem => ({
  ...trainedItem(row, [`on ${modelName(models, row.run.model)}`]),
  group: 'Trained here',
})

interface BaseSelectProps extends Pick<ModelPickerProps, 'value' | 'onChange'> {
  readonly models: readonly ListedModel[]
}

function BaseSelect({ value, models, onChange }: BaseSelectProps) {
  if (value?.adapter === undefined || !('path' in value.adapter)) return null
  return (
    <Select
      aria-label="Base model"
      value={findModel(models, value.model)?.name ?? value.model}
      options={models.map((model) => ({
        value: model.name,
        label: `on ${model.name}`,
        disabled: 'problem' in model,
      }))}
      onChange={(model) => onChange({ ...value, model })}
      className="max-w-44 shrink-0"
    />
  )
}

/** Chooses the checkpoint of a run; renders nothing for a base model. */
function StepSelect({
  value,
  onChange,
  isDisabled,
}: Pick<ModelPickerProps, 'value' | 'onChange' | 'isDisabled'>) {
  const adapter = value?.adapter
  const runId = runOf(value)
  const { data } = useAnswer('checkpoints.list', { runId: runId ?? '' }, { enabled: runId !== null })
  if (value === null || adapter === undefined || !('runId' in adapter) || data === undefined) return null
  return (
    <Select
      aria-label="Checkpoint"
      disabled={isDisabled}
      value={String(adapter.step)}
      options={data.map(checkpointOption)}
      onChange={(step) => onChange({ ...value, adapter: { runId: adapter.runId, step: Number(step) } })}
      className="max-w-44 shrink-0"
    />
  )
}
