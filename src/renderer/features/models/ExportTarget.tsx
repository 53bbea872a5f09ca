import { RadioGroup } from 'radix-ui'
import { useState } from 'react'
import { FolderField, useExportFolder } from '#renderer/parts/ExportFolder.tsx'
import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { Checkbox, SelectField } from '#renderer/kit/choices.tsx'
import {
  choiceFor,
  folderName,
  formatWords,
  defaultChoice,
  type ExportFormat,
  type ExportOffer,
  sizedDtypes,
  type ExportChoice,
  type ExportNumbers,
} from '#renderer/parts/exportPlan.ts'
import { TextField } from '#renderer/kit/inputs.tsx'
import { PageActions } from '#renderer/kit/Page.tsx'

/** Checkpoint of a run, or a promoted adapter by its name. */
export type ExportSource = { readonly runId: string; readonly step: number } | { readonly adapter: string }

type Asked = ReturnType<typeof choiceFor> & { readonly out: string; readonly hubId: string | null }

const textOrNull = (text: string): string | null => (text.trim() === '' ? null : text.trim())

interface ExportTargetProps {
  readonly source: ExportSource
  readonly title: string
  readonly isRunning: boolean
  readonly isDone: boolean
  readonly onExport: (asked: Asked) => void
  readonly onCancel: () => void
  readonly onAgain: () => void
}

/** Chooses format and destination. */
export function ExportTarget(props: ExportTargetProps) {
  const { source, title, isRunning, isDone, onExport, onCancel, onAgain } = props
  const { data: formats, error } = useAnswer('checkpoints.formats', source)
  const [format, setFormat] = useState<ExportFormat>('peft')
  const [choice, setChoice] = useState(defaultChoice)
  const folder = useExportFolder(
    folderName({ run: title, step: 'step' in source ? source.step : null, format }),
    'Export into',
  )
  const out = folder.out.trim()
  const offer = formats?.find((each) => each.format === format)
  const isOffered = offer?.problem === null
  const [hubId, setHubId] = useState('')
  if (error !== null) return <ErrorNote error={error} className="mx-8" />
  if (formats === undefined) return <Loading />
  return (
    <>
      <div className="min-h-0 grow overflow-auto pr-6 pb-4 pl-page">
        <Formats formats={formats} value={format} onChange={setFormat} />
        {offer !== undefined && <ExportOptions offer={offer} value={choice} onChange={setChoice} />}
        <HubId source={source} value={hubId} onChange={setHubId} disabled={isRunning} />
        <FolderField folder={folder} inside={folder.free} className="mt-4" />
      </div>
      <PageActions>
        {isRunning && <Button onClick={onCancel}>Cancel</Button>}
        {isDone ? (
          <Button
            onClick={() => {
              folder.setOwn(null)
              folder.lookAgain()
              onAgain()
            }}
          >
            Export another
          </Button>
        ) : (
          <Button
            variant="primary"
            disabled={isRunning || !isOffered || out === ''}
            onClick={() => onExport({ ...choiceFor(format, choice), out, hubId: textOrNull(hubId) })}
          >
            Export
          </Button>
        )}
      </PageActions>
    </>
  )
}

interface HubIdProps {
  readonly source: ExportSource
  readonly value: string
  readonly onChange: (value: string) => void
  readonly disabled: boolean
}

/** Asks for the hub id if it is unknown. */
function HubId({ source, ...input }: HubIdProps) {
  const { data: known } = useAnswer('checkpoints.baseId', source)
  if (known !== null) return null
  return (
    <TextField
      label="Hub id of the base model"
      className="mt-4"
      note="Optional, such as Qwen/Qwen2.5-0.5B: exports then name their base model. Remembered; no request is made to the hub."
      {...input}
    />
  )
}

interface FormatsProps {
  readonly formats: Answer<'checkpoints.formats'>
  readonly value: ExportFormat
  readonly onChange: (format: ExportFormat) => void
}

function Formats({ formats, value, onChange }: FormatsProps) {
  return (
    <RadioGroup.Root
      aria-label="Format"
      value={value}
      onValueChange={(next) => onChange(next as ExportFormat)}
      className="flex flex-col gap-2"
    >
      <p className="text-sm font-medium text-muted" aria-hidden>
        Format
      </p>
      {formats.map(({ format, problem }) => (
        <RadioGroup.Item
          key={format}
          value={format}
          disabled={problem !== null}
          aria-describedby={`format-${format}`}
          aria-label={formatWords[format].title}
          className={classes(
            'flex items-start gap-3 rounded border border-line px-3 py-2 text-left data-[state=checked]:border-accent data-[state=checked]:bg-accent-soft',
            problem === null && 'hover:bg-raised',
          )}
        >
          <span
            className={classes(
              'mt-0.5 flex size-4 shrink-0 items-center justify-center rounded-full border border-line-strong bg-bg',
              problem !== null && 'opacity-50',
            )}
          >
            <RadioGroup.Indicator className="size-2 rounded-full bg-accent" />
          </span>
          <span className="min-w-0">
            <span className={classes('block font-medium', problem !== null && 'text-muted')}>
              {formatWords[format].title}
            </span>
            <span id={`format-${format}`} className="block text-sm text-muted text-pretty">
              {problem ?? formatWords[format].use}
            </span>
          </span>
        </RadioGroup.Item>
      ))}
    </RadioGroup.Root>
  )
}

interface ExportOptionsProps {
  readonly offer: ExportOffer
  readonly value: ExportChoice
  readonly onChange: (value: ExportChoice) => void
}

/** Shows the options of a format; renders nothing if it has none. */
function ExportOptions({ offer, value, onChange }: ExportOptionsProps) {
  const { format } = offer
  const dtypes = sizedDtypes(offer)
  return (
    <>
      {dtypes.length > 0 && (
        <SelectField<ExportNumbers>
          label="Precision"
          className="mt-4"
          value={dtypes.some((each) => each.value === value.dtype) ? value.dtype : 'usual'}
          options={dtypes}
          onChange={(dtype) => onChange({ ...value, dtype })}
        />
      )}
      {format === 'onnx' && (
        <div className="mt-4">
          <Checkbox
            label="Keep the adapter apart, as inputs of the graph"
            checked={value.adapterInputs}
            onChange={(adapterInputs) => onChange({ ...value, adapterInputs })}
          />
        </div>
      )}
    </>
  )
}
