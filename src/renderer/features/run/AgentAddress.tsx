import { useAnswer } from '#renderer/client/api.tsx'
import type { RunView } from '#renderer/client/runs.ts'
import { Copied } from '#renderer/kit/states.tsx'

/** Address and key for the agents of a run that is being trained; nothing where no agent acts in it. */
export function AgentAddress({ events }: Pick<RunView, 'events'>) {
  const address = events.findLast(({ event }) => event.type === 'agents')?.event['address']
  return typeof address === 'string' ? <Access address={address} /> : null
}

function Access({ address }: { readonly address: string }) {
  const { data } = useAnswer('serving.agentKey', undefined)
  return (
    <section
      aria-label="Agents"
      className="mx-page mt-3 flex shrink-0 flex-wrap items-center gap-x-4 gap-y-1 rounded border border-line px-3 py-1.5"
    >
      <p className="grow text-muted">Every step waits for the sessions of your agent.</p>
      <Copied text={address} label="Copy the address of the agents" />
      {data !== undefined && (
        <span className="flex items-center gap-2">
          <span className="text-muted">API key</span>
          <Copied text={data.key} label="Copy the API key" />
        </span>
      )}
    </section>
  )
}
