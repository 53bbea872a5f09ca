import { ChevronLeft, ChevronRight } from 'lucide-react'
import { useState } from 'react'
import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { useSettled } from '#renderer/client/settled.ts'
import { toast } from '#renderer/client/toasts.ts'
import { formatCount, plural } from '#renderer/client/format.ts'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Segmented } from '#renderer/kit/choices.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { ModelPicker } from '#renderer/features/models/ModelPicker.tsx'
import { TokenText } from '#renderer/kit/TokenText.tsx'
import { usePreviewModel, usePrompt, type Opened } from './usePrompt.ts'
import type { PromptForm } from './preparation.ts'
import { PromptEditor } from './PromptEditor.tsx'
import { promptProblem } from './promptForms.ts'

/** The template beside what it makes of the rows, as the model reads them. */
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
                Back to what was detected
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
          options={[
            { value: 'tokens', label: 'Tokens' },
            { value: 'text', label: 'Text' },
          ]}
          onChange={setView}
        />
        <span className="ml-auto flex shrink-0 items-center gap-1 text-sm text-muted tabular-nums">
          <IconButton
            small
            label="Rows before"
            disabled={from === 0}
            icon={<ChevronLeft size={14} aria-hidden />}
            onClick={() => setFrom(Math.max(0, from - pageRows))}
          />
          {formatCount(from + 1)}–{formatCount(to)} of {formatCount(rows)}
          <IconButton
            small
            label="Rows behind"
            disabled={to >= rows}
            icon={<ChevronRight size={14} aria-hidden />}
            onClick={() => setFrom(from + pageRows)}
          />
        </span>
      </div>
      <div className="min-h-0 grow overflow-auto">
        {error !== null && <ErrorNote error={error} className="m-4" />}
        {data === undefined && error === null && <Loading />}
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
