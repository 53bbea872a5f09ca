import { Command } from 'cmdk'
import { Check, ChevronDown, Plus } from 'lucide-react'
import { Popover } from 'radix-ui'
import { useState, type ReactNode } from 'react'
import { Button } from './Button.tsx'
import { classes } from './classes.ts'
import { CutName } from './CutName.tsx'

export interface PickerItem {
  readonly key: string
  readonly title: string
  /** Short facts below the title. */
  readonly detail?: string
  /** Content right of the title, such as a badge. */
  readonly aside?: ReactNode
  /** Items of a group stand together, groups in the order of their first item. */
  readonly group?: string
  readonly problem?: string
}

export interface PickerProps {
  readonly label: string
  readonly items: readonly PickerItem[]
  readonly value: string | null
  readonly onChange: (key: string) => void
  /** Text while nothing is chosen: “Choose a data set”. */
  readonly placeholder: string
  /** Shown in place of an empty list. */
  readonly empty: ReactNode
  /** Content below the list, such as a button that adds an item. */
  readonly footer?: ReactNode
  readonly id?: string
  readonly 'aria-describedby'?: string | undefined
  readonly 'aria-invalid'?: boolean
  readonly disabled?: boolean
  readonly className?: string
}

/** Chooses one of many things by name: a button that opens a searchable list. */
export function Picker({ className, disabled = false, footer, ...props }: PickerProps) {
  const [isOpen, setOpen] = useState(false)
  const { label, items, value, placeholder, id } = props
  const chosen = items.find(({ key }) => key === value)
  const choose = (key: string) => {
    setOpen(false)
    props.onChange(key)
  }
  return (
    <Popover.Root open={isOpen} onOpenChange={setOpen}>
      <Popover.Trigger
        id={id}
        disabled={disabled}
        aria-label={`${label}: ${chosen?.title ?? placeholder}`}
        aria-describedby={props['aria-describedby']}
        aria-invalid={props['aria-invalid']}
        className={classes(
          'inline-flex h-7 min-w-0 items-center gap-2 rounded border border-line-strong bg-bg px-2 text-left enabled:hover:bg-raised disabled:opacity-50 aria-invalid:border-bad',
          className,
        )}
      >
        <span className={classes('min-w-0 grow', chosen === undefined && 'text-faint')}>
          <CutName name={chosen?.title ?? placeholder} />
        </span>
        <ChevronDown size={13} aria-hidden className="shrink-0 text-faint" />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          aria-label={label}
          align="start"
          sideOffset={4}
          collisionPadding={8}
          className="z-50 flex w-[max(var(--radix-popover-trigger-width),320px)] max-w-[calc(100vw-32px)] flex-col overflow-hidden rounded border border-line bg-bg shadow-float animate-appear"
        >
          <PickerList {...props} onChange={choose} />
          {footer !== undefined && (
            <div className="flex shrink-0 items-center gap-2 border-t border-line p-1">{footer}</div>
          )}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  )
}

/** Props of a picker in a form, whatever it picks. */
export interface PickerFieldProps extends Pick<PickerProps, 'id' | 'aria-describedby' | 'aria-invalid'> {
  readonly label?: string
  /** Shows the list itself instead of a button that opens it. */
  readonly isInline?: boolean
}

interface AddingPickerProps extends Omit<PickerProps, 'footer'> {
  readonly isInline: boolean
  readonly addLabel: string
  readonly onAdd: () => void
  /** Further choices beside it, about what is chosen. */
  readonly children: ReactNode
}

/** Picker of things that can be added below the list. */
export function AddingPicker({ isInline, addLabel, onAdd, children, ...picker }: AddingPickerProps) {
  const add = (
    <Button small variant="quiet" icon={Plus} onClick={onAdd}>
      {addLabel}
    </Button>
  )
  if (!isInline) {
    return (
      <div className="flex min-w-0 items-center gap-2">
        <Picker {...picker} footer={add} />
        {children}
      </div>
    )
  }
  return (
    <div className="overflow-hidden rounded border border-line">
      <PickerList {...picker} className="max-h-64" />
      <div className="flex items-center gap-2 border-t border-line p-1">
        {add}
        {children}
      </div>
    </div>
  )
}

/** The list alone, if there is room for it. Keys: type to search, arrows and Enter to choose. */
function PickerList({
  label,
  items,
  value,
  onChange,
  empty,
  className = 'max-h-80',
}: Pick<PickerProps, 'label' | 'items' | 'value' | 'onChange' | 'empty' | 'className'>) {
  const groups = [...new Set(items.map(({ group = '' }) => group))]
  const matches = (_value: string, search: string, keywords: string[] = []) =>
    keywords.join(' ').toLowerCase().includes(search.toLowerCase()) ? 1 : 0
  if (items.length === 0) return <div className="p-3 text-muted">{empty}</div>
  return (
    <Command
      label={label}
      filter={matches}
      {...(value === null ? {} : { defaultValue: value })}
      className="flex min-h-0 flex-col"
    >
      <Command.Input
        placeholder="Search"
        aria-label={`Search: ${label}`}
        className="h-8 shrink-0 border-b border-line bg-transparent px-3 -outline-offset-2 placeholder:text-faint"
      />
      <Command.List
        className={classes(
          'overflow-auto p-1 [&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-faint',
          className,
        )}
      >
        <Command.Empty className="p-3 text-muted">No matches.</Command.Empty>
        {groups.map((group) => (
          <Command.Group key={group} heading={group === '' ? undefined : group}>
            {items
              .filter((item) => (item.group ?? '') === group)
              .map((item) => (
                <Item key={item.key} item={item} isChosen={item.key === value} onChoose={onChange} />
              ))}
          </Command.Group>
        ))}
      </Command.List>
    </Command>
  )
}

interface ItemProps {
  readonly item: PickerItem
  readonly isChosen: boolean
  readonly onChoose: (key: string) => void
}

function Item({ item: { key, title, detail, aside, group, problem }, isChosen, onChoose }: ItemProps) {
  const under = problem ?? detail
  return (
    <Command.Item
      value={key}
      keywords={[title, detail ?? '', group ?? '']}
      disabled={problem !== undefined}
      onSelect={() => onChoose(key)}
      className="flex items-start gap-2 rounded-sm px-2 py-1 data-[selected=true]:bg-raised"
    >
      <span className="flex h-5 w-4 shrink-0 items-center justify-center text-accent-ink">
        {isChosen && <Check size={13} aria-label="Chosen" />}
      </span>
      <span className="min-w-0 grow">
        <span className={classes('block', problem !== undefined && 'text-muted')}>
          <CutName name={title} />
        </span>
        {under !== undefined && <span className="block text-sm text-faint text-pretty">{under}</span>}
      </span>
      {aside !== undefined && <span className="shrink-0">{aside}</span>}
    </Command.Item>
  )
}
