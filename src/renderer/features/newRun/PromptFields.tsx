import { Plus, X, ChevronDown, ChevronRight } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { useSettled } from '#renderer/client/settled.ts'
import { plural } from '#renderer/client/format.ts'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Segmented, Select } from '#renderer/kit/choices.tsx'
import { Help } from '#renderer/kit/Tooltip.tsx'
import { TextArea, TextInput } from '#renderer/kit/inputs.tsx'
import { parsePromptForm, type PromptForm } from '#renderer/parts/preparation.ts'
import { type TemplateInput, templateInputOf } from '#renderer/client/templateVariables.ts'
import { Field } from '#renderer/kit/Field.tsx'
import { valueAt, type JsonObject } from '#shared/config/paths.ts'
import type { Problem } from '#shared/errors.ts'
import { problemsAt, wrongWords } from './problems.ts'
import { Variables } from '#renderer/kit/lists.tsx'

interface PromptFieldsProps {
  readonly value: unknown
  /** Columns of the rows; empty while unknown. */
  readonly columns: readonly string[]
  readonly versionId: string | null
  readonly model: string | null
  readonly problem: string | undefined
  readonly onChange: (prompt: PromptForm) => void
  readonly template: TemplateInput
  readonly children: ReactNode
}

type Kind = 'column' | 'template' | 'messages'

const kindOf = (form: PromptForm): Kind =>
  'column' in form ? 'column' : 'template' in form ? 'template' : 'messages'

const aboutPrompts =
  'How a row becomes a prompt: a column as it is, text with columns filled in, or messages for the model’s chat template.'

/** Edits the conversion of a row to a prompt, with a preview of the first. */
export function PromptFields(props: PromptFieldsProps) {
  const { columns, versionId, model, problem, onChange, template, children } = props
  const form = parsePromptForm(props.value) ?? { column: 'prompt' }
  const kind = kindOf(form)
  return (
    <div className="grid max-w-180 gap-2">
      <div className="flex items-center">
        <span className="text-sm font-medium text-muted">Prompt</span>
        <Help about="the prompt">{aboutPrompts}</Help>
        <span className="ml-2">
          <Segmented
            label="Prompt"
            value={kind}
            options={{ column: 'Column', template: 'Text', messages: 'Messages' }}
            onChange={(next) => onChange(asKind(form, next, columns))}
          />
        </span>
      </div>
      {'column' in form && <ColumnInput {...{ columns, onChange }} column={form.column} />}
      {'template' in form && (
        <TextArea
          aria-label="Text with {column} placeholders"
          mono
          rows={3}
          value={form.template}
          onChange={(template) => onChange({ template })}
        />
      )}
      {'messages' in form && <Messages {...form} onChange={(messages) => onChange({ messages })} />}
      {kind !== 'column' && columns.length > 0 && (
        <p className="text-sm text-faint">Columns: {columns.map((name) => `{${name}}`).join('  ')}</p>
      )}
      {problem !== undefined && <p className="text-xs text-bad">{problem}</p>}
      {kind !== 'template' && children}
      {versionId !== null && <FirstPrompt {...{ versionId, form, model, template }} />}
    </div>
  )
}

interface ColumnInputProps extends Pick<PromptFieldsProps, 'columns'> {
  readonly column: string
  readonly onChange: (form: { readonly column: string }) => void
}

/** Names a column: among those of the rows, if they are known. */
const ColumnInput = ({ columns, column: chosen, onChange }: ColumnInputProps) =>
  columns.length === 0 ? (
    <TextInput aria-label="Column" mono value={chosen} onChange={(column) => onChange({ column })} />
  ) : (
    <Select
      aria-label="Column"
      className="max-w-64"
      value={chosen}
      options={[...new Set([chosen, ...columns])]}
      onChange={(column) => onChange({ column })}
    />
  )

type Message = Extract<PromptForm, { messages: unknown }>['messages'][number]

function Messages({
  messages,
  onChange,
}: {
  messages: readonly Message[]
  onChange: (messages: readonly Message[]) => void
}) {
  const set = (index: number, change: Partial<Message>) =>
    onChange(messages.map((message, i) => (i === index ? { ...message, ...change } : message)))
  const roles = [...new Set(['system', 'user', 'assistant', ...messages.map(({ role }) => role)])]
  return (
    <div className="grid gap-2">
      {messages.map((message, i) => (
        <div key={String(i)} className="flex items-start gap-2">
          <Select
            aria-label={`Role of message ${String(i + 1)}`}
            className="w-28 shrink-0"
            value={message.role}
            options={roles}
            onChange={(role) => set(i, { role })}
          />
          <TextArea
            aria-label={`Message ${String(i + 1)}`}
            mono
            rows={Math.min(6, message.content.split('\n').length + (message.content.length > 80 ? 1 : 0))}
            value={message.content}
            onChange={(content) => set(i, { content })}
          />
          <IconButton
            label={`Remove message ${String(i + 1)}`}
            icon={X}
            iconSize={14}
            disabled={messages.length === 1}
            onClick={() => onChange(messages.toSpliced(i, 1))}
          />
        </div>
      ))}
      <div>
        <Button small icon={Plus} onClick={() => onChange([{ role: 'system', content: '' }, ...messages])}>
          Add a message
        </Button>
      </div>
    </div>
  )
}

