import { useState } from 'react'
import { useAnswer, useCommand, type Answer } from '#renderer/client/api.tsx'
import { link } from '#renderer/client/route.ts'
import { formatBytes, plural } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { ErrorNote, TaskProgress } from '#renderer/kit/states.tsx'
import { useFetchData } from './useData.ts'
import { type HubChoice, type HubSplit, chosenSplit } from './hubSplits.ts'

const usualHub = 'https://huggingface.co'

/** Looks what a data set of a hub consists of and fetches one split; what came is looked at before it is imported. */
export function HubDataDialog({ onClose }: { onClose: () => void }) {
  const [address, setAddress] = useState('')
  const [choice, setChoice] = useState<HubChoice>({})
  const { data: settings } = useAnswer('settings.all', undefined)
  const [found, setFound] = useState<Answer<'datasets.listOnHub'> | null>(null)
  const look = useCommand('datasets.listOnHub', { quiet: true, onDone: setFound })
  const task = useFetchData(onClose)
  const hub = settings?.['hub.endpoint']
  const isRunning = task.state === 'running'
  const isBusy = isRunning || look.isRunning
  const chosen = found === null ? null : chosenSplit(found.configs, choice)
  const change = (text: string) => {
    setAddress(text)
    setFound(null)
    setChoice({})
  }
  const goOn = () => {
    if (isBusy || address.trim() === '') return
    if (chosen === null) void look.run({ address })
    else task.start({ address, config: chosen.config.name, split: chosen.split.name })
  }
  const error = task.error ?? look.error
  return (
    <Dialog
      isOpen
      title="Add data from a hub"
      description={
        <>
          This makes requests to {typeof hub === 'string' && hub !== '' ? hub : usualHub}, and to nobody else.
          Address and token are set under{' '}
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
          <Button variant="primary" disabled={isBusy || address.trim() === ''} onClick={goOn}>
            {chosen === null ? 'Look what is there' : 'Fetch rows'}
          </Button>
        </>
      }
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          goOn()
        }}
      >
        <Field
          label="Address"
          note="owner/name, or the address of its page. Only files with rows are fetched (parquet, jsonl, json, csv, tsv); loading scripts are never run."
        >
          {(ids) => <TextInput {...ids} mono value={address} disabled={isBusy} onChange={change} />}
        </Field>
        {found !== null && chosen !== null && (
          <PartFields configs={found.configs} chosen={chosen} isDisabled={isRunning} onChoose={setChoice} />
        )}
        <button type="submit" hidden aria-hidden />
      </form>
      {isBusy && <Running task={task} />}
      {error !== null && <ErrorNote error={error} className="mt-3" />}
    </Dialog>
  )
}

interface PartFieldsProps {
  readonly configs: Answer<'datasets.listOnHub'>['configs']
  readonly chosen: HubSplit
  readonly isDisabled: boolean
  readonly onChoose: (choice: HubChoice) => void
}

function PartFields({ configs, chosen: { config, split }, isDisabled, onChoose }: PartFieldsProps) {
  return (
    <>
      {configs.length > 1 && (
        <Field label="Config">
          {(ids) => (
            <Select
              {...ids}
              value={config.name}
              disabled={isDisabled}
              options={configs.map(({ name }) => ({ value: name, label: name }))}
              onChange={(name) => onChoose({ config: name })}
            />
          )}
        </Field>
      )}
      <Field label="Split">
        {(ids) => (
          <Select
            {...ids}
            value={split.name}
            disabled={isDisabled}
            options={config.splits.map(({ name, files, sizeBytes }) => ({
              value: name,
              label: `${name} · ${formatBytes(sizeBytes)} in ${plural(files, 'file')}`,
            }))}
            onChange={(name) => onChoose({ config: config.name, split: name })}
          />
        )}
      </Field>
    </>
  )
}

function Running({ task: { last, state } }: { task: ReturnType<typeof useFetchData> }) {
  const progress = last !== undefined && 'progress' in last ? last.progress : null
  const asking = { phase: 'Asking the hub', done: 0, total: null, unit: 'bytes' as const }
  return (
    <div className="mt-3">
      <TaskProgress progress={progress ?? asking} />
      {state === 'running' && progress !== null && (
        <p className="mt-1 text-sm text-faint tabular-nums">
          {formatBytes(progress.done)} of {formatBytes(progress.total)}; what came is kept if you stop
        </p>
      )}
    </div>
  )
}
