/** Files and folders on their way in: each is taken to the place that shows what it is before anything happens. */
import { useCallback } from 'react'
import { create } from 'zustand'
import { kindOfFolder, kindOfName, whatHappens, type FileKind } from '../adding.ts'
import { sourceOfFile, type FileSource } from '../connection.ts'
import { asError } from './failures.ts'
import { useFileDialog } from './fileDialog.ts'
import { navigate } from './route.ts'
import { toast, toastError } from './toasts.ts'

/** What a place was asked to show; the place takes it and clears it. */
export interface Arrival {
  readonly name: string
  readonly source: FileSource
}

interface Arrivals {
  /** Data files, each to be looked at. */
  readonly data: readonly Arrival[]
  readonly model: { readonly path: string } | null
  readonly reward: { readonly name: string; readonly code: string } | null
}

export const useArrivals = create<Arrivals>(() => ({ data: [], model: null, reward: null }))

export interface AddedFile {
  readonly name: string
  readonly path?: string
  readonly file?: File
  /** Names in it, where it is a folder. */
  readonly names?: readonly string[]
}

async function addOne({ name, path, file, names }: AddedFile): Promise<void> {
  const kind = names === undefined ? kindOfName(name) : kindOfFolder(names)
  if (kind === 'data') await addData(name, path, file)
  else if (kind === 'reward' && file !== undefined) await addReward(name, file)
  else if ((kind === 'model' || kind === 'adapter') && path !== undefined) {
    useArrivals.setState({ model: { path } })
    navigate('/models')
  } else toast({ title: `${name} was not taken.`, detail: refusal(kind), tone: 'bad' })
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

const refusal = (kind: FileKind): string =>
  kind === 'model' || kind === 'adapter'
    ? 'A browser does not tell where a folder lies. Add it under Models by choosing the folder.'
    : whatHappens.unknown

const dataFilter = { name: 'Data', extensions: ['csv', 'tsv', 'json', 'jsonl', 'ndjson', 'parquet'] }

export function useAddFile() {
  const choose = useFileDialog((state) => state.choose)
  const add = useCallback((added: AddedFile) => {
    addOne(added).catch((thrown: unknown) => toastError(asError(thrown)))
  }, [])
  /** Asks for a data file and adds it. */
  const chooseAndAdd = useCallback(() => {
    const asked = choose({ kind: 'file', title: 'Add data', filters: [dataFilter] })
    void asked.then((path) => {
      if (path !== null) add({ path, name: path.split(/[\\/]/).at(-1) ?? path })
    })
  }, [choose, add])
  return { add, chooseAndAdd }
}
