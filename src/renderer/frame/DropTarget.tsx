import { Download } from 'lucide-react'
import { useDrop } from './useDrop.ts'
import { acceptedWords } from '#renderer/client/fileKinds.ts'

/** The whole window takes files; it says what will happen before they are let go. */
export function DropTarget() {
  const isOver = useDrop()
  if (!isOver) return null
  return (
    <div className="pointer-events-none fixed inset-2 z-50 flex flex-col items-center justify-center gap-2 rounded border-2 border-dashed border-accent bg-[color-mix(in_srgb,var(--bg)_88%,transparent)] text-center">
      <Download size={28} aria-hidden className="text-accent" />
      <p className="text-lg font-medium">Drop to look at it</p>
      <p className="max-w-100 text-muted">
        Nothing is imported before you say so. Turnwise takes {acceptedWords}.
      </p>
    </div>
  )
}
