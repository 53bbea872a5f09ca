import { useState } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { useFetchModel } from './useModels.ts'
import { link } from '#renderer/client/route.ts'
import { formatBytes } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { ErrorNote, TaskProgress } from '#renderer/kit/states.tsx'

const usualHub = 'https://huggingface.co'

/** Fetches a model by its address; what came is looked at before it is imported. */
export function HubDialog({ onClose }: { onClose: () => void }) {
  const [address, setAddress] = useState('')
  const { data: settings } = useAnswer('settings.all', undefined)
  const task = useFetchModel(onClose)
  const hub = settings?.['hub.endpoint']
  const isRunning = task.state === 'running'
  const progress = task.last !== undefined && 'progress' in task.last ? task.last.progress : null
  const fetch = () => task.start({ address })
  return (
    <Dialog
      isOpen
      title="Add a model from a hub"
      description={
        <>
          This makes requests to {typeof hub === 'string' && hub !== '' ? hub : usualHub}. No other servers
          are contacted. Address and token are set under{' '}
          <a href={link('/settings/privacy')} onClick={onClose} className="text-accent-ink underline">
            Settings, Privacy
          </a>
          .
        </>
      }
      onClose={onClose}
      actions={
        <>
          <Button onClick={isRunning ? task.cancel : onClose}>Cancel</Button>
          <Button variant="primary" disabled={isRunning || address.trim() === ''} onClick={fetch}>
            Fetch model
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (!isRunning && address.trim() !== '') fetch()
        }}
      >
        <Field
          label="Address"
          note="owner/name, or the address of its page. Only weights as safetensors, tokenizer and texts are fetched; nothing of it is run."
        >
          {(ids) => <TextInput {...ids} mono value={address} disabled={isRunning} onChange={setAddress} />}
        </Field>
      </form>
      {isRunning && (
        <div className="mt-3">
          <TaskProgress
            progress={progress ?? { phase: 'Asking the hub', done: 0, total: null, unit: 'bytes' }}
          />
          {progress !== null && (
            <p className="mt-1 text-sm text-faint tabular-nums">
              {formatBytes(progress.done)} of {formatBytes(progress.total)}; what came is kept if you stop
            </p>
          )}
        </div>
      )}
      {task.error !== null && <ErrorNote error={task.error} className="mt-3" />}
    </Dialog>
  )
}
