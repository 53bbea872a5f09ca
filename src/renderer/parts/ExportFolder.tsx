import { useState } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { useFileDialog } from '#renderer/client/fileDialog.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { freeName, joinPath } from './exportPlan.ts'

/** Folder to be written: one that the user names, else a free name among the exports. */
export function useExportFolder(name: string, title: string) {
  const [own, setOwn] = useState<string | null>(null)
  const { data: system } = useAnswer('system.info', undefined)
  const ask = useFileDialog((state) => state.choose)
  const exports = system === undefined ? '' : joinPath(system.dataDirectory, 'exports')
  // The folder need not exist yet; then no name is taken.
  const there = useAnswer('system.browse', { path: exports }, { enabled: exports !== '', staleMs: 0 })
  const taken = there.data?.path === exports ? there.data.entries.map((entry) => entry.name) : []
  const free = freeName(name, taken)
  const choose = (inside: string) =>
    void ask({ kind: 'folder', title }).then((path) => {
      if (path !== null) setOwn(joinPath(path, inside))
    })
  return {
    own,
    setOwn,
    free,
    choose,
    lookAgain: there.refetch,
    out: own ?? (exports === '' ? '' : joinPath(exports, free)),
    /** Typing is disabled meanwhile, since the text would be mixed with the name that arrives. */
    isNameComing: own === null && there.isPending,
  }
}

interface FolderFieldProps {
  readonly folder: ReturnType<typeof useExportFolder>
  /** Name of the folder inside the chosen one. */
  readonly inside: string
  readonly className?: string
}

export const FolderField = ({ folder, inside, className }: FolderFieldProps) => (
  <Field
    label="Folder"
    className={className}
    note="A new or empty folder on the machine where Turnwise runs."
    aside={
      folder.own !== null && (
        <Button small variant="quiet" onClick={() => folder.setOwn(null)}>
          Usual folder
        </Button>
      )
    }
  >
    {(ids) => (
      <div className="flex gap-2">
        <TextInput mono {...ids} value={folder.out} readOnly={folder.isNameComing} onChange={folder.setOwn} />
        <Button onClick={() => folder.choose(inside)}>Choose</Button>
      </div>
    )}
  </Field>
)
