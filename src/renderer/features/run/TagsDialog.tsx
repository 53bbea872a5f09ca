import { X } from 'lucide-react'
import { useState, type KeyboardEvent } from 'react'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import type { RunEntry } from '#renderer/client/runs.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput, AreaField } from '#renderer/kit/inputs.tsx'

const most = 50

export function TagsDialog({ run, onClose }: { readonly run: RunEntry; readonly onClose: () => void }) {
  // Values at opening: another window's later changes do not count as made here.
  const [before] = useState({ tags: run.tags, notes: run.notes })
  const [tags, setTags] = useState<readonly string[]>(before.tags)
  const [notes, setNotes] = useState(before.notes)
  const [draft, setDraft] = useState('')
  const known = useAnswer('runs.tags', undefined).data ?? []
  const saveTags = useCommand('runs.setTags')
  const saveNotes = useCommand('runs.setNotes')
  const withDraft = (): readonly string[] => {
    const tag = draft.trim().slice(0, most)
    return tag === '' || tags.includes(tag) ? tags : [...tags, tag]
  }
  const add = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== ',') return
    event.preventDefault()
    setTags(withDraft())
    setDraft('')
  }
  const save = async () => {
    const chosen = withDraft()
    const isSame = chosen.length === before.tags.length && chosen.every((tag) => before.tags.includes(tag))
    if (!isSame) await saveTags.run({ runId: run.id, tags: [...chosen] })
    if (notes !== before.notes) await saveNotes.run({ runId: run.id, notes })
    onClose()
  }
  const isBusy = saveTags.isRunning || saveNotes.isRunning
  const others = known.filter(({ tag }) => !tags.includes(tag)).slice(0, 8)
  return (
    <Dialog
      onClose={onClose}
      title="Tags and notes"
      action={{ label: 'Save', isDisabled: isBusy, run: () => void save() }}
    >
      <div className="flex flex-col gap-4">
        <Field label="Tags" note="Enter adds a tag.">
          {(ids) => (
            <>
              {tags.length > 0 && <Tags tags={tags} onChange={setTags} />}
              <TextInput {...ids} value={draft} maxLength={most} onChange={setDraft} onKeyDown={add} />
            </>
          )}
        </Field>
        {others.length > 0 && (
          <div className="flex flex-wrap items-center gap-1">
            <span className="text-sm text-faint">Used before</span>
            {others.map(({ tag }) => (
              <Button key={tag} small variant="quiet" onClick={() => setTags([...tags, tag])}>
                {tag}
              </Button>
            ))}
          </div>
        )}
        <AreaField label="Notes" rows={6} maxLength={100_000} value={notes} onChange={setNotes} />
      </div>
    </Dialog>
  )
}

interface TagsProps {
  readonly tags: readonly string[]
  readonly onChange: (tags: readonly string[]) => void
}

/** Tags of the run; one that is pressed is removed. */
const Tags = ({ tags, onChange }: TagsProps) => (
  <div className="mb-2 flex flex-wrap gap-1">
    {tags.map((tag) => (
      <button
        key={tag}
        type="button"
        aria-label={`Remove tag ${tag}`}
        className="inline-flex h-6 items-center rounded hover:bg-raised"
        onClick={() => onChange(tags.filter((other) => other !== tag))}
      >
        <Badge>
          {tag}
          <X size={11} aria-hidden />
        </Badge>
      </button>
    ))}
  </div>
)
