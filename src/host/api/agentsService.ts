/** Procedures that list and withdraw what assistants were allowed; only the person whom one asks allows anything. */
import type { agentsApi } from '#shared/api/agents.ts'
import type { Handlers } from '#shared/api/contract.ts'
import type { Host } from '#host/host.ts'
import { withdrawAgents } from '#host/consents/agents.ts'
import { consentsFile, readConsents } from '#host/consents/consents.ts'

export function agentsService({ dataDirectory }: Pick<Host, 'dataDirectory'>): Handlers<typeof agentsApi> {
  const consents = consentsFile(dataDirectory)
  return {
    allowed: () => [...readConsents(consents).agents].sort((a, b) => b.at - a.at),
    withdraw: ({ uses }) => void withdrawAgents(consents, uses),
  }
}
