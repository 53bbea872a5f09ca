import { ChevronLeft, ChevronRight, Plus, X } from 'lucide-react'
import { useState, useRef } from 'react'
import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { useSettled } from '#renderer/client/settled.ts'
import { toast } from '#renderer/client/toasts.ts'
import { formatCount, plural } from '#renderer/client/format.ts'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Segmented, Select, SelectField } from '#renderer/kit/choices.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { ModelPicker } from '#renderer/parts/ModelPicker.tsx'
import { TokenText } from '#renderer/kit/TokenText.tsx'
import { TextArea } from '#renderer/kit/inputs.tsx'
import { usePreviewModel, usePrompt, type Opened } from './usePrompt.ts'
import type { PromptForm } from '#renderer/parts/preparation.ts'
import { promptProblem, formKind, insertAt, toKind, type FormKind } from '#renderer/parts/promptForms.ts'
import { ColumnChips } from './MappingFields.tsx'

/** Template editor beside the resulting prompts, as the model reads them. */
export function PromptTab({ opened }: { opened: Opened }) {
  const { prompt, detected, preparation, change } = usePrompt(opened)
  const [draft, setDraft] = useState<PromptForm | null>(null)
  const form = draft ?? prompt
  const columns = opened.version.columns.map(({ name }) => name)
  const problem = promptProblem(form, columns)
  const isChanged = draft !== null && JSON.stringify(draft) !== JSON.stringify(prompt)
  const keep = (next: PromptForm | null, words: string) => {
    change({ prompt: next })
    setDraft(null)
    toast({ title: words, tone: 'good' })
  }
  return (
    <SplitPane id="data.prompt" sizes={[36, 64]} minimums={[320, 360]}>
      <div className="flex min-h-0 grow flex-col">
        <div className="min-h-0 grow overflow-auto py-4 pr-6 pl-page">
          <PromptEditor columns={columns} form={form} onChange={setDraft} />
          {problem !== null && (
            <p role="status" className="mt-3 text-sm text-caution">
              {problem}
            </p>
          )}
        </div>
        <footer className="flex shrink-0 items-center gap-2 border-t border-line py-2 pr-6 pl-page">
          <Button
            variant={isChanged ? 'primary' : 'plain'}
            disabled={!isChanged || problem !== null}
            onClick={() => keep(form, 'Runs on this version will use this prompt.')}
          >
            Use for runs
          </Button>
          {isChanged ? (
            <Button variant="quiet" onClick={() => setDraft(null)}>
              Undo changes
            </Button>
          ) : (
            preparation.prompt !== null &&
            JSON.stringify(preparation.prompt) !== JSON.stringify(detected) && (
              <Button variant="quiet" onClick={() => keep(null, 'The detected prompt is used again.')}>
                Reset to detected
              </Button>
            )
          )}
        </footer>
      </div>
      <Previews versionId={opened.version.id} rows={opened.version.rows} form={form} />
    </SplitPane>
  )
}

const pageRows = 10

interface PreviewsProps {
  readonly versionId: string
  readonly rows: number
  readonly form: PromptForm
}

function Previews({ versionId, rows, form }: PreviewsProps) {
  const [model, setModel] = usePreviewModel()
  const [view, setView] = useState<'tokens' | 'text'>('tokens')
  const [from, setFrom] = useState(0)
  const prompt = useSettled(form)
  const { data, error } = useAnswer(
    'datasets.preview',
    { versionId, prompt, from, count: pageRows, ...(model === null ? {} : { model }) },
    { keep: true },
  )
  const to = Math.min(rows, from + pageRows)
  return (
    <section aria-label="Prompts as the model reads them" className="flex min-h-0 grow flex-col">
      <div className="flex min-h-11 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-panel px-4 py-1.5">
        <span className="shrink-0 text-sm text-muted">As read by</span>
        <div className="max-w-64 min-w-28 grow basis-0">
          <ModelPicker
            label="Model that reads"
            value={model === null ? null : { model }}
            onChange={(choice) => setModel(choice.model)}
          />
        </div>
        <Segmented
          label="Shown as"
          value={view}
          options={{ tokens: 'Tokens', text: 'Text' }}
          onChange={setView}
        />
        <span className="ml-auto flex shrink-0 items-center gap-1 text-sm text-muted tabular-nums">
          <IconButton
            small
            label="Rows before"
            disabled={from === 0}
            icon={ChevronLeft}
            iconSize={14}
            onClick={() => setFrom(Math.max(0, from - pageRows))}
          />
          {formatCount(from + 1)}–{formatCount(to)} of {formatCount(rows)}
          <IconButton
            small
            label="Rows behind"
            disabled={to >= rows}
            icon={ChevronRight}
            iconSize={14}
            onClick={() => setFrom(from + pageRows)}
          />
        </span>
      </div>
      <div className="min-h-0 grow overflow-auto">
        {error !== null && <ErrorNote error={error} className="m-4" />}
        {data === undefined && error === null && <Loading shape="table" />}
        {error === null &&
          data?.map((preview) => <PreviewCard key={preview.row} preview={preview} view={view} />)}
      </div>
    </section>
  )
}

type Preview = Answer<'datasets.preview'>[number]

function PreviewCard({ preview, view }: { preview: Preview; view: 'tokens' | 'text' }) {
  const row = preview.row + 1
  const header = (
    <h3 className="flex shrink-0 items-center gap-2 text-xs text-faint tabular-nums">
      <span className="font-medium text-muted">Row {formatCount(row)}</span>
      {'tokens' in preview && preview.tokens !== null && plural(preview.tokens.length, 'token')}
    </h3>
  )
  return (
    <article className="border-b border-line px-4 py-2">
      {'problem' in preview ? (
        <>
          {header}
          <p className="mt-1 text-bad">{preview.problem}</p>
        </>
      ) : view === 'tokens' && preview.tokens !== null ? (
        <TokenText label={`Row ${String(row)}`} tokens={preview.tokens} header={header} />
      ) : (
        <>
          {header}
          <p dir="auto" className="mt-1 font-mono text-sm leading-6 break-words whitespace-pre-wrap">
            {preview.text}
          </p>
        </>
      )}
    </article>
  )
}

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
  template: 'Each row fills this text; the model reads it verbatim, without a chat template.',
  column: 'The prompt is the column itself: text, verbatim, or messages for the chat template.',
}

function PromptEditor({ columns, form, onChange }: PromptEditorProps) {
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
        <SelectField
          label="Column"
          value={form.column}
          options={withMissing(columns, form.column)}
          onChange={(column) => onChange({ column })}
        />
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
                options={withMissing(roles, role)}
                onChange={(next) => change(at, { role: next })}
              />
              <IconButton
                small
                label={`Remove message ${String(at + 1)}`}
                disabled={messages.length === 1}
                icon={X}
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
        icon={Plus}
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

/** Text with {column} placeholders, inserted at the cursor. */
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
