/** Choosing a file or folder: the system's dialog in the desktop app, one of our own on the host's files in a browser. */
import { create } from 'zustand'
import type { FileFilter } from '#shared/bridge.ts'
import { shell } from './connection.ts'

export interface Choosing {
  readonly kind: 'file' | 'folder' | 'save'
  readonly title: string
  readonly filters?: readonly FileFilter[]
  /** Of a file to be saved. */
  readonly suggestedName?: string
  /** A folder of a model or adapter is wanted: the dialog says where it sees one. */
  readonly isForModels?: boolean
}

interface FileDialogState {
  readonly asked: (Choosing & { readonly answer: (path: string | null) => void }) | null
  /** null: nothing was chosen. */
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