function asKind(form: PromptForm, kind: Kind, columns: readonly string[]): PromptForm {
  const column =
    'column' in form ? form.column : (/\{([^{}]+)\}/.exec(textOf(form))?.[1] ?? columns[0] ?? 'prompt')
  const text = 'column' in form ? `{${form.column}}` : textOf(form)
  if (kind === 'column') return { column }
  return kind === 'template' ? { template: text } : { messages: [{ role: 'user', content: text }] }
}

const textOf = (form: PromptForm): string => {
  if ('template' in form) return form.template
  return 'messages' in form ? (form.messages.at(-1)?.content ?? '') : ''
}

interface FirstPromptProps {
  readonly versionId: string
  readonly form: PromptForm
  readonly model: string | null
  readonly template: TemplateInput
}

function FirstPrompt({ versionId, form, model, template }: FirstPromptProps) {
  const asked = useSettled(JSON.stringify({ prompt: form, ...template }), 250)
  const { data, error } = useAnswer(
    'datasets.preview',
    {
      ...(JSON.parse(asked) as TemplateInput & { readonly prompt: Record<string, unknown> }),
      versionId,
      count: 1,
      ...(model === null ? {} : { model }),
    },
    { keep: true },
  )
  const [first] = data ?? []
  if (error !== null) return <p className="text-sm text-bad">{error.message}</p>
  if (first === undefined) return null
  if ('problem' in first) return <p className="text-sm text-bad">{first.problem}</p>
  return (
    <figure className="rounded border border-line bg-panel">
      <figcaption className="flex justify-between px-3 pt-2 text-xs text-faint">
        First prompt
        {first.tokens !== null && (
          <span className="tabular-nums">{plural(first.tokens.length, 'token')}</span>
        )}
      </figcaption>
      <pre
        dir="auto"
        className="max-h-40 overflow-auto px-3 pt-1 pb-2 font-mono text-sm whitespace-pre-wrap"
        tabIndex={0}
      >
        {first.text}
      </pre>
    </figure>
  )
}

export interface TemplateFieldsProps {
  readonly config: JsonObject
  /** Columns of the rows; empty while unknown. */
  readonly columns: readonly string[]
  readonly problems: readonly Problem[]
  readonly onSet: (key: string, value: unknown) => void
}

const toolsHelp =
  'The column that describes the functions a model may call, as a list of JSON schemas or its text; the chat template writes them into the prompt. A config may hold such a list itself.'
const switchesHelp = 'What the chat template reads by name, such as enable_thinking: no.'

/** Edits chat template variables; collapsed while there are none. */
export function TemplateFields(props: TemplateFieldsProps) {
  const { config, problems } = props
  const [asked, setAsked] = useState<boolean | null>(null)
  const hasOwn = Object.keys(templateInputOf(config)).length > 0
  const isWrong = ['data.tools', 'data.templateVariables'].some((key) => problemsAt(problems, key).length > 0)
  const isShown = asked ?? (hasOwn || isWrong)
  const Chevron = isShown ? ChevronDown : ChevronRight
  return (
    <div>
      <Button
        small
        variant="quiet"
        className="-ml-2"
        aria-expanded={isShown}
        icon={Chevron}
        onClick={() => setAsked(!isShown)}
      >
        Tools and template variables
        {hasOwn && <span className="text-faint">set</span>}
      </Button>
      {isShown && <Fields {...props} />}
    </div>
  )
}

interface ColumnFieldProps {
  readonly label: string
  readonly help?: string
  readonly problems: readonly Problem[]
  /** Empty: none is chosen. */
  readonly value: string
  /** Columns to choose from; empty while unknown: then a name is typed. */
  readonly columns: readonly string[]
  /** Choice of no column, and what stands for it where a name is typed. */
  readonly none: string
  readonly placeholder: string
  readonly onChange: (column: string) => void
}

/** Chooses a column of the rows. */
export const ColumnField = ({
  label,
  help,
  problems,
  columns,
  none,
  placeholder,
  ...rest
}: ColumnFieldProps) => (
  <Field label={label} help={help} error={wrongWords(problems)} className="w-56">
    {(ids) =>
      columns.length === 0 ? (
        <TextInput {...ids} mono placeholder={placeholder} {...rest} />
      ) : (
        <Select {...ids} options={[{ value: '', label: none }, ...columns]} {...rest} />
      )
    }
  </Field>
)

function Fields({ config, columns, problems, onSet }: TemplateFieldsProps) {
  const tools = valueAt(config, 'data.tools')
  const column = typeof tools === 'string' ? tools : ''
  return (
    <div className="flex flex-wrap items-start gap-x-6 gap-y-2">
      <ColumnField
        label="Tools: column"
        help={toolsHelp}
        problems={problemsAt(problems, 'data.tools')}
        value={column}
        columns={columns.length === 0 || column === '' ? columns : [...new Set([column, ...columns])]}
        none={Array.isArray(tools) ? `List of ${tools.length} in the config` : 'None'}
        placeholder={Array.isArray(tools) ? 'a list' : 'none'}
        onChange={(next) => onSet('data.tools', next === '' ? undefined : next)}
      />
      <Field
        label="Template variables"
        help={switchesHelp}
        error={wrongWords(problemsAt(problems, 'data.templateVariables'))}
        className="w-96"
      >
        {() => (
          <Variables
            label="Template variables"
            value={valueAt(config, 'data.templateVariables')}
            onChange={(value) => onSet('data.templateVariables', value)}
          />
        )}
      </Field>
    </div>
  )
}
