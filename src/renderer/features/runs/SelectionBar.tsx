import { Download, Tag, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '#renderer/client/api.tsx'
import { asError } from '#renderer/client/failures.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { toastError } from '#renderer/client/toasts.ts'
import { plural } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { Popover } from '#renderer/kit/Menu.tsx'
import { tagsOf } from './cells.tsx'

interface SelectionBarProps {
  readonly runs: readonly RunEntry[]
  readonly onExport: (runs: readonly RunEntry[]) => void
  readonly onDelete: (runs: readonly RunEntry[]) => void
  readonly onClear: () => void
}

/** What can be done with all that is selected. */
export function SelectionBar({ runs, onExport, onDelete, onClear }: SelectionBarProps) {
  return (
    <div
      role="toolbar"
      aria-label="Selected runs"
      className="flex h-9 shrink-0 items-center gap-1 border-b border-line bg-accent-soft pr-4 pl-page"
    >
      <span className="mr-2 font-medium text-accent-ink">{plural(runs.length, 'run')} selected</span>
      <AddTag runs={runs} />
      <Button variant="quiet" small icon={<Download size={13} aria-hidden />} onClick={() => onExport(runs)}>
        Export bundle
      </Button>
      <Button variant="quiet" small icon={<Trash2 size={13} aria-hidden />} onClick={() => onDelete(runs)}>
        Delete
      </Button>
      <Button variant="quiet" small className="ml-auto" onClick={onClear}>
        Clear selection
      </Button>
    </div>
  )
}

function AddTag({ runs }: { runs: readonly RunEntry[] }) {
  const client = useApi()
  const [text, setText] = useState('')
  const add = async () => {
    const added = tagsOf(text)
    setText('')
    try {
      for (const { id, tags } of runs)
        await client.call('runs.setTags', { runId: id, tags: [...new Set([...tags, ...added])] })
    } catch (thrown) {
      toastError(asError(thrown))
    }
  }
  return (
    <Popover
      label="Add tags"
      trigger={
        <Button variant="quiet" small icon={<Tag size={13} aria-hidden />}>
          Add tags
        </Button>
      }
    >
      <form
        className="flex gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          void add()
        }}
      >
        <TextInput
          aria-label="Tags, separated by commas"
          placeholder="seeds, paper"
          value={text}
          onChange={setText}
        />
        <Button type="submit" disabled={tagsOf(text).length === 0}>
          Add
        </Button>
      </form>
    </Popover>
  )
}
