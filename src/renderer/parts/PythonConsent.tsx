import { useQueryClient } from '@tanstack/react-query'
import { ShieldAlert, ShieldCheck } from 'lucide-react'
import { useState } from 'react'
import type { Api } from '#shared/api/api.ts'
import type { InputOf } from '#shared/api/contract.ts'
import { isWebAddress } from '#shared/config/addresses.ts'
import { shownText } from '#shared/shownText.ts'
import { invalidate, useAnswer, useCommand, type Answer } from '#renderer/client/api.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'
import { consentWords } from './consentWords.ts'

export type PythonAsked = InputOf<Api, 'python.review'>
type Review = Answer<'python.review'>

/** Says whether Python code may run on this machine, with a dialog that allows it. Renders nothing for other code. */
export function PythonConsent({ asked }: { readonly asked: PythonAsked }) {
  const { data: review, error } = useAnswer('python.review', asked, { staleMs: 0 })
  const [isAsking, setAsking] = useState(false)
  const what = wordOf(review)
  if (error !== null) return <p className="text-sm text-pretty text-bad">{error.message}</p>
  if (review === undefined || review.length === 0) return null
  if (isAllowed(review)) {
    return (
      <span className="flex items-center gap-1 text-sm whitespace-nowrap text-muted">
        <ShieldCheck size={14} aria-hidden className="text-good" />
        Allowed on this machine
      </span>
    )
  }
  return (
    <>
      <Button small icon={ShieldAlert} iconSize={14} onClick={() => setAsking(true)}>
        Allow {what}…
      </Button>
      {isAsking && <ConsentDialog asked={asked} review={review} onClose={() => setAsking(false)} />}
    </>
  )
}

export const isAllowed = (review: Review): boolean =>
  review.every(({ files }) => files.every((file) => file.isAllowed))

/** Servers, and the files of an interpreter, have names that no path has. */
const wordOf = (review: Review = []): string =>
  review.some(({ files }) => files.some(({ path }) => !/^(?:mcp|interpreter):/.test(path)))
    ? 'Python'
    : 'MCP servers'

interface ConsentDialogProps {
  readonly asked: PythonAsked
  readonly review: Review
  readonly onClose: () => void
}

function ConsentDialog({ asked, review, onClose }: ConsentDialogProps) {
  const queries = useQueryClient()
  const what = wordOf(review)
  const { run, isRunning, error } = useCommand('python.allow', {
    quiet: true,
    onDone: () => {
      // Refetches everything that was refused until now.
      invalidate(queries, ['python', 'rewards', 'runs.check'])
      onClose()
    },
  })
  return (
    <Dialog
      onClose={onClose}
      title={`Allow ${what === 'Python' ? 'this Python code' : 'these MCP servers'} on this machine?`}
      description="Not sandboxed: what runs can read and change your files, start programs and use the network, as any script you start."
      width={620}
      action={{
        label: `Allow ${what}`,
        isDisabled: isRunning,
        run: () => void run({ asked, reviewed: review }),
      }}
    >
      <div className="flex flex-col gap-3">
        {error !== null && <ErrorNote error={error} />}
        {review.map(({ interpreter, files }) => (
          <FileList key={interpreter} interpreter={interpreter} files={files} />
        ))}
        <p className="text-sm text-pretty text-muted">
          {what === 'Python'
            ? 'Read the files first if somebody else wrote them. You allow what they contain now, and any config may call their functions and classes with settings of its own; when one of the files changes, Turnwise asks again.'
            : 'Read what they start first if somebody else wrote it. You allow these commands, addresses and files as they are now; when one of them changes, Turnwise asks again. Servers at an address get what the model writes to them.'}{' '}
          Settings, Access takes it back.
        </p>
      </div>
    </Dialog>
  )
}

const byWords = (interpreter: string): string => (isWebAddress(interpreter) ? 'At' : 'Run by')

/** Line breaks of the words stay; those inside of a name are shown as signs. */
const linesOf = (words: string): string => words.split('\n').map(shownText).join('\n')

/** Lists names verbatim, isolated so that no character in them moves, hides or joins the surrounding text. */
const FileList = ({ interpreter, files }: Review[number]) => (
  <section aria-label={`${byWords(interpreter)} ${shownText(interpreter)}`}>
    <h3 className="text-sm font-medium text-muted">
      {byWords(interpreter)}{' '}
      <span className="font-mono break-all whitespace-pre-wrap">{shownText(interpreter)}</span>
      {files.some((file) => file.isAllowed) && ', of which some is new or has changed'}
    </h3>
    <ul
      tabIndex={0}
      className="max-h-48 overflow-y-auto rounded border border-line p-2 font-mono text-sm break-all whitespace-pre-wrap"
    >
      {files.map(({ path, isAllowed: known, copy }) => (
        <li key={path} className={known ? 'text-faint' : ''}>
          {linesOf(consentWords(interpreter, path))}
          {copy !== undefined && (
            <>
              <span className="font-sans">, with the content of the run’s own copy </span>
              {shownText(copy)}
            </>
          )}
          {known && <em className="font-sans"> (allowed before)</em>}
        </li>
      ))}
    </ul>
  </section>
)
