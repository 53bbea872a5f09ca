import { useQueryClient } from '@tanstack/react-query'
import { invalidate, useCommand } from '#renderer/client/api.tsx'
import { askAboutKeys, useKeyQuestion } from '#renderer/client/keyQuestion.ts'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'

/** Names variables and addresses, and allows the values to be sent there. */
export function KeyDialog() {
  const queries = useQueryClient()
  const keys = useKeyQuestion((state) => state.keys)
  const onClose = () => askAboutKeys([])
  const { run, isRunning, error } = useCommand('keys.allow', {
    quiet: true,
    onDone: () => {
      // Refetches everything that was refused until now.
      invalidate(queries, ['keys', 'runs.check', 'studies.check'])
      onClose()
    },
  })
  return (
    <Dialog
      isOpen={keys.length > 0}
      onClose={onClose}
      title={keys.length === 1 ? 'Send this key?' : 'Send these keys?'}
      description="The settings name environment variables of this machine and the servers that get their values."
      width={560}
      action={{ label: 'Allow', isDisabled: isRunning, run: () => void run({ keys: [...keys] }) }}
    >
      <div className="flex flex-col gap-3">
        {error !== null && <ErrorNote error={error} />}
        <table className="w-full text-left">
          <thead className="text-muted">
            <tr>
              <th className="py-1 pr-3 font-normal whitespace-nowrap">The value of</th>
              <th className="py-1 font-normal">is sent to</th>
            </tr>
          </thead>
          <tbody>
            {keys.map(({ variable, origin }) => (
              <tr key={`${variable} ${origin}`} className="border-t border-line font-mono text-sm">
                <td className="py-1 pr-3 break-all">{variable}</td>
                <td className="py-1 break-all">{origin}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <p className="text-sm text-pretty text-muted">
          Allow it only where the key is meant for that address: whoever wrote the settings may have named any
          variable. Nothing was sent so far. Once it is allowed, start again what was refused; Settings,
          Access withdraws it.
        </p>
      </div>
    </Dialog>
  )
}
