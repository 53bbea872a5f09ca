import { useVirtualizer } from '@tanstack/react-virtual'
import { useId, useRef, type KeyboardEvent, type ReactNode } from 'react'
import { movedBy, useEndReached, useScrolledTo } from '#renderer/kit/scroll.ts'

interface Props<Item> {
  readonly label: string
  readonly items: readonly Item[]
  readonly itemKey: (item: Item) => string
  /** Height of every item in px. */
  readonly itemHeight: number
  readonly chosenKey: string | null
  readonly onChoose: (item: Item) => void
  /** Runs when the last items come into view, to load more. */
  readonly onEnd?: () => void
  readonly children: (item: Item, index: number, isChosen: boolean) => ReactNode
}

/** Number of items below the view at which more are loaded. */
const fewLeft = 15

/** Virtualized list with one selected item; arrow keys move the selection. */
export function VirtualList<Item>(props: Props<Item>) {
  const { label, items, itemKey, itemHeight, chosenKey, onChoose, onEnd, children } = props
  const id = useId()
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => itemHeight,
    overscan: 10,
  })
  const chosenAt = items.findIndex((item) => itemKey(item) === chosenKey)
  useScrolledTo(chosenAt, (index) => virtual.scrollToIndex(index))
  const onKeyDown = (event: KeyboardEvent) => {
    const next = items[movedBy(event.key, chosenAt, items.length) ?? -1]
    if (next === undefined) return
    event.preventDefault()
    onChoose(next)
  }
  const shown = virtual.getVirtualItems()
  useEndReached((shown.at(-1)?.index ?? 0) >= items.length - fewLeft, items, onEnd)
  const isMounted = shown.some(({ index }) => index === chosenAt)
  return (
    <div
      ref={scroller}
      role="listbox"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={isMounted ? `${id}-${String(chosenAt)}` : undefined}
      onKeyDown={onKeyDown}
      className="min-h-0 grow overflow-auto -outline-offset-2"
    >
      <div role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
        {shown.map(({ index, start }) => {
          const item = items[index]
          if (item === undefined) return null
          const isChosen = index === chosenAt
          return (
            <div
              key={itemKey(item)}
              id={`${id}-${String(index)}`}
              role="option"
              aria-selected={isChosen}
              aria-setsize={items.length}
              aria-posinset={index + 1}
              onClick={() => onChoose(item)}
              className="absolute inset-x-0 hover:bg-panel"
              style={{ height: itemHeight, transform: `translateY(${String(start)}px)` }}
            >
              {children(item, index, isChosen)}
            </div>
          )
        })}
      </div>
    </div>
  )
}
