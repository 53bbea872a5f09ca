import { Segmented, type Option, SelectField } from '#renderer/kit/choices.tsx'
import { TextArea } from '#renderer/kit/inputs.tsx'
import type { ColumnFacts } from '#renderer/parts/columnFacts.ts'
import { sourceColumns, withTaking, type MappingForm, type PromptSource, type Taking } from './mappingForm.ts'
import { Button } from '#renderer/kit/Button.tsx'

interface MappingFieldsProps {
  readonly facts: readonly ColumnFacts[]
  readonly form: MappingForm
  readonly onChange: (form: MappingForm) => void
}

interface PromptFieldsProps extends MappingFieldsProps {
  /** Initial template if no prompt is proposed. */
  readonly template: string | null
}

const templateKey = '\ntemplate'
const noneKey = '\nnone'

/** Chooses the columns of prompt and expected answer. */
export function MappingFields({ facts, form, template, onChange }: PromptFieldsProps) {
  const sources = sourceColumns(form, facts)
  const { prompt } = form
  const choosePrompt = (key: string) => onChange({ ...form, prompt: promptSource(key, prompt, template) })
  const isChat =
    prompt.kind === 'column' && sources.find(({ name }) => name === prompt.column)?.kind === 'chat'
  const prompts: Option<string>[] = [
    ...sources
      .filter(({ kind }) => kind === 'text' || kind === 'chat' || kind === 'number')
      .map(({ name, kind }) => ({ value: name, label: kind === 'chat' ? `${name} (messages)` : name })),
    { value: templateKey, label: 'Several columns, as a template' },
    { value: noneKey, label: 'No prompt' },
  ]
  return (
    <div className="flex flex-col gap-3">
      <TakingField facts={facts} form={form} onChange={onChange} />
      <SelectField
        label="Prompt comes from"
        help="What the model reads before it answers."
        value={keyOf(prompt)}
        options={prompts}
        onChange={choosePrompt}
      />
      {prompt.kind === 'none' && template !== null && (
        <div className="flex items-center justify-between gap-2">
          <span className="text-sm text-muted">Start with a template, such as</span>
          <Button small className="max-w-48 font-mono" onClick={() => choosePrompt(templateKey)}>
            <span className="truncate">{template}</span>
          </Button>
        </div>
      )}
      {prompt.kind === 'template' && (
        <TemplateText
          text={prompt.text}
          names={sources.map(({ name }) => name)}
          onChange={(text) => onChange({ ...form, prompt: { kind: 'template', text } })}
        />
      )}
      {prompt.kind !== 'none' && !isChat && (
        <div className="flex items-center justify-between gap-2">
          <span className="text-sm font-medium text-muted">Sent as</span>
          <Segmented
            label="How the prompt is sent"
            value={form.asMessage ? 'message' : 'text'}
            options={{ message: 'A user’s message', text: 'Plain text' }}
            onChange={(as) => onChange({ ...form, asMessage: as === 'message' })}
          />
        </div>
      )}
      <SelectField
        label="Expected answer comes from"
        help="What rewards compare a completion with. Rewards can read every other column too."
        value={form.answer ?? noneKey}
        options={answerOptions(sources)}
        onChange={(key) => onChange({ ...form, answer: key === noneKey ? null : key })}
      />
    </div>
  )
}

interface TemplateTextProps {
  readonly text: string
  readonly names: readonly string[]
  readonly onChange: (text: string) => void
}

const TemplateText = ({ text, names, onChange }: TemplateTextProps) => (
  <div className="flex flex-col gap-1">
    <TextArea mono rows={4} aria-label="Template of the prompt" value={text} onChange={onChange} />
    <ColumnChips names={names} onInsert={(name) => onChange(`${text}{${name}}`)} />
  </div>
)

const keyOf = (prompt: PromptSource): string =>
  prompt.kind === 'column' ? prompt.column : prompt.kind === 'template' ? templateKey : noneKey

function promptSource(key: string, before: PromptSource, template: string | null): PromptSource {
  if (key === noneKey) return { kind: 'none' }
  if (key !== templateKey) return { kind: 'column', column: key }
  return { kind: 'template', text: before.kind === 'column' ? `{${before.column}}` : (template ?? '') }
}

const answerOptions = (sources: readonly ColumnFacts[]): readonly Option<string>[] => [
  { value: noneKey, label: 'No column' },
  ...sources.flatMap(({ name, kind, paths }) => [
    ...(kind === 'chat' ? [] : [{ value: name, label: name }]),
    ...paths.map((path) => ({ value: path, label: path.replaceAll('.', ' › ') })),
  ]),
]

/** Offers to split conversations; renders nothing without any. */
function TakingField({ facts, form, onChange }: MappingFieldsProps) {
  const chats = facts.filter(({ kind }) => kind === 'chat' || kind === 'other-chat')
  const names = chats.map(({ name }) => name)
  const { taking: proposed } = form.proposed
  const isPair =
    proposed?.kind === 'shared-prompt' ||
    (names.includes('chosen') && names.includes('rejected') && !names.includes('prompt'))
  const takings: readonly { readonly taking: Taking; readonly label: string }[] = [
    ...(proposed?.kind === 'messages' ? [{ taking: proposed, label: partsLabel(proposed) }] : []),
    ...(isPair
      ? [{ taking: { kind: 'shared-prompt' as const }, label: 'The prompt is what both have in common' }]
      : []),
    ...chats
      .filter(({ name }) => name !== 'chosen' && name !== 'rejected' && name !== 'prompt')
      .map(({ name }) => ({
        taking: { kind: 'last-message' as const, column: name },
        label: `Remove the last answer from “${name}”`,
      })),
  ]
  if (takings.length === 0) return null
  const key = ({ kind, ...rest }: Taking) => `${kind} ${'column' in rest ? rest.column : ''}`
  return (
    <SelectField
      label="What the prompt is made of"
      help="A run needs a prompt and, apart from it, the expected answer."
      value={form.taking === null ? noneKey : key(form.taking)}
      options={[
        ...takings.map(({ taking, label }) => ({ value: key(taking), label })),
        { value: noneKey, label: 'Leave the columns whole' },
      ]}
      onChange={(chosen) => {
        const taking = takings.find((candidate) => key(candidate.taking) === chosen)?.taking ?? null
        onChange(withTaking(form, taking, facts))
      }}
    />
  )
}

/** “system” before “context” and “question” */
function partsLabel({ system, history, parts, begun }: Extract<Taking, { kind: 'messages' }>): string {
  const before = [system, history].filter((name) => name !== undefined).map((name) => `“${name}”, then `)
  const behind = begun === undefined ? '' : `, then the beginning of the answer from “${begun}”`
  return `${before.join('')}${parts.map((name) => `“${name}”`).join(' and ')} as one message${behind}`
}

/** Columns that can be inserted into a template. */
export function ColumnChips({
  names,
  onInsert,
}: {
  names: readonly string[]
  onInsert: (name: string) => void
}) {
  return (
    <div className="flex flex-wrap items-center gap-1" role="group" aria-label="Insert a column">
      <span className="mr-1 text-xs text-faint">Insert</span>
      {names.map((name) => (
        <Button
          key={name}
          small
          className="max-w-48 font-mono"
          // The cursor stays in the text.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onInsert(name)}
        >
          <span className="truncate">{`{${name}}`}</span>
        </Button>
      ))}
    </div>
  )
}
