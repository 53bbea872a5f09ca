import type { Problem } from '#shared/errors.ts'
import { ArrowDown, ArrowUp, Plus, Trash2 } from 'lucide-react'
import { useApi } from '#renderer/client/api.tsx'
import { asError, toastError } from '#renderer/client/toasts.ts'
import type { Knowledge } from './useNewRun.ts'
import { dataOf } from './usePrefill.ts'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { Menu } from '#renderer/kit/Menu.tsx'
import { DataPicker } from '#renderer/parts/DataPicker.tsx'
import { effectiveValue } from './draft.ts'
import { labelOf, stageFields, type SettingField } from '#shared/config/fields.ts'
import { isReachable } from '#renderer/client/runSettings.ts'
import { valueAt, withValue } from '#shared/config/paths.ts'
import { problemWords } from './problems.ts'
import { Sentence } from '#renderer/kit/Sentence.tsx'
import { SettingRow } from '#renderer/kit/SettingRow.tsx'
import {
  algorithmOf,
  movedStage,
  newStage,
  plannedStages,
  stagePlans,
  withStage,
  type Stage,
} from './stages.ts'

interface StagesEditorProps {
  readonly stages: readonly Stage[]
  readonly known: Knowledge
  readonly problems: readonly Problem[]
  /** Steps of the whole run, divided by a plan. */
  readonly steps: number
  readonly onChange: (stages: readonly Stage[]) => void
}

const aboutStages = (
  <p className="min-w-0 grow text-muted text-pretty">
    Each stage starts from the policy of the previous one, which is also its reference. A stage inherits what
    it does not set from the settings below.
  </p>
)

/** Edits consecutive trainings: the settings in which each differs from the rest. */
export function StagesEditor({ stages, known, problems, steps, onChange }: StagesEditorProps) {
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap items-center gap-2">
        {aboutStages}
        <Menu
          groups={[
            stagePlans.map((plan) => ({
              label: plan.title,
              run: () => onChange(plannedStages(plan, steps)),
            })),
          ]}
        >
          <Button small>Use a plan</Button>
        </Menu>
      </div>
      <ol className="grid gap-2">
        {stages.map((stage, i) => (
          <li key={String(i)} className="rounded border border-line">
            <StageHead
              stage={stage}
              index={i}
              count={stages.length}
              known={known}
              onChange={(next) => onChange(withStage(stages, i, next))}
              onMove={(to) => onChange(movedStage(stages, i, to))}
              onRemove={() => onChange(stages.toSpliced(i, 1))}
            />
            <StageBody
              stage={stage}
              known={known}
              problems={problems.filter((problem) => problem.stage === i)}
              onChange={(next) => onChange(withStage(stages, i, next))}
            />
          </li>
        ))}
      </ol>
      <div>
        <Button
          icon={Plus}
          iconSize={13}
          onClick={() => onChange([...stages, newStage('grpo', `stage ${String(stages.length + 1)}`, 20)])}
        >
          Add a stage
        </Button>
      </div>
    </div>
  )
}

interface StageHeadProps {
  readonly stage: Stage
  readonly index: number
  readonly count: number
  readonly known: Knowledge
  readonly onChange: (stage: Stage) => void
  readonly onMove: (to: number) => void
  readonly onRemove: () => void
}

function StageHead({ stage, index, count, known, onChange, onMove, onRemove }: StageHeadProps) {
  const place = String(index + 1)
  return (
    <div className="flex items-center gap-2 border-b border-line bg-panel px-3 py-2">
      <span className="w-4 shrink-0 text-sm text-faint tabular-nums">{place}</span>
      <TextInput
        aria-label={`Name of stage ${place}`}
        className="max-w-48"
        value={typeof stage['name'] === 'string' ? stage['name'] : ''}
        onChange={(name) => onChange(withValue(stage, 'name', name === '' ? undefined : name))}
      />
      <Select
        aria-label={`Algorithm of stage ${place}`}
        value={algorithmOf(stage)}
        options={known.algorithms.map(({ id, title }) => ({ value: id, label: title }))}
        onChange={(id) => onChange({ ...stage, algorithm: { id } })}
      />
      <span className="grow" />
      <IconButton
        label={`Move stage ${place} up`}
        icon={ArrowUp}
        iconSize={14}
        disabled={index === 0}
        onClick={() => onMove(index - 1)}
      />
      <IconButton
        label={`Move stage ${place} down`}
        icon={ArrowDown}
        iconSize={14}
        disabled={index === count - 1}
        onClick={() => onMove(index + 1)}
      />
      <IconButton label={`Remove stage ${place}`} icon={Trash2} iconSize={14} onClick={onRemove} />
    </div>
  )
}

