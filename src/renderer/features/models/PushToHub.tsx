import { useState } from 'react'
import { useAnswer, useTask, type Answer } from '#renderer/client/api.tsx'
import { formatBytes, plural } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Checkbox } from '#renderer/kit/choices.tsx'
import { Form, TextField } from '#renderer/kit/inputs.tsx'
import { KeyValue, Panel } from '#renderer/kit/Page.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'
import { Address } from './ModelFacts.tsx'
import { PhaseProgress } from './PhaseProgress.tsx'

/** Sends an export to a hub, and says beforehand what goes where and who will see it. */
export function PushToHub({ directory }: { directory: string }) {
  const { data: sent, error } = useAnswer('hub.outgoing', { directory }, { staleMs: 0 })
  const task = useTask('hub.push')
  const [repo, setRepo] = useState('')
  const [isPublic, setPublic] = useState(false)
  const isRunning = task.state === 'running'
  const cannotPush = isRunning || repo.trim() === ''
  return (
    <Panel title="Push to a hub">
      {error !== null && <ErrorNote error={error} />}
      {sent !== undefined && (
        <Form
          className="flex flex-col gap-3"
          onSubmit={() => !cannotPush && task.start({ directory, repo: repo.trim(), isPublic })}
        >
          <TextField
            label="Repository"
            note="owner/name, new or empty. The access token is that of the environment variable HF_TOKEN."
            mono
            value={repo}
            disabled={isRunning}
            onChange={setRepo}
          />
          <Checkbox label="Public" checked={isPublic} disabled={isRunning} onChange={setPublic} />
          <WhatGoes sent={sent} isPublic={isPublic} />
          <span className="flex gap-2">
            <Button type="submit" disabled={cannotPush}>
              Push
            </Button>
            {isRunning && <Button onClick={task.cancel}>Cancel</Button>}
          </span>
        </Form>
      )}
      <Outcome task={task} />
    </Panel>
  )
}

function WhatGoes({ sent, isPublic }: { sent: Answer<'hub.outgoing'>; isPublic: boolean }) {
  const { files, sizeBytes, hub, baseModel, license, notes } = sent
  return (
    <>
      <KeyValue
        entries={[
          ['Sent', `${plural(files.length, 'file')} as listed, ${formatBytes(sizeBytes)}`],
          ['To', `${hub}, ${isPublic ? 'where everybody can see them' : 'private'}`],
          ['Base model', baseModel ?? 'not named'],
          ['Licence', license ?? 'none stated'],
        ]}
      />
      {notes.map((note) => (
        <p key={note} className="text-caution text-pretty">
          {note}
        </p>
      ))}
    </>
  )
}

function Outcome({ task: { last, state, error } }: { task: ReturnType<typeof useTask<'hub.push'>> }) {
  if (error !== null) return <ErrorNote error={error} className="mt-3" />
  if (last === undefined) return null
  return (
    <div className="mt-3" role="status">
      {'result' in last && (
        <>
          Sent, {last.result.isPublic ? 'public' : 'private'}:
          <Address address={last.result.url} label="Copy the address of the repository" />
        </>
      )}
      {'progress' in last && state === 'running' && <PhaseProgress progress={last.progress} />}
      {state === 'cancelled' &&
        'The push was stopped. The export is whole; the repository is empty or has all of it.'}
    </div>
  )
}
