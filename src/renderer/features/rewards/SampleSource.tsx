import { useState, type ReactNode } from 'react'
import type { RewardBench } from './useRewards.ts'
import { Segmented, Select, SelectField } from '#renderer/kit/choices.tsx'
import { NumberInput, AreaField } from '#renderer/kit/inputs.tsx'
import { promptWords, textColumns, type Bench, type PromptForm, type ReadyBench } from './bench.ts'
import type { DataColumn } from '#renderer/parts/rewardTypes.ts'

const sources: readonly { readonly value: Bench['completions']; readonly label: string }[] = [
  { value: 'column', label: 'Column' },
  { value: 'typed', label: 'Typed' },
  { value: 'model', label: 'Generated' },
]

/** Takes completions from a column, from the user, or from a model. */
export function CompletionSource({ own, models }: { own: RewardBench; models: readonly string[] }) {
  const { bench, change, version } = own
  const columns = textColumns(version?.columns ?? [])
  return (
    <>
      <span className="text-muted">Completion</span>
      <Segmented
        label="Where completions come from"
        value={bench.completions}
        options={sources}
        onChange={(completions) => {
          const model = completions === 'model' ? (bench.model ?? models[0] ?? null) : bench.model
          change({ completions, model })
        }}
      />
      {bench.completions === 'column' && columns.length > 0 && (
        <Select
          small
          aria-label="Column with completions"
          value={bench.column ?? ''}
          options={columns}
          onChange={(column) => change({ column })}
        />
      )}
      {bench.completions === 'column' && columns.length === 0 && (
        <span className="text-caution">No column holds text.</span>
      )}
      {bench.completions === 'typed' && (
        <span className="text-faint">Rows with a completion are scored.</span>
      )}
      {bench.completions === 'model' && <ModelSource own={own} models={models} />}
    </>
  )
}

function ModelSource({ own: { bench, change }, models }: { own: RewardBench; models: readonly string[] }) {
  if (models.length === 0) return <span className="text-caution">There is no model yet.</span>
  return (
    <>
      <Select
        small
        aria-label="Model that writes completions"
        value={bench.model ?? ''}
        options={models}
        onChange={(model) => change({ model })}
      />
      <Small label="Temperature" width="w-12">
        <NumberInput
          small
          aria-label="Temperature"
          value={bench.temperature}
          onChange={(value) => change({ temperature: value !== null && value > 0 ? value : 1 })}
        />
      </Small>
      <Small label="At most" width="w-14" unit="tokens">
        <NumberInput
          small
          aria-label="Tokens at most"
          value={bench.maxNewTokens}
          onChange={(value) =>
            change({ maxNewTokens: Math.min(4096, Math.max(1, Math.round(value ?? 256))) })
          }
        />
      </Small>
      <Small label="Seed" width="w-14">
        <NumberInput
          small
          aria-label="Seed"
          value={bench.seed}
          onChange={(value) => change({ seed: Math.max(0, Math.round(value ?? 0)) })}
        />
      </Small>
    </>
  )
}

interface SmallProps {
  readonly label: string
  readonly width: string
  readonly unit?: string
  readonly children: ReactNode
}

const Small = ({ label, width, unit, children }: SmallProps) => (
  <span className="flex items-center gap-1 whitespace-nowrap text-muted">
    {label}
    <span className={width}>{children}</span>
    {unit}
  </span>
)

interface PromptSourceProps {
  readonly bench: ReadyBench
  readonly columns: readonly DataColumn[]
  /** Null: as the data set defines. */
  readonly onChange: (prompt: PromptForm | null) => void
}

export function PromptSource({ bench: { prompt }, columns, onChange }: PromptSourceProps) {
  const template = prompt['template']
  const [draft, setDraft] = useState(typeof template === 'string' ? template : '')
  const now =
    typeof template === 'string'
      ? 'template'
      : typeof prompt['column'] === 'string'
        ? `column:${prompt['column']}`
        : 'messages'
  const names = columns.filter(({ kinds }) => (kinds['text'] ?? 0) > 0 || (kinds['list'] ?? 0) > 0)
  const choose = (value: string) => {
    if (value === 'own') onChange(null)
    else if (value === 'template')
      onChange({ template: draft === '' ? `{${names[0]?.name ?? 'prompt'}}` : draft })
    else if (value.startsWith('column:')) onChange({ column: value.slice('column:'.length) })
  }
  return (
    <>
      <SelectField
        label="Prompt"
        help="How a row becomes a prompt."
        value={now}
        options={[
          { value: 'own', label: 'As set for the data set' },
          ...(now === 'messages' ? [{ value: 'messages', label: promptWords(prompt) }] : []),
          ...names.map(({ name }) => ({ value: `column:${name}`, label: `Column ${name}` })),
          { value: 'template', label: 'Template…' },
        ]}
        onChange={choose}
      />
      {now === 'template' && (
        <AreaField
          label="Template"
          note={`Columns: ${columns.map(({ name }) => `{${name}}`).join(' ')}`}
          mono
          rows={4}
          value={typeof template === 'string' ? template : draft}
          onChange={(text) => {
            setDraft(text)
            if (text.trim() !== '') onChange({ template: text })
          }}
        />
      )}
    </>
  )
}
