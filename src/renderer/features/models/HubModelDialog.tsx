import { useState } from 'react'
import { useCommand, type Answer } from '#renderer/client/api.tsx'
import { formatBytes, formatCount } from '#renderer/client/format.ts'
import { Checkbox, SelectField } from '#renderer/kit/choices.tsx'
import { HubDialog } from '#renderer/kit/HubDialog.tsx'
import { KeyValue } from '#renderer/kit/Page.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'
import { memoryWords, parameterWords, speedWords } from './hubWords.ts'
import { Address } from './ModelFacts.tsx'
import { useFetchModel } from '#renderer/parts/useModels.ts'

type Looked = Answer<'hub.look'>

interface HubModelDialogProps {
  /** Known address from a list; empty: entered by the user. */
  readonly address?: string
  readonly onClose: () => void
}

/** Shows a hub model, then downloads it once its licence is accepted; the files are reviewed before they are imported. */
export function HubModelDialog({ address: given = '', onClose }: HubModelDialogProps) {
  const [address, setAddress] = useState(given)
  const [found, setFound] = useState<Looked | null>(null)
  const [isAccepted, setAccepted] = useState(false)
  const look = useCommand('hub.look', { quiet: true, onDone: setFound })
  const task = useFetchModel(onClose)
  const isRunning = task.state === 'running'
  const forget = () => {
    setFound(null)
    setAccepted(false)
  }
  const goOn = () => {
    if (found === null) void look.run({ address })
    else task.start({ address, file: found.file, license: found.license?.name ?? null })
  }
  const canOpen = found === null || !('problem' in found.verdict)
  return (
    <HubDialog
      {...{ address, task, onClose }}
      title="Add a model from a hub"
      note="owner/name, or the address of its page. Only weights as safetensors or GGUF, tokenizer and texts are downloaded; no code in it is run."
      onAddress={(text) => {
        setAddress(text)
        forget()
      }}
      action={found === null ? 'Look it up' : 'Download'}
      onGoOn={goOn}
      isReady={found === null || (canOpen && isAccepted)}
      isBusy={isRunning || look.isRunning}
      error={task.error ?? look.error}
    >
      {found !== null && (
        <>
          <Choice
            found={found}
            isDisabled={isRunning || look.isRunning}
            onChoose={(file) => {
              setAccepted(false)
              void look.run({ address, file })
            }}
          />
          <Verdict verdict={found.verdict} />
          {canOpen && (
            <Terms found={found} isAccepted={isAccepted} isDisabled={isRunning} onAccept={setAccepted} />
          )}
        </>
      )}
    </HubDialog>
  )
}

const folderValue = 'safetensors'

interface ChoiceProps {
  readonly found: Looked
  readonly isDisabled: boolean
  readonly onChoose: (file: string | null) => void
}

/** Chooses between several sets of weights; renders nothing for a single one. */
function Choice({ found: { choices, file }, isDisabled, onChoose }: ChoiceProps) {
  if (choices.length < 2) return null
  return (
    <SelectField
      label="Weights"
      value={file ?? folderValue}
      disabled={isDisabled}
      options={choices.map((choice) => ({
        value: choice.file ?? folderValue,
        label: `${choice.file ?? 'safetensors'} · ${formatBytes(choice.sizeBytes)}`,
      }))}
      onChange={(value) => onChoose(value === folderValue ? null : value)}
    />
  )
}

function Verdict({ verdict }: { verdict: Looked['verdict'] }) {
  if ('problem' in verdict) {
    return (
      <ErrorNote error={{ message: verdict.problem, hint: 'It cannot be opened; nothing was downloaded.' }} />
    )
  }
  const { family, parameters, activeParameters, contextLength, fits, trainingBytes, speed } = verdict
  return (
    <KeyValue
      entries={[
        ['Opens here', `yes, as ${family}`],
        ['Parameters', parameterWords({ parameters, activeParameters })],
        ['Context', `${formatCount(contextLength)} tokens`],
        ['Training', memoryWords({ fits, trainingBytes })],
        speed !== null && ['Speed, estimated', speedWords(speed)],
      ]}
    />
  )
}

interface TermsProps {
  readonly found: Looked
  readonly isAccepted: boolean
  readonly isDisabled: boolean
  readonly onAccept: (isAccepted: boolean) => void
}

function Terms({ found: { license, page, choices, file }, isAccepted, isDisabled, onAccept }: TermsProps) {
  const size = choices.find((choice) => choice.file === file)?.sizeBytes
  return (
    <section aria-label="Licence" className="flex flex-col gap-2">
      <KeyValue
        entries={[
          ['Licence', license?.name ?? 'Its card states none'],
          [
            'Terms',
            <Address key="terms" address={license?.link ?? page} label="Copy the address of the terms" />,
          ],
          ['Download', formatBytes(size)],
        ]}
      />
      {license?.text != null && (
        <pre
          tabIndex={0}
          aria-label="Text of the licence"
          className="max-h-40 overflow-auto rounded border border-line bg-panel p-2 font-mono text-xs whitespace-pre-wrap"
        >
          {license.text}
        </pre>
      )}
      <Checkbox
        checked={isAccepted}
        disabled={isDisabled}
        onChange={onAccept}
        label={
          license === null
            ? 'I may use it, although it states no licence'
            : `I have read and accept the licence ${license.name}`
        }
      />
    </section>
  )
}
