import { Plus, X } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { NumberInput, TextInput, Form } from '#renderer/kit/inputs.tsx'
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

interface ListProps {
  readonly label: string
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly disabled?: boolean
}

interface ListEditorProps {
  readonly items: readonly ListItem[]
  readonly newLabel: string
  readonly placeholder: string
  readonly canAdd: (text: string) => boolean
  readonly onAdd: (text: string) => void
  /** Leaving the field adds its text too. */
  readonly addsOnBlur?: boolean
  readonly disabled: boolean
}

interface ListItem {
  readonly key: string
  /** Name of the item in the label of its remove button. */
  readonly name: string
  readonly content: ReactNode
  readonly onRemove: () => void
}

function ListEditor(props: ListEditorProps) {
  const { items, newLabel, placeholder, canAdd, onAdd, addsOnBlur = false, disabled } = props
  const [draft, setDraft] = useState('')
  const add = () => {
    if (!canAdd(draft)) return
    onAdd(draft)
    setDraft('')
  }
  return (
    <>
      {items.map(({ key, name, content, onRemove }) => (
        <div key={key} className="flex items-center gap-1">
          {content}
          <IconButton small label={`Remove ${name}`} icon={X} disabled={disabled} onClick={onRemove} />
        </div>
      ))}
      <Form className="flex gap-1" onSubmit={add}>
        <TextInput
          mono
          aria-label={newLabel}
          placeholder={placeholder}
          disabled={disabled}
          value={draft}
          onChange={setDraft}
          {...(addsOnBlur ? { onBlur: add } : {})}
        />
        <Button type="submit" disabled={disabled || !canAdd(draft)} icon={Plus} iconSize={13}>
          Add
        </Button>
      </Form>
    </>
  )
}

/** Escapes line breaks and tabs as \n and \t. */
const shownText = (text: string): string => JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"')

function meantText(text: string): string {
  try {
    return JSON.parse(`"${text.replaceAll('"', '\\"')}"`) as string
  } catch {
    return text
  }
}

export function Texts({ label, value, onChange, disabled = false }: ListProps) {
  const given: readonly unknown[] = Array.isArray(value) ? value : [value]
  const texts = given.filter((text) => typeof text === 'string')
  return (
    <div className="flex flex-col gap-1">
      <ListEditor
        items={texts.map((text, i) => ({
          key: `${String(i)} ${text}`,
          name: shownText(text),
          content: (
            <code className="min-w-0 grow truncate rounded bg-raised px-2 font-mono text-sm">
              {shownText(text)}
            </code>
          ),
          onRemove: () => onChange(texts.toSpliced(i, 1)),
        }))}
        newLabel={`${label}: another one`}
        placeholder={'text, \\n for a line break'}
        canAdd={(text) => text !== ''}
        onAdd={(text) => onChange([...texts, meantText(text)])}
        addsOnBlur
        disabled={disabled}
      />
    </div>
  )
}

const kinds: readonly { readonly value: VariableKind; readonly label: string }[] = [
  { value: 'text', label: 'text' },
  { value: 'number', label: 'number' },
  { value: 'flag', label: 'yes or no' },
]

export function Variables({ label, value, onChange, disabled = false }: ListProps) {
  const variables = variablesOf(value)
  const set = (next: typeof variables) => onChange(Object.keys(next).length === 0 ? undefined : next)
  return (
    <div role="group" aria-label={label} className="flex flex-col gap-1">
      <ListEditor
        items={Object.entries(variables).map(([name, held]) => ({
          key: name,
          name,
          content: (
            <>
              <code className="min-w-0 grow truncate font-mono text-sm" title={name}>
                {name}
              </code>
              <Select
                small
                aria-label={`Kind of ${name}`}
                className="w-24 shrink-0"
                disabled={disabled}
                value={kindOf(held)}
                options={kinds}
                onChange={(kind) => set(withVariable(variables, name, asKind(held, kind)))}
              />
              <div className="w-28 shrink-0">
                <ValueControl
                  name={name}
                  value={held}
                  disabled={disabled}
                  onChange={(next) => set(withVariable(variables, name, next))}
                />
              </div>
            </>
          ),
          onRemove: () => set(withoutVariable(variables, name)),
        }))}
        newLabel={`${label}: name of another one`}
        placeholder="name in the template"
        canAdd={(text) => text.trim() !== '' && !(text.trim() in variables)}
        onAdd={(text) => set(withVariable(variables, text.trim(), initialValue(text.trim())))}
        disabled={disabled}
      />
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
        options={{ yes: 'yes', no: 'no' }}
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
