import { chatSampling } from '#shared/api/chat.ts'
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
      <SystemPrompt
        key={conversation.id}
        text={conversation.system}
        onText={(system) => change({ system })}
      />
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

/** System prompt, saved when typing pauses or the field is left. */
function SystemPrompt({ text, onText }: { text: string; onText: (text: string) => void }) {
  const [draft, setDraft] = useState(text)
  useEffect(() => {
    if (draft === text) return
    const timer = setTimeout(() => onText(draft), typedMs)
    return () => clearTimeout(timer)
  }, [draft, text, onText])
  return (
    <AreaField
      label="System prompt"
      help="Stands before the first message and tells the model how to answer. It counts from the next answer on."
      rows={4}
      placeholder="None"
      value={draft}
      onChange={setDraft}
      onBlur={() => draft !== text && onText(draft)}
    />
  )
}
