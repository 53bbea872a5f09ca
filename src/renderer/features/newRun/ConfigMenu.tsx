import { ArrowRightLeft, Braces, Eraser, FileDown, FileUp } from 'lucide-react'
import { FileInput } from '#renderer/kit/FileInput.tsx'
import { useRef, useState, lazy, Suspense } from 'react'
import { asError, toast, toastError } from '#renderer/client/toasts.ts'
import { fileNameOf, saveText } from '#renderer/client/download.ts'
import { MoreMenu } from '#renderer/kit/Menu.tsx'
import { configText, parseConfigText } from './draft.ts'
import type { SettingField } from '#shared/config/fields.ts'
import type { JsonObject } from '#shared/config/paths.ts'
import { kindOf } from './studyDraft.ts'
import { sourceTitle, takenOver } from './toolConfig.ts'
import { ToolConfigDialog } from './ToolConfigDialog.tsx'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'

interface ConfigMenuProps {
  readonly config: JsonObject
  readonly name: string
  readonly isFork: boolean
  readonly fields: readonly SettingField[]
  readonly onOpen: (config: JsonObject, words: string) => void
  readonly onClear: () => void
}

function saveConfig(config: JsonObject, name: string): void {
  saveText(configText(config), `${fileNameOf(name)}.json`, 'application/json')
  const kind = kindOf(config)
  const command = `turnwise ${kind === 'run' ? 'train' : kind}`
  toast({ title: 'The config was saved.', detail: `Start it anywhere with \`${command}\`.` })
}

/** Opens and saves the config in the same format as the command line. */
export function ConfigMenu({ config, name, isFork, fields, onOpen, onClear }: ConfigMenuProps) {
  const input = useRef<HTMLInputElement>(null)
  const [isEditing, setEditing] = useState(false)
  const [isTaking, setTaking] = useState(false)
  const open = (file: File) => {
    file
      .text()
      .then((text) => onOpen(parseConfigText(text), `${file.name} was opened.`))
      .catch((thrown: unknown) => toastError(asError(thrown)))
  }
  return (
    <>
      <MoreMenu
        label="Config file"
        groups={[
          [
            {
              label: 'Open a config file',
              icon: FileUp,
              isDisabled: isFork,
              run: () => input.current?.click(),
            },
            {
              label: 'From another tool…',
              icon: ArrowRightLeft,
              isDisabled: isFork,
              run: () => setTaking(true),
            },
            { label: 'Save as a config file', icon: FileDown, run: () => saveConfig(config, name) },
            { label: 'Edit as JSON', icon: Braces, run: () => setEditing(true) },
          ],
          [{ label: 'Start over', icon: Eraser, run: onClear }],
        ]}
      />
      <FileInput {...{ input }} accept=".json,application/json" label="Config file to open" onFile={open} />
      {isTaking && (
        <ToolConfigDialog
          onClose={() => setTaking(false)}
          onTakeOver={(imported) => {
            setTaking(false)
            onOpen(takenOver(config, imported, fields), `${sourceTitle(imported)}: settings taken over.`)
          }}
        />
      )}
      {isEditing && (
        <JsonDialog
          config={config}
          onClose={() => setEditing(false)}
          onApply={(next) => {
            setEditing(false)
            onOpen(next, 'The JSON was applied.')
          }}
        />
      )}
    </>
  )
}

const JsonEditor = lazy(async () => ({ default: (await import('./JsonEditor.tsx')).JsonEditor }))

interface JsonDialogProps {
  readonly config: JsonObject
  readonly onApply: (config: JsonObject) => void
  readonly onClose: () => void
}

/** Edits the settings as JSON; missing ones take their defaults. */
function JsonDialog({ config, onApply, onClose }: JsonDialogProps) {
  const [text, setText] = useState(() => configText(config))
  const [error, setError] = useState<Error | null>(null)
  const apply = () => {
    try {
      onApply(parseConfigText(text))
    } catch (thrown) {
      setError(asError(thrown))
    }
  }
  return (
    <Dialog
      width={760}
      title="Config as JSON"
      description="Keys that the file omits get their defaults. The host checks the config when it is applied."
      onClose={onClose}
      action={{ label: 'Take over', run: apply }}
    >
      {error !== null && <ErrorNote error={error} className="mb-3" />}
      <div className="h-[50vh] overflow-hidden rounded border border-line">
        <Suspense fallback={<Loading label="Loading the editor" />}>
          <JsonEditor value={text} onChange={setText} label="Config as JSON" />
        </Suspense>
      </div>
    </Dialog>
  )
}
