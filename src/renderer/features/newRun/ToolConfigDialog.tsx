import { valueWords } from '#shared/config/fields.ts'
import { FileUp } from 'lucide-react'
import { FileInput } from '#renderer/kit/FileInput.tsx'
import { useRef, useState, type DragEvent } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { asError } from '#renderer/client/toasts.ts'
import { useSettled } from '#renderer/client/settled.ts'
import { plural } from '#renderer/client/format.ts'
import { toolTitles, type ToolId } from '#shared/tools.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { useRunSettings } from '#renderer/client/runSettings.ts'
import { noteGroups, readSettingsFile, readWords, studyWord, type ImportedConfig } from './toolConfig.ts'
import { SelectField } from '#renderer/kit/choices.tsx'
import { AreaField } from '#renderer/kit/inputs.tsx'

interface ToolConfigDialogProps {
  readonly onTakeOver: (imported: ImportedConfig) => void
  readonly onClose: () => void
}

type Tool = ToolId | 'by-names'

/** Option that detects tool and algorithm from the file. */
const byNames = 'by-names'

const tools = Object.entries(toolTitles) as readonly (readonly [ToolId, string])[]

/** Imports settings of another tool: shows the result before anything changes. */
export function ToolConfigDialog({ onTakeOver, onClose }: ToolConfigDialogProps) {
  const [text, setText] = useState('')
  const [tool, setTool] = useState<Tool>(byNames)
  const [algorithm, setAlgorithm] = useState<string>(byNames)
  const asked = useSettled(text, 250)
  const { data, error } = useAnswer(
    'runs.importConfig',
    {
      text: asked,
      tool: tool === byNames ? null : tool,
      algorithm: algorithm === byNames ? null : algorithm,
    },
    { enabled: asked.trim() !== '' },
  )
  const isGiven = text.trim() !== ''
  const imported = isGiven && asked === text ? data : undefined
  return (
    <Dialog
      width={820}
      title="Settings from another tool"
      description="The settings that TRL, AgileRL, AReaL, LLaMA-Factory or axolotl was started with, or a search of AgileRL or W&B. Nothing changes until you apply them."
      onClose={onClose}
      action={{
        label: 'Take over',
        isDisabled: imported === undefined,
        run: () => imported && onTakeOver(imported),
      }}
    >
      <div className="grid gap-4">
        <SourceText text={text} onText={setText} />
        {isGiven && <Meant {...{ tool, algorithm, imported }} onTool={setTool} onAlgorithm={setAlgorithm} />}
        {isGiven && error !== null && <ErrorNote error={error} />}
        {isGiven && error === null && imported === undefined && <Loading label="Reading the settings" />}
        {imported !== undefined && <Outcome imported={imported} />}
      </div>
    </Dialog>
  )
}

interface MeantProps {
  readonly tool: Tool
  readonly algorithm: string
  readonly imported: ImportedConfig | undefined
  readonly onTool: (tool: Tool) => void
  readonly onAlgorithm: (algorithm: string) => void
}

/** Asks for tool and algorithm if the file does not tell. */
function Meant({ tool, algorithm, imported, onTool, onAlgorithm }: MeantProps) {
  const { algorithms = [] } = useRunSettings() ?? {}
  const itself = imported === undefined ? { tool: '', algorithm: '' } : readWords(imported, algorithms)
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <SelectField
        label="Tool"
        value={tool}
        options={[
          { value: byNames, label: `By the names of its settings${tool === byNames ? itself.tool : ''}` },
          ...tools.map(([value, label]) => ({ value, label })),
        ]}
        onChange={onTool}
      />
      <SelectField
        label="Algorithm"
        value={algorithm}
        options={[
          { value: byNames, label: `As the file says${algorithm === byNames ? itself.algorithm : ''}` },
          ...algorithms.map(({ id, title }) => ({ value: id, label: title })),
        ]}
        onChange={onAlgorithm}
      />
    </div>
  )
}

const howToGive =
  'Drop a file here, or paste YAML, JSON, a Python file or notebook (which is not run) or the command that starts the training.'

/** Takes pasted, dropped or chosen text. */
function SourceText({ text, onText }: { readonly text: string; readonly onText: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null)
  const [name, setName] = useState<string | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const read = (file: File | undefined) => {
    if (file === undefined) return
    setError(null)
    readSettingsFile(file).then(
      (read) => {
        setName(file.name)
        onText(read)
      },
      (thrown: unknown) => setError(asError(thrown)),
    )
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    read(event.dataTransfer.files[0])
  }
  return (
    <div className="grid gap-2" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <AreaField
        label="Its settings"
        note={name ?? howToGive}
        aside={
          <Button small icon={FileUp} onClick={() => input.current?.click()}>
            Choose a file
          </Button>
        }
        mono
        rows={text === '' ? 8 : 5}
        value={text}
        placeholder={'learning_rate: 1.0e-6\nnum_generations: 8\nbeta: 0.04'}
        onChange={(next) => {
          setName(null)
          onText(next)
        }}
      />
      {error !== null && <ErrorNote error={error} />}
      <FileInput
        {...{ input }}
        accept=".yaml,.yml,.json,.py,.ipynb,.sh,.txt"
        label="Settings file to read"
        onFile={read}
      />
    </div>
  )
}

function Outcome({ imported }: { imported: ImportedConfig }) {
  const { reading, taken, notes } = imported
  const study = studyWord(imported)
  return (
    <div className="grid gap-4">
      <p className="text-pretty">{reading}</p>
      {study !== null && (
        <p className="text-pretty">
          The file describes a {study}: settings with a range or several values differ among its trials.
        </p>
      )}
      <section aria-label="Taken over">
        <h3 className="mb-1 font-medium">Taken over: {plural(taken.length, 'setting')}</h3>
        <table className="w-full table-fixed border-collapse text-sm">
          <thead className="text-left text-muted">
            <tr className="border-b border-line">
              <th className={classes(cell, 'w-[42%] font-normal')}>Setting here</th>
              <th className={classes(cell, 'w-[20%] font-normal')}>Value</th>
              <th className={classes(cell, 'font-normal')}>In the file</th>
            </tr>
          </thead>
          <tbody>
            {taken.map(({ ours, value, theirs }) => (
              <tr key={ours} className="border-b border-line">
                <td className={cell}>
                  <code className="block truncate" title={ours}>
                    {ours}
                  </code>
                </td>
                <td className={classes(cell, 'truncate font-mono')} title={valueWords(value)}>
                  {valueWords(value)}
                </td>
                <td className={cell}>
                  <code className="block truncate text-muted" title={theirs.join(', ')}>
                    {theirs.join(', ')}
                  </code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {noteGroups(notes).map(({ kind, title, notes: own }) => (
        <section key={kind} aria-label={title}>
          <h3 className="mb-1 font-medium">{title}</h3>
          <ul className="grid gap-1">
            {own.map(({ name, text }) => (
              <li key={`${name} ${text}`} className="text-sm text-pretty text-muted">
                {text}
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  )
}

const cell = 'px-2 py-1 first:pl-0 last:pr-0'
