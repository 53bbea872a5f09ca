import { useState } from 'react'
import { useCommand } from '#renderer/client/api.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import type { DataSet } from './dataSetItems.ts'

export function RenameDataSet({ dataSet: { id, name }, onClose }: { dataSet: DataSet; onClose: () => void }) {
  const [draft, setDraft] = useState(name)
  const rename = useCommand('datasets.rename', { onDone: onClose })
  const isEmpty = draft.trim() === ''
  const save = () => void rename.run({ dataSetId: id, name: draft.trim() })
  return (
    <Dialog
      isOpen
      title="Rename data set"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" disabled={isEmpty || rename.isRunning} onClick={save}>
            Rename
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (!isEmpty) save()
        }}
      >
        <Field label="Name">
          {(ids) => <TextInput {...ids} autoFocus value={draft} onChange={setDraft} />}
        </Field>
      </form>
    </Dialog>
  )
}
