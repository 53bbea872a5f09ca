import { useState } from 'react'
import type { FileSource } from '#renderer/client/connection.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { useImportModel } from './useModels.ts'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { Panel } from '#renderer/kit/Panel.tsx'
import { ErrorNote, TaskProgress } from '#renderer/kit/states.tsx'
import { importName } from './exportPlan.ts'
import { ImportForm } from './ImportForm.tsx'
import { ModelFacts, type ModelInfo } from './ModelFacts.tsx'

interface ImportModelProps {
  readonly name: string
  readonly source: FileSource
  readonly info: ModelInfo
  readonly onDiscard: () => void
}

/** The card of a model that is not imported yet. */
export function ImportModel({ name: folderName, source, info, onDiscard }: ImportModelProps) {
  const [name, setName] = useState(importName(folderName))
  const [hubId, setHubId] = useState(info.hubId ?? '')
  const { data: models = [] } = useAnswer('models.list', undefined)
  const task = useImportModel()
  const isRunning = task.state === 'running'
  return (
    <>
      <Panel title="Card">
        <ModelFacts info={info} />
      </Panel>
      <ImportForm
        action="Import model"
        name={name}
        onName={setName}
        isTaken={models.some((model) => model.name === name)}
        isRunning={isRunning}
        onImport={() => task.start({ ...source, name, hubId: hubId.trim() === '' ? null : hubId.trim() })}
        onDiscard={isRunning ? task.cancel : onDiscard}
      >
        <Field
          label="Hub id"
          note="If it has one, such as Qwen/Qwen2.5-0.5B: adapters then say which model they belong to. Nothing is asked of the hub."
        >
          {(ids) => <TextInput {...ids} value={hubId} onChange={setHubId} disabled={isRunning} />}
        </Field>
      </ImportForm>
      {isRunning && task.last !== undefined && 'progress' in task.last && (
        <TaskProgress progress={{ ...task.last.progress, total: null }} />
      )}
      {task.error !== null && <ErrorNote error={task.error} className="mt-3" />}
    </>
  )
}
