import { ArrowUp, CircleCheck, File, Folder } from 'lucide-react'
import { useState } from 'react'
import { foreignNamed } from '#shared/foreignData.ts'
import { formatBytes } from '#renderer/client/format.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { isGguf, isOfFilters, useFileDialog, type Choosing } from '#renderer/client/fileDialog.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { TextInput, Form, TextField } from '#renderer/kit/inputs.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'

/** Chooser for the host's files in a browser, where a page cannot know their paths. */
export function FileDialogs() {
  const asked = useFileDialog((state) => state.asked)
  if (asked === null) return null
  return <FileDialog key={asked.title} choosing={asked} onAnswer={asked.answer} />
}

const actionWords = {
  file: 'Open',
  folder: 'Use this folder',
  fileInFolder: 'Use this file',
  save: 'Save here',
} as const

function FileDialog({ choosing, onAnswer }: FileDialogProps) {
  const { kind, title, filters, suggestedName = '' } = choosing
  const [remembered, remember] = useSetting<string | null>('files.lastFolder', null)
  const [folder, setFolder] = useState<string | null>(null)
  const [name, setName] = useState(suggestedName)
  const at = folder ?? remembered
  const { entries, error, here, parent, isSettled, isLoading } = useFolder(at)
  const join = (entry: string) => `${here.replace(/[\\/]$/, '')}/${entry}`
  const answer = (path: string) => {
    remember(here)
    onAnswer(path)
  }
  const chosen = name === '' ? here : join(name)
  const isChosen = isSettled && (kind === 'folder' || name !== '')
  const open = (path: string) => {
    setFolder(path)
    if (kind !== 'save') setName('')
  }
  const goTo = (path: string) => (filters !== undefined && isOffered(path, choosing) ? answer : open)(path)
  return (
    <Dialog
      width={640}
      title={title}
      description={placeWords(choosing)}
      onClose={() => onAnswer(null)}
      action={{
        label: actionWords[kind === 'folder' && name !== '' ? 'fileInFolder' : kind],
        isDisabled: !isChosen,
        run: () => answer(chosen),
      }}
    >
      <PathInput
        key={folder ?? ''}
        path={isSettled ? here : at}
        isUnknown={at === null && isLoading}
        parent={parent}
        onGo={goTo}
      />
      {error !== null && (
        <ErrorNote
          error={refusal(at, choosing) ?? error}
          className="mt-2"
          action={<Button onClick={() => open(parent ?? '/')}>Go back</Button>}
        />
      )}
      {isLoading && <Loading />}
      {entries !== null && (
        <EntryList
          {...{ entries, choosing }}
          chosen={name}
          onClick={(entry) => (entry.isFolder ? open(join(entry.name)) : setName(entry.name))}
          onOpen={(entry) => !entry.isFolder && kind !== 'save' && answer(join(entry.name))}
        />
      )}
      {kind === 'save' && <TextField label="Name" className="mt-2" value={name} onChange={setName} />}
    </Dialog>
  )
}

/** Marks a model folder: such folders often contain no others, and an empty list would look like a wrong place. */
function FoundModel({ names }: { names: readonly string[] }) {
  const found = modelIn(names)
  return (
    <p
      role="status"
      className={classes(
        'mt-2 flex items-center gap-1.5 text-sm',
        found === null ? 'text-faint' : 'text-good',
      )}
    >
      {found === null ? (
        names.some(isGguf) ? (
          'Choose one of the GGUF files.'
        ) : (
          'No model in this folder: it would hold config.json and safetensors, or a GGUF file.'
        )
      ) : (
        <>
          <CircleCheck size={14} aria-hidden />
          {found} found: use this folder.
        </>
      )}
    </p>
  )
}

/** Lists a folder of the host's machine, showing the previous one while loading. `at`: null starts where the host does. */
function useFolder(at: string | null) {
  const input = at === null ? {} : { path: at }
  const { data, error, isPrevious } = useAnswer('system.browse', input, { keep: true, staleMs: 0 })
  const { path: here = '', parent = null, entries = null } = data ?? {}
  const isLoading = entries === null && error === null
  return { here, parent, entries, error, isLoading, isSettled: data !== undefined && !isPrevious }
}

interface FileDialogProps {
  readonly choosing: Choosing
  readonly onAnswer: (path: string | null) => void
}

interface Entry {
  readonly name: string
  readonly isFolder: boolean
  readonly sizeBytes: number | null
}

