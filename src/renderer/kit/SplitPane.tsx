import { Children, Fragment, type ReactNode } from 'react'
import { Group, Panel, Separator, useDefaultLayout } from 'react-resizable-panels'
import { useMediaQuery } from '#renderer/client/mediaQuery.ts'
import { classes } from './classes.ts'

interface SplitPaneProps {
  /** Key under which sizes are remembered. */
  readonly id: string
  readonly direction?: 'horizontal' | 'vertical'
  /** Percentages, one per child. */
  readonly sizes: readonly number[]
  /** Pixels, one per child. */
  readonly minimums?: readonly number[]
  readonly children: ReactNode
}

/**
 * Panes side by side (or stacked) with borders movable by mouse or arrow keys. Without room side by side, they follow
 * one another and the whole scrolls.
 */
export function SplitPane(props: SplitPaneProps) {
  return useMediaQuery(narrow) ? <Stack>{props.children}</Stack> : <MovablePanes {...props} />
}

/** Same as the variant `narrow` in theme.css. */
const narrow = '(width < 840px)'

/** Each pane is as tall as its content, but never so tall that the next one is out of sight; nested panes form one list. */
const Stack = ({ children }: { children: ReactNode }) => (
  <div data-stack className="flex min-h-0 min-w-0 grow flex-col overflow-auto *:shrink-0">
    {Children.toArray(children).map((pane, i) => (
      <div
        key={i}
        className="flex max-h-[80vh] min-w-0 flex-col border-line not-first:border-t has-[>[data-stack]]:max-h-none"
      >
        {pane}
      </div>
    ))}
  </div>
)

function MovablePanes({ id, direction = 'horizontal', sizes, minimums, children }: SplitPaneProps) {
  const panes = Children.toArray(children)
  const layout = useDefaultLayout({ id: `split.${id}`, storage: localStorage })
  const isHorizontal = direction === 'horizontal'
  return (
    <Group orientation={direction} className="min-h-0 min-w-0 grow" {...layout}>
      {panes.map((pane, i) => (
        <Fragment key={`${id}-${String(i)}`}>
          {i > 0 && (
            <Separator
              className={classes(
                'relative bg-line outline-none focus-visible:bg-accent data-[separator=active]:bg-accent data-[separator=hover]:bg-line-strong',
                isHorizontal ? 'w-px' : 'h-px',
              )}
            />
          )}
          <Panel
            id={`${id}-${String(i)}`}
            defaultSize={`${String(sizes[i] ?? 100 / panes.length)}%`}
            minSize={minimums?.[i] ?? 120}
            className="flex min-h-0 min-w-0 flex-col"
          >
            {pane}
          </Panel>
        </Fragment>
      ))}
    </Group>
  )
}
