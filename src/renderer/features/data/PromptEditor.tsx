import { Plus, X } from 'lucide-react'
import { useRef } from 'react'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Segmented, Select } from '#renderer/kit/choices.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextArea } from '#renderer/kit/inputs.tsx'
import { ColumnChips } from './ColumnChips.tsx'
import type { PromptForm } from './preparation.ts'
import { formKind, insertAt, toKind, type FormKind } from './promptForms.ts'

interface PromptEditorProps {
  readonly columns: readonly string[]
  readonly form: PromptForm
  readonly onChange: (form: PromptForm) => void
}

const kinds: readonly { readonly value: FormKind; readonly label: string }[] = [
  { value: 'messages', label: 'Messages' },
  { value: 'template', label: 'Text' },
  { value: 'column', label: 'One column' },
]

const explained: Readonly<Record<FormKind, string>> = {
  messages: 'Each row fills these messages; the model’s chat template puts its own marks around them.',
  template: 'Each row fills this text; the model reads it exactly as it stands, without a chat template.',
  column: 'The prompt is what the column holds: text as it stands, or messages for the chat template.',
}

/** How a row becomes a prompt. */
export function PromptEditor({ columns, form, onChange }: PromptEditorProps) {
  const kind = formKind(form)
  return (
    <div className="flex flex-col items-stretch gap-3">
      <span>
        <Segmented
          label="Kind of prompt"
          value={kind}
          options={kinds}
          onChange={(next) => onChange(toKind(form, next, columns))}
        />
      </span>
      <p className="text-sm text-muted text-pretty">{explained[kind]}</p>
      {'column' in form && (
        <Field label="Column">
          {(ids) => (
            <Select
              {...ids}
              value={form.column}
              options={withMissing(columns, form.column).map((name) => ({ value: name, label: name }))}
              onChange={(column) => onChange({ column })}
            />
          )}
        </Field>
      )}
      {'template' in form && (
        <TemplateArea
          label="Text"
          columns={columns}
          text={form.template}
          onChange={(template) => onChange({ template })}
        />
      )}
      {'messages' in form && <Messages columns={columns} messages={form.messages} onChange={onChange} />}
    </div>
  )
}

const withMissing = (columns: readonly string[], chosen: string): readonly string[] =>
  columns.includes(chosen) ? columns : [chosen, ...columns]

type MessageList = Extract<PromptForm, { messages: unknown }>['messages']

interface MessagesProps {
  readonly columns: readonly string[]
  readonly messages: MessageList
  readonly onChange: (form: PromptForm) => void
}

const roles = ['system', 'user', 'assistant'] as const

function Messages({ columns, messages, onChange }: MessagesProps) {
  const change = (at: number, changes: Partial<MessageList[number]>) =>
    onChange({
      messages: messages.map((message, index) => (index === at ? { ...message, ...changes } : message)),
    })
  const nextRole = messages.at(-1)?.role === 'user' ? 'assistant' : 'user'
  return (
    <>
      <ol className="flex flex-col gap-3">
        {messages.map(({ role, content }, at) => (
          <li key={at} className="rounded border border-line p-2">
            <div className="mb-1 flex items-center justify-between">
              <Select
                small
                aria-label={`Role of message ${String(at + 1)}`}
                value={role}
                options={withMissing(roles, role).map((value) => ({ value, label: value }))}
                onChange={(next) => change(at, { role: next })}
              />
              <IconButton
                small
                label={`Remove message ${String(at + 1)}`}
                disabled={messages.length === 1}
                icon={<X size={13} aria-hidden />}
                onClick={() => onChange({ messages: messages.filter((_, index) => index !== at) })}
              />
            </div>
            <TemplateArea
              label={`Message ${String(at + 1)}`}
              columns={columns}
              text={content}
              onChange={(next) => change(at, { content: next })}
            />
          </li>
        ))}
      </ol>
      <Button
        small
        variant="quiet"
        className="self-start"
        icon={<Plus size={13} aria-hidden />}
        onClick={() => onChange({ messages: [...messages, { role: nextRole, content: '' }] })}
      >
        Add a message
      </Button>
    </>
  )
}

interface TemplateAreaProps {
  readonly label: string
  readonly columns: readonly string[]
  readonly text: string
  readonly onChange: (text: string) => void
}

/** Text with {column} placeholders, put in where the cursor is. */
function TemplateArea({ label, columns, text, onChange }: TemplateAreaProps) {
  const box = useRef<HTMLDivElement>(null)
  const insert = (name: string) => {
    const area = box.current?.querySelector('textarea')
    const { text: next, cursor } = insertAt(text, `{${name}}`, {
      from: area?.selectionStart ?? text.length,
      to: area?.selectionEnd ?? text.length,
    })
    onChange(next)
    requestAnimationFrame(() => {
      area?.focus()
      area?.setSelectionRange(cursor, cursor)
    })
  }
  return (
    <div ref={box} className="flex flex-col gap-1">
      <TextArea
        mono
        rows={Math.min(12, Math.max(3, text.split('\n').length + 1))}
        aria-label={label}
        value={text}
        onChange={onChange}
      />
      <ColumnChips names={columns} onInsert={insert} />
    </div>
  )
}
