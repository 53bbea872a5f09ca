import { useQueryClient } from '@tanstack/react-query'
import { useState, useCallback } from 'react'
import { create } from 'zustand'
import { oldestCudaDriver, defaultPackageIndex } from '#shared/device.ts'
import { formatBytes, formatDuration } from '#renderer/client/format.ts'
import { invalidate, useAnswer, useCommand, type Answer, useApi } from '#renderer/client/api.tsx'
import { useSetting } from '#renderer/client/settings.ts'
import { toast, codeOf, asError } from '#renderer/client/toasts.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import { ErrorNote, Progress } from '#renderer/kit/states.tsx'
import { tellTask } from '#renderer/client/tasks.ts'
import { Section } from './Section.tsx'
import { TextField } from '#renderer/kit/inputs.tsx'

type Library = NonNullable<Answer<'libraries.cuda'>>

/** Installs the CUDA library on request and removes it; renders nothing on systems without one. */
export function CudaLibrary() {
  const { data: library } = useAnswer('libraries.cuda', undefined, { staleMs: 0 })
  const { installing, error, start, cancel } = useCudaInstallation()
  if (library === undefined || library === null) return null
  const isStarted = library.downloadBytes < library.totalBytes
  return (
    <Section
      title="CUDA library"
      about={`NVIDIA cards need the CUDA library, which Turnwise does not ship, and NVIDIA’s driver, ${oldestCudaDriver} or newer. Tried so far: one card, an H100.`}
      actions={
        <div className="flex gap-2">
          {library.presentBytes > 0 && installing === null && <Remove library={library} />}
          {!library.isInstalled && installing === null && (
            <Button variant="primary" onClick={start}>
              {isStarted ? 'Go on installing' : 'Install'}
            </Button>
          )}
          {installing !== null && <Button onClick={cancel}>Cancel</Button>}
        </div>
      }
    >
      {error !== null && <ErrorNote error={error} className="mb-3" />}
      {installing !== null && <Under installing={installing} />}
      {installing === null && library.isInstalled && (
        <p>Installed: {formatBytes(library.presentBytes)} in the data directory.</p>
      )}
      {!library.isInstalled && <Plan library={library} isFixed={installing !== null} />}
    </Section>
  )
}

function Under({ installing: { doneBytes, totalBytes, leftMs } }: { installing: Installing }) {
  return (
    <div className="mb-3">
      <Progress
        label="Installing the CUDA library"
        value={totalBytes === null ? null : doneBytes / totalBytes}
      />
      <p role="status" className="mt-1 text-sm text-muted tabular-nums">
        {totalBytes === null
          ? 'Asking the package index'
          : `${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}${leftMs === null ? '' : `, about ${formatDuration(Math.max(1000, leftMs))} left`}`}
      </p>
      <p className="text-sm text-faint">
        It continues on other screens; what was downloaded is kept if you stop.
      </p>
    </div>
  )
}

function Plan({ library, isFixed }: { library: Library; isFixed: boolean }) {
  const [address, setAddress] = useSetting('packages.index', '')
  const { downloadBytes, installedBytes, packages } = library
  return (
    <div className="grid max-w-150 gap-3">
      <p className="text-pretty">
        Installing fetches {formatBytes(downloadBytes)} from {address || defaultPackageIndex} and takes{' '}
        {formatBytes(installedBytes)} on the disk. Every file is compared with a digest that came with
        Turnwise.
      </p>
      <p className="text-sm text-muted text-pretty">
        Parts of {packages.join(', ')}. NVIDIA’s packages come under NVIDIA’s licence.
      </p>
      <TextField
        label="Package index"
        note={`Empty: ${defaultPackageIndex}.`}
        mono
        value={address}
        disabled={isFixed}
        placeholder={defaultPackageIndex}
        onChange={setAddress}
      />
    </div>
  )
}

function Remove({ library }: { library: Library }) {
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const { run, isRunning } = useCommand('libraries.removeCuda', {
    onDone: ({ freedBytes }) => {
      toast({
        title: `The CUDA library is removed: ${formatBytes(freedBytes)} freed.`,
        tone: 'good',
      })
      invalidate(queries, ['libraries', 'system'])
    },
  })
  return (
    <>
      <Button disabled={isRunning} onClick={() => setAsking(true)}>
        Remove
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Remove the CUDA library"
        action="Remove"
        onConfirm={() => void run(undefined)}
      >
        {formatBytes(library.presentBytes)} are freed. Runs, models and data stay; it can be downloaded again.
      </ConfirmDialog>
    </>
  )
}

/* Installing the CUDA library: it takes minutes, so it goes on while the person is at another screen. */

interface Installing {
  readonly doneBytes: number
  readonly totalBytes: number | null
  /** Remaining time in ms at the current pace; null: unknown. */
  readonly leftMs: number | null
}

interface Installation {
  /** Null if no installation is under way. */
  readonly installing: Installing | null
  readonly error: Error | null
}

const idle: Installation = { installing: null, error: null }
const useInstallation = create<Installation>(() => idle)
let current: AbortController | null = null

function useCudaInstallation(): Installation & { start: () => void; cancel: () => void } {
  const client = useApi()
  const queries = useQueryClient()
  const start = useCallback(() => {
    if (current !== null) return
    const controller = new AbortController()
    current = controller
    const tellEnd = tellTask('libraries.installCuda')
    useInstallation.setState({ installing: { doneBytes: 0, totalBytes: null, leftMs: null }, error: null })
    follow(client.stream('libraries.installCuda', undefined, { signal: controller.signal }))
      .then(() => {
        useInstallation.setState(idle)
        if (!controller.signal.aborted) toast({ title: 'The CUDA library is installed.', tone: 'good' })
      })
      .catch((thrown: unknown) => {
        const error = asError(thrown)
        const isCancelled = controller.signal.aborted || codeOf(error) === 'api/cancelled'
        useInstallation.setState({ installing: null, error: isCancelled ? null : error })
      })
      .finally(() => {
        current = null
        tellEnd()
        invalidate(queries, ['libraries', 'system'])
      })
  }, [client, queries])
  const cancel = useCallback(() => current?.abort(), [])
  return { ...useInstallation(), start, cancel }
}

const shownEveryMs = 250

async function follow(items: AsyncIterable<Answer<'libraries.installCuda'>>): Promise<void> {
  let first: { readonly at: number; readonly done: number } | null = null
  let shownAt = -Infinity
  for await (const { progress } of items) {
    const { done, total } = progress
    const at = performance.now()
    first ??= { at, done }
    if (at - shownAt < shownEveryMs) continue
    shownAt = at
    const pace = (done - first.done) / (at - first.at)
    const leftMs = total !== null && pace > 0 ? (total - done) / pace : null
    useInstallation.setState({ installing: { doneBytes: done, totalBytes: total, leftMs } })
  }
}
