import { Tabs as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { classes } from './classes.ts'

export interface Tab<Id extends string> {
  readonly id: Id
  readonly label: string
  /** Mark beside the label, such as a number of findings. */
  readonly mark?: ReactNode
}

interface TabsProps<Id extends string> {
  readonly label: string
  readonly tabs: readonly Tab<Id>[]
  readonly value: Id
  readonly onChange: (id: Id) => void
  /** Content right of the tabs. */
  readonly aside?: ReactNode
  /** Content of the selected tab; the others are not mounted. */
  readonly children: ReactNode
  readonly className?: string
  /** Aligns the tabs with the start of a page's title. */
  readonly isPage?: boolean
}

export function Tabs<Id extends string>({
  label,
  tabs,
  value,
  onChange,
  aside,
  children,
  className,
  isPage = false,
}: TabsProps<Id>) {
  return (
    <Radix.Root
      value={value}
      onValueChange={(id) => onChange(id as Id)}
      activationMode="manual"
      className="flex min-h-0 grow flex-col"
    >
      <div
        className={classes(
          'flex h-9 shrink-0 items-stretch gap-2 border-b border-line',
          isPage ? 'px-page' : 'px-4',
        )}
      >
        <Radix.List
          aria-label={label}
          className="flex min-w-0 items-stretch gap-4 overflow-x-auto overflow-y-hidden"
        >
          {tabs.map((tab) => (
            <Radix.Trigger
              key={tab.id}
              value={tab.id}
              className="inline-flex shrink-0 items-center gap-1.5 border-b-2 border-transparent text-muted -outline-offset-2 hover:text-text data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-text"
            >
              {tab.label}
              {tab.mark}
            </Radix.Trigger>
          ))}
        </Radix.List>
        {aside !== undefined && <div className="ml-auto flex items-center gap-2">{aside}</div>}
      </div>
      <Radix.Content
        value={value}
        className={classes('min-h-0 grow overflow-auto -outline-offset-2', className)}
      >
        {children}
      </Radix.Content>
    </Radix.Root>
  )
}
