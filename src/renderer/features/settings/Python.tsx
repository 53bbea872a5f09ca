import { useQueryClient } from '@tanstack/react-query'
import { formatTime } from '#renderer/client/format.ts'
import { invalidate, useAnswer, useCommand } from '#renderer/client/api.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Section } from './Section.tsx'

/** What may run unconfined, and taking it back. */
export function PythonSection() {
  const queries = useQueryClient()
  const { data: allowed = [] } = useAnswer('python.allowed', undefined, { staleMs: 0 })
  const { run, isRunning } = useCommand('python.withdraw', {
    onDone: () => invalidate(queries, ['python', 'rewards', 'runs.check']),
  })
  return (
    <Section
      title="Python allowed on this machine"
      about="Python is not sandboxed. It runs only where you allowed the content of the file, of the modules beside it, and the interpreter. No config can allow it."
      actions={
        allowed.length > 0 && (
          <Button disabled={isRunning} onClick={() => void run({ paths: allowed.map(({ path }) => path) })}>
            Withdraw all
          </Button>
        )
      }
    >
      {allowed.length === 0 ? (
        <p>Nothing: no Python code can run.</p>
      ) : (
        <table className="w-full text-left">
          <thead className="text-muted">
            <tr>
              <th className="py-1 font-normal">What</th>
              <th className="py-1 font-normal">Path</th>
              <th className="py-1 font-normal">Allowed at</th>
              <th className="py-1 font-normal">
                <span className="sr-only">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {allowed.map(({ kind, path, at }, i) => (
              <tr key={`${path} ${String(i)}`} className="border-t border-line">
                <td className="py-1 pr-3">{kind === 'file' ? 'File' : 'Interpreter'}</td>
                <td className="py-1 pr-3 font-mono text-sm break-all">{path}</td>
                <td className="py-1 pr-3 whitespace-nowrap tabular-nums">{formatTime(at)}</td>
                <td className="py-1">
                  <Button
                    small
                    disabled={isRunning}
                    aria-label={`Withdraw ${path}`}
                    onClick={() => void run({ paths: [path] })}
                  >
                    Withdraw
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  )
}
