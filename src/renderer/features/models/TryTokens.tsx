import { useState } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { useSettled } from '#renderer/features/data/useData.ts'
import { formatNumber, plural } from '#renderer/client/format.ts'
import { Segmented } from '#renderer/kit/choices.tsx'
import { TextArea } from '#renderer/kit/inputs.tsx'
import { Panel } from '#renderer/kit/Panel.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'
import { TokenText } from '#renderer/kit/TokenText.tsx'

interface TryTokensProps {
  readonly model: string
  readonly hasChatTemplate: boolean
}

/** A text as the model's tokens, as it stands or as a message in its chat template. */
export function TryTokens({ model, hasChatTemplate }: TryTokensProps) {
  const [text, setText] = useState('Please reverse 2 7 1 1 7')
  const [as, setAs] = useState<'text' | 'chat'>(hasChatTemplate ? 'chat' : 'text')
  const asked = useSettled(text)
  const isChat = as === 'chat'
  const rendered = useAnswer(
    'models.renderChat',
    { model, messages: [{ role: 'user', content: asked }] },
    { enabled: isChat, keep: true },
  )
  const read = isChat ? rendered.data?.text : asked
  const { data: tokens, error } = useAnswer(
    'models.tokenize',
    { model, text: read ?? '' },
    { enabled: read !== undefined && read !== '', keep: true },
  )
  const failure = (isChat ? rendered.error : null) ?? error
  const shown = read === '' ? [] : tokens
  return (
    <Panel
      title="Try its tokens"
      actions={
        <Segmented
          label="Read as"
          value={as}
          options={[
            { value: 'chat', label: 'A user’s message', disabled: !hasChatTemplate },
            { value: 'text', label: 'Plain text' },
          ]}
          onChange={setAs}
        />
      }
    >
      <TextArea aria-label="Text to cut into tokens" rows={4} value={text} onChange={setText} />
      {failure !== null && <ErrorNote error={failure} className="mt-2" />}
      {failure === null && shown !== undefined && (
        <div className="mt-3">
          <TokenText
            label="The text"
            tokens={shown}
            className="max-h-60 overflow-auto"
            header={
              <span className="shrink-0">
                {plural(shown.length, 'token')}
                {shown.length > 0 &&
                  read !== undefined &&
                  ` · ${formatNumber([...read].length / shown.length, 2)} characters each`}
              </span>
            }
          />
        </div>
      )}
    </Panel>
  )
}
