import { useAddChoice } from './useRewardChoices.ts'
import { useRewardLibrary } from './useRewards.ts'
import { Select } from '#renderer/kit/choices.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { sourceOfChoice, type EnvironmentChoice } from './rewardChoice.ts'
import { ChoiceSettings } from './RewardPicker.tsx'
import type { SettingValues } from './types.ts'

interface EnvironmentPickerProps {
  /** `config.environment`. */
  readonly value: EnvironmentChoice | null
  readonly onChange: (value: EnvironmentChoice | null) => void
  readonly columns?: readonly string[]
}

/** The world a run acts in: built in, or of the library; or none. */
export function EnvironmentPicker({ value, onChange, columns = [] }: EnvironmentPickerProps) {
  const { rewards, gallery } = useRewardLibrary()
  const { addOwn } = useAddChoice()
  const own = rewards.filter(({ kind, versions }) => kind === 'environment' && versions > 0)
  const builtIn = gallery.filter(({ kind, code }) => kind === 'environment' && code === null)
  const source = value === null ? null : sourceOfChoice(value.function, rewards, gallery)
  const chosen =
    source === null
      ? ''
      : source.kind === 'own'
        ? source.reward.id
        : source.kind === 'builtin'
          ? source.entry.id
          : source.path
  const choose = (key: string) => {
    const { settings: _, ...rest } = value ?? { function: '' }
    const change = (id: string | null) => {
      if (id !== null) onChange({ ...rest, function: id, settings: {} })
    }
    if (key === '') onChange(null)
    else if (builtIn.some(({ id }) => id === key)) change(key)
    else void addOwn(key).then(change)
  }
  return (
    <div className="flex flex-col gap-2">
      <Field
        label="Environment"
        note={source?.kind === 'builtin' ? source.entry.description : undefined}
        help="A world of one or several turns that gives rewards; without one, completions of prompts are scored."
      >
        {(ids) => (
          <Select
            {...ids}
            value={chosen}
            options={[
              { value: '', label: 'None: completions of prompts' },
              ...own.map(({ id, name }) => ({ value: id, label: name })),
              ...builtIn.map(({ id, title }) => ({ value: id, label: `${title} (built-in)` })),
              ...(source?.kind === 'file' ? [{ value: source.path, label: source.path }] : []),
            ]}
            onChange={choose}
          />
        )}
      </Field>
      {source !== null && value !== null && (
        <ChoiceSettings
          source={source}
          values={value.settings ?? {}}
          columns={columns}
          onChange={(settings: SettingValues) => onChange({ ...value, settings })}
        />
      )}
    </div>
  )
}
