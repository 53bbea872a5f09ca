/** Permissions granted by the owner of this machine, with a way to withdraw them. */
import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { permissionWords } from '#shared/api/agents.ts'
import { shownText } from '#shared/shownText.ts'
import { formatMoment } from '#renderer/client/format.ts'
import { invalidate, useAnswer, useCommand } from '#renderer/client/api.tsx'
import { consentWords } from '#renderer/parts/consentWords.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Sentence } from '#renderer/kit/Sentence.tsx'
import { Skeleton } from '#renderer/kit/states.tsx'
import { Section } from './Section.tsx'

export function PythonSection() {
  const queries = useQueryClient()
  const { data: allowed } = useAnswer('python.allowed', undefined, { staleMs: 0 })
  const { run, isRunning } = useCommand('python.withdraw', {
    onDone: () => invalidate(queries, ['python', 'rewards', 'runs.check']),
  })
  return (
    <ConsentList
      title="Python and training scripts allowed on this machine"
      about="Python is not sandboxed. It runs only where you allowed the content of the file and of the modules beside it for the interpreter; a training script runs where `turnwise run` started its content. No config can allow either."
      none="Nothing: no Python code can run."
      columns={['Run by', 'File']}
      rows={allowed?.map(({ interpreter, path, at }) => ({
        cells: [shownText(interpreter), shownText(consentWords(interpreter, path))],
        at,
      }))}
      isBusy={isRunning}
      onWithdraw={(which) => void run({ paths: which.map((i) => allowed?.[i]?.path ?? '') })}
    />
  )
}

/** Lists environment variables whose values may be sent. */
export function SentKeysSection() {
  const queries = useQueryClient()
  const { data: allowed } = useAnswer('keys.allowed', undefined, { staleMs: 0 })
  const { run, isRunning } = useCommand('keys.withdraw', {
    onDone: () => invalidate(queries, ['keys', 'runs.check', 'studies.check']),
  })
  return (
    <ConsentList
      title="Keys that may be sent"
      about="Judges, teachers and rollout servers get the value of an environment variable only where you allowed this variable for this address. No config can allow it."
      none="None: no key is sent anywhere."
      columns={['Variable', 'Address']}
      rows={allowed?.map(({ variable, origin, at }) => ({ cells: [variable, origin], at }))}
      isBusy={isRunning}
      onWithdraw={(which) =>
        void run({
          keys: which
            .flatMap((i) => allowed?.[i] ?? [])
            .map(({ variable, origin }) => ({ variable, origin })),
        })
      }
    />
  )
}

/** Lists what clients of `turnwise mcp` may do. */
export function AgentsSection() {
  const queries = useQueryClient()
  const { data: allowed } = useAnswer('agents.allowed', undefined, { staleMs: 0 })
  const { run, isRunning } = useCommand('agents.withdraw', { onDone: () => invalidate(queries, ['agents']) })
  return (
    <ConsentList
      title="Assistants allowed on this machine"
      about="An assistant that starts `turnwise mcp` reads what is here. It starts work, writes models and sends texts elsewhere only where you said yes when it asked."
      none="None: an assistant has to ask first."
      columns={['Assistant', 'May']}
      isProse
      rows={allowed?.map(({ client, may, at }) => ({
        cells: [shownText(client), shownText(permissionWords(may))],
        at,
      }))}
      isBusy={isRunning}
      onWithdraw={(which) =>
        void run({
          uses: which.flatMap((i) => allowed?.[i] ?? []).map(({ client, may }) => ({ client, may })),
        })
      }
    />
  )
}

interface ConsentListProps {
  readonly title: string
  readonly about: string
  readonly none: string
  readonly columns: readonly [string, string]
  /** True if the second column is for people, no path or address. */
  readonly isProse?: boolean
  /** Undefined until it is known. */
  readonly rows: readonly { readonly cells: readonly [string, string]; readonly at: number }[] | undefined
  readonly isBusy: boolean
  /** Receives indices into `rows`. */
  readonly onWithdraw: (which: readonly number[]) => void
}

const Heading = ({
  children,
  className = '',
}: {
  readonly children: ReactNode
  readonly className?: string
}) => <th className={`py-1 font-normal ${className}`}>{children}</th>

const actionsHeading = (
  <Heading>
    <span className="sr-only">Actions</span>
  </Heading>
)

function ConsentList(props: ConsentListProps) {
  const { title, about, none, columns, isProse = false, rows, isBusy, onWithdraw } = props
  return (
    <Section
      title={title}
      about={<Sentence text={about} />}
      actions={
        rows !== undefined &&
        rows.length > 0 && (
          <Button disabled={isBusy} onClick={() => onWithdraw(rows.map((_, i) => i))}>
            Withdraw all
          </Button>
        )
      }
    >
      {rows === undefined ? (
        <Skeleton label={`Reading: ${title}`} className="h-5 w-80 max-w-full" />
      ) : rows.length === 0 ? (
        <p>{none}</p>
      ) : (
        <table className="w-full text-left">
          <thead className="text-muted">
            <tr>
              <Heading>{columns[0]}</Heading>
              <Heading>{columns[1]}</Heading>
              <Heading className="phone:hidden">Allowed at</Heading>
              {actionsHeading}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ cells: [what, where], at }, i) => (
              <tr key={`${what} ${where} ${String(at)} ${String(i)}`} className="border-t border-line">
                <td className="py-1 pr-3 wrap-anywhere whitespace-pre-wrap">{what}</td>
                <td
                  className={`py-1 pr-3 whitespace-pre-wrap ${isProse ? 'wrap-anywhere' : 'font-mono text-sm break-all'}`}
                >
                  {where}
                </td>
                <td className="py-1 pr-3 whitespace-nowrap tabular-nums phone:hidden">{formatMoment(at)}</td>
                <td className="py-1">
                  <Button
                    small
                    disabled={isBusy}
                    aria-label={`Withdraw ${where}`}
                    onClick={() => onWithdraw([i])}
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
