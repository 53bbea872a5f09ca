import { ArrowLeft, ArrowRight } from 'lucide-react'
import { useState } from 'react'
import { formatCount } from '#renderer/client/format.ts'
import { sharedSampling, useDataSetPrompt, type Sampling } from './useArena.ts'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { Panel } from '#renderer/kit/Page.tsx'
import { Segmented, Switch } from '#renderer/kit/choices.tsx'
import { RequestFields, useAcceptedForm } from '#renderer/kit/RequestForm.tsx'
import { DataPicker } from '#renderer/parts/DataPicker.tsx'
import { AreaField } from '#renderer/kit/inputs.tsx'

export interface PromptDraft {
  readonly text: string
  /** Applies the model's chat template; otherwise the model continues the text as it is. */
  readonly asChat: boolean
}

interface PromptPanelProps {
  readonly draft: PromptDraft
  readonly onDraft: (draft: PromptDraft) => void
  readonly sampling: Sampling
  readonly onSampling: (sampling: Sampling) => void
  readonly isBlind: boolean
  readonly onBlind: (isBlind: boolean) => void
  /** Model whose chat template formats the rows of a data set. */
  readonly model: string | null
  /** Validation prompts that the first model fails and the second passes. */
  readonly suggestions: readonly string[]
  /** Validation prompt that the second still fails. */
  readonly failing: string | null
}

/** Prompt and sampling settings, the same for all columns. */
export function PromptPanel(props: PromptPanelProps) {
  const { draft, onDraft, sampling, onSampling, isBlind, onBlind, model, suggestions, failing } = props
  return (
    <Panel>
      <div className="grid grid-cols-[minmax(0,1fr)_300px] gap-6 narrow:grid-cols-[minmax(0,1fr)]">
        <div className="flex min-w-0 flex-col gap-2">
          <AreaField
            label="Prompt"
            aside={
              <Segmented
                label="Form of the prompt"
                value={draft.asChat ? 'chat' : 'text'}
                options={{ chat: 'Chat message', text: 'Text to continue' }}
                onChange={(kind) => onDraft({ ...draft, asChat: kind === 'chat' })}
              />
            }
            mono
            rows={3}
            placeholder="Type a prompt, or take one from a data set"
            value={draft.text}
            onChange={(text) => onDraft({ ...draft, text })}
          />
          <Suggested
            label="Failed before, passes now"
            prompts={suggestions}
            onPrompt={(text) => onDraft({ text, asChat: true })}
          />
          <Suggested
            label="Still fails"
            prompts={failing === null ? [] : [failing]}
            onPrompt={(text) => onDraft({ text, asChat: true })}
          />
          <RowPrompts model={model} onPrompt={(text) => onDraft({ text, asChat: false })} />
        </div>
        <SamplingFields {...{ sampling, onSampling, isBlind, onBlind }} />
      </div>
    </Panel>
  )
}

interface SuggestedProps {
  readonly label: string
  readonly prompts: readonly string[]
  readonly onPrompt: (text: string) => void
}

const Suggested = ({ label, prompts, onPrompt }: SuggestedProps) =>
  prompts.length > 0 && (
    <div role="group" aria-label={label} className="flex flex-wrap items-center gap-2">
      <span className="text-sm text-muted">{label}</span>
      {prompts.map((text) => (
        <Button key={text} small onClick={() => onPrompt(text)}>
          {text}
        </Button>
      ))}
    </div>
  )

type SamplingProps = Pick<PromptPanelProps, 'sampling' | 'onSampling' | 'isBlind' | 'onBlind'>

function SamplingFields({ sampling, onSampling, isBlind, onBlind }: SamplingProps) {
  const form = useAcceptedForm(sharedSampling, sampling, onSampling)
  return (
    <div className="grid grid-cols-2 content-start gap-x-3 gap-y-2">
      <RequestFields form={form} />
      <Field
        label="Blind vote"
        help="Columns are shuffled and their names hidden until you have voted. Only such votes count."
      >
        {({ id }) => <Switch id={id} checked={isBlind} onChange={onBlind} />}
      </Field>
    </div>
  )
}

/** Steps through the prompts of a data set, as a run would show them to the model. */
function RowPrompts({ model, onPrompt }: { model: string | null; onPrompt: (text: string) => void }) {
  const [versionId, setVersion] = useState<string | null>(null)
  const [index, setIndex] = useState(0)
  const { rows, text } = useDataSetPrompt(versionId, index, model)
  const isUsable = text !== null && rows > 0
  return (
    <div className="flex flex-wrap items-center gap-2 text-muted">
      <DataPicker
        value={versionId}
        onChange={(next) => {
          setVersion(next)
          setIndex(0)
        }}
      />
      {versionId !== null && (
        <>
          <IconButton
            label="Previous row"
            icon={ArrowLeft}
            iconSize={14}
            disabled={index === 0}
            onClick={() => setIndex(index - 1)}
          />
          <span className="text-sm tabular-nums">
            row {formatCount(index + 1)} of {formatCount(rows)}
          </span>
          <IconButton
            label="Next row"
            icon={ArrowRight}
            iconSize={14}
            disabled={index + 1 >= rows}
            onClick={() => setIndex(index + 1)}
          />
          <Button disabled={!isUsable} onClick={() => text !== null && onPrompt(text)}>
            Use this row
          </Button>
        </>
      )}
    </div>
  )
}
