import { Search, X } from 'lucide-react'
import { useEffect, useRef, useSyncExternalStore, type ReactNode } from 'react'
import { createPortal } from 'react-dom'
import { link, navigate, useRoute } from '#renderer/client/route.ts'
import { useWindow } from '#renderer/client/window.ts'
import { keyTable } from '#shared/keyTable.ts'
import { keyWords } from '#renderer/client/keys.ts'
import type { Here } from '#shared/places.ts'
import { Button, IconButton } from './Button.tsx'
import { classes } from './classes.ts'
import { EmptyState } from './states.tsx'
import { ViewTabs } from './ViewTabs.tsx'

export interface PageProps {
  /** Name of what is open; by default that of the view. */
  readonly title?: ReactNode
  /** Status and short facts beside the title. */
  readonly about?: ReactNode
  /** Buttons, the main action last. */
  readonly main?: ReactNode
  /** Row below the title: filters, tabs. */
  readonly toolbar?: ReactNode
  readonly children: ReactNode
  /** True if the page lays out its own space; otherwise its content scrolls with 32 px of margin. */
  readonly isFull?: boolean
}

/** Id of the element that the skip link leads to. */
export const contentId = 'content'

/** Layout of every screen: title, views of the place and main action at the top, one scrolling body. */
export function Page({ title, about, main, toolbar, children, isFull = false }: PageProps) {
  const { here } = useRoute()
  const actions = (
    <>
      <PaletteButton />
      {main}
      <span id={actionsId} className="contents" />
    </>
  )
  const Head = here !== null && hasTabs(here) ? TabbedHead : PageHead
  return (
    <main id={contentId} tabIndex={-1} className="flex min-h-0 min-w-0 grow flex-col outline-none">
      <Head {...{ here, title, about, actions }} />
      {toolbar !== undefined && (
        <div className="flex min-h-11 shrink-0 flex-wrap items-center gap-2 border-b border-line px-page py-2">
          {toolbar}
        </div>
      )}
      {isFull ? (
        <div className="flex min-h-0 min-w-0 grow flex-col">{children}</div>
      ) : (
        <div className="min-h-0 grow overflow-auto px-page py-6">{children}</div>
      )}
    </main>
  )
}

interface NotFoundProps {
  /** Noun for what is missing: `run`. */
  readonly what: string
  /** Address of the list of the others. */
  readonly to: string
  readonly others: string
  readonly children: ReactNode
}

/** Page at an address that leads nowhere. */
export const NotFound = ({ what, to, others, children }: NotFoundProps) => (
  <Page title={`${what.charAt(0).toUpperCase()}${what.slice(1)} not found`}>
    <EmptyState
      title={`There is no ${what} at this address.`}
      action={
        <Button variant="primary" onClick={() => navigate(to)}>
          Show all {others}
        </Button>
      }
    >
      {children}
    </EmptyState>
  </Page>
)

const actionsId = 'page-actions'
const neverChanges = () => () => undefined

/** Puts buttons of a part of the page into the corner of its head, where main actions are. */
export function PageActions({ children }: { children: ReactNode }) {
  const corner = useSyncExternalStore(neverChanges, () => document.getElementById(actionsId))
  return corner && createPortal(children, corner)
}

function PaletteButton() {
  const openPalette = useWindow((state) => state.openPalette)
  return (
    <button
      type="button"
      onClick={openPalette}
      className="inline-flex h-7 shrink-0 items-center gap-2 rounded border border-line bg-panel px-2 text-sm text-faint hover:text-text"
    >
      <Search size={13} aria-hidden />
      <span className="narrow:sr-only">Search</span>
      <kbd className="font-sans narrow:hidden">{keyWords(keyTable.palette.keys[0] ?? '')}</kbd>
    </button>
  )
}

interface HeadProps extends Pick<PageProps, 'title' | 'about'> {
  readonly here: Here | null
  readonly actions: ReactNode
}

/** Head that says what is open, after the way back to the list of it. */
function PageHead({ here, title, about, actions }: HeadProps) {
  const heading = useDocumentTitle(here)
  const back = here !== null && isPageOf(here) ? backOf(here) : null
  return (
    <header className={classes(headLook, 'min-[960px]:flex-nowrap')}>
      <div className="flex max-w-full shrink-0 items-center gap-2 min-[840px]:max-w-1/2 min-[960px]:min-w-36 min-[960px]:shrink">
        {back !== null && (
          <>
            <a href={link(back.route)} className="shrink-0 text-lg text-muted hover:text-text">
              {back.title}
            </a>
            <span className="text-faint">/</span>
          </>
        )}
        <h1 ref={heading} className={headingLook}>
          {title ?? here?.view.title}
        </h1>
      </div>
      {/* Room for the status at least: a long name gives way to it. */}
      <div className={classes(aboutLook, 'min-w-0 basis-24 phone:basis-auto min-[960px]:shrink-0')}>
        {about}
      </div>
      <div className="ml-auto flex flex-wrap items-center gap-x-3 gap-y-1 min-[960px]:shrink-0 min-[960px]:flex-nowrap">
        {actions}
      </div>
    </header>
  )
}

