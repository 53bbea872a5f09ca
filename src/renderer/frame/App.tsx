import { KeyDialog } from './KeyDialog.tsx'
import { useEffect, Component, lazy, Suspense, type ReactNode, useState } from 'react'
import type { ShellEvent } from '#shared/bridge.ts'
import { keyTable, type KeyId } from '#shared/keyTable.ts'
import { places, type Place } from '#shared/places.ts'
import { lastPart } from '#renderer/client/format.ts'
import { FirstRunGuide } from '#renderer/features/home/FirstRunGuide.tsx'
import { useNewDevices } from '#renderer/client/devices.ts'
import { useNews } from '#renderer/client/feeds.ts'
import { useKeyListener, useKeys, useKeyBindings, keysOf, keyWords } from '#renderer/client/keys.ts'
import { useConnection, useLoadNews } from '#renderer/client/live.ts'
import { useDraftNews } from '#renderer/features/newRun/useDraft.ts'
import { useBrowserNotices } from '#renderer/client/notices.ts'
import { useRunsNews } from '#renderer/client/runs.ts'
import { useThemeSetting } from '#renderer/client/theme.ts'
import { contentId, Page } from '#renderer/kit/Page.tsx'
import { useRoute, link, goToNewRun, navigate, useForwarding } from '#renderer/client/route.ts'
import { shell, giveKey } from '#renderer/client/connection.ts'
import { useAddFile } from '#renderer/client/adding.ts'
import { useLatest } from '#renderer/client/api.tsx'
import { toast, useToasts, type Toast, codeOf, hintOf } from '#renderer/client/toasts.ts'
import { useWindow } from '#renderer/client/window.ts'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { Kbd, EmptyState, ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { CommandPalette } from './CommandPalette.tsx'
import { DropTarget } from './DropTarget.tsx'
import { FileDialogs } from './FileDialogs.tsx'
import { StatusStrip } from './StatusStrip.tsx'
import { pages, placeIcons, screens, type Load } from './screens.ts'
import { CircleAlert, CircleCheck, X } from 'lucide-react'
import { Form, TextField } from '#renderer/kit/inputs.tsx'

export function App() {
  useNews()
  useRunsNews()
  useBrowserNotices()
  useNewDevices()
  useLoadNews()
  useDraftNews()
  useThemeSetting()
  useForwarding()
  useKeyListener()
  useGlobalKeys()
  useShellEvents()
  const isRefused = useConnection(({ state }) => state === 'refused')
  return (
    <div className="flex h-full flex-col">
      <SkipLink />
      <div className="flex min-h-0 grow">
        <Rail />
        <div className="flex min-w-0 grow flex-col">
          <div className="relative flex min-h-0 grow">
            {isRefused ? <ConnectionRefused /> : <ScreenOutlet />}
            <FirstRunGuide />
          </div>
          <Toasts />
        </div>
      </div>
      <StatusStrip />
      <CommandPalette />
      <KeySheet />
      <FileDialogs />
      <DropTarget />
      <KeyDialog />
    </div>
  )
}

/** Skip link for keyboard users, past the rail to the screen's content. Not an anchor, since the address is the route's. */
const SkipLink = () => (
  <button
    type="button"
    className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded focus:border focus:border-accent focus:bg-bg focus:px-3 focus:py-1.5"
    onClick={() => document.getElementById(contentId)?.focus()}
  >
    Skip to the content
  </button>
)

const item =
  'flex h-12 w-full shrink-0 flex-col items-center justify-center gap-0.5 rounded text-xs short:h-9.5 short:gap-0 phone:h-10 text-muted -outline-offset-2 hover:bg-raised hover:text-text aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent-ink'

/** Lists the places. Those for work scroll where there is little room; settings stay at the foot. */
function Rail() {
  return (
    <nav
      aria-label="Places"
      className="flex w-18 shrink-0 flex-col gap-1 border-r border-line bg-panel p-1 short:gap-0.5 phone:w-12"
    >
      <div className="flex min-h-0 grow flex-col gap-1 overflow-y-auto short:gap-0.5">
        {places.slice(0, -1).map((place) => (
          <RailLink key={place.id} place={place} />
        ))}
      </div>
      {places.slice(-1).map((place) => (
        <RailLink key={place.id} place={place} />
      ))}
    </nav>
  )
}

function RailLink({ place: { id, title, route } }: { place: Place }) {
  const { here } = useRoute()
  const Icon = placeIcons[id]
  return (
    <a
      href={link(route)}
      title={title}
      aria-current={here?.place.id === id ? 'page' : undefined}
      className={item}
    >
      <Icon size={18} strokeWidth={1.75} aria-hidden />
      <span className="phone:sr-only">{title}</span>
    </a>
  )
}

/* Going to places by key, by menu of the shell, by palette. */

function useGlobalKeys(): void {
  const { openPalette, openKeySheet } = useWindow.getState()
  const { chooseAndAdd } = useAddFile()
  useKeys({
    ...Object.fromEntries(places.map(({ id, route }) => [id, () => navigate(route)])),
    palette: openPalette,
    keySheet: openKeySheet,
    newRun: goToNewRun,
    addData: chooseAndAdd,
  })
}

/** Handles actions from the menu, the tray or the system. */
function useShellEvents(): void {
  const latest = useLatest(useAddFile())
  useEffect(() => shell?.onEvent((event) => react(event, latest.current)), [latest])
}

function react(event: ShellEvent, { add, chooseAndAdd }: ReturnType<typeof useAddFile>): void {
  switch (event.type) {
    case 'new-run':
      goToNewRun()
      break
    case 'add-data':
      chooseAndAdd()
      break
    case 'show-keys':
      useWindow.getState().openKeySheet()
      break
    case 'show-palette':
      useWindow.getState().openPalette()
      break
    case 'open-file':
      add({ path: event.path, name: lastPart(event.path) })
      break
    case 'go':
      navigate(event.route)
      break
    case 'stopping':
      if (event.runs > 0) toast({ title: 'Stopping after this step; a checkpoint is kept.' })
  }
}

const ids = Object.keys(keyTable) as KeyId[]
const groups = [...new Set(ids.map((id) => keyTable[id].group))]

function KeySheet() {
  const { isKeySheetOpen, closeAll } = useWindow()
  const { bindings } = useKeyBindings()
  return (
    <Dialog
      isOpen={isKeySheetOpen}
      onClose={closeAll}
      title="Keys"
      description="Change them under Settings, Appearance & keys."
      width={720}
    >
      <div className="columns-2 gap-8">
        {groups.map((group) => (
          <section key={group} className="mb-4 break-inside-avoid">
            <h3 className="mb-1 text-sm font-medium text-muted">{group}</h3>
            <dl>
              {ids
                .filter((id) => keyTable[id].group === group)
                .map((id) => (
                  <div key={id} className="flex min-h-7 items-center gap-3 border-b border-line">
                    <dt className="grow">{keyTable[id].label}</dt>
                    <dd className="flex gap-1">
                      {keysOf(id, bindings).map((key) => (
                        <Kbd key={key}>{keyWords(key)}</Kbd>
                      ))}
                    </dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}

/** Lazy screens, created once: a new lazy component would lose the screen's state. */
const shown: ReadonlyMap<Load, ReactNode> = new Map(
  [...Object.values(screens), ...Object.values(pages)].map((load) => {
    const Shown = lazy(async () => ({ default: await load() }))
    return [load, <Shown />]
  }),
)

function ScreenOutlet() {
  const { here } = useRoute()
  if (here === null) return <NoScreen />
  const { view, rest } = here
  const page = rest.length > 0 ? pages[view.id] : undefined
  return (
    <Guard key={page === undefined ? view.id : `${view.id}/…`}>
      <Suspense fallback={<Loading shape="cards" />}>{shown.get(page ?? screens[view.id])}</Suspense>
    </Guard>
  )
}

const NoScreen = () => (
  <Page title="Not found">
    <EmptyState
      title="There is nothing at this address."
      action={<Button onClick={() => navigate('/')}>Go home</Button>}
    />
  </Page>
)

/** Error boundary of a screen: the rest of the window keeps working, and training is not affected. */
class Guard extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (error === null) return this.props.children
    return (
      <Page title="This page failed">
        <ErrorNote
          error={{
            message: error.message,
            hint: 'Runs continue and nothing is lost. Reload the page.',
            code: error.stack ?? null,
          }}
          action={<Button onClick={() => this.setState({ error: null })}>Show again</Button>}
        />
      </Page>
    )
  }
}

/** Replaces every screen while the host refuses this window: says why, and how to get in. */
function ConnectionRefused() {
  const problem = useConnection((connection) => connection.problem)
  if (problem === null) return null
  return (
    <Page title="Not connected">
      <div className="flex max-w-140 flex-col gap-3" role="alert">
        <p className="text-lg font-medium text-pretty">{problem.message}</p>
        <p className="text-muted text-pretty">{hintOf(problem)}</p>
        {codeOf(problem) === 'api/refused' ? (
          <KeyField />
        ) : (
          <Button className="self-start" onClick={() => location.reload()}>
            Reload
          </Button>
        )}
      </div>
    </Page>
  )
}

function KeyField() {
  const [text, setText] = useState('')
  const [isWrong, setWrong] = useState(false)
  return (
    <Form className="flex items-end gap-2" onSubmit={() => setWrong(!giveKey(text))}>
      <TextField
        label="Address or key"
        className="grow"
        {...(isWrong ? { error: 'This address has no key. The key follows #token=.' } : {})}
        mono
        value={text}
        onChange={setText}
        placeholder="http://127.0.0.1:…/#token=…"
      />
      <Button variant="primary" type="submit">
        Connect
      </Button>
    </Form>
  )
}

/** Notices in a row of their own: the page above and dialogs give way, since nothing may lie over a button. */
function Toasts() {
  const { toasts, dismiss } = useToasts()
  return (
    <section
      ref={tellHeight}
      aria-label="Notices"
      aria-live="polite"
      className="relative z-50 flex max-h-[40vh] shrink-0 flex-wrap gap-2 overflow-auto bg-panel px-4 not-empty:border-t not-empty:border-line not-empty:py-2"
    >
      {toasts.map((toast) => (
        <Notice key={toast.id} toast={toast} onClose={() => dismiss(toast.id)} />
      ))}
    </section>
  )
}

/** Tells the style sheet how much of the window is taken, for what is placed on the window itself. */
function tellHeight(element: HTMLElement): () => void {
  const observer = new ResizeObserver(() =>
    document.documentElement.style.setProperty('--notices', `${String(element.offsetHeight)}px`),
  )
  observer.observe(element)
  return () => observer.disconnect()
}

function Notice({ toast: { title, detail, tone, action }, onClose }: { toast: Toast; onClose: () => void }) {
  return (
    <div className="flex w-90 max-w-full items-start gap-2 rounded border border-line bg-bg px-3 py-2 animate-appear">
      {tone === 'bad' && <CircleAlert size={16} aria-hidden className="mt-0.5 shrink-0 text-bad" />}
      {tone === 'good' && <CircleCheck size={16} aria-hidden className="mt-0.5 shrink-0 text-good" />}
      <div className="min-w-0 grow break-words">
        <p className="font-medium">{title}</p>
        {detail !== undefined && <p className="text-muted">{detail}</p>}
      </div>
      {action !== undefined && (
        <Button
          small
          onClick={() => {
            action.run()
            onClose()
          }}
        >
          {action.label}
        </Button>
      )}
      <IconButton small label="Dismiss" icon={X} onClick={onClose} />
    </div>
  )
}
