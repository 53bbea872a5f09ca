import { useState } from 'react'
import { useCommand, type Answer } from '#renderer/client/api.tsx'
import { formatBytes, plural } from '#renderer/client/format.ts'
import { Select } from '#renderer/kit/choices.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { HubDialog } from '#renderer/kit/HubDialog.tsx'
import { useFetchData } from './useData.ts'
import { type HubChoice, type HubSplit, chosenSplit } from './hubSplits.ts'

/** Looks what a data set of a hub consists of and fetches one split; what came is looked at before it is imported. */
export function HubDataDialog({ onClose }: { onClose: () => void }) {
  const [address, setAddress] = useState('')
  const [choice, setChoice] = useState<HubChoice>({})
  const [found, setFound] = useState<Answer<'datasets.listOnHub'> | null>(null)
  const look = useCommand('datasets.listOnHub', { quiet: true, onDone: setFound })
  const task = useFetchData(onClose)
  const isRunning = task.state === 'running'
  const isBusy = isRunning || look.isRunning
  const chosen = found === null ? null : chosenSplit(found.configs, choice)
  const change = (text: string) => {
    setAddress(text)
    setFound(null)
    setChoice({})
  }
  const goOn = () => {
    if (chosen === null) void look.run({ address })
    else task.start({ address, config: chosen.config.name, split: chosen.split.name })
  }
  return (
    <HubDialog
      title="Add data from a hub"
      note="owner/name, or the address of its page. Only files with rows are fetched (parquet, jsonl, json, csv, tsv); loading scripts are never run."
      address={address}
      onAddress={change}
      action={chosen === null ? 'Look what is there' : 'Fetch rows'}
      onGoOn={goOn}
      isBusy={isBusy}
      task={task}
      error={task.error ?? look.error}
      onClose={onClose}
    >
      {found !== null && chosen !== null && (
        <PartFields configs={found.configs} chosen={chosen} isDisabled={isRunning} onChoose={setChoice} />
      )}
    </HubDialog>
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
