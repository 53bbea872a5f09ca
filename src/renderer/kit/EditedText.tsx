import { useState } from 'react'
import { Button } from '#renderer/kit/Button.tsx'
import { TextArea } from '#renderer/kit/inputs.tsx'

interface EditedTextProps {
  readonly label: string
  readonly action: string
  readonly text: string
  /** Side effect of saving. */
  readonly note: string | null
  readonly onSave: (text: string) => void
  readonly onCancel: () => void
}

/** Edits a message in place; Ctrl+Enter saves it, Escape reverts it. */
export function EditedText({ label, action, text, note, onSave, onCancel }: EditedTextProps) {
  const [draft, setDraft] = useState(text)
  const isUsable = draft.trim() !== ''
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <TextArea
        aria-label={label}
        rows={Math.min(12, Math.max(2, draft.split('\n').length))}
        value={draft}
        onChange={setDraft}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onCancel()
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && isUsable) onSave(draft)
        }}
        autoFocus
      />
      <div className="flex flex-wrap items-center justify-end gap-2">
        {note !== null && <span className="min-w-0 grow text-sm text-muted">{note}</span>}
        <Button small onClick={onCancel}>
          Cancel
        </Button>
        <Button small variant="primary" disabled={!isUsable} onClick={() => onSave(draft)}>
          {action}
        </Button>
      </div>
    </div>
  )
}
