import type { ReactNode } from 'react'
import { Button } from '#renderer/kit/Button.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { isImportName } from './exportPlan.ts'

interface ImportFormProps {
  readonly action: string
  readonly name: string
  readonly onName: (name: string) => void
  readonly isTaken: boolean
  readonly isRunning: boolean
  readonly onImport: () => void
  /** More of it to say, under the name. */
  readonly children?: ReactNode
  /** Or cancels while it is running. */
  readonly onDiscard: () => void
}

/** Under which name a folder is copied. */
export function ImportForm(props: ImportFormProps) {
  const { action, name, onName, isTaken, isRunning, onImport, onDiscard, children } = props
  return (
    <form
      className="my-4 flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        if (!isRunning && !isTaken && isImportName(name)) onImport()
      }}
    >
      <Field
        label="Name"
        error={nameProblem(name, isTaken)}
        note="The files are copied into Turnwise’s folder; these stay as they are."
      >
        {(ids) => <TextInput {...ids} value={name} onChange={onName} disabled={isRunning} />}
      </Field>
      {children}
      <div className="flex items-center gap-2">
        <Button type="submit" variant="primary" disabled={isRunning || isTaken || !isImportName(name)}>
          {action}
        </Button>
        <Button variant="quiet" onClick={onDiscard}>
          {isRunning ? 'Cancel' : 'Discard'}
        </Button>
      </div>
    </form>
  )
}

function nameProblem(name: string, isTaken: boolean): string | null {
  if (isTaken) return 'There is one of that name already.'
  return isImportName(name) ? null : 'Letters, digits, dots and dashes.'
}
