import { Tooltip as Radix, Popover } from 'radix-ui'
import type { ReactElement, ReactNode } from 'react'
import { Info } from 'lucide-react'

const panel =
  'z-50 max-w-80 rounded border border-line bg-bg px-2 py-1 text-sm text-text shadow-float animate-appear text-pretty'

export function Tooltip({ text, children }: { text: ReactNode; children: ReactElement }) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content sideOffset={4} collisionPadding={8} className={panel}>
          {text}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

export const TooltipProvider = ({ children }: { children: ReactNode }) => (
  <Radix.Provider delayDuration={400} skipDelayDuration={200}>
    {children}
  </Radix.Provider>
)

/** Explanation, followed by the name of its subject in files and on the command line. */
export const Explained = ({ name, children }: { name: string; children: ReactNode }) => (
  <>
    {children}
    <code className="mt-1 block font-mono text-xs break-all text-faint">{name}</code>
  </>
)

/** The ⓘ: an explanation in one or two sentences, opened by click or Enter. `about`: its subject. */
export function Help({ about, children }: { about: string; children: ReactNode }) {
  return (
    <Popover.Root>
      <Popover.Trigger
        aria-label={`About ${about}`}
        className="inline-flex size-6 shrink-0 items-center justify-center rounded-full text-faint hover:text-text"
      >
        <Info size={13} aria-hidden />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          sideOffset={2}
          collisionPadding={8}
          className="z-50 max-w-80 rounded border border-line bg-bg px-3 py-2 text-sm text-text shadow-float animate-appear text-pretty"
        >
          {children}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  )
}