interface EntryListProps {
  readonly choosing: Choosing
  readonly entries: readonly Entry[]
  /** Name. */
  readonly chosen: string
  readonly onClick: (entry: Entry) => void
  readonly onOpen: (entry: Entry) => void
}

function EntryList({ choosing, entries, chosen, onClick, onOpen }: EntryListProps) {
  const offered = entries.filter((entry) => entry.isFolder || isOffered(entry.name, choosing))
  return (
    <>
      {choosing.isForModels === true && chosen === '' && (
        <FoundModel names={entries.map((entry) => entry.name)} />
      )}
      <ul className="mt-2 h-72 overflow-auto rounded border border-line py-1">
        {offered.length === 0 && (
          <li className="px-3 py-1 text-faint">
            {entries.length === 0 ? 'The folder is empty.' : 'Nothing here can be chosen.'}
          </li>
        )}
        {offered.map((entry) => (
          <EntryLine
            key={entry.name}
            entry={entry}
            isChosen={entry.name === chosen}
            onClick={() => onClick(entry)}
            onOpen={() => onOpen(entry)}
          />
        ))}
      </ul>
    </>
  )
}

interface EntryLineProps {
  readonly entry: Entry
  readonly isChosen: boolean
  readonly onClick: () => void
  /** Runs on a double click. */
  readonly onOpen: () => void
}

function EntryLine({ entry, isChosen, onClick, onOpen }: EntryLineProps) {
  const Icon = entry.isFolder ? Folder : File
  return (
    <li>
      <button
        type="button"
        aria-pressed={entry.isFolder ? undefined : isChosen}
        onClick={onClick}
        onDoubleClick={onOpen}
        className="flex h-7 w-full items-center gap-2 px-3 text-left -outline-offset-2 hover:bg-raised aria-pressed:bg-accent-soft"
      >
        <Icon size={14} aria-hidden className="text-faint" />
        <span className="grow truncate">{entry.name}</span>
        <span className="text-sm text-faint tabular-nums">
          {entry.isFolder ? '' : formatBytes(entry.sizeBytes)}
        </span>
      </button>
    </li>
  )
}

function PathInput({
  path,
  isUnknown,
  parent,
  onGo,
}: {
  /** Requested path until the host has answered with its own spelling. */
  path: string | null
  /** True while typing is disabled, since the path that arrives would be mixed with it. */
  isUnknown: boolean
  parent: string | null
  onGo: (path: string) => void
}) {
  // Typed text stays when the folder's own path arrives late.
  const [typed, setTyped] = useState<string | null>(null)
  const shown = typed ?? path ?? ''
  return (
    <Form className="flex gap-2" onSubmit={() => shown !== '' && onGo(shown)}>
      <IconButton
        label="Parent folder"
        icon={ArrowUp}
        iconSize={14}
        disabled={parent === null}
        onClick={() => parent !== null && onGo(parent)}
      />
      <TextInput mono aria-label="Folder" readOnly={isUnknown} value={shown} onChange={setTyped} />
      <Button type="submit">Go</Button>
    </Form>
  )
}

/** Explains why a typed file cannot be data, which is why the host finds no folder there. */
export function refusal(
  path: string | null,
  { filters = [] }: Pick<Choosing, 'filters'>,
): { readonly message: string; readonly hint: string } | null {
  const isForData = filters.some(({ extensions }) => extensions.includes('csv'))
  const foreign = path === null || !isForData ? undefined : foreignNamed(path)
  return foreign === undefined ? null : { message: `${path} ${foreign.sentence}.`, hint: foreign.advice }
}

const isOffered = (name: string, { kind, filters, isForModels = false }: Choosing): boolean =>
  (kind !== 'folder' || isForModels) && isOfFilters(name, filters)

function placeWords({ kind, filters = [] }: Choosing): string {
  const endings = kind === 'folder' ? [] : filters.flatMap(({ extensions }) => extensions)
  return ['On the machine where Turnwise runs', ...(endings.length > 0 ? [endings.join(', ')] : [])].join(
    ' · ',
  )
}

/** Judges a folder by the names of its files; null: neither a model nor an adapter. */
export function modelIn(names: readonly string[]): 'Model' | 'Adapter' | null {
  if (names.includes('adapter_config.json')) return 'Adapter'
  if (names.filter(isGguf).length === 1) return 'Model'
  const hasWeights = names.some((name) => name.endsWith('.safetensors'))
  return names.includes('config.json') && hasWeights ? 'Model' : null
}
