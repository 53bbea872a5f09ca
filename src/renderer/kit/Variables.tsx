import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { NumberInput, TextInput } from '#renderer/kit/inputs.tsx'
import {
  asKind,
  initialValue,
  kindOf,
  variablesOf,
  withVariable,
  withoutVariable,
  type VariableKind,
  type VariableValue,
} from '#renderer/client/templateVariables.ts'

interface VariablesProps {
  /** What they are, for those who do not see it. */
  readonly label: string
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly disabled?: boolean
}

const kinds: readonly { readonly value: VariableKind; readonly label: string }[] = [
  { value: 'text', label: 'text' },
  { value: 'number', label: 'number' },
  { value: 'flag', label: 'yes or no' },
]

/** Names and values, one under the other. */
export function Variables({ label, value, onChange, disabled = false }: VariablesProps) {
  const [name, setName] = useState('')
  const variables = variablesOf(value)
  const set = (next: typeof variables) => onChange(Object.keys(next).length === 0 ? undefined : next)
  const added = name.trim()
  const canAdd = added !== '' && !(added in variables)
  const add = () => {
    if (!canAdd) return
    set(withVariable(variables, added, initialValue(added)))
    setName('')
  }
  return (
    <div role="group" aria-label={label} className="flex flex-col gap-1">
      {Object.entries(variables).map(([each, held]) => (
        <div key={each} className="flex items-center gap-1">
          <code className="min-w-0 grow truncate font-mono text-sm" title={each}>
            {each}
          </code>
          <Select
            small
            aria-label={`Kind of ${each}`}
            className="w-24 shrink-0"
            disabled={disabled}
            value={kindOf(held)}
            options={kinds}
            onChange={(kind) => set(withVariable(variables, each, asKind(held, kind)))}
          />
          <div className="w-28 shrink-0">
            <ValueControl
              name={each}
              value={held}
              disabled={disabled}
              onChange={(next) => set(withVariable(variables, each, next))}
            />
          </div>
          <IconButton
            small
            label={`Remove ${each}`}
            icon={<X size={13} aria-hidden />}
            disabled={disabled}
            onClick={() => set(withoutVariable(variables, each))}
          />
        </div>
      ))}
      <form
        className="flex gap-1"
        onSubmit={(event) => {
          event.preventDefault()
          add()
        }}
      >
        <TextInput
          mono
          aria-label={`${label}: name of another one`}
          placeholder="name in the template"
          disabled={disabled}
          value={name}
          onChange={setName}
        />
        <Button type="submit" disabled={disabled || !canAdd} icon={<Plus size={13} aria-hidden />}>
          Add
        </Button>
      </form>
    </div>
  )
}

interface ValueProps {
  readonly name: string
  readonly value: VariableValue
  readonly disabled: boolean
  readonly onChange: (value: VariableValue) => void
}

function ValueControl({ name, value, disabled, onChange }: ValueProps) {
  const common = { 'aria-label': `Value of ${name}`, disabled }
  if (typeof value === 'boolean') {
    return (
      <Select
        small
        {...common}
        className="w-full"
        value={value ? 'yes' : 'no'}
        options={[
          { value: 'yes', label: 'yes' },
          { value: 'no', label: 'no' },
        ]}
        onChange={(next) => onChange(next === 'yes')}
      />
    )
  }
  if (typeof value === 'number') {
    return (
      <NumberInput small {...common} value={value} onChange={(next) => next !== null && onChange(next)} />
    )
  }
  return <TextInput small mono {...common} value={value} onChange={onChange} />
}