/** Head that shows the place and its views, and what is open in this one; in a narrow window one below the other. */
function TabbedHead({ here, title, about, actions }: HeadProps) {
  const heading = useDocumentTitle(here)
  if (here === null) return null
  const hasWords = title !== undefined || about !== undefined
  return (
    <header className={headLook}>
      <h1 className={classes(headingLook, 'phone:grow')}>{here.place.title}</h1>
      <ViewTabs here={here} />
      <div className="flex min-w-0 grow items-center justify-end gap-x-3 phone:contents">
        {hasWords && (
          <div className="flex min-w-0 grow items-center gap-2 phone:order-2 phone:basis-full">
            {title !== undefined && (
              <h2 ref={heading} className={headingLook}>
                {title}
              </h2>
            )}
            {about !== undefined && (
              <div className={classes(aboutLook, 'w-20', title === undefined && 'border-l border-line pl-3')}>
                {about}
              </div>
            )}
          </div>
        )}
        {actions}
      </div>
    </header>
  )
}

const headLook =
  'flex min-h-11 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line py-1.5 pr-4 pl-page'
const headingLook = 'min-w-0 truncate text-lg font-semibold'
const aboutLook = 'flex grow items-center gap-2 overflow-hidden text-muted'

/** Names the tab of the browser after what is open; returns the heading that says it. */
function useDocumentTitle(here: Here | null) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const names = [heading.current?.textContent, here?.view.title, here?.place.title, 'Turnwise']
    document.title = [...new Set(names.filter(Boolean))].join(' · ')
  })
  return heading
}

/** True for what a view opens on a page of its own, and for pages that no tab leads to. */
const isPageOf = ({ view, rest }: Here): boolean =>
  view.isTab === false || (view.opensPages === true && rest.length > 0)

const hasTabs = (here: Here): boolean =>
  !isPageOf(here) && here.place.views.filter(({ isTab }) => isTab !== false).length > 1

const backOf = ({ place, view }: Here) => (view.isTab === false || view.route === place.route ? place : view)

interface PanelProps {
  readonly title?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
  /** Omits the padding around the content: tables and charts bring their own. */
  readonly isFlush?: boolean
  readonly className?: string
}

export function Panel({ title, actions, children, isFlush = false, className }: PanelProps) {
  return (
    <section className={classes('flex min-w-0 flex-col rounded border border-line bg-bg', className)}>
      {(title !== undefined || actions !== undefined) && (
        <header className="flex min-h-9 shrink-0 flex-wrap items-center gap-x-2 gap-y-1 border-b border-line py-1 pr-2 pl-3">
          <h2 className="min-w-0 truncate font-medium">{title}</h2>
          <div className="ml-auto flex min-w-0 flex-wrap items-center gap-1">{actions}</div>
        </header>
      )}
      <div className={classes('min-h-0 min-w-0 grow', !isFlush && 'p-3')}>{children}</div>
    </section>
  )
}

export function KeyValue({
  entries,
  className,
}: {
  /** False: left out. */
  entries: readonly (readonly [string, ReactNode] | false)[]
  className?: string
}) {
  return (
    <dl className={classes('grid grid-cols-[max-content_minmax(0,1fr)] gap-x-4 gap-y-1', className)}>
      {entries
        .filter((entry) => entry !== false)
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="min-w-0 break-words tabular-nums">{value}</dd>
          </div>
        ))}
    </dl>
  )
}

interface SidePaneProps {
  readonly title: string
  /** Class of its width. */
  readonly width: string
  /** Left of the button that closes it. */
  readonly actions?: ReactNode
  readonly onClose: () => void
  readonly children: ReactNode
}

/** Pane beside a list, about the chosen one of its rows. */
export const SidePane = ({ title, width, actions, onClose, children }: SidePaneProps) => (
  <aside
    aria-label={title}
    className={classes(
      'flex max-w-full shrink-0 flex-col border-l border-line narrow:w-full narrow:border-t narrow:border-l-0',
      width,
    )}
  >
    <header className="flex h-8 shrink-0 items-center gap-2 border-b border-line bg-panel pr-1 pl-3">
      <h3 className="truncate font-medium">{title}</h3>
      <span className="ml-auto" />
      {actions}
      <IconButton small label="Close" icon={X} onClick={onClose} />
    </header>
    <div className="flex min-h-0 grow flex-col gap-3 overflow-auto p-3 text-sm" tabIndex={0}>
      {children}
    </div>
  </aside>
)
