import { Check, Ellipsis, FolderOpen } from 'lucide-react'
import { DropdownMenu, Popover as RadixPopover } from 'radix-ui'
import { Fragment, type PointerEvent, type ReactElement, type ReactNode } from 'react'
import { shell } from '#renderer/client/connection.ts'
import type { Action } from './actions.tsx'
import { IconButton } from './Button.tsx'
import { classes } from './classes.ts'

export type MenuGroups = readonly (readonly Action[])[]

const panel =
  'z-50 min-w-44 rounded border border-line bg-bg p-1 text-text shadow-float animate-appear max-h-[var(--radix-dropdown-menu-content-available-height)] overflow-auto'

/** Actions behind a button, with lines between groups. */
export function Menu({
  groups,
  align = 'end',
  children,
}: {
  groups: MenuGroups
  /** Edge of the button that it is in line with. */
  align?: 'start' | 'end'
  children: ReactElement
}) {
  const shown = groups.filter(({ length }) => length > 0)
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>{children}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content align={align} sideOffset={4} collisionPadding={8} className={panel}>
          {shown.map((items, i) => (
            <Fragment key={items[0]?.label ?? i}>
              {i > 0 && <DropdownMenu.Separator className="my-1 h-px bg-line" />}
              {items.map((item) => (
                <Item key={item.label} item={item} />
              ))}
            </Fragment>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

interface MoreMenuProps {
  readonly groups: MenuGroups
  readonly label?: string
  readonly small?: boolean
}

/** Actions behind ⋯. */
export const MoreMenu = ({ groups, label = 'More actions', small = false }: MoreMenuProps) => (
  <Menu groups={groups}>
    <IconButton {...{ label, small }} icon={Ellipsis} iconSize={small ? 14 : 16} />
  </Menu>
)

/** Item that shows a file or folder in the system’s file manager; none in a browser. */
export const revealItems = (path: string): readonly Action[] =>
  shell === null ? [] : [{ label: 'Show in folder', icon: FolderOpen, run: () => void shell?.reveal(path) }]

/**
 * Keeps the end of the press that opened a menu from choosing what has appeared under the pointer, where the page is slow or the menu
 * lies over its button. A click on an item chooses it all the same.
 */
const chooseNothing = (event: PointerEvent): void => event.preventDefault()

function Item({ item }: { item: Action }) {
  const {
    label,
    icon: Icon,
    keys,
    title,
    about,
    checked,
    isDisabled = false,
    isDangerous = false,
    run,
  } = item
  const content = (
    <>
      <span className="inline-flex w-4 shrink-0 justify-center">
        {checked === true ? <Check size={13} aria-hidden /> : Icon && <Icon size={13} aria-hidden />}
      </span>
      <span className="grow" title={title}>
        {label}
        {about !== undefined && <span className="block text-sm text-pretty text-muted">{about}</span>}
      </span>
      {keys !== undefined && <span className="pl-4 text-sm text-faint">{keys}</span>}
    </>
  )
  const look = classes(
    'flex items-center gap-2 rounded-sm px-2 outline-none select-none data-disabled:opacity-50 data-highlighted:bg-raised',
    about === undefined ? 'h-7' : 'max-w-100 py-1',
    isDangerous && 'text-bad',
  )
  if (checked === undefined) {
    return (
      <DropdownMenu.Item disabled={isDisabled} className={look} onSelect={run} onPointerUp={chooseNothing}>
        {content}
      </DropdownMenu.Item>
    )
  }
  return (
    <DropdownMenu.CheckboxItem
      checked={checked}
      disabled={isDisabled}
      className={look}
      onSelect={(event) => event.preventDefault()}
      onPointerUp={chooseNothing}
      onCheckedChange={run}
    >
      {content}
    </DropdownMenu.CheckboxItem>
  )
}

/** Popover beside a button, such as filters or a small form. */
export function Popover({
  label,
  trigger,
  width = 280,
  children,
}: {
  label: string
  trigger: ReactElement
  width?: number
  children: ReactNode
}) {
  return (
    <RadixPopover.Root>
      <RadixPopover.Trigger asChild>{trigger}</RadixPopover.Trigger>
      <RadixPopover.Portal>
        <RadixPopover.Content
          aria-label={label}
          align="start"
          sideOffset={4}
          collisionPadding={8}
          style={{ width }}
          className="z-40 rounded border border-line bg-bg p-3 text-text shadow-float animate-appear"
        >
          {children}
        </RadixPopover.Content>
      </RadixPopover.Portal>
    </RadixPopover.Root>
  )
}
