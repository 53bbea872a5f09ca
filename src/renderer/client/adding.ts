/** Import of files and folders: each opens the screen that shows its contents before anything happens. */
import { invalidModel } from '#shared/errors.ts'
import { foreignFolder, foreignNamed } from '#shared/foreignData.ts'
import { lastPart } from '#renderer/client/format.ts'
import { useCallback } from 'react'
import { create } from 'zustand'
import { dataFilter, isGguf, kindOfFolder, kindOfName, whatHappens, useFileDialog } from './fileDialog.ts'
import { sourceOfFile, sourceOfFolder, type FileSource } from './connection.ts'
import { asError, toast, toastError } from './toasts.ts'
import { navigate } from './route.ts'

/** File handed to a screen, which takes and clears it. */
export interface Arrival {
  readonly name: string
  readonly source: FileSource
}

export interface ArrivingFolder {
  readonly name: string
  readonly kind: 'model' | 'adapter'
  /** Null while its files are being sent to the host. */
  readonly source: FileSource | null
}

interface Arrivals {
  readonly data: readonly Arrival[]
  readonly model: ArrivingFolder | null
  readonly reward: { readonly name: string; readonly code: string } | null
}

export const useArrivals = create<Arrivals>(() => ({ data: [], model: null, reward: null }))

export interface AddedFile {
  readonly name: string
  readonly path?: string
  readonly file?: File
  readonly files?: readonly File[]
}

async function addOne(added: AddedFile): Promise<void> {
  const { name, path, file, files } = added
  const kind = files === undefined ? kindOfName(name) : kindOfFolder(files.map((inside) => inside.name))
  if (kind === 'data') await addData(name, path, file)
  else if (kind === 'reward' && file !== undefined) await addReward(name, file)
  else if (kind === 'model' || kind === 'adapter') await addModel(kind, added)
  else toast({ title: `Unsupported file: ${name}`, detail: unknownWords(added), tone: 'bad' })
}

/** Names the kind of file and how to convert it, if the name tells; else lists supported kinds. */
function unknownWords({ name, files }: AddedFile): string {
  const names = files?.map((inside) => inside.name)
  const foreign = names === undefined ? foreignNamed(name) : foreignFolder(name, names)
  return foreign === undefined ? whatHappens.unknown : `It ${foreign.sentence}. ${foreign.advice}`
}

/** Matches the files of a model or an adapter; other weights beside them are not sent to the host. */
const folderFile = /^[\w -][\w. -]*(?:\.json|\.jinja|\.safetensors|\.md|\.txt)$|^LICENSE$/

/** Lists what of a folder is sent to the host; GGUF files only where they are its weights, and then one. */
export function sentFiles<T extends { readonly name: string }>(files: readonly T[]): readonly T[] {
  const named = files.filter(({ name }) => folderFile.test(name))
  if (named.some(({ name }) => name.endsWith('.safetensors'))) return named
  const weights = files.filter(({ name }) => isGguf(name))
  if (weights.length <= 1) return [...named, ...weights]
  throw invalidModel(
    `The folder holds ${String(weights.length)} GGUF files.`,
    'Nothing was sent. Add one of the files.',
  )
}

/** Shows a model or an adapter: a folder, or one file. */
async function addModel(kind: 'model' | 'adapter', { name, path, file, files }: AddedFile): Promise<void> {
  const arriving = { name, kind, source: path === undefined ? null : { path } }
  useArrivals.setState({ model: arriving })
  navigate('/models')
  if (path !== undefined) return
  const isCurrent = () => useArrivals.getState().model === arriving
  try {
    const source = await (files === undefined && file !== undefined
      ? sourceOfFile(file)
      : sourceOfFolder(sentFiles(files ?? [])))
    if (isCurrent()) useArrivals.setState({ model: { ...arriving, source } })
  } catch (thrown) {
    if (isCurrent()) useArrivals.setState({ model: null })
    throw thrown
  }
}

async function addData(name: string, path: string | undefined, file: File | undefined): Promise<void> {
  const source = path === undefined ? file && (await sourceOfFile(file)) : { path }
  if (source === undefined) return
  useArrivals.setState(({ data }) => ({ data: [...data, { name, source }] }))
  navigate('/data')
}

async function addReward(name: string, file: File): Promise<void> {
  useArrivals.setState({ reward: { name, code: await file.text() } })
  navigate('/rewards')
}

export function useAddFile() {
  const choose = useFileDialog((state) => state.choose)
  const add = useCallback((added: AddedFile) => {
    addOne(added).catch((thrown: unknown) => toastError(asError(thrown)))
  }, [])
  const chooseAndAdd = useCallback(() => {
    const asked = choose({ kind: 'file', title: 'Add data', filters: [dataFilter] })
    void asked.then((path) => {
      if (path !== null) add({ path, name: lastPart(path) })
    })
  }, [choose, add])
  return { add, chooseAndAdd }
}
