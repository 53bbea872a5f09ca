import { useState } from 'react'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { link } from '#renderer/client/route.ts'
import { PythonConsent } from '#renderer/parts/PythonConsent.tsx'
import { isPython, isServers } from '#renderer/parts/rewardChoice.ts'

interface PythonFileProps {
  /** Kind of code: “reward”, “environment”. */
  readonly what: string
  readonly example: string
  readonly disabled?: boolean
  /** Tells which texts name such code. */
  readonly isTaken?: (id: string) => boolean
  readonly onChoose: (id: string) => void
}

/** Chooses Python code that a run names by its path: it stays where it is, and is not sandboxed. */
export function PythonFile({
  what,
  example,
  disabled = false,
  isTaken = isPython,
  onChoose,
}: PythonFileProps) {
  const [id, setId] = useState('')
  const choose = () => {
    if (!isTaken(id.trim())) return
    onChoose(id.trim())
    setId('')
  }
  return (
    <span className="flex min-w-0 basis-full items-center gap-2">
      <span className="min-w-0 flex-1">
        <TextInput
          className="w-full"
          small
          mono
          aria-label={`Python ${what}`}
          placeholder={example}
          disabled={disabled}
          value={id}
          onChange={setId}
          onKeyDown={(event) => event.key === 'Enter' && choose()}
        />
      </span>
      <Button disabled={disabled || !isTaken(id.trim())} onClick={choose}>
        Use Python
      </Button>
    </span>
  )
}

interface PythonLineProps {
  readonly id: string
  readonly interpreter: string | null
}

/** Says whether the code may run, and links to where it can be tried. */
export function PythonLine({ id, interpreter }: PythonLineProps) {
  return (
    <span className="flex flex-wrap items-center gap-3">
      <PythonConsent asked={{ functions: [id], interpreter }} />
      {!isServers(id) && (
        <a className="text-sm text-accent-ink underline" href={link('/rewards', { python: id, interpreter })}>
          Try it
        </a>
      )}
    </span>
  )
}

export function PythonBadge({ id = '' }: { readonly id?: string }) {
  return <Badge tone="caution">{isServers(id) ? 'MCP servers' : 'Python'}, not sandboxed</Badge>
}
