import { Download } from 'lucide-react'
import { useEffect, useState } from 'react'
import { acceptedWords } from '#renderer/client/fileDialog.ts'
import { shell } from '#renderer/client/connection.ts'
import { useAddFile, type AddedFile } from '#renderer/client/adding.ts'
import { useLatest } from '#renderer/client/api.tsx'
import { asError, toastError } from '#renderer/client/toasts.ts'

/** Accepts files dropped anywhere in the window, and says what will happen before they are dropped. */
export function DropTarget() {
  const isOver = useDrop()
  if (!isOver) return null
  return (
    <div className="pointer-events-none fixed inset-2 z-50 flex flex-col items-center justify-center gap-2 rounded border-2 border-dashed border-accent bg-[color-mix(in_srgb,var(--bg)_88%,transparent)] text-center">
      <Download size={28} aria-hidden className="text-accent" />
      <p className="text-lg font-medium">Drop to preview</p>
      <p className="max-w-100 text-muted">
        Nothing is imported until you confirm. Turnwise takes {acceptedWords}.
      </p>
    </div>
  )
}

/** Handles dropped files; true while some are dragged over the window. */
function useDrop(): boolean {
  const [isOver, setOver] = useState(false)
  const { add } = useAddFile()
  const latest = useLatest(add)
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') === true
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      setOver(true)
    }
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false)
    }
    const drop = (event: DragEvent) => {
      setOver(false)
      if (!hasFiles(event) || event.defaultPrevented) return
      event.preventDefault()
      droppedFiles(event).then(
        (files) => files.forEach((file) => latest.current(file)),
        (thrown: unknown) => toastError(asError(thrown)),
      )
    }
    // Elements under the pointer get dragenter while files are held, so they must accept them too.
    addEventListener('dragenter', over)
    addEventListener('dragover', over)
    addEventListener('dragleave', leave)
    addEventListener('drop', drop)
    return () => {
      removeEventListener('dragenter', over)
      removeEventListener('dragover', over)
      removeEventListener('dragleave', leave)
      removeEventListener('drop', drop)
    }
  }, [latest])
  return isOver
}

async function droppedFiles({ dataTransfer }: DragEvent): Promise<readonly AddedFile[]> {
  // Entries must be read before anything is awaited: the list is emptied when the event is over.
  const items = [...(dataTransfer?.items ?? [])].filter(({ kind }) => kind === 'file')
  const taken = items.map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }))
  return Promise.all(taken.flatMap(({ entry, file }) => (file === null ? [] : [describe(entry, file)])))
}

async function describe(entry: FileSystemEntry | null, file: File): Promise<AddedFile> {
  const path = shell?.pathForFile(file) ?? null
  const known = { name: file.name, file, ...(path === null ? {} : { path }) }
  if (entry === null || !isFolder(entry)) return known
  return { ...known, files: await filesIn(entry) }
}

const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile

/** Returns the files directly in a folder, not those of subfolders. */
async function filesIn(folder: FileSystemDirectoryEntry): Promise<readonly File[]> {
  const reader = folder.createReader()
  const { promise, resolve, reject } = Promise.withResolvers<FileSystemEntry[]>()
  reader.readEntries(resolve, reject)
  return Promise.all((await promise).filter(isFile).map(fileOf))
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  const { promise, resolve, reject } = Promise.withResolvers<File>()
  entry.file(resolve, reject)
  return promise
}
