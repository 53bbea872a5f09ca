import { chatSampling, type Conversation } from '#shared/api/chat.ts'
import { isObject } from '#shared/config/paths.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import { heldPrecisions } from '#shared/precision.ts'
import { RequestFields, useAcceptedForm } from '#renderer/kit/RequestForm.tsx'
import { useEffect, useState } from 'react'
import type { Chat } from './useChat.ts'
import { SelectField } from '#renderer/kit/choices.tsx'
import { AreaField } from '#renderer/kit/inputs.tsx'

const shownSampling = chatSampling.pick({ temperature: true, topP: true, maxNewTokens: true, seed: true })

/** Settings of the next answers. */
export function ChatSettings({ chat }: { chat: Chat }) {
  const { conversation, change } = chat
  const { sampling, base } = conversation
  const form = useAcceptedForm(shownSampling, sampling, (changes) =>
    change({ sampling: { ...sampling, ...changes } }),
  )
  return (
    <section
      aria-label="Settings of this conversation"
      className="grid grid-cols-[minmax(0,1fr)_440px] gap-6 pb-2 narrow:grid-cols-[minmax(0,1fr)]"
    >
      <div key={conversation.id} className="flex flex-col gap-2">
        <SavedText
          label="System prompt"
          help="Stands before the first message and tells the model how to answer. It counts from the next answer on."
          rows={4}
          text={conversation.system}
          onText={(system) => change({ system })}
        />
        <SavedText
          label="Tools"
          help='Functions that the model may call, as a JSON list such as [{"type": "function", "function": {"name": "add", "parameters": {}}}]. An answer that calls one shows the call; nothing is run.'
          rows={2}
          text={conversation.tools.length === 0 ? '' : JSON.stringify(conversation.tools)}
          fault={(text) => (toolsIn(text) === null ? 'Expected a JSON list of objects.' : null)}
          onText={(text) => change({ tools: toolsIn(text) ?? [] })}
        />
      </div>
      <div className="grid grid-cols-3 content-start gap-x-3 gap-y-2 phone:grid-cols-2">
        <RequestFields form={form} placeholders={{ seed: 'new' }} />
        <SelectField
          label="Base weights"
          className="col-span-2"
          help="What the weights of the base are held in. Fewer bits take less memory and are less exact."
          value={base ?? 'auto'}
          options={[
            { value: 'auto', label: 'As it was trained on, else f32' },
            ...heldPrecisions.filter((each) => each === 'f32' || each.startsWith('int')),
          ]}
          onChange={(value) => change({ base: value === 'auto' ? null : value })}
        />
      </div>
    </section>
  )
}

const typedMs = 400

/** The descriptions in a text; null where it is no list of objects. */
function toolsIn(text: string): Conversation['tools'] | null {
  const read = text.trim() === '' ? [] : parsedJson(text)
  return Array.isArray(read) && read.every(isObject) ? read : null
}

interface SavedTextProps {
  readonly label: string
  readonly help: string
  readonly rows: number
  readonly text: string
  /** Reason why a text cannot be saved; null: it can. */
  readonly fault?: (text: string) => string | null
  readonly onText: (text: string) => void
}

/** Text that is saved when typing pauses or the field is left. */
function SavedText({ label, help, rows, text, fault, onText }: SavedTextProps) {
  const [draft, setDraft] = useState(text)
  const error = fault?.(draft) ?? null
  const isNew = draft !== text && error === null
  useEffect(() => {
    if (!isNew) return
    const timer = setTimeout(() => onText(draft), typedMs)
    return () => clearTimeout(timer)
  }, [draft, isNew, onText])
  return (
    <AreaField
      {...{ label, help, rows, error }}
      placeholder="None"
      value={draft}
      onChange={setDraft}
      onBlur={() => isNew && onText(draft)}
    />
  )
}
