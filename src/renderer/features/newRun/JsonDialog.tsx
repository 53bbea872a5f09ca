import { lazy, Suspense, useState } from 'react'
import { asError } from '#renderer/client/failures.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { configText, parseConfigText } from './configFile.ts'
import type { JsonObject } from '#shared/config/paths.ts'

const JsonEditor = lazy(async () => ({ default: (await import('./JsonEditor.tsx')).JsonEditor }))

interface JsonDialogProps {
  readonly config: JsonObject
  readonly onApply: (config: JsonObject) => void
  readonly onClose: () => void
}

/** The settings as the file has them; what it does not say is as by default. */
export function JsonDialog({ config, onApply, onClose }: JsonDialogProps) {
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
      isOpen
      width={760}
      title="Config as JSON"
      description="What the file does not say is as by default. The host checks it when it is taken over."
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" onClick={apply}>
            Take over
          </Button>
        </>
      }
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
