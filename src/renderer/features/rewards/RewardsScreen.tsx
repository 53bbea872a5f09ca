import { FileCode2, MoreHorizontal, Plus } from 'lucide-react'
import { useEffect, useMemo, useState } from 'react'
import { viewRoute } from '#shared/places.ts'
import { besideClasses, classes } from '#renderer/kit/classes.ts'
import { Page } from '#renderer/kit/Page.tsx'
import { EmptyState, ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { useArrivals } from '#renderer/client/adding.ts'
import { useAnswer, useApi } from '#renderer/client/api.tsx'
import { asError, toastError } from '#renderer/client/toasts.ts'
import { navigate, useRoute, link } from '#renderer/client/route.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { SearchInput } from '#renderer/kit/inputs.tsx'
import { Menu } from '#renderer/kit/Menu.tsx'
import { BuiltInPage } from './BuiltInPage.tsx'
import { GalleryWorkbench, OwnWorkbench, type GalleryWorkbenchProps } from './CodeWorkbench.tsx'
import { kinds } from './kinds.tsx'
import {
  findGalleryEntry,
  judgeKey,
  libraryGroups,
  libraryRoute,
  shelfWith,
  type LibraryItem,
  type Shelf,
  type ShelfId,
} from '#renderer/parts/rewardLibrary.ts'
import { ArrivedDialog, DeleteDialog, NewRewardDialog, RenameDialog } from './LibraryDialogs.tsx'
import { JudgeWorkbench } from './JudgeWorkbench.tsx'
import { PythonWorkbench } from './PythonWorkbench.tsx'
import type { GalleryEntry, Reward, RewardKind } from '#renderer/parts/rewardTypes.ts'
import { freeName } from './testForm.ts'
import {
  copyOf,
  createReward,
  useDraftIds,
  useRewardLibrary,
  type Beginning,
  type RewardLibrary,
} from './useRewards.ts'

/** Code of one kind: the list, and one entry of it with its code, rows and results. Judges have no list. */
export function RewardsScreen() {
  const { here } = useRoute()
  const id = (here?.view.id ?? 'rewards') as ShelfId
  return id === 'judges' ? <JudgesScreen /> : <LibraryScreen shelf={shelfWith(id)} />
}

function JudgesScreen() {
  const { gallery, error } = useRewardLibrary()
  const models = useModelNames()
  const entry = findGalleryEntry(judgeKey, gallery)
  if (entry !== undefined) return <JudgeWorkbench {...{ entry, models }} />
  return <Page>{error === null ? <Loading shape="table" /> : <ErrorNote error={error} />}</Page>
}

const allKinds: readonly RewardKind[] = ['reward', 'environment', 'workflow', 'loss']

function LibraryScreen({ shelf }: { shelf: Shelf }) {
  const place = useLibraryPlace(shelf)
  const { query } = useRoute()
  const { rewards, gallery, isLoaded, error, selected, models, drafts, actions, dialogs } = place
  const library = (
    <div className="flex w-52 shrink-0 flex-col border-r border-line narrow:max-h-56 narrow:w-full narrow:border-r-0 narrow:border-b">
      <Library {...{ shelf, rewards, gallery, selected, drafts, actions }} />
    </div>
  )
  const python = shelf.id === 'rewards' ? query.get('python') : null
  if (python !== null) {
    const interpreter = query.get('interpreter')
    return <PythonWorkbench key={python} {...{ id: python, interpreter, models, library }} />
  }
  const own = rewards.find(({ id }) => id === selected)
  const entry = selected === null ? undefined : findGalleryEntry(selected, gallery)
  const onCopy = () => selected !== null && actions.duplicate(selected)
  return (
    <>
      {own !== undefined && <OwnWorkbench key={own.id} reward={own} {...{ models, library }} />}
      {entry !== undefined && (
        <GalleryPage key={selected} entry={entry} models={models} library={library} onCopy={onCopy} />
      )}
      {own === undefined && entry === undefined && (
        <Page isFull main={<NewButton shelf={shelf} onClick={actions.create} />}>
          <div className={besideClasses}>
            {isLoaded && library}
            <div className="min-w-0 grow">
              {error !== null && <ErrorNote error={error} className="m-4" />}
              {!isLoaded && error === null && <Loading label="Reading the library" shape="table" />}
              {isLoaded && (
                <EmptyState
                  icon={FileCode2}
                  iconSize={24}
                  title={selected === null ? shelf.emptyTitle : shelf.missingTitle}
                  action={<NewButton shelf={shelf} onClick={actions.create} />}
                >
                  {shelf.emptyText}
                </EmptyState>
              )}
            </div>
          </div>
        </Page>
      )}
      <RewardDialogs shelf={shelf} rewards={rewards} gallery={gallery} dialogs={dialogs} />
    </>
  )
}

function GalleryPage(props: GalleryWorkbenchProps) {
  const { entry, library } = props
  return entry.code === null ? <BuiltInPage {...{ entry, library }} /> : <GalleryWorkbench {...props} />
}

interface RewardDialogsProps {
  readonly shelf: Shelf
  readonly rewards: readonly Reward[]
  readonly gallery: readonly GalleryEntry[]
  readonly dialogs: ReturnType<typeof useLibraryPlace>['dialogs']
}

function RewardDialogs({ shelf, rewards, gallery, dialogs }: RewardDialogsProps) {
  const { open, target, arrived, isBusy, close, create, deleted } = dialogs
  if (arrived !== null)
    return (
      <ArrivedDialog key={arrived.name} file={arrived} isBusy={isBusy} onClose={close} onCreate={create} />
    )
  if (open === 'new') {
    const taken = rewards.map(({ name }) => name)
    return <NewRewardDialog {...{ shelf, gallery, taken, isBusy }} onClose={close} onCreate={create} />
  }
  if (target === null) return null
  if (open === 'rename') return <RenameDialog key={target.id} reward={target} onClose={close} />
  return open === 'delete' ? (
    <DeleteDialog key={target.id} reward={target} onClose={close} onDeleted={deleted} />
  ) : null
}

/* The place as a whole: what is open, and making, copying, renaming and deleting. */

type OpenDialog = 'new' | 'rename' | 'delete' | null

const useModelNames = (): readonly string[] => {
  const { data: models } = useAnswer('models.list', undefined)
  return useMemo(() => (models ?? []).flatMap((model) => ('problem' in model ? [] : [model.name])), [models])
}

function useLibraryPlace({ id: shelfId, kind: shown }: Shelf) {
  const all = useRewardLibrary(allKinds)
  const rewards = all.rewards.filter(({ kind }) => kind === shown)
  const gallery = all.gallery.filter(({ kind }) => kind === shown)
  const { selected, remember } = useSelected(shelfId, all)
  const [open, setOpen] = useState<OpenDialog>(null)
  const [targetId, setTargetId] = useState<string | null>(null)
  const arrived = useArrivals((state) => state.reward)
  const making = useMakeReward(rewards)

  const close = () => {
    setOpen(null)
    useArrivals.setState({ reward: null })
  }
  const create = (beginning: Beginning) => void making.make(beginning).then((isMade) => isMade && close())
  const ask = (dialog: OpenDialog) => (rewardId: string) => {
    setTargetId(rewardId)
    setOpen(dialog)
  }
  const actions: LibraryActions = {
    create: () => setOpen('new'),
    duplicate: (key) => {
      const entry = findGalleryEntry(key, gallery)
      const copy = entry === undefined ? null : copyOf(entry)
      const own = rewards.find(({ id }) => id === key)
      if (own !== undefined) void making.duplicate(own)
      else if (copy !== null) {
        const { kind, name } = copy
        // A new run lists it beside the built-in one of its name.
        void making.make({ ...copy, name: kinds[kind].isTrainedWith ? `${name} copy` : name })
      }
    },
    rename: ask('rename'),
    remove: ask('delete'),
  }
  return {
    rewards,
    gallery,
    selected,
    isLoaded: all.isLoaded,
    error: all.error,
    drafts: useDraftIds(),
    models: useModelNames(),
    actions,
    dialogs: {
      open,
      arrived,
      close,
      create,
      isBusy: making.isBusy,
      target: rewards.find(({ id }) => id === targetId) ?? null,
      deleted: () => {
        close()
        remember(null)
        navigate(viewRoute(shelfId))
      },
    },
  }
}

/** Returns what the address names; without a name, opens what was open last. */
function useSelected(shelf: ShelfId, { rewards, gallery }: RewardLibrary) {
  const { rest } = useRoute()
  const [remembered, remember] = useSetting<string | null>(`${shelf}.open`, null)
  const routeOf = (key: string | null): string | null => {
    const entry = rewards.find(({ id }) => id === key) ?? findGalleryEntry(key ?? '', gallery)
    return key === null || entry === undefined ? null : libraryRoute(entry.kind, key)
  }
  const isHere = (key: string | null) => key !== null && routeOf(key) === `${viewRoute(shelf)}/${key}`
  const asked = rest[0] ?? null
  // Restores the last open entry by its address, since another window may open something else meanwhile.
  const last = asked === null && isHere(remembered) ? remembered : null
  const opened = asked !== null && isHere(asked) ? asked : null
  // An entry of another kind is shown in the view of its kind.
  const other = last ?? (opened === null ? asked : null)
  const target = routeOf(other)
  useEffect(() => {
    if (target !== null) navigate(target, {}, { replace: true })
  }, [target])
  useEffect(() => {
    if (opened !== null && opened !== remembered) remember(opened)
  }, [opened, remembered, remember])
  return { selected: asked ?? last, remember }
}

/** Creates a reward and opens it. */
function useMakeReward(rewards: readonly Reward[]) {
  const client = useApi()
  const [isBusy, setBusy] = useState(false)
  const make = async (beginning: Beginning): Promise<boolean> => {
    setBusy(true)
    try {
      const taken = rewards.map(({ name }) => name)
      const name = freeName(beginning.name, taken)
      const { rewardId } = await createReward(client, { ...beginning, name })
      navigate(libraryRoute(beginning.kind, rewardId))
      return true
    } catch (thrown) {
      toastError(asError(thrown))
      return false
    } finally {
      setBusy(false)
    }
  }
  const duplicate = async ({ id: rewardId, kind, name }: Reward): Promise<void> => {
    try {
      const [newest] = await client.call('rewards.versions', { rewardId })
      const tests = await client.call('rewards.tests', { rewardId })
      const { language, code } = newest ?? { language: 'ts' as const, code: '' }
      await make({ kind, language, code, tests, name: `${name} copy`, note: `Copy of “${name}”` })
    } catch (thrown) {
      toastError(asError(thrown))
    }
  }
  return { isBusy, make, duplicate }
}

interface LibraryActions {
  readonly create: () => void
  readonly duplicate: (key: string) => void
  readonly rename: (rewardId: string) => void
  readonly remove: (rewardId: string) => void
}

interface LibraryProps {
  readonly shelf: Shelf
  readonly rewards: readonly Reward[]
  readonly gallery: readonly GalleryEntry[]
  readonly selected: string | null
  readonly drafts: ReadonlySet<string>
  readonly actions: LibraryActions
}

/** Lists everything that can be opened: custom code, and the gallery. */
function Library({ shelf, rewards, gallery, selected, drafts, actions }: LibraryProps) {
  const [filter, setFilter] = useState('')
  const groups = libraryGroups(rewards, gallery, filter)
  return (
    <nav aria-label={shelf.listLabel} className="flex min-h-0 grow flex-col bg-panel">
      <div className="flex shrink-0 items-center gap-1 border-b border-line p-2">
        <SearchInput label={shelf.searchLabel} value={filter} onChange={setFilter} className="min-w-0 grow" />
        <IconButton label={shelf.newWords} icon={Plus} onClick={actions.create} />
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
        {groups.length === 0 && <p className="p-3 text-sm text-faint">No matches.</p>}
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
  const duplicate = { label: isBuiltIn ? 'Make a copy' : 'Duplicate', run: () => actions.duplicate(key) }
  const groups = isBuiltIn
    ? [[duplicate]]
    : [
        [{ label: 'Rename', run: () => actions.rename(key) }, duplicate],
        [{ label: 'Delete', isDangerous: true, run: () => actions.remove(key) }],
      ]
  return (
    <li className="group relative flex items-center">
      <a
        href={link(libraryRoute(item.kind, key))}
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
            <IconButton small label={`More for ${name}`} icon={MoreHorizontal} iconSize={14} />
          </Menu>
        </div>
      )}
    </li>
  )
}

function Icon({ item: { kind, key } }: { item: LibraryItem }) {
  const Shape = kinds[kind][key.startsWith('builtin.') ? 'builtInIcon' : 'icon']
  return <Shape size={14} aria-hidden className="shrink-0 text-faint" />
}

const NewButton = ({ shelf, onClick }: { shelf: Shelf; onClick: () => void }) => (
  <Button variant="primary" icon={Plus} onClick={onClick}>
    {shelf.newWords}
  </Button>
)