interface StageBodyProps {
  readonly stage: Stage
  readonly known: Knowledge
  readonly problems: readonly Problem[]
  readonly onChange: (stage: Stage) => void
}

function StageBody({ stage, known, problems, onChange }: StageBodyProps) {
  const algorithm = known.algorithms.find(({ id }) => id === valueAt(stage, 'algorithm.id'))
  const all = [
    ...(algorithm?.settings ?? []),
    ...stageFields.map((field) => withBaseDefault(field, known.fields)),
  ]
  const fields = all.filter((field) => isReachable(stage, field))
  // A stage with a section of its own overrides all of it.
  const said = fields.filter(
    ({ key, within }) => key === 'steps' || within !== undefined || valueAt(stage, key) !== undefined,
  )
  const wordsAt = (key: string) => {
    const found = problems.find(({ path }) => path === key)
    return found && <Sentence text={problemWords(found)} />
  }
  const others = fields.filter((field) => !said.includes(field))
  return (
    <div className="grid gap-3 p-3">
      <div className="grid grid-cols-[repeat(auto-fill,minmax(200px,1fr))] gap-x-6 gap-y-2">
        <StageRows stage={stage} known={known} onChange={onChange} />
        {said.map((field) => (
          <SettingRow
            key={field.key}
            field={field}
            value={field.within === undefined ? valueAt(stage, field.key) : effectiveValue(stage, field)}
            base={field.default}
            isChanged={valueAt(stage, field.key) !== undefined}
            onChange={(value) => onChange(withValue(stage, field.key, value))}
            onReset={() => onChange(withValue(stage, field.key, undefined))}
            problem={wordsAt(field.key)}
          />
        ))}
      </div>
      {problems
        .filter(({ path }) => !said.some((field) => field.key === path))
        .map((problem) => (
          <p key={`${problem.path} ${problem.message}`} className="text-sm text-bad">
            <span title={problem.path}>{labelOf(problem.path)}</span>:{' '}
            <Sentence text={problemWords(problem)} />
          </p>
        ))}
      <Select
        aria-label="Setting of this stage"
        small
        className="w-56"
        value=""
        options={[
          { value: '', label: 'Add a setting for this stage' },
          ...others.map(({ key, label }) => ({ value: key, label: `${label} (${key})` })),
        ]}
        onChange={(key) => {
          const field = others.find((each) => each.key === key)
          if (field !== undefined) onChange(withValue(stage, key, field.default ?? null))
        }}
      />
    </div>
  )
}

/** Adds the default of the run's setting, since the schema of a stage has none. */
const withBaseDefault = (field: SettingField, fields: readonly SettingField[]): SettingField => {
  const base = fields.find(({ key }) => key === field.key)
  return base === undefined ? field : { ...base, help: field.help }
}

function StageRows({ stage, known, onChange }: Pick<StageBodyProps, 'stage' | 'known' | 'onChange'>) {
  const client = useApi()
  const train = valueAt(stage, 'data.train')
  const versions = known.dataSets.flatMap((set) => set.versions)
  const version = versions.find(({ directory }) => directory === train)
  const choose = (versionId: string) => {
    dataOf(client, versionId).then(
      ({ data }) => onChange({ ...stage, data }),
      (thrown: unknown) => toastError(asError(thrown)),
    )
  }
  return (
    <Field
      label="Own rows"
      help="Empty: the stage uses the run’s rows."
      aside={
        train !== undefined && (
          <Button small variant="quiet" onClick={() => onChange(withValue(stage, 'data', undefined))}>
            Take away
          </Button>
        )
      }
      note={typeof train === 'string' && version === undefined ? train : undefined}
    >
      {(ids) => (
        <DataPicker {...ids} label="Rows of the stage" value={version?.id ?? null} onChange={choose} />
      )}
    </Field>
  )
}
