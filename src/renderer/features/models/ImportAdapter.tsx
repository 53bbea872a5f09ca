import { useState } from 'react'
import type { FileSource } from '#renderer/client/connection.ts'
import { useArrivals } from '#renderer/client/adding.ts'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { navigate } from '#renderer/client/route.ts'
import { toast } from '#renderer/client/toasts.ts'
import { ErrorNote } from '#renderer/kit/states.tsx'
import { importName } from './exportPlan.ts'
import { ImportForm } from './ImportForm.tsx'

interface ImportAdapterProps {
  readonly name: string
  readonly source: FileSource
  readonly onDiscard: () => void
}

/** An adapter that somebody trained before, here or elsewhere. */
export function ImportAdapter({ name: folderName, source, onDiscard }: ImportAdapterProps) {
  const [name, setName] = useState(importName(folderName))
  const { data: adapters = [] } = useAnswer('models.adapters', undefined)
  const load = useCommand('models.importAdapter', {
    quiet: true,
    onDone(adapter) {
      toast({ title: `The adapter “${adapter.name}” was imported.`, tone: 'good' })
      useArrivals.setState({ model: null })
      navigate('/models', { adapter: adapter.name })
    },
  })
  return (
    <>
      <p className="font-medium">This folder is an adapter.</p>
      <p className="text-muted text-pretty">
        It adds to a base model what was trained on it. Every tensor is checked before it is copied; then a
        run can start from it, and the arena can play it.
      </p>
      <ImportForm
        action="Import adapter"
        name={name}
        onName={setName}
        isTaken={adapters.some((adapter) => adapter.name === name)}
        isRunning={load.isRunning}
        onImport={() => void load.run({ ...source, name })}
        onDiscard={onDiscard}
      />
      {load.error !== null && <ErrorNote error={load.error} />}
    </>
  )
}
