import { Blocks, Braces, Gamepad2, MoreHorizontal, Plus } from 'lucide-react'
import { useState } from 'react'
import { link } from '#renderer/client/route.ts'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { SearchInput } from '#renderer/kit/inputs.tsx'
import { Menu } from '#renderer/kit/Menu.tsx'
import { libraryGroups, type LibraryItem } from './library.ts'
import type { GalleryEntry, Reward } from './types.ts'

export interface LibraryActions {
  readonly create: () => void
  readonly duplicate: (key: string) => void
  readonly rename: (rewardId: string) => void
  readonly remove: (rewardId: string) => void
}

interface LibraryProps {
  readonly rewards: readonly Reward[]
  readonly gallery: readonly GalleryEntry[]
  readonly selected: string | null
  readonly drafts: ReadonlySet<string>
  readonly actions: LibraryActions
}

/** Everything that can be opened: one's own, and what comes with the program. */
export function Library({ rewards, gallery, selected, drafts, actions }: LibraryProps) {
  const [filter, setFilter] = useState('')
  const groups = libraryGroups(rewards, gallery, filter)
  return (
    <nav aria-label="Reward library" className="flex min-h-0 grow flex-col bg-panel">
      <div className="flex shrink-0 items-center gap-1 border-b border-line p-2">
        <SearchInput label="Find a reward" value={filter} onChange={setFilter} className="min-w-0 grow" />
        <IconButton
          label="New reward or environment"
          icon={<Plus size={16} aria-hidden />}
          onClick={actions.create}
        />
      </div>
      <div className="min-h-0 grow overflow-auto pb-3">
        {groups.map(({ title, items }) => (
          <section key={title} className="pt-3">
            <h2 className="px-3 pb-1 text-xs font-medium text-faint">{title}</h2>
            <ul>
              {items.map((item) => (
                <Item
                  key={item.key}
                  item={item}
                  isSelected={item.key === selected}
                  isChanged={drafts.has(item.key)}
                  actions={actions}
                />
              ))}
            </ul>
          </section>
        ))}
        {groups.length === 0 && <p className="p-3 text-sm text-faint">Nothing has these words.</p>}
      </div>
    </nav>
  )
}

interface ItemProps {
  readonly item: LibraryItem
  readonly isSelected: boolean
  readonly isChanged: boolean
  readonly actions: LibraryActions
}

function Item({ item, isSelected, isChanged, actions }: ItemProps) {
  const { key, name, about, isBuiltIn } = item
  const duplicate = { label: isBuiltIn ? 'Make a copy' : 'Duplicate', onSelect: () => actions.duplicate(key) }
  const groups = isBuiltIn
    ? [[duplicate]]
    : [
        [{ label: 'Rename', onSelect: () => actions.rename(key) }, duplicate],
        [{ label: 'Delete', isDangerous: true, onSelect: () => actions.remove(key) }],
      ]
  return (
    <li className="group relative flex items-center">
      <a
        href={link(`/rewards/${key}`)}
        title={about}
        aria-current={isSelected ? 'page' : undefined}
        className={classes(
          'flex h-7 min-w-0 grow items-center gap-2 pr-8 pl-3 -outline-offset-2',
          isSelected ? 'bg-accent-soft font-medium text-accent-ink' : 'text-text hover:bg-raised',
        )}
      >
        <Icon item={item} />
        <span className="truncate">{name}</span>
        {isChanged && (
          <span
            className="ml-auto size-1.5 shrink-0 rounded-full bg-caution"
            role="img"
            aria-label="Unsaved changes"
          />
        )}
      </a>
      {!key.startsWith('builtin.') && (
        <div className="absolute right-1 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100">
          <Menu groups={groups}>
            <IconButton small label={`More for ${name}`} icon={<MoreHorizontal size={14} aria-hidden />} />
          </Menu>
        </div>
      )}
    </li>
  )
}

function Icon({ item: { kind, key } }: { item: LibraryItem }) {
  const Shape = kind === 'environment' ? Gamepad2 : key.startsWith('builtin.') ? Blocks : Braces
  return <Shape size={14} aria-hidden className="shrink-0 text-faint" />
}

export const NewButton = ({ onClick }: { onClick: () => void }) => (
  <Button variant="primary" icon={<Plus size={14} aria-hidden />} onClick={onClick}>
    New reward
  </Button>
)
