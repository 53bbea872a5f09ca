import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { oldestCudaDriver, usualPackageIndex } from '#shared/device.ts'
import { formatBytes, formatDuration } from '#renderer/client/format.ts'
import { invalidate, useAnswer, useCommand, type Answer } from '#renderer/client/api.tsx'
import { useCudaInstallation, type Installing } from './useCudaLibrary.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { toast } from '#renderer/client/toasts.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { ErrorNote, Progress } from '#renderer/kit/states.tsx'
import { Section } from './Section.tsx'

type Library = NonNullable<Answer<'libraries.cuda'>>

/** Fetched when a person asks for it, and removed again; nothing where there can be none. */
export function CudaLibrary() {
  const { data: library } = useAnswer('libraries.cuda', undefined, { staleMs: 0 })
  const { installing, error, start, cancel } = useCudaInstallation()
  if (library === undefined || library === null) return null
  const isStarted = library.downloadBytes < library.totalBytes
  return (
    <Section
      title="CUDA library"
      about={`NVIDIA cards need the CUDA library, which Turnwise does not ship, and NVIDIA’s driver, ${oldestCudaDriver} or newer. Nobody has tried Turnwise on such a card yet.`}
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
        It goes on while you are at another screen; what came is kept if you stop.
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
        Installing fetches {formatBytes(downloadBytes)} from {address || usualPackageIndex} and takes{' '}
        {formatBytes(installedBytes)} on the disk. Every file is compared with a digest that came with
        Turnwise.
      </p>
      <p className="text-sm text-muted text-pretty">
        Parts of {packages.join(', ')}. NVIDIA’s packages come under NVIDIA’s licence.
      </p>
      <Field label="Package index" note={`Empty: ${usualPackageIndex}.`}>
        {(ids) => (
          <TextInput
            {...ids}
            mono
            value={address}
            disabled={isFixed}
            placeholder={usualPackageIndex}
            onChange={setAddress}
          />
        )}
      </Field>
    </div>
  )
}

function Remove({ library }: { library: Library }) {
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const { run, isRunning } = useCommand('libraries.removeCuda', {
    onDone: ({ freedBytes }) => {
      toast({
        title: `The CUDA library is removed: ${formatBytes(freedBytes)} are free again.`,
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
        {formatBytes(library.presentBytes)} become free. Runs, models and data stay; it can be fetched again.
      </ConfirmDialog>
    </>
  )
}
