/** Dialog for choosing a file or folder: the system's in the desktop app, our own on the host's files in a browser. */
import { create } from 'zustand'
import type { FileFilter } from '#shared/bridge.ts'
import { shell } from './connection.ts'

export interface Choosing {
  readonly kind: 'file' | 'folder' | 'save'
  readonly title: string
  /** Files that can be chosen; for a folder, that can be chosen in its place. */
  readonly filters?: readonly FileFilter[]
  readonly suggestedName?: string
  /** True to choose a model or adapter: the dialog marks the folders it recognizes. */
  readonly isForModels?: boolean
}

interface FileDialogState {
  readonly asked: (Choosing & { readonly answer: (path: string | null) => void }) | null
  /** Resolves with null if nothing was chosen. */
  readonly choose: (choosing: Choosing) => Promise<string | null>
}

export const useFileDialog = create<FileDialogState>((set) => ({
  asked: null,
  choose(choosing) {
    if (shell !== null) return bySystem(shell, choosing)
    const { promise, resolve } = Promise.withResolvers<string | null>()
    const answer = (path: string | null) => {
      set({ asked: null })
      resolve(path)
    }
    set({ asked: { ...choosing, answer } })
    return promise
  },
}))

function bySystem(
  bridge: NonNullable<typeof shell>,
  { kind, isForModels: _only, ...options }: Choosing,
): Promise<string | null> {
  if (kind === 'folder') return bridge.chooseFolder(options)
  return kind === 'file' ? bridge.chooseFile(options) : bridge.chooseSave(options)
}

/** Kind of a dropped or chosen file, judged by its name alone: nothing is read before the user agrees. */
type FileKind = 'data' | 'model' | 'adapter' | 'reward' | 'bundle' | 'unknown'

const endings: Readonly<Record<string, FileKind>> = {
  csv: 'data',
  tsv: 'data',
  jsonl: 'data',
  ndjson: 'data',
  json: 'data',
  parquet: 'data',
  gguf: 'model',
  ts: 'reward',
  js: 'reward',
  mjs: 'reward',
  turnwise: 'bundle',
}

export const acceptedWords =
  'data (csv, tsv, json, jsonl, parquet), reward code (ts, js), models (gguf), folders of models and adapters'

const packings = ['gz', 'zst']
const ending = new RegExp(String.raw`\.([^.]+?)(?:\.(?:${packings.join('|')}))?$`, 'i')

export const kindOfName = (name: string): FileKind =>
  endings[ending.exec(name)?.[1]?.toLowerCase() ?? ''] ?? 'unknown'

/** Returns a data file's name without its ending; a split of a data set on Hugging Face has none, but may contain a dot. */
export const withoutDataEnding = (name: string): string =>
  kindOfName(name) === 'data' ? name.replace(ending, '') : name

const endingsOf = (kind: FileKind): readonly string[] =>
  Object.keys(endings).filter((each) => endings[each] === kind)

export const dataFilter: FileFilter = { name: 'Data', extensions: [...endingsOf('data'), ...packings] }
export const ggufFilter: FileFilter = { name: 'GGUF', extensions: endingsOf('model') }

/** Tells whether a dialog offers a file: any without filters, else by its ending in capital or small letters. */
export const isOfFilters = (name: string, filters: readonly FileFilter[] | undefined): boolean =>
  filters === undefined ||
  filters.some(({ extensions }) => extensions.some((each) => name.toLowerCase().endsWith(`.${each}`)))

export const isGguf = (name: string): boolean => isOfFilters(name, [ggufFilter])

export function kindOfFolder(names: readonly string[]): FileKind {
  if (names.includes('adapter_config.json')) return 'adapter'
  return names.includes('config.json') || names.some(isGguf) ? 'model' : 'unknown'
}

export const whatHappens: Readonly<Record<FileKind, string>> = {
  data: 'Opens a preview; nothing is imported until you confirm.',
  model: 'Shows the model; it is copied when you confirm.',
  adapter: 'Shows the adapter.',
  reward: 'Opens the code in the reward editor; nothing is run.',
  bundle: 'Shows the run; it is added when you confirm.',
  unknown: `Turnwise cannot read this. It takes ${acceptedWords}.`,
}
