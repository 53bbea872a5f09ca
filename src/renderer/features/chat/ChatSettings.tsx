import { heldPrecisions } from '#shared/precision.ts'
import { useEffect, useState } from 'react'
import type { Draft } from './conversation.ts'
import type { Chat } from './useChat.ts'
import { SelectField } from '#renderer/kit/choices.tsx'
import { NumberField, AreaField } from '#renderer/kit/inputs.tsx'

type Sampling = Draft['sampling']

/** Settings of the next answers. */
export function ChatSettings({ chat }: { chat: Chat }) {
  const { conversation, change } = chat
  const { sampling, base } = conversation
  const set = (changes: Partial<Sampling>) => change({ sampling: { ...sampling, ...changes } })
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
        <NumberField
          label="Temperature"
          help="0 always takes the likeliest token; 1 samples from the model’s own distribution."
          value={sampling.temperature}
          onChange={(value) => value !== null && value >= 0 && set({ temperature: value })}
        />
        <NumberField
          label="Top-p"
          help="Samples from the likeliest tokens whose probabilities add up to this; 1 is all of them."
          value={sampling.topP}
          onChange={(value) => value !== null && value > 0 && value <= 1 && set({ topP: value })}
        />
        <NumberField
          label="Max new tokens"
          help="Answers are cut off at this length, or where the context ends."
          value={sampling.maxNewTokens}
          onChange={(value) => isCount(value, 1, 32_768) && set({ maxNewTokens: value })}
        />
        <NumberField
          label="Seed"
          help="The same seed and messages give the same answer. Empty: a new one for every answer."
          placeholder="new"
          value={sampling.seed}
          onChange={(value) => (value === null || isCount(value, 0, 2 ** 47)) && set({ seed: value })}
        />
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

const isCount = (value: number | null, least: number, most: number): value is number =>
  value !== null && Number.isInteger(value) && value >= least && value <= most

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
