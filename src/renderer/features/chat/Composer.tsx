import { ArrowUp, Square } from 'lucide-react'
import { useState, type KeyboardEvent } from 'react'
import { Button } from '#renderer/kit/Button.tsx'
import { TextArea } from '#renderer/kit/inputs.tsx'
import type { Chat } from './useChat.ts'

/** Enter sends, Shift+Enter begins a new line; Escape stops the answer. */
export function Composer({ chat, onSend }: { chat: Chat; onSend: () => void }) {
  const { turns, isRunning, send, stop } = chat
  const [text, setText] = useState('')
  const isReady = text.trim() !== '' && !isRunning
  const submit = () => {
    if (!isReady) return
    send(turns.length, text, undefined)
    setText('')
    onSend()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && isRunning) stop()
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    submit()
  }
  return (
    <div className="shrink-0 border-t border-line px-page py-3">
      <div className="mx-auto flex max-w-300 items-end gap-2">
        <TextArea
          aria-label="Message"
          placeholder="Message. Enter sends it, Shift+Enter begins a new line."
          rows={Math.min(8, Math.max(2, text.split('\n').length))}
          value={text}
          onChange={setText}
          onKeyDown={onKeyDown}
          className="resize-none"
          autoFocus
        />
        {isRunning ? (
          <Button icon={Square} iconSize={13} onClick={stop}>
            Stop
          </Button>
        ) : (
          <Button variant="primary" icon={ArrowUp} disabled={!isReady} onClick={submit}>
            Send
          </Button>
        )}
      </div>
    </div>
  )
}
