import type { ReactNode } from 'react'
import { defaultHub } from '#shared/hub.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { formatBytes } from '#renderer/client/format.ts'
import { link } from '#renderer/client/route.ts'
import { Button } from './Button.tsx'
import { Dialog } from './Dialog.tsx'
import { ErrorNote, TaskProgress } from './states.tsx'
import { Form, TextField } from './inputs.tsx'

interface Progress {
  readonly phase: string
  readonly done: number
  readonly total: number | null
  readonly unit: 'bytes'
}

interface HubDialogProps {
  readonly title: string
  /** Says what is downloaded from the address and what is not. */
  readonly note: string
  readonly address: string
  readonly onAddress: (address: string) => void
  readonly action: string
  readonly onGoOn: () => void
  /** False while further input is missing. */
  readonly isReady?: boolean
  /** True while the hub is queried or a download runs. */
  readonly isBusy: boolean
  /** Download task; null before its first progress report. */
  readonly task: {
    readonly state: string
    readonly last: { readonly progress: Progress } | object | undefined
    readonly cancel: () => void
  }
  readonly error: Error | null
  readonly onClose: () => void
  readonly children?: ReactNode
}

/** Returns the address of the hub that is asked. */
export function useHub(): string {
  const endpoint = useAnswer('settings.all', undefined).data?.['hub.endpoint']
  return typeof endpoint === 'string' && endpoint !== '' ? endpoint : defaultHub
}

/** Says where address and token of the hub are set. */
export const HubSettings = ({ onLeave }: { onLeave?: () => void }) => (
  <>
    Address and token are set under{' '}
    <a href={link('/settings/hub')} onClick={onLeave} className="text-accent-ink underline">
      Settings, Access
    </a>
    .
  </>
)

function Downloading({ progress, isRunning }: { progress: Progress | null; isRunning: boolean }) {
  return (
    <div className="mt-3">
      <TaskProgress progress={progress ?? { phase: 'Asking the hub', done: 0, total: null, unit: 'bytes' }} />
      {isRunning && progress !== null && (
        <p className="mt-1 text-sm text-faint tabular-nums">
          {formatBytes(progress.done)} of {formatBytes(progress.total)}; what was downloaded is kept if you
          stop
        </p>
      )}
    </div>
  )
}

/** Asks for an address on a hub and downloads what is there. */
export function HubDialog(props: HubDialogProps) {
  const { address, isBusy, isReady = true, task, error, onClose } = props
  const hub = useHub()
  const cannotGoOn = isBusy || !isReady || address.trim() === ''
  const progress = task.last !== undefined && 'progress' in task.last ? task.last.progress : null
  return (
    <Dialog
      title={props.title}
      description={
        <>
          Requests go to {hub} and to no other server. <HubSettings onLeave={onClose} />
        </>
      }
      onClose={onClose}
      actions={
        <>
          <Button onClick={task.state === 'running' ? task.cancel : onClose}>Cancel</Button>
          <Button variant="primary" disabled={cannotGoOn} onClick={props.onGoOn}>
            {props.action}
          </Button>
        </>
      }
    >
      <Form className="flex flex-col gap-3" onSubmit={() => !cannotGoOn && props.onGoOn()}>
        <TextField
          label="Address"
          note={props.note}
          mono
          value={address}
          disabled={isBusy}
          onChange={props.onAddress}
        />
        {props.children}
        <button type="submit" hidden aria-hidden />
      </Form>
      {isBusy && <Downloading progress={progress} isRunning={task.state === 'running'} />}
      {error !== null && <ErrorNote error={error} className="mt-3" />}
    </Dialog>
  )
}
