import { ChevronDown, ChevronRight } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { Button } from './Button.tsx'
import { classes } from './classes.ts'

interface DisclosureProps {
  readonly title: string
  /** A few words on what it holds. */
  readonly about?: ReactNode
  /** True while something in it must be seen. */
  readonly isNeeded?: boolean
  readonly children: ReactNode
  readonly className?: string | undefined
}

/** Holds back what few people need, behind a line that says what it is. */
export function Disclosure({ title, about, isNeeded = false, children, className }: DisclosureProps) {
  const [isOpen, setOpen] = useState(isNeeded)
  // Stays open when the need is over, since that may be what was just done in it.
  if (isNeeded && !isOpen) setOpen(true)
  return (
    <div className={classes('min-w-0', className)}>
      <Button
        variant="quiet"
        aria-expanded={isOpen}
        icon={isOpen ? ChevronDown : ChevronRight}
        onClick={() => setOpen(!isOpen)}
        className="-ml-3 max-w-full"
      >
        {title}
        {about !== undefined && <span className="min-w-0 truncate text-faint">{about}</span>}
      </Button>
      {isOpen && <div className="mt-2">{children}</div>}
    </div>
  )
}
